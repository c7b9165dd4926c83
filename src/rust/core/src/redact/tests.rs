//! What is masked, by the programs that write it.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::oracle::Numbers;
use super::{contains_marker, Redactor, MARKER};

/// A value of the kind that every style of escaping changes; made here so that it stands in no source.
fn value() -> String {
    let part = crate::random::hex(4);
    format!("s3{part}-T'ok\\3n/v<al+u\u{e9}>e\"&1")
}

fn redactor(value: &[u8]) -> Arc<Redactor> {
    Arc::new(Redactor::new([value]))
}

/// That nothing but `before`, `after` and one marker is left, whole and in a stream.
#[track_caller]
fn masked(value: &[u8], before: &[u8], form: &[u8], after: &[u8]) {
    let redactor = redactor(value);
    let text = [before, form, after].concat();
    let expected = [before, MARKER.as_bytes(), after].concat().escape_ascii().to_string();
    let masked = redactor.mask(&text);
    assert_eq!(
        masked.text.escape_ascii().to_string(),
        expected,
        "of {}",
        text.escape_ascii()
    );
    assert_eq!(masked.count, 1);
    let mut stream = redactor.stream();
    let mut out: Vec<u8> = text.chunks(3).flat_map(|piece| stream.push(piece)).collect();
    out.extend(stream.finish());
    assert_eq!(out.escape_ascii().to_string(), expected);
}

/// That a marker stands in the text and no more than `left` bytes of the form, at its ends, are left.
#[track_caller]
fn core_masked(value: &[u8], form: &[u8], left: usize) {
    let masked = redactor(value).mask(form);
    let rest = masked.text.len().saturating_sub(MARKER.len());
    assert!(contains_marker(&masked.text), "not masked: {}", form.escape_ascii());
    assert!(
        masked.count == 1 && rest <= left,
        "left {rest}: {} of {}",
        masked.text.escape_ascii(),
        form.escape_ascii()
    );
}

/// What a program writes; nothing when it is not there, and why is told.
fn output(program: &str, arguments: &[&str], input: &[u8], environment: &[(&str, &str)]) -> Option<Vec<u8>> {
    let started = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        eprintln!("skipped: no {program} here");
        return None;
    };
    // A program that reads nothing may be gone by now.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("the output");
    if !output.status.success() {
        eprintln!("skipped: {program} {arguments:?} failed: {}", output.status);
        return None;
    }
    Some(output.stdout.trim_ascii_end().to_vec())
}

/// That what a program made of the value, which `$S` holds and stdin, is masked but for `left` bytes.
#[track_caller]
fn program_masked(value: &str, program: &str, arguments: &[&str], left: usize) {
    if let Some(written) = output(program, arguments, value.as_bytes(), &[("S", value)]) {
        core_masked(value.as_bytes(), &written, left);
    }
}

