//! Examples are made when the tests run, from the table and a seed: none of them is in this file.

use super::grammar::{Class, Text};
use super::rules::{Part, Rule, RULES};
use super::{find, READER};
use crate::redact::testing::{merged, same_in_pieces, so_far, Random};

/// A part with a run of the length that `choose` gives of the least and the most.
fn write_parts(random: &mut Random, rule: &Rule, out: &mut Vec<u8>, choose: impl Fn(usize, usize, usize) -> usize) {
    for (index, part) in rule.parts.iter().enumerate() {
        match part {
            Part::Is(what) => out.extend_from_slice(what.as_bytes()),
            Part::Run(class, least, most) => {
                let length = choose(index, *least, *most);
                out.extend(random.of(*class, length));
            }
        }
    }
}

/// A credential of the rule, and where what must be masked begins in it.
fn example(
    random: &mut Random,
    rule: &Rule,
    anchor: &str,
    choose: impl Fn(usize, usize, usize) -> usize,
) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    if let Some((class, least, most)) = rule.before {
        let length = random.between(least, most);
        out.extend(random.of(class, length));
        // What is before it may be `-` or `.`, which begin no word.
        out[0] = b'7';
    }
    out.extend_from_slice(anchor.as_bytes());
    let masked_from = if rule.anchor_stays { out.len() } else { 0 };
    write_parts(random, rule, &mut out, choose);
    (out, masked_from)
}

fn spans(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    find(text, &mut spans);
    merged(spans)
}

/// Whether the rule's last byte can be one that ends no word, so that an example's end is not sure.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[test]
fn examples_of_each_shape_are_masked() {
    let mut random = Random::new(1);
    for rule in RULES {
        for anchor in rule.anchors {
            for (before, after) in [
                ("", ""),
                ("key ", " more"),
                ("\"", "\""),
                ("a=", "\n"),
                ("{\\\"k\\\": \\\"", "\\\"}"),
                ("one\\n", "\\ntwo"),
                ("?k=%3D", "&x=1"),
                ("\x1b[31m", "\x1b[0m"),
                ("\u{201c}", "\u{201d}"),
                ("see ", ". Then"),
            ] {
                for most in [false, true] {
                    let length = |_, least: usize, longest: usize| if most { longest.min(least + 9) } else { least };
                    let (mut key, from) = example(&mut random, rule, anchor, length);
                    // A sentence may end in a full stop that the alphabet has too.
                    if let Some(last @ b'.') = key.last_mut() {
                        *last = b'q';
                    }
                    let text = [before.as_bytes(), &key, after.as_bytes()].concat();
                    let expected = before.len() + from..before.len() + key.len();
                    assert_eq!(spans(&text), [expected], "{}: {}", rule.name, shown(&text));
                }
            }
        }
    }
}

#[test]
fn near_misses_are_not_masked() {
    let mut random = Random::new(2);
    for rule in RULES {
        for anchor in rule.anchors {
            let mut misses = Vec::new();
            for (short, part) in rule.parts.iter().enumerate() {
                if matches!(part, Part::Run(_, 1.., _)) {
                    let length = |index, least: usize, _| if index == short { least - 1 } else { least };
                    misses.push(("one short", example(&mut random, rule, anchor, length).0));
                }
            }
            let (key, _) = example(&mut random, rule, anchor, |_, least, _| least);
            // One more digit can be right before a colon.
            let digit = if matches!(rule.before, Some((_, 8, 10))) {
                b'x'
            } else {
                b'7'
            };
            for first in [b'x', digit, b'_'] {
                misses.push(("in a word", [&[first], key.as_slice()].concat()));
            }
            let (longest, _) = example(&mut random, rule, anchor, |_, _, most| most.min(5000));
            if !rule.parts.iter().any(|part| matches!(part, Part::Run(_, _, 5001..))) {
                for last in ["Zz", "_Z"] {
                    misses.push(("in a word", [longest.as_slice(), last.as_bytes()].concat()));
                }
            }
            let run = rule.parts.iter().position(|part| matches!(part, Part::Run(_, 1.., _)));
            if let Some(0) = run {
                let mut wrong = key.clone();
                let from = rule
                    .before
                    .map_or(0, |(_, least, most)| least.max(most.min(wrong.len())));
                let anchor_at = find_at(&wrong[from.min(wrong.len() - anchor.len())..], anchor).unwrap_or(0)
                    + from.min(wrong.len() - anchor.len());
                let body = anchor_at + anchor.len();
                wrong[body] = b'!';
                misses.push(("wrong alphabet", wrong));
            }
            for (why, miss) in misses {
                let of_userinfo_or_others = spans(&miss);
                assert!(
                    of_userinfo_or_others.is_empty(),
                    "{}, {why}: {}",
                    rule.name,
                    shown(&miss)
                );
            }
        }
    }
}

