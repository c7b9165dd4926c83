//! Secrets are made when the tests run: `{}` stands for one in the tables.

use super::{find, READER};
use crate::redact::shapes::grammar::{Class, Text};
use crate::redact::testing::{merged, same_in_pieces, so_far, Random};
use crate::redact::{patterns, shapes};

/// What stands in place of a secret in the tables.
const HERE: &str = "{}";

/// A value with letters of both cases and digits, as generators of passwords make them.
fn secret(random: &mut Random, length: usize) -> String {
    let mut value = random.of(Class::ALNUM, length);
    value[1] = b'7';
    value[3] = b'q';
    value[4] = b'K';
    value[6] = b'2';
    String::from_utf8(value).unwrap()
}

fn spans(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    find(text, &mut spans);
    merged(spans)
}

const MASKED: &[&str] = &[
    // Headers.
    "Authorization: Bearer {}",
    "authorization: bearer {}\r\nHost: example.org\r\n",
    "Authorization: Basic {}==",
    "Authorization: token {}",
    "Authorization: {}",
    "Proxy-Authorization: Basic {}",
    "> Authorization: Bearer {}\n> Accept: */*",
    "curl -H \"Authorization: Bearer {}\" https://example.org",
    "curl -H 'Authorization: Bearer {}' https://example.org",
    "{\"Authorization\": \"Bearer {}\"}",
    "{\\\"Authorization\\\": \\\"Bearer {}\\\"}",
    "headers[\"Authorization\"] = \"Bearer {}\"",
    "add_header(\"Authorization\", \"Bearer {}\")",
    "req_headers(req, Authorization = \"Bearer {}\")",
    "httr2: `Authorization: ApiKey {}`",
    "x-api-key: {}",
    "X-Api-Key: {}",
    "-H 'x-api-key: {}'",
    "x-goog-api-key: {}",
    "api-key: {}",
    "X-Auth-Token: {}",
    "X-Amz-Security-Token: {}",
    "x-vault-token: {}",
    "PRIVATE-TOKEN: {}",
    "Ocp-Apim-Subscription-Key: {}",
    "\"x-api-key\": \"{}\"",
    "Cookie: theme=dark; session={}; lang=en",
    "Cookie: connect.sid={}",
    "Set-Cookie: sid={}; Path=/; HttpOnly",
    "-H 'Cookie: auth_token={}'",
    "the server wants Bearer {}",
    // Assignments.
    "password={}",
    "PASSWORD={}",
    "export GITHUB_TOKEN={}",
    "export GITHUB_TOKEN=\"{}\"",
    "MY_SERVICE_API_KEY='{}'",
    "db_password = {}x9y8Z7",
    "DB_PASS={}",
    "set CLIENT_SECRET={}",
    "password: {}",
    "  client_secret: \"{}\"",
    "apiKey: '{}'",
    "{\"access_token\": \"{}\", \"expires_in\": 3600}",
    "{\"refresh_token\":\"{}\"}",
    "{\\\"client_secret\\\":\\\"{}\\\"}",
    "\\\"password\\\": \\\"{}\\\"",
    "text\\npassword={}\\nmore",
    "password <- \"{}\"",
    "token <<- '{}'",
    "token = '{}'",
    "password: str = \"{}\"",
    "Sys.setenv(OPENAI_API_KEY = \"{}\")",
    "os.environ[\"API_KEY\"] = \"{}\"",
    "const apiKey = `{}`;",
    "var apiSecret := \"{}\"",
    "'password' => '{}',",
    "aws_secret_access_key = {}aB3cD4",
    "AWS_SECRET_ACCESS_KEY={}",
    "private_key: \"{}\"",
    "<password>{}</password>",
    "Server=db;User=sa;Password={};Database=x",
    "//registry.npmjs.org/:_authToken={}",
    "//registry.example.org/:_auth={}",
    "\x1b[31mpassword\x1b[0m={} password={}",
    // Queries.
    "https://example.org/?api_key={}",
    "https://example.org/?a=b&access_token={}&c=d",
    "https://example.org/?token={}#part",
    "https://x.blob.core.windows.net/c?sv=2024&sig={}%3D",
    "GET /?X-Amz-Signature={} HTTP/1.1",
    // Options.
    "tool --password {}",
    "tool --password={}",
    "tool --api-key '{}'",
    "curl -u user:{} https://example.org",
    "curl -sS --user \"user:{}\" https://example.org",
    "curl \\\n  -u me:{} \\\n  https://example.org",
    "curl -ume:{} https://example.org",
    "system(\"curl -u me:{}\")",
    "sshpass -p {} ssh host",
    "machine api.github.com login me password {}",
    "machine api.github.com\n  login me\n  password {}\n",
    "default login me password {}",
    "machine a.org login me password \"{}\"",
    "machine a.org login anonymous password {}",
    "paste(\"Authorization: Client-ID {}\")",
    "Authorization: Client-ID {}",
    "Authorization: GenieKey {}",
    "Authorization: sso-key {}",
    "NotMathMLToken: \"{}\"",
    "# Generator token: {}",
];