#[test]
fn forms_by_their_definitions() {
    // Nothing of it is secret: what each form must be is written out by hand.
    let value = "k\u{e9}y/\"'&<a+b \\z";
    for form in [
        "k\u{e9}y/\"'&<a+b \\z",
        // JSON
        "k\u{e9}y/\\\"'&<a+b \\\\z",
        "k\u{e9}y\\/\\\"'&<a+b \\\\z",
        "k\\u00e9y/\\\"'&<a+b \\\\z",
        "k\\u00E9y\\/\\\"'&<a+b \\\\z",
        "k\u{e9}y/\\\"'\\u0026\\u003ca+b \\\\z",
        "k\u{e9}y/\\u0022\\u0027\\u0026\\u003Ca\\u002Bb \\\\z",
        "k\\\\u00e9y/\\\\\\\"'&<a+b \\\\\\\\z",
        "\\u006b\\u00e9\\u0079\\u002f\\u0022\\u0027\\u0026\\u003c\\u0061\\u002b\\u0062\\u0020\\u005c\\u007a",
        // HTML
        "k\u{e9}y/\"'&amp;&lt;a+b \\z",
        "k\u{e9}y/&quot;&#x27;&amp;&lt;a+b \\z",
        "k&#233;y/&quot;&#39;&amp;&lt;a+b \\z",
        "k\u{e9}y/&amp;quot;&amp;#x27;&amp;amp;&amp;lt;a+b \\z",
        "&#107;&#233;&#121;&#47;&#34;&#39;&#38;&#60;&#97;&#43;&#98;&#32;&#92;&#122;",
        "&#x6b;&#xe9;&#x79;&#x2f;&#x22;&#x27;&#x26;&#x3c;&#x61;&#x2b;&#x62;&#x20;&#x5c;&#x7a;",
        // Percent
        "k%C3%A9y%2F%22%27%26%3Ca%2Bb%20%5Cz",
        "k%c3%a9y%2f%22%27%26%3ca%2bb%20%5cz",
        "k%C3%A9y/%22%27%26%3Ca%2Bb%20%5Cz",
        "k%C3%A9y%2F%22%27%26%3Ca%2Bb+%5Cz",
        "k%C3%A9y%2F%22'%26%3Ca%2Bb%20%5Cz",
        "k%C3%A9y/%22'&%3Ca+b%20%5Cz",
        "k%25C3%25A9y%252F%2522%2527%2526%253Ca%252Bb%2520%255Cz",
        "%6B%C3%A9%79%2F%22%27%26%3C%61%2B%62%20%5C%7A",
        "%6b%c3%a9%79%2f%22%27%26%3c%61%2b%62%20%5c%7a",
        // Shells
        "k\u{e9}y/\"'\\''&<a+b \\z",
        "k\u{e9}y/\"'\"'\"'&<a+b \\z",
        "k\u{e9}y/\\\"'&<a+b \\\\z",
        "k\u{e9}y/\\\"\\'\\&\\<a+b\\ \\\\z",
        "k\\303\\251y/\"\\'&<a+b \\\\z",
        // R, C, Python
        "k\u{e9}y/\"\\'&<a+b \\\\z",
        "k<U+00E9>y/\\\"'&<a+b \\\\z",
        "k\\xc3\\xa9y/\"\\'&<a+b \\\\z",
        "k\\xe9y/\"\\'&<a+b \\\\z",
        // Numbers
        "6bc3a9792f2227263c612b62205c7a",
        "6BC3A9792F2227263C612B62205C7A",
        "6b:c3:a9:79:2f:22:27:26:3c:61:2b:62:20:5c:7a",
        "6b c3 a9 79 2f 22 27 26 3c 61 2b 62 20 5c 7a",
        "6bc3 a979 2f22 2726 3c61 2b62 205c 7a",
        "\\x6b\\xc3\\xa9\\x79\\x2f\\x22\\x27\\x26\\x3c\\x61\\x2b\\x62\\x20\\x5c\\x7a",
        "0x6b, 0xc3, 0xa9, 0x79, 0x2f, 0x22, 0x27, 0x26, 0x3c, 0x61, 0x2b, 0x62, 0x20, 0x5c, 0x7a",
        "107, 195, 169, 121, 47, 34, 39, 38, 60, 97, 43, 98, 32, 92, 122",
        "\\153\\303\\251\\171\\057\\042\\047\\046\\074\\141\\053\\142\\040\\134\\172",
    ] {
        masked(value.as_bytes(), b"<p>=", form.as_bytes(), b".</p>");
    }
    let wide: Vec<u16> = value.encode_utf16().collect();
    masked(
        value.as_bytes(),
        b"\xff\xfe",
        &wide.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>(),
        b"\n\0",
    );
    masked(
        value.as_bytes(),
        b"\0:",
        &wide.iter().flat_map(|unit| unit.to_be_bytes()).collect::<Vec<u8>>(),
        b"\n",
    );
}