fn find_at(text: &[u8], what: &str) -> Option<usize> {
    memchr::memmem::find(text, what.as_bytes())
}

#[test]
fn placeholders_are_not_masked() {
    let mut random = Random::new(3);
    for rule in RULES {
        for anchor in rule.anchors {
            let (key, _) = example(&mut random, rule, anchor, |_, least, _| least);
            let body = find_at(&key, anchor).unwrap_or(0) + anchor.len();
            if key.len() - body < 16 {
                continue;
            }
            let mut documented = key.clone();
            documented[body + 5..body + 12].copy_from_slice(b"EXAMPLE");
            let mut typed = key.clone();
            for byte in &mut typed[body..] {
                if byte.is_ascii_alphanumeric() {
                    *byte = b'x';
                }
            }
            for text in [documented, typed] {
                assert!(spans(&text).is_empty(), "{}: {}", rule.name, shown(&text));
            }
        }
    }
}

#[test]
fn the_table_is_in_order() {
    assert_eq!(super::known().count(), RULES.len());
    for rule in RULES {
        assert!(!rule.name.is_empty() && !rule.source.is_empty());
        for anchor in rule.anchors {
            let first = matches!(rule.parts, [Part::Run(..), ..]);
            assert!(
                anchor.len() >= 4 || first,
                "{}: a short anchor is lengthened by a run",
                rule.name
            );
        }
    }
}

fn key_lines(random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let mut lines: Vec<_> = (0..count).map(|_| random.of(Class::BASE64, 64)).collect();
    lines.push([random.of(Class::BASE64, 22), b"==".to_vec()].concat());
    lines
}

fn label(kind: &str, word: &str) -> String {
    format!("-----{kind} {word}{}-----", ["PRIVATE", " KEY"].concat())
}

#[test]
fn blocks_are_masked_whole() {
    let mut random = Random::new(4);
    let lines = key_lines(&mut random, 9);
    for word in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        for (first, between, last) in [
            ("\n", "\n", "\n"),
            ("\r\n", "\r\n", "\r\n"),
            ("\\n", "\\n", "\\n"),
            (" ", " ", " "),
            ("\n  ", "\n  ", "\n  "),
            ("\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n", "\n", "\n"),
            ("\\n\" +\n  \"", "\\n\" +\n  \"", "\\n\" +\n  \""),
            ("\n17:", "\nkey.pem:18:", "\n"),
            ("\n> ", "\n> ", "\n> "),
        ] {
            let body = lines.join(between.as_bytes());
            let block = [label("BEGIN", word).as_bytes(), first.as_bytes(), &body].concat();
            let whole = [&block, last.as_bytes(), label("END", word).as_bytes()].concat();
            let text = [b"key = \"", whole.as_slice(), b"\"\nmore"].concat();
            assert_eq!(
                spans(&text),
                std::slice::from_ref(&(7..7 + whole.len())),
                "{}",
                shown(&text)
            );
            // The beginning alone, as `head` shows it.
            for length in [block.len() - 30, block.len() - 90, block.len() / 2] {
                let text = [b"see ", &block[..length]].concat();
                let found = spans(&text);
                let [span] = found.as_slice() else {
                    panic!("{}", shown(&text))
                };
                assert_eq!(span.start, 4);
                assert!(
                    text.len() - span.end <= 19 + between.len(),
                    "{}",
                    shown(&text[span.end..])
                );
            }
        }
    }
}