#[test]
fn values_beside_names_are_masked() {
    let mut random = Random::new(21);
    for line in MASKED {
        for length in [12, 20, 40] {
            // Without the header's name, short words are none.
            if length < 16 && line.contains("wants Bearer") {
                continue;
            }
            let value = secret(&mut random, length);
            let text = line.replace(HERE, &value);
            let found: Vec<_> = spans(text.as_bytes()).into_iter().map(|span| &text[span]).collect();
            // One row begins with a colour between the name and `=`: what is between them is no name.
            let shown = found.iter().any(|found| found.starts_with(&value));
            assert!(shown, "{text}: {found:?}");
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            let extra = found[0].len() - value.len();
            assert!(extra <= 6, "{text}: {found:?}");
        }
    }
}

#[test]
fn weak_values_of_headers_are_masked() {
    let mut random = Random::new(22);
    for line in [
        "Authorization: Bearer {}",
        "Authorization: Basic {}",
        "x-api-key: {}",
        "-H 'X-Auth-Token: {}'",
        "Cookie: session={}",
    ] {
        let value = String::from_utf8(
            random
                .of(Class::LOWER_DIGIT, 12)
                .iter()
                .map(|byte| b'a' + byte % 26)
                .collect(),
        );
        let value = value.unwrap();
        let text = line.replace(HERE, &value);
        let found: Vec<_> = spans(text.as_bytes()).into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, [value.as_str()], "{text}");
    }
}

#[test]
fn lists_of_credentials_are_masked() {
    let mut random = Random::new(24);
    for (before, list, after) in [
        (
            "Authorization: ",
            "Digest username=\"me\", response=\"{}\"",
            "\r\nHost: x",
        ),
        (
            "-H 'Authorization: ",
            "Digest username=\"me\", response=\"{}\"",
            "' -o x",
        ),
        (
            "Authorization: ",
            "AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature={}",
            "\n",
        ),
        (
            "{\"Authorization\": \"",
            "OAuth oauth_consumer_key=\\\"k\\\", oauth_signature=\\\"{}\\\"",
            "\"}",
        ),
    ] {
        let list = list.replace(HERE, &secret(&mut random, 32));
        let text = format!("{before}{list}{after}");
        let scheme = list.find(' ').unwrap() + 1;
        assert_eq!(
            spans(text.as_bytes()),
            std::slice::from_ref(&(before.len() + scheme..before.len() + list.len())),
            "{text}"
        );
    }
}