#[test]
fn base64_in_all_places_and_wraps() {
    let value = value();
    for before in ["", "u:", "us:", "user:", "a longer user:"] {
        let whole = format!("{before}{value}");
        for arguments in [&["-w0"][..], &[], &["-w64"], &["-w7"]] {
            if let Some(form) = output("base64", arguments, whole.as_bytes(), &[]) {
                core_masked(value.as_bytes(), &form, before.len() * 4 / 3 + 8);
            }
        }
        if let Some(form) = output("basenc", &["--base64url", "-w0"], whole.as_bytes(), &[]) {
            core_masked(value.as_bytes(), &form, before.len() * 4 / 3 + 8);
        }
    }
    program_masked(&value, "bash", &["-c", "echo \"$S\" | base64"], 4);
    // No character that holds a bit of it stays, be it the last one or followed by a line end.
    for length in 8..14 {
        let value = &value[..length];
        let redactor = Redactor::new([value.as_bytes()]);
        for (script, left) in [
            ("printf %s \"$S\" | base64", ["", "==", "="]),
            ("echo \"$S\" | base64", ["Cg==", "o=", "K"]),
        ] {
            if let Some(form) = output("bash", &["-c", script], b"", &[("S", value)]) {
                let expected = format!("{MARKER}{}", left[length % 3]);
                assert_eq!(redactor.mask(&form).text, expected.as_bytes(), "{length}");
            }
        }
    }
}

#[test]
fn forms_of_shells() {
    for value in [
        value(),
        format!("~{} a b\tc$d`e!f*g,h;i?j[k]^l{{m|n}}#", crate::random::hex(3)),
        format!("{}\n\u{1}x", value()),
    ] {
        for script in [
            "printf %s \"$S\"",
            "printf %q \"$S\"",
            "LC_ALL=C; printf %q \"$S\"",
            "echo \"${S@Q}\"",
            "declare -p S",
            "(set -x; : \"$S\") 2>&1",
            "env printf %q \"$S\"",
            "LC_ALL=C env printf %q \"$S\"",
            "alias x=\"$S\"; alias -p",
        ] {
            program_masked(&value, "bash", &["-c", script], 30);
        }
    }
}

#[test]
fn forms_of_dumps() {
    let value = value();
    program_masked(&value, "xxd", &["-p"], 0);
    program_masked(&value, "xxd", &["-p", "-u"], 0);
    program_masked(&value, "xxd", &["-i"], 2);
    program_masked(&value, "od", &["-An", "-tx1"], 1);
    program_masked(&value, "od", &["-An", "-v", "-w4", "-tx1"], 1);
    program_masked(&value, "iconv", &["-f", "UTF-8", "-t", "UTF-16LE"], 0);
    program_masked(&value, "iconv", &["-f", "UTF-8", "-t", "UTF-16BE"], 0);
    program_masked(&value, "iconv", &["-f", "UTF-8", "-t", "UTF-16"], 2);
    // Of characters that are in ASCII: one zero may be left.
    let value = format!("tok-{}", crate::random::hex(12));
    for to in ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"] {
        program_masked(&value, "iconv", &["-f", "UTF-8", "-t", to], 3);
        let encoded = format!("printf %s \"$S\" | iconv -f UTF-8 -t {to}");
        if to.starts_with("UTF-16") {
            program_masked(&value, "bash", &["-c", &format!("{encoded} | base64 -w60")], 5);
            program_masked(&value, "bash", &["-c", &format!("{encoded} | xxd -p")], 3);
        }
    }
}