#[test]
fn texts_about_keys_are_not_masked() {
    let mut random = Random::new(5);
    let public = ["-----BEGIN PUBLIC", " KEY-----\n"].concat();
    let certificate = ["-----BEGIN ", "CERTIFICATE-----\n"].concat();
    let body = key_lines(&mut random, 5).join(&b"\n"[..]);
    for text in [
        [public.as_bytes(), &body].concat(),
        [certificate.as_bytes(), &body].concat(),
        format!(
            "it begins with {} and ends with {}.",
            label("BEGIN", ""),
            label("END", "")
        )
        .into_bytes(),
        format!("grep -n '{}' ~/.ssh/* tests/testthat/keys/*", label("BEGIN", "RSA ")).into_bytes(),
        format!("{}\n...\n{}\n", label("BEGIN", ""), label("END", "")).into_bytes(),
    ] {
        assert!(spans(&text).is_empty(), "{}", shown(&text));
    }
}

#[test]
fn other_private_keys() {
    let mut random = Random::new(6);
    let body = key_lines(&mut random, 5).join(&b"\n"[..]);
    for (first, last) in [
        (["---- BEGIN SSH2 ENCRYPTED PRIVATE", " KEY ----\n"].concat(), "\n"),
        (
            ["-----BEGIN PGP PRIVATE", " KEY BLOCK-----\nVersion: GnuPG v2\n\n"].concat(),
            "\n",
        ),
        ("Private-Lines: 6\n".to_owned(), "\nPrivate-MAC: 00"),
    ] {
        let text = [first.as_bytes(), &body, last.as_bytes()].concat();
        assert_eq!(
            spans(&text),
            std::slice::from_ref(&(0..first.len() + body.len())),
            "{}",
            shown(&text)
        );
    }
}

#[test]
fn passwords_of_urls() {
    let mut random = Random::new(7);
    for _ in 0..50 {
        let password = random.of(Class::ALNUM, 12);
        let password = shown(&password);
        for (before, after) in [
            ("postgres://app:", "@db:5432/x"),
            ("see https://me:", "@example.org/."),
            ("redis://:", "@localhost"),
            ("mongodb+srv://a%40b:", "@[::1]/"),
            ("\"amqp://u:p@", "@h\""),
            ("jdbc:mysql://root:", "@127.0.0.1"),
        ] {
            let text = format!("{before}{password}{after}");
            let found = spans(text.as_bytes());
            assert_eq!(found.len(), 1, "{text}");
            let masked = &text[found[0].clone()];
            assert!(
                masked.ends_with(&password) && masked.len() <= password.len() + 2,
                "{text}"
            );
        }
        let token = shown(&[random.of(Class::ALNUM, 30), b"123".to_vec()].concat());
        let text = format!("git clone https://{token}@host/x.git");
        assert_eq!(&text[spans(text.as_bytes())[0].clone()], token);
    }
    // Short ones too, but for hosts that nobody has.
    for (text, password) in [
        ("https://abc:{}@a.org", "xyz"),
        ("https://abc:{}@10.0.0.5/", "123"),
        ("https://abc:{}@localhost/", "123"),
        ("https://abc:{}@myexample.com", "xyz"),
        ("https://abc:{}@example.com.evil.org/", "xyz"),
        ("https://abc:{}@example.co", "xyz"),
        ("https://abc:{}@example.com", "xY9z"),
        ("https://abc:{}@example.com", "x1y2"),
        ("https://abc:{}@example.com", "horse"),
        ("https://abc:{}@example.com", "12345"),
        ("https://abc:{}@hosts/", "123"),
    ] {
        let text = text.replace("{}", password);
        let found = spans(text.as_bytes());
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(&text[found[0].clone()], password);
    }
    for text in [
        "https://abc:xyz@example.com",
        "https://abc:xyz@example.com.",
        "see https://abc:123@example.org/path.",
        "\"ftp://foo:bar@ftp.example.net:21/\"",
        "http://abc:123@host/",
        "http://abc:123@\"",
        "postgres://user:password@host",
        "https://user:pass@host/",
        "amqp://guest:guest@localhost",
        "postgres://postgres:postgres@localhost",
        "https://user:<password>@host",
        "https://user:${PASSWORD}@host",
        "https://$USER:$PASSWORD@host",
        "https://user:{password}@host",
        "https://%s:%s@host",
        "https://user:xxxx@host",
        "https://user:***@host",
        "https://user@host",
        "https://host:8080/a@b",
        "https://host/a:b@c",
        "mailto:a:secret1@b",
        "paste0(\"https://\", user, \":\", password, \"@\", host)",
        "git@github.com:a/b.git",
        "http://[::1]:80/@x",
    ] {
        assert!(spans(text.as_bytes()).is_empty(), "{text}");
    }
}