const NOT_MASKED: &[&str] = &[
    "token = get_token()",
    "token=get_token()",
    "token = tokens[1]",
    "password: str",
    "password: Option<String>,",
    "password: Optional[str] = None",
    "fn login(user: &str, password: &SecretString)",
    "token: SecretString,",
    "secret = secret_from_file(path)",
    "password = $PASSWORD",
    "PASSWORD=$DB_PASSWORD",
    "PASSWORD=\"${DB_PASSWORD}\"",
    "TOKEN=\"$(cat /run/secrets/token)\"",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password=%s",
    "password = '%(password)s'",
    "password: {{ vault_password }}",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer {token}",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: Bearer ...",
    "Authorization: Bearer [redacted by rhocap]",
    "\"Authorization\": f\"Bearer {token}\"",
    "Authorization = paste(\"Bearer\", token)",
    "the Authorization header: required",
    "Authorization: required for all requests",
    "authorization: Authorization,",
    "a Bearer token is expected",
    "Bearer authentication is used",
    "password=[redacted by rhocap]",
    "api_key = \"[redacted by rhocap]\"",
    "api_key = Sys.getenv(\"OPENAI_API_KEY\")",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "api_key=os.getenv('OPENAI_API_KEY')",
    "api_key = \"OPENAI_API_KEY\"",
    "api_key: null",
    "secret: true",
    "\"token\": null,",
    "password: the user's password",
    "Password: \"Enter your new password here.\"",
    "secret: \"a value that must not be shown\"",
    "tokens: 4096",
    "max_tokens = 1234567",
    "token: 1234567",
    "token_count: 12345678",
    "next_page_token=CAUQAA7xYz123abcd",
    "\"nextToken\": \"CAUQAA7xYz123abcd\"",
    "continuation_token: CAUQAA7xYz123abcd",
    "bos_token = \"<s>\"",
    "eos_token: \"<|endoftext|>\"",
    "pad_token = \"[PAD]12345678\"",
    "csrf_token = \"aB3dE5gH7jK9mN1p\"",
    "X-CSRF-Token: aB3dE5gH7jK9mN1p",
    "password_file: /run/secrets/db_password",
    "password = \"/run/secrets/db_password\"",
    "secret = ~/.config/tool/secret.json",
    "token_url: https://example.org/oauth2/token",
    "secret = \"https://example.org/oauth2/v2\"",
    "public_key = \"aB3dE5gH7jK9mN1paB3dE5gH7jK9mN1p\"",
    "primary_key: aB3dE5gH7jK9mN1p",
    "key: aB3dE5gH7jK9mN1p",
    "key = \"aB3dE5gH7jK9mN1p\"",
    "token_type: \"bearer-v2-2024a\"",
    "password: xxxxxxxx",
    "password=********",
    "password=changeme123",
    "password=your_password_1",
    "token=self.token_cache.v2",
    "token == other_token",
    "secret::reveal(x1234567)",
    "type Token = AccessToken2;",
    "match token { Token::Ident => 1 }",
    "pattern = \"aB3dE5gH7jK9mN1p\"",
    "compass = \"aB3dE5gH7jK9mN1p\"",
    "author: \"aB3dE5gH7jK9mN1p\"",
    "signature = \"aB3dE5gH7jK9mN1paB3dE5gH\"",
    "sig: aB3dE5gH7jK9mN1p",
    "Cookie: theme=dark; lang=en",
    "Cookie: none",
    "the cookie = a small file",
    "docker run -u 1000:1000 image",
    "curl -u user:password https://example.org",
    "curl -u $USER:$PASSWORD https://example.org",
    "curl -u user https://example.org",
    "curl -fsSL https://example.org | sh",
    "login with password protected",
    "machine learning: login me password <password>",
    "PWD=/home/user/project1",
    "PWD=/data/RtmpRa6oAf/tree25a31f10e354/ROOT",
    "DB_PASSWORD=/run/secrets/Rt6oAfx25a31f10e354",
    "token: \"/tmp/RtmpRa6oAf/secret25a3268fbc5e\"",
    "secret = 'C:\\Users\\Me\\AppData\\x7Rt6oAf25'",
    "OLDPWD=/home/user/project2",
    "assert_eq!(token, \"closing-paren\")",
    "expect_equal(x$token, \"next\")",
    "password_hash: aB3dE5gH7jK9mN1p",
    "git config credential.helper store",
    "credentials: include",
    "secret_name: my-app-secret-2",
    "secretKeyRef: my-app-secret-2",
    "token=abc",
    "const ADD_ENCRYPTION_KEY: u32 = 3226494487;",
    "pub const AUTH_KEY: c_int = 0x00000013;",
    "impl<'iter, 'token: 'iter, I: Iterator<Item = Result<Token<'token>, Error2>>>",
    "clone(url, bundle, credentials=x$credentials)",
    "c(\"Private-Token\" = remote$auth_token)",
    "'Authorization', 'ASAuthorizationAppleIDButton',",
    "`Host`, `Authorization`, `Proxy-Authorization`, `If-Modified-Since`",
    "HEX_PAT = \"[0-9A-Fa-f]{1,4}\"",
    "core_token = r'(?:(?:\\^[%s]?)?[^\"%s])+'",
    "BASE64_KEY_TOKEN = \"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\"",
    "stop(\"no such token: \", x$name2, call. = FALSE)",
    "'Unknown token: \"' . $token->raw . '\"'",
    // Messages with places, and with escapes.
    "NotMathMLToken: \"%1 is not a MathML token \\u00E9\"",
    "NotMathMLToken: \"%1 n'est pas un \\u00E9l\\u00E9ment de MathML\"",
    "BadToken: \"Unerwartetes Zeichen \\\"%1\\\" in \\u2018%2\\u2019\",",
    "UnknownToken: 'l\u{2019}\u{e9}l\u{e9}ment (%1) est inconnu'",
    // Lists of what may stand there.
    "simpleAMtoken = \"NN|ZZ|...\"",
    "simpleAMtoken = \"NN|ZZ|CC|RR|QQ\"",
    "operator_token: \"and|or|not|xor\"",
    // What follows is put to it.
    "paste(\"Authorization: Client-ID\", key)",
    "'Authorization: Client-ID' + key",
    "paste0('Authorization: GenieKey ', key)",
    // Types of code.
    "def sign(private_key: ed25519.Ed25519PrivateKey, data: bytes)",
    "private_key: ed25519.Ed25519PrivateKey, ",
    "private_key: x25519.X25519PrivateKey",
    "private_key: ed448.Ed448PrivateKey = None",
    "private_key: crypto::Secp256k1::SecretKey,",
    // Of a netrc file.
    "machine host.org login me password \"PASSWORD\"",
    "machine host.org login \"USER\" password \"PASSWORD\"",
    "machine ftp.host.org login anonymous password user@site",
    "machine ftp.host.org login ftp password me@host.org",
    "default login anonymous password user@site",
    "password \"PASSWORD\"",
];