#[test]
fn forms_of_dumps_with_addresses() {
    // Of letters that are no digits of addresses.
    let letters: String = crate::random::hex(24)
        .bytes()
        .map(|byte| char::from(byte % 16 + b'G'))
        .collect();
    for value in [value(), letters] {
        for script in [
            "xxd",
            "xxd -u",
            "xxd -c 7",
            "xxd -g 1 -s +0",
            "hexdump -C",
            "hexdump",
            "od",
            "od -tu2",
            "od -tx4",
            "xxd -e",
            "hexdump -d",
            "hexdump -o",
            "hexdump -e '\"%04_ax: \" 16/1 \"%02x \"' -e '\" \" 16/1 \"%_p\" \"\\n\"'",
            "od -tx1",
            "od -Ax -tx1z",
            "od -x",
            "od -tu1",
            "od -to1",
            "od -c",
            "base64 -w 9 | cat -n",
            "base64 -w 9 | grep -n .",
            "base64 -w 9 | nl",
            "base64 -w 9 | sed 's/^/> /'",
            "base64 -w 9 | sed 's/^/ # /'",
            "base64 -w 9 | sed 's/^/+/'",
        ] {
            // Characters of several bytes are numbers among characters there.
            if script == "od -c" && !value.is_ascii() {
                continue;
            }
            for before in ["", "x="] {
                let script = format!("printf %s \"{before}$S\" | {script}");
                program_masked(&value, "bash", &["-c", &script], 110);
                let Some(form) = output("bash", &["-c", &script], b"", &[("S", &value)]) else {
                    continue;
                };
                // What is left are addresses, and white space.
                let masked = redactor(value.as_bytes()).mask(&form).text.into_owned();
                let parts = value.as_bytes().windows(4);
                for part in parts.filter(|part| !part.iter().all(u8::is_ascii_hexdigit)) {
                    let hex = part
                        .iter()
                        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
                    let squeezed: Vec<u8> = masked.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
                    assert!(
                        memchr::memmem::find(&masked, part).is_none(),
                        "{script}: {}",
                        masked.escape_ascii()
                    );
                    assert!(
                        memchr::memmem::find(&squeezed, hex.as_bytes()).is_none(),
                        "{script}: {} {hex}",
                        masked.escape_ascii()
                    );
                }
            }
        }
        for expression in ["charToRaw(Sys.getenv('S'))", "utf8ToInt(Sys.getenv('S'))"] {
            let expression = format!("options(width = 40); print({expression})");
            program_masked(&value, "Rscript", &["--vanilla", "-e", &expression], 8);
        }
    }
}

#[test]
fn forms_of_python() {
    for value in [value(), format!("{}\n\u{1f600}\u{20ac} x", value())] {
        for expression in [
            "repr(s)",
            "ascii(s)",
            "repr(s.encode())",
            "s.encode().hex(':')",
            "list(s.encode())",
            "json.dumps(s)",
            "json.dumps(s, ensure_ascii=False)",
            "json.dumps(json.dumps(s))",
            "json.dumps(s).replace('/', '\\\\/')",
            "urllib.parse.quote(s)",
            "urllib.parse.quote(s, safe='')",
            "urllib.parse.quote_plus(s)",
            "urllib.parse.quote_plus(s).lower()",
            "urllib.parse.urlencode({'k': s})",
            "''.join('%%%02x' % b for b in s.encode())",
            "html.escape(s)",
            "html.escape(html.escape(s))",
            "s.encode('ascii', 'xmlcharrefreplace').decode()",
            "html.escape(s).encode('ascii', 'xmlcharrefreplace').decode()",
            "base64.b64encode(b'x' + s.encode()).decode()",
            "base64.urlsafe_b64encode(s.encode()).decode()",
            "shlex.quote(s)",
            "shlex.quote('echo ' + s)",
            "json.dumps(json.dumps(json.dumps(json.dumps(s))))",
            "json.dumps('\\n'.join(textwrap.wrap(base64.b64encode(s.encode()).decode(), 9)))",
            "json.dumps(json.dumps('\\r\\n'.join(textwrap.wrap(base64.b64encode(s.encode()).decode(), 9))))",
            "base64.b64encode(s.encode('utf-16-le')).decode()",
            "quopri.encodestring(s.encode()).decode()",
            "[c for c in s.encode()]",
            "['0x%02x' % c for c in s.encode()]",
            "['%02x' % c for c in s.encode()]",
            "' '.join('0X%02X' % c for c in s.encode())",
            "''.join('\\\\x{%02x}' % c for c in s.encode())",
            "' '.join('%o' % c for c in s.encode()) if min(s.encode()) > 63 else repr(s)",
        ] {
            if expression.ends_with("lower()") && value.to_lowercase() != value {
                continue;
            }
            let program = format!(
                "import base64,html,json,os,quopri,shlex,sys,textwrap,urllib.parse\ns=os.environ['S']\n\
                 sys.stdout.reconfigure(encoding='utf-8')\nprint({expression})"
            );
            program_masked(&value, "python3", &["-c", &program], 30);
        }
    }
}