#[test]
fn the_work_grows_with_the_length() {
    let mut random = Random::new(8);
    let pem = label("BEGIN", "");
    let mut starts: Vec<Vec<u8>> = [
        "AKIA",
        "sk-",
        "sk-proj-",
        "eyJ",
        "eyJ-",
        "eyJ-.eyJ",
        "eyJaaaaaaaaaaaaaaa.-",
        "://a:a:a:",
        "a://a@",
        "-us1",
        "0-us1",
        ":AA",
        "1:AA",
        "Q~8Q~",
        "---- BEGIN ",
        "-",
        ".",
        "glpat-",
        "xoxb-",
        "dp.st.",
        "a.atlasv1.",
        "xapp-1-",
        "tskey-a-",
        "Private-Lines: ",
        "fm2_-",
        "SK",
    ]
    .iter()
    .map(|start| start.as_bytes().to_vec())
    .collect();
    starts.push(["Private-Lines: 1\n", &"A1".repeat(20), "\n"].concat().into_bytes());
    starts.push(pem.clone().into_bytes());
    starts.push([pem.as_bytes(), b" "].concat());
    starts.push([pem.as_bytes(), &random.of(Class::BASE64, 64)].concat());
    starts.push([pem.as_bytes(), &random.of(Class::BASE64, 64), b"\n"].concat());
    starts.push(["eyJ", &"-".repeat(3000), "."].concat().into_bytes());
    for start in starts {
        let steps = |length: usize| {
            let text: Vec<u8> = start.iter().copied().cycle().take(length).collect();
            let mut text = Text::new(&text);
            READER.each(&mut text, |_| {});
            text.steps
        };
        let (half, whole) = (steps(200_000), steps(400_000));
        assert!(whole <= 400_000 * 40, "{}: {whole}", shown(&start));
        assert!(whole <= half * 9 / 4 + 1000, "{}: {half}, {whole}", shown(&start));
    }
}

#[test]
fn pieces_give_what_the_whole_gives() {
    let mut random = Random::new(9);
    let pem = label("BEGIN", "RSA ");
    for round in 0..400 {
        let mut text = Vec::new();
        for _ in 0..random.between(1, 12) {
            let rule = &RULES[random.below(RULES.len())];
            let anchor = rule.anchors[random.below(rule.anchors.len())];
            let (key, _) = example(&mut random, rule, anchor, |_, least, most| most.min(least + 2));
            match random.below(8) {
                0..=2 => text.extend(&key),
                3 => text.extend(&key[..random.below(key.len())]),
                4 => {
                    text.extend(pem.as_bytes());
                    let count = random.below(4);
                    text.extend(key_lines(&mut random, count).join(&b"\n"[..]));
                    if random.below(2) == 0 {
                        text.extend(label("END", "RSA ").as_bytes());
                    }
                }
                5 => text.extend(b"https://user:"),
                6 => text.extend(b"p4ssw0rd@host/"),
                _ => text.extend(random.of(Class::BASE64URL.or(Class::DOT), 9)),
            }
            let between: &[&[u8]] = &[b" ", b"\n", b"", b"\\n", b"\"", b"-", b"%20", b"://", b"."];
            text.extend(between[random.below(between.len())]);
        }
        same_in_pieces(&mut random, &text, &READER, &format!("round {round}"));
    }
}

#[test]
fn ordinary_text_is_not_kept() {
    for text in ["A line of a log, nothing else.\n", "ls -la /tmp\n", "x <- c(1, 2)\n"] {
        assert_eq!(so_far(&READER, text.as_bytes()), text.len());
    }
    assert!(so_far(&READER, b"the key is AKI") == 11);
}

/// Sources of this project hold no credential, and nothing that is taken for one but what is listed here.
#[test]
fn sources_are_not_masked() {
    crate::redact::testing::sources_are_not_masked(find, &[]);
}
