//! Files of `NAME=value` lines, as `.Renviron` and `.env`.
//!
//! The last line of a name counts, as for both. `export ` may stand before a name. A value ends with its line, or is in
//! quotes and may then have several; in double quotes a backslash stands before a quote, a backslash, `n`, `r` or `t`.
//! After a value without quotes white space and ` #` with a comment are left out. Nothing is expanded: in both
//! `${OTHER}` can stand for something else, here it is what it says.

use super::super::Wiped;

/// The value of a name, if the text has it.
pub fn value(text: &[u8], name: &str) -> Result<Option<Wiped>, &'static str> {
    let mut found = None;
    let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    while !rest.is_empty() {
        let line = first_line(rest);
        let after = &rest[(line.len() + 1).min(rest.len())..];
        let mut head = line.trim_ascii();
        if let Some(more) = head
            .strip_prefix(b"export")
            .filter(|more| more.first().is_some_and(u8::is_ascii_whitespace))
        {
            head = more.trim_ascii_start();
        }
        let equals = head.iter().position(|byte| *byte == b'=');
        let Some(equals) = equals.filter(|_| !head.starts_with(b"#")) else {
            rest = after;
            continue;
        };
        let (given, raw) = (head[..equals].trim_ascii_end(), head[equals + 1..].trim_ascii_start());
        let Some(quote) = raw.first().copied().filter(|byte| matches!(byte, b'"' | b'\'')) else {
            if given == name.as_bytes() {
                found = Some(Wiped::copy_of(without_comment(raw)));
            }
            rest = after;
            continue;
        };
        // From the quote on in the whole text, because a quoted value may go on in the next line.
        let start = raw.as_ptr() as usize - rest.as_ptr() as usize;
        let (unquoted, used) = quoted(&rest[start + 1..], quote)?;
        if given == name.as_bytes() {
            found = Some(unquoted);
        }
        let tail = &rest[start + 1 + used..];
        let end = first_line(tail).len();
        rest = &tail[(end + 1).min(tail.len())..];
    }
    Ok(found)
}

fn first_line(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    &text[..end]
}

fn without_comment(raw: &[u8]) -> &[u8] {
    let starts = |pair: &[u8]| pair[0].is_ascii_whitespace() && pair[1] == b'#';
    let end = raw.windows(2).position(starts).unwrap_or(raw.len());
    raw[..end].trim_ascii_end()
}

/// The value up to the closing quote, and how much of the text it took with that quote.
fn quoted(text: &[u8], quote: u8) -> Result<(Wiped, usize), &'static str> {
    let mut value = Wiped::with_room(text.len());
    let mut index = 0;
    while let Some(byte) = text.get(index).copied() {
        index += 1;
        let byte = match byte {
            end if end == quote => return Ok((value, index)),
            b'\\' if quote == b'"' => {
                let escaped = text.get(index).copied();
                let stands = match escaped {
                    Some(b'n') => Some(b'\n'),
                    Some(b'r') => Some(b'\r'),
                    Some(b't') => Some(b'\t'),
                    Some(other @ (b'"' | b'\\' | b'$' | b'`')) => Some(other),
                    _ => None,
                };
                index += usize::from(stands.is_some());
                stands.unwrap_or(b'\\')
            }
            other => other,
        };
        value.push(&[byte]);
    }
    Err("a quote is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries() {
        let text = b"# comment KEY=no\nKEY=old\n\nexport KEY = new # why\nHASH=a#b\r\nS='it is $X \\n'\nD=\"a\\\"b\\\\c\\nd\" # x\n\
                     M=\"one\nKEY=inside\ntwo\"\nE=\nexported=1\nLAST=end";
        let get = |name| {
            value(text, name)
                .unwrap()
                .map(|value| String::from_utf8(value.as_slice().to_vec()).unwrap())
        };
        for (name, wanted) in [
            ("KEY", Some("new")),
            ("HASH", Some("a#b")),
            ("S", Some("it is $X \\n")),
            ("D", Some("a\"b\\c\nd")),
            ("M", Some("one\nKEY=inside\ntwo")),
            ("E", Some("")),
            ("exported", Some("1")),
            ("LAST", Some("end")),
            ("EY", None),
            ("", None),
        ] {
            assert_eq!(get(name).as_deref(), wanted, "{name}");
        }
        assert!(value(b"A='x", "B").is_err());
    }
}