#[test]
fn forms_of_r() {
    for value in [value(), format!("{}\n\u{1}\u{7}x", value())] {
        for expression in [
            "dput(Sys.getenv('S'))",
            "print(Sys.getenv('S'))",
            "print(c(a = Sys.getenv('S')))",
            "str(Sys.getenv('S'))",
            "cat(encodeString(Sys.getenv('S'), quote = \"'\"))",
            "cat(deparse(Sys.getenv('S')))",
            "cat(shQuote(Sys.getenv('S')))",
            "cat(URLencode(Sys.getenv('S')))",
            "cat(URLencode(Sys.getenv('S'), reserved = TRUE))",
            "print(charToRaw(Sys.getenv('S')))",
            "dput(charToRaw(Sys.getenv('S')))",
            "dput(utf8ToInt(Sys.getenv('S')) + 0)",
            "dput(rev(rev(utf8ToInt(Sys.getenv('S')))))",
            "cat(iconv(Sys.getenv('S'), 'UTF-8', 'ASCII', sub = 'byte'))",
            "cat(iconv(Sys.getenv('S'), 'UTF-8', 'ASCII', sub = 'Unicode'))",
            "cat(iconv(Sys.getenv('S'), 'UTF-8', 'ASCII', sub = 'c99'))",
            "cat(iconv(Sys.getenv('S'), 'UTF-8', 'latin1'))",
            "cat(paste(charToRaw(Sys.getenv('S')), collapse = ', '))",
        ] {
            // The print of many elements has their numbers between; str() shows the first characters only.
            if expression.starts_with("print(charToRaw") {
                let expression = "options(width = 1000); print(charToRaw(Sys.getenv('S')))";
                program_masked(&value, "Rscript", &["--vanilla", "-e", expression], 6);
            } else {
                program_masked(&value, "Rscript", &["--vanilla", "-e", expression], 60);
                program_masked(
                    &value,
                    "Rscript",
                    &[
                        "--vanilla",
                        "-e",
                        &format!("invisible(Sys.setlocale('LC_ALL', 'C')); {expression}"),
                    ],
                    60,
                );
            }
        }
    }
}

#[test]
fn overlapping_and_nested_values_leave_nothing() {
    let redactor = Redactor::new([&b"abcdEFGH"[..], b"EFGHijkl", b"tok12345", b"tok12345-extra"]);
    assert_eq!(redactor.mask_text("x abcdEFGHijkl y").text, format!("x {MARKER} y"));
    assert_eq!(redactor.spans(b"x tok12345-extra y tok12345-other"), [2..16, 19..27]);
    // What touches is one mask.
    assert_eq!(redactor.mask_text("tok12345tok12345").text, MARKER);
}