#[test]
fn what_only_looks_like_it_is_not_masked() {
    for line in NOT_MASKED {
        for text in [(*line).to_owned(), format!("{line}\n"), format!("  {line}\nmore\n")] {
            let found: Vec<_> = spans(text.as_bytes()).into_iter().map(|span| &text[span]).collect();
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}

#[test]
fn the_work_grows_with_the_length() {
    for start in [
        "token",
        "token=",
        "token=\"",
        "token='\"",
        "token=\\\"",
        "token=a1",
        "token:",
        "password: ",
        "key ",
        "key=",
        "Authorization: ",
        "Authorization: Digest ",
        "Authorization:a ",
        "Cookie: ",
        "Cookie:a=",
        "Cookie: a=b;",
        "Cookie:a=b;a=",
        "Set-Cookie:",
        "bearer ",
        "bearer",
        "curl ",
        "curl -u ",
        " curl -ua:",
        "curl=-",
        "/curl ",
        "login ",
        "machine a login b password ",
        "machine login ",
        "-",
        "token-",
        "a.",
        "sshpass -p",
        "api_key=$",
        "&token=a&",
        "token=\"\\",
        "token = ",
        "password: str = ",
        "token=(",
        "<token>",
        "'token',",
    ] {
        let steps = |length: usize| {
            let text: Vec<u8> = start.bytes().cycle().take(length).collect();
            let mut text = Text::new(&text);
            READER.each(&mut text, |_| {});
            text.steps
        };
        let (half, whole) = (steps(100_000), steps(200_000));
        assert!(whole <= 200_000 * 40, "{start}: {whole}");
        assert!(whole <= half * 9 / 4 + 1000, "{start}: {half}, {whole}");
    }
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let mut random = Random::new(23);
    for round in 0..1500 {
        let mut text = String::new();
        for _ in 0..random.between(1, 8) {
            let lines = if random.below(3) == 0 { NOT_MASKED } else { MASKED };
            let line = lines[random.below(lines.len())];
            let length = random.between(8, 40);
            let line = line.replace(HERE, &secret(&mut random, length));
            let line = match random.below(4) {
                0 => line.get(..random.below(line.len())).unwrap_or(""),
                1 => line.get(random.below(line.len())..).unwrap_or(""),
                _ => line.as_str(),
            };
            text.push_str(line);
            text.push_str(["\n", " ", "", "\\n", "\"", "&", "; ", "\\"][random.below(8)]);
        }
        same_in_pieces(&mut random, text.as_bytes(), &READER, &format!("round {round}"));
    }
}

#[test]
fn ordinary_text_is_not_kept() {
    for text in [
        "A line of a log, nothing else.\n",
        "ls -la /tmp\n",
        "x <- c(1, 2)\n",
        "the key is here\n",
    ] {
        assert_eq!(so_far(&READER, text.as_bytes()), text.len());
    }
    assert_eq!(so_far(&READER, b"a\nmy_tok"), 2);
    assert_eq!(so_far(&READER, b"a\nmy_token=ab"), 2);
}

#[test]
fn sources_are_not_masked() {
    crate::redact::testing::sources_are_not_masked(find, &[]);
}

#[test]
fn one_reading_finds_shapes_and_names() {
    let mut random = Random::new(25);
    let text: String = MASKED
        .iter()
        .chain(NOT_MASKED)
        .map(|line| line.replace(HERE, &secret(&mut random, 20)) + "\n")
        .collect();
    let text = format!("{text}https://me:{}@host/ and more", secret(&mut random, 9));
    let (mut both, mut apart) = (Vec::new(), Vec::new());
    patterns::ALL.find(text.as_bytes(), &mut both);
    find(text.as_bytes(), &mut apart);
    let names = apart.len();
    shapes::find(text.as_bytes(), &mut apart);
    assert!(names > 0 && apart.len() > names);
    assert_eq!(merged(both), merged(apart));
    for round in 0..20 {
        let what = format!("round {round}");
        same_in_pieces(&mut random, text.as_bytes(), &patterns::ALL, &what);
    }
}

/// What is beside it is a part of the value: a password may hold what messages, lists and names of types do.
#[test]
fn values_among_what_is_no_secret_are_masked() {
    let mut random = Random::new(28);
    for line in [
        "anyToken: \"%1{}\"",
        "anyToken: \"%1 {}\"",
        "anyToken = \"NN|{}|ZZ\"",
        "anyToken = \"NN|{}\"",
        "private_key: ed25519.{}",
        "private_key: {}ed25519",
        "machine a.org login anonymous password {}@site",
        "machine a.org login anonymous password user@{}",
        "machine a.org login me password \"user@{}\"",
    ] {
        for _ in 0..50 {
            let value = secret(&mut random, 12);
            let text = line.replace(HERE, &value);
            let found = spans(text.as_bytes());
            let whole = found.iter().any(|span| text[span.clone()].contains(&value));
            assert!(whole, "{text}: {found:?}");
        }
    }
    // Words for a password, whose owner is none that everybody is.
    for text in [
        "machine a.org login me password user@site",
        "machine a.org login anonymous password orchid-word",
    ] {
        assert_eq!(spans(text.as_bytes()).len(), 1, "{text}");
    }
}

#[test]
fn what_generators_write_in_each_file_is_not_masked() {
    assert!(spans(b"# Generator token: 10BE3573-1514-4C36-9D1C-5A225CD40393").is_empty());
}

/// A name of a thing can be a key to it: nothing but what it is for tells one from the other.
#[test]
fn identifiers_are_masked_after_a_name_that_says_secret() {
    let mut random = Random::new(27);
    for line in [
        "# Generator token: {}",
        "token: {}",
        "API_KEY={}",
        "\"client_secret\": \"{}\"",
        "x-api-key: {}",
    ] {
        for upper in [false, true] {
            let parts = [8, 4, 4, 4, 12].map(|length| String::from_utf8(random.of(Class::HEX, length)).unwrap());
            let value = parts.join("-");
            let value = if upper { value.to_ascii_uppercase() } else { value };
            let text = line.replace(HERE, &value);
            let found: Vec<_> = spans(text.as_bytes()).into_iter().map(|span| &text[span]).collect();
            assert_eq!(found, [value.as_str()], "{text}");
        }
    }
}

/// What generators make has no mark of its own; nearly all of it must be told from words.
#[test]
fn random_values_are_nearly_always_masked() {
    let mut random = Random::new(26);

    for (class, length, missed) in [
        (Class::ALNUM, 12, 20),
        (Class::ALNUM, 20, 2),
        (Class::BASE64, 40, 1),
        (Class::BASE64URL, 43, 1),
        (Class::HEX, 32, 0),
        (Class::LOWER_DIGIT, 16, 15),
        (Class::DIGIT, 10, 0),
        (Class::BARE, 16, 20),
    ] {
        for line in [
            "password = \"{}\"",
            "export API_TOKEN={}",
            "client_secret: {}",
            "?api_key={}&x=y",
        ] {
            let mut missing = Vec::new();
            for _ in 0..1000 {
                let mut value = random.of(class, length);
                // What queries, YAML and code take for something else.
                value
                    .iter_mut()
                    .filter(|byte| b"#:=".contains(byte))
                    .for_each(|byte| *byte = b'+');
                let value = String::from_utf8(value).unwrap();
                let text = line.replace(HERE, &value);
                if !spans(text.as_bytes()).iter().any(|span| text[span.clone()] == *value) {
                    missing.push(value);
                }
            }
            assert!(
                missing.len() <= missed,
                "{line}: {} of 1000: {missing:?}",
                missing.len()
            );
        }
    }
}