#[test]
fn control_sequences_and_white_space_within_do_not_help() {
    let value = format!("tok-{}", crate::random::hex(8));
    let spread = |between: &str| value.chars().map(String::from).collect::<Vec<_>>().join(between);
    for form in [
        format!("{}\x1b[31m{}", &value[..5], &value[5..]),
        format!(
            "{}\x1b[38;5;196m{}\x1b[0m\x1b[K{}",
            &value[..1],
            &value[1..9],
            &value[9..]
        ),
        format!("{}\x1b(B\x1b[m{}", &value[..5], &value[5..]),
        format!("{}\x1b]8;;http://example.org\x1b\\{}", &value[..5], &value[5..]),
        format!("{}\x1b]0;title\x07{}", &value[..5], &value[5..]),
        spread(" "),
        spread("\n"),
        spread("\r\n\t  "),
        spread("\x1b[1m"),
        spread(", "),
        spread("\", \""),
        spread("'\n+ '").replace('+', ""),
        spread("\\\n"),
        spread("=\r\n"),
        spread("\\\\\\n"),
        spread("\u{a0}"),
        spread("\u{ad}"),
        spread("\u{200b}"),
        spread("\u{2060}\u{feff}\u{3000}\u{fe0f}\u{e0001}"),
        spread("\u{9b}31m"),
        spread("\u{85}"),
        spread("\0"),
        spread("\0\0\0"),
        spread("\u{7f}\u{e}\u{8}"),
        format!("{}\x1b7\x1b8\x1bM\x1bc\x1b={}", &value[..5], &value[5..]),
    ] {
        masked(value.as_bytes(), b"a: ", form.as_bytes(), b" b\x1b[0m");
    }
    // With more between than a stream holds back, it is not found, in whole texts neither.
    let far = format!("{}{}{}", &value[..9], " ".repeat(70 << 10), &value[9..]);
    assert_eq!(redactor(value.as_bytes()).mask(far.as_bytes()).count, 0);
}

#[test]
fn values_of_several_lines_are_masked_by_line() {
    let mut numbers = Numbers::new(3);
    let lines: Vec<String> = (0..5)
        .map(|_| String::from_utf8(numbers.text(b"abcdEFGH0123+/", 64)).expect("ASCII"))
        .collect();
    let (begin, end) = (
        format!("-----BEGIN {} KEY-----", "TEST"),
        format!("-----END {} KEY-----", "TEST"),
    );
    let value = format!("{begin}\n{}\n{end}\n", lines.join("\n"));
    let redactor = redactor(value.as_bytes());
    let left = |text: String| {
        let masked = String::from_utf8(redactor.mask(text.as_bytes()).text.into_owned()).expect("UTF-8");
        assert!(contains_marker(masked.as_bytes()), "{masked}");
        assert!(
            !lines
                .iter()
                .any(|line| masked.contains(line) || masked.contains(&line[..8])),
            "{masked}"
        );
    };
    left(value.clone());
    left(value.replace('\n', "\r\n"));
    left(value.replace('\n', "\n    "));
    left(value.replace('\n', "\\n"));
    left(value.replace('\n', "\\r\\n"));
    left(value.replace('\n', "\\\\n"));
    left(value.replace('/', "\\/").replace('\n', "\\n"));
    left(format!("> {} <", lines.join(" <\n> ")));
    assert_eq!(redactor.mask(lines[2].as_bytes()).text, MARKER.as_bytes());
    // The frame is the same for all keys.
    assert_eq!(redactor.mask(begin.as_bytes()).count, 0);
}

#[test]
fn lines_of_a_value_that_stand_in_other_texts_are_not_masked() {
    let random = crate::random::hex(10);
    let settings = "NODE_ENV=production\nDEBUG=true\npassword\nregion = us-east-1\n\"type\": \"service_account\",\n\
                    \"auth_uri\": \"https://accounts.google.com/o/oauth2/auth\",\n[default]\nfunction\n";
    let redactor = redactor(format!("{settings}API_KEY={random}\n").as_bytes());
    for line in settings.lines() {
        assert_eq!(redactor.mask_text(line).text, line);
    }
    assert_eq!(
        redactor.mask_text(&format!("x API_KEY={random} y")).text,
        format!("x {MARKER} y")
    );
}

#[test]
fn short_values_are_masked_as_words_only() {
    let redactor = Redactor::new([&b"abc12"[..], b"x-1$", b"abc"]);
    let mask = |text: &str| redactor.mask_text(text).text.into_owned();
    assert_eq!(
        mask("abc12 (abc12) abc123 zabc12 abc12_ \u{e9}abc12"),
        format!("{MARKER} ({MARKER}) abc123 zabc12 abc12_ \u{e9}abc12")
    );
    assert_eq!(mask("x-1$ x-1$a ax-1$"), format!("{MARKER} {MARKER}a ax-1$"));
    assert_eq!(mask("abc a b c 1 2"), "abc a b c 1 2");
    // A line end that is written is no letter before it, and neither is the end of a control sequence.
    assert_eq!(
        mask("\x1b[31mabc12\x1b[0m \x1b[01;31m\x1b[Kabc12\x1b[m zabc12"),
        format!("\x1b[31m{MARKER}\x1b[0m \x1b[01;31m\x1b[K{MARKER}\x1b[m zabc12")
    );
    assert_eq!(mask("a\\nabc12\\n abc12\\tb"), format!("a\\n{MARKER}\\n {MARKER}\\tb"));
}

#[test]
fn long_values_are_masked_in_whole_and_in_pieces() {
    let mut numbers = Numbers::new(4);
    let value = numbers.text(b"abcdefghijklmnopqrstuvwxyz0123456789", 10_000);
    masked(&value, b"a=", &value, b";");
    let redactor = redactor(&value);
    // What lies before the first whole piece is left.
    let part = redactor.mask(&value[100..9000]);
    assert!(part.count == 1 && part.text.len() < 8000, "{}", part.text.len());
}

#[test]
fn masks_do_not_tell_the_length_and_debug_shows_nothing() {
    let (short, long) = ("k".repeat(9), "l".repeat(90));
    let redactor = redactor(short.as_bytes());
    assert_eq!(
        redactor.mask(short.as_bytes()).text,
        Redactor::new([long.as_bytes()]).mask(long.as_bytes()).text
    );
    let mut stream = redactor.stream();
    let _ = stream.push(b"kkkk");
    let shown = format!("{redactor:?} {stream:?}");
    assert!(!shown.contains("kk") && !shown.contains("107"), "{shown}");
}

#[test]
fn text_that_holds_no_value_is_borrowed_and_the_same() {
    let values: Vec<String> = (0..1000).map(|_| crate::random::hex(16)).collect();
    let redactor = Arc::new(Redactor::new(values.iter().map(String::as_bytes)));
    let text = log(5, 1 << 20);
    assert!(matches!(redactor.mask(&text).text, std::borrow::Cow::Borrowed(_)));
    let mut stream = redactor.stream();
    let mut out: Vec<u8> = text.chunks(60_000).flat_map(|piece| stream.push(piece)).collect();
    out.extend(stream.finish());
    assert!(out == text && stream.count() == 0);
}

/// Lines as programs log them.
fn log(seed: u64, bytes: usize) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let mut out = Vec::with_capacity(bytes + 200);
    while out.len() < bytes {
        let (a, b, c) = (numbers.below(60), numbers.below(100_000), numbers.next());
        let level = ["INFO", "WARN", "ERROR", "DEBUG"][numbers.below(4)];
        writeln!(
            out,
            "2024-05-17T12:{a:02}:07.{b:05}Z {level} worker[{b}]: \x1b[32mGET\x1b[0m /v1/items/{c:016x}?page={a} 200 {b}us \"curl/8.{a}\""
        )
        .expect("memory");
    }
    out
}

#[test]
fn a_stream_gives_what_is_certain_at_once() {
    // No form begins with what this ends with; else the last byte could begin the next one.
    let value = format!("tok-{}~", crate::random::hex(8));
    let redactor = redactor(value.as_bytes());
    let mut stream = redactor.stream();
    assert_eq!(stream.push(b"one line\n"), b"one line\n");
    // The beginning of a value waits for its end, on the next line too.
    assert_eq!(stream.push(&value.as_bytes()[..6]), b"");
    assert_eq!(stream.push(b"\n"), b"");
    assert_eq!(stream.push(&value.as_bytes()[6..]), MARKER.as_bytes());
    assert_eq!(stream.push(b"\n"), b"\n");
    assert_eq!(stream.push(b"tok-"), b"");
    assert_eq!(stream.push(b"yo, no more\n"), b"tok-yo, no more\n");
    assert_eq!(stream.finish(), b"");
}

#[test]
fn a_stream_holds_a_bounded_part() {
    let value = format!("tok-{}", crate::random::hex(8));
    let redactor = redactor(value.as_bytes());
    for piece in [
        " ".repeat(4096),
        "\x1b[".repeat(2048),
        "tok-".repeat(1024),
        value.repeat(200),
        "\x1b]0;".repeat(1024),
        "-----BEGIN ".repeat(400),
    ] {
        let mut stream = redactor.stream();
        let mut out = 0;
        for _ in 0..200 {
            out += stream.push(piece.as_bytes()).len();
            assert!(stream.held() < 200_000, "{} of {:?}", stream.held(), &piece[..4]);
        }
        out += stream.finish().len();
        assert!(out > 0);
    }
}

#[test]
fn large_texts_are_those_of_their_pieces() {
    let values: Vec<String> = (0..20)
        .map(|number| format!("{}{number:02}", "tok-en_".repeat(number % 3)))
        .collect();
    let values: Vec<String> = values
        .iter()
        .map(|value| format!("{value}{}", crate::random::hex(8)))
        .collect();
    let redactor = Arc::new(Redactor::new(values.iter().map(String::as_bytes)));
    let mut numbers = Numbers::new(6);
    let mut text = log(7, (2 << 20) + 200_000);
    // Some of them where parts of the text meet.
    for (at, value) in values.iter().enumerate() {
        let place = ((at % 3) << 20) + numbers.below(80) * (1 << (at % 11));
        let spread: Vec<String> = value.chars().map(String::from).collect();
        let form = spread.join([" ", "\n", "\x1b[0m", "", ""][at % 5]);
        text.splice(place..place, format!("{form}\n").into_bytes());
    }
    let masked = redactor.mask(&text);
    assert!((15..=20).contains(&masked.count), "{}", masked.count);
    for bytes in [1 << 12, 100_000, 3 << 19] {
        let mut stream = redactor.stream();
        let mut out: Vec<u8> = text.chunks(bytes).flat_map(|piece| stream.push(piece)).collect();
        out.extend(stream.finish());
        assert!(
            out == *masked.text && stream.count() == masked.count,
            "pieces of {bytes}"
        );
    }
}

#[test]
fn shapes_and_names_are_masked_beside_known_values() {
    let (known, shaped, named) = (crate::random::hex(8), crate::random::hex(18), crate::random::hex(6));
    let token = ["gh", "p_", &shaped].concat();
    let text = format!("{known}\n{token}\npassword={named}\nAuthorization: Bearer {known}{named}\n");
    let redactor = redactor(known.as_bytes());
    let masked = redactor.mask_text(&text);
    assert_eq!(
        masked.text,
        format!("{MARKER}\n{MARKER}\npassword={MARKER}\nAuthorization: Bearer {MARKER}\n")
    );
    assert_eq!(masked.count, 4);
    // Masked text is masked already, whole and in pieces.
    for text in [&*masked.text, &text] {
        for bytes in 1..text.len() {
            let mut stream = redactor.stream();
            let mut out: Vec<u8> = text
                .as_bytes()
                .chunks(bytes)
                .flat_map(|piece| stream.push(piece))
                .collect();
            out.extend(stream.finish());
            assert_eq!(String::from_utf8_lossy(&out), masked.text, "pieces of {bytes}");
        }
    }
    assert_eq!(redactor.mask_text(&masked.text).count, 0);
}
