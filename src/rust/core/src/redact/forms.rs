//! The ways in which a known value is written by the programs that print it.
//!
//! Each way is one more byte string to look for. Styles of escaping differ in single characters only, so most
//! values give the same string in most of them, and it is kept once.

use std::fmt::Write as _;

use secrecy::zeroize::Zeroizing;

use super::squeeze;

/// Bytes of a value or of one of its forms, wiped when dropped.
pub(super) type Pattern = Zeroizing<Vec<u8>>;

/// Values below this many bytes are too likely to stand in ordinary text.
pub(super) const LEAST: usize = 4;
/// From this many bytes on a value is looked for in all forms, below it only as a whole word.
pub(super) const LEAST_FORMS: usize = 8;
/// Longer forms are looked for in pieces of this size, so that a stream keeps a bounded part of its text.
pub(super) const PIECE: usize = 4096;

/// What is looked for.
#[derive(Default)]
pub(super) struct Forms {
    /// In the text: at least [`LEAST_FORMS`] bytes and at most [`PIECE`]; sorted, each once.
    pub(super) anywhere: Vec<Pattern>,
    /// The same in the squeezed text.
    pub(super) squeezed: Vec<Pattern>,
    /// Shorter values, between word bounds only; sorted, each once.
    pub(super) words: Vec<Pattern>,
}

impl Forms {
    pub(super) fn of<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut forms = Self::default();
        for value in values {
            match value.len() {
                0..LEAST => {}
                LEAST..LEAST_FORMS => forms.words.push(Zeroizing::new(value.to_vec())),
                _ => {
                    let mut set = OneValue::new(value.len());
                    set.all(value);
                    forms.anywhere.append(&mut set.forms);
                    forms.squeezed.append(&mut set.squeezed);
                }
            }
        }
        for patterns in [&mut forms.anywhere, &mut forms.squeezed, &mut forms.words] {
            patterns.sort_unstable_by(|one, other| one.as_slice().cmp(other));
            patterns.dedup();
        }
        forms
    }
}

#[derive(Clone, Copy)]
enum Radix {
    Hexadecimal,
    Octal,
    Decimal,
    PaddedDecimal,
}

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Lower,
    Upper,
}

const CASES: [Case; 2] = [Case::Lower, Case::Upper];

/// A character of the value, or a byte that is none.
#[derive(Clone, Copy)]
enum Unit {
    Char(char),
    Byte(u8),
}

impl Unit {
    /// The character when it is ASCII.
    fn ascii(self) -> Option<u8> {
        match self {
            Unit::Char(character) if character.is_ascii() => Some(character as u8),
            _ => None,
        }
    }
}

/// The forms of one value; each is written to `scratch` first, which never grows and so leaves no copies behind.
struct OneValue {
    forms: Vec<Pattern>,
    squeezed: Vec<Pattern>,
    scratch: Pattern,
}

impl OneValue {
    fn new(longest: usize) -> Self {
        // The longest form of one byte has ten: an apostrophe that went through HTML twice.
        Self {
            forms: Vec::new(),
            squeezed: Vec::new(),
            scratch: Zeroizing::new(Vec::with_capacity(longest * 12 + 16)),
        }
    }

    /// Keeps what stands in `scratch`.
    fn keep(&mut self) {
        let form = std::mem::take(&mut self.scratch);
        self.add(&form);
        self.scratch = form;
        self.scratch.clear();
    }

    /// The same for a form that programs write with white space, commas or quotation marks within.
    fn keep_spread(&mut self) {
        let form = std::mem::take(&mut self.scratch);
        add_pieces(&mut self.squeezed, &squeeze::bytes(&form));
        self.scratch = form;
        self.scratch.clear();
    }

    fn add(&mut self, form: &[u8]) {
        add_pieces(&mut self.forms, form);
        add_pieces(&mut self.squeezed, &squeeze::bytes(form));
    }

    /// One form, made by writing each unit of `value` by itself.
    fn each(&mut self, value: &[u8], write: impl Fn(Unit, &mut Vec<u8>)) {
        self.write_units(value, write);
        self.keep();
    }

    fn write_units(&mut self, value: &[u8], write: impl Fn(Unit, &mut Vec<u8>)) {
        for chunk in value.utf8_chunks() {
            for character in chunk.valid().chars() {
                write(Unit::Char(character), &mut self.scratch);
            }
            for &byte in chunk.invalid() {
                write(Unit::Byte(byte), &mut self.scratch);
            }
        }
    }

    /// One form, made of the bytes of `value`.
    fn bytes(&mut self, value: &[u8], write: impl Fn(u8, &mut Vec<u8>)) {
        self.write_bytes(value, write);
        self.keep();
    }

    fn write_bytes(&mut self, value: &[u8], write: impl Fn(u8, &mut Vec<u8>)) {
        for &byte in value {
            write(byte, &mut self.scratch);
        }
    }

    fn all(&mut self, value: &[u8]) {
        self.text(value);
        self.base64(value);
        self.digits(value);
        self.utf16(value);
        self.latin1(value);
        self.other_case(value);
        self.quoted_printable(value);
        // A value of several lines is shown with other indents and line endings, or in part.
        for line in value.split(|&byte| byte == b'\n' || byte == b'\r') {
            let line = line.trim_ascii();
            if line.len() < value.len() && tells(line) {
                self.text(line);
            }
        }
    }

    /// The forms in which ordinary characters stand for themselves.
    fn text(&mut self, value: &[u8]) {
        if value.len() < LEAST_FORMS {
            return;
        }
        self.add(value);
        self.percent(value);
        self.json(value);
        self.html(value);
        self.shell(value);
        self.code(value);
        let shown = Zeroizing::new(crate::escape::exact(value).into_bytes());
        self.add(&shown);
    }

    /// In the three places where the value can stand in what was encoded, without the characters that depend on
    /// what stands next to it.
    fn base64(&mut self, value: &[u8]) {
        const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        for alphabet in [STANDARD, URL] {
            for before in 0..3_usize {
                // Bits of the value that belong to the character its first byte shares with the neighbour.
                let skipped = [0, 4, 2][before];
                let bits = value.len() * 8 - skipped;
                // With the character that the last byte shares too, as it is at the end, and before a line end.
                for characters in [bits / 6, bits.div_ceil(6)] {
                    for index in 0..characters {
                        let bit = skipped + index * 6;
                        let (byte, shift) = (bit / 8, bit % 8);
                        let pair = u16::from(value[byte]) << 8 | u16::from(value.get(byte + 1).copied().unwrap_or(0));
                        self.scratch.push(alphabet[usize::from(pair >> (10 - shift)) & 63]);
                    }
                    self.keep();
                }
            }
        }
    }

    /// Each byte as a number.
    fn digits(&mut self, value: &[u8]) {
        for case in CASES {
            self.bytes(value, |byte, out| hex(byte, case, out));
            for between in [b':', b'-'] {
                self.write_bytes(value, |byte, out| {
                    hex(byte, case, out);
                    out.push(between);
                });
                self.scratch.pop();
                self.keep();
            }
            for before in ["\\x", "%"] {
                self.bytes(value, |byte, out| {
                    out.extend_from_slice(before.as_bytes());
                    hex(byte, case, out);
                });
            }
            self.write_bytes(value, |byte, out| {
                out.extend_from_slice(b"0x");
                hex(byte, case, out);
            });
            self.keep_spread();
        }
        self.write_bytes(value, |byte, out| push(out, format_args!("0X{byte:02X}")));
        self.keep_spread();
        self.write_bytes(value, |byte, out| push(out, format_args!("\\x{{{byte:02x}}}")));
        self.keep_spread();
        self.write_bytes(value, |byte, out| push(out, format_args!("{byte}")));
        self.keep_spread();
        // Code points; as R deparses integers too.
        for after in ["", "L"] {
            self.write_units(value, |unit, out| {
                let code = match unit {
                    Unit::Char(character) => u32::from(character),
                    Unit::Byte(byte) => byte.into(),
                };
                push(out, format_args!("{code}{after}"));
            });
            if !after.is_empty() {
                self.scratch.pop();
            }
            self.keep_spread();
        }
        self.bytes(value, |byte, out| push(out, format_args!("\\{byte:03o}")));
        // Words of several bytes, the last one first, as od and hexdump write them. Where the value begins within a
        // word the others are not of it.
        for skipped in 0..4 {
            for word in value[skipped..].chunks_exact(4) {
                word.iter()
                    .rev()
                    .for_each(|&byte| hex(byte, Case::Lower, &mut self.scratch));
            }
            self.keep_spread();
        }
        for skipped in 0..2 {
            let words = value[skipped..]
                .chunks_exact(2)
                .map(|word| u16::from_le_bytes([word[0], word[1]]));
            for radix in [Radix::Hexadecimal, Radix::Octal, Radix::Decimal, Radix::PaddedDecimal] {
                for word in words.clone() {
                    let out = &mut self.scratch;
                    match radix {
                        Radix::Hexadecimal => push(out, format_args!("{word:04x}")),
                        Radix::Octal => push(out, format_args!("{word:06o}")),
                        Radix::Decimal => push(out, format_args!("{word}")),
                        Radix::PaddedDecimal => push(out, format_args!("{word:05}")),
                    }
                }
                self.keep_spread();
            }
        }
    }

    fn utf16(&mut self, value: &[u8]) {
        let Ok(value) = std::str::from_utf8(value) else { return };
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let mut wide = Zeroizing::new(Vec::with_capacity(value.len() * 2));
            for unit in value.encode_utf16() {
                wide.extend_from_slice(&order(unit));
            }
            // Of ASCII the other order is the same, but for a zero at the ends.
            if value.is_ascii() {
                wide.pop();
            }
            self.add(&wide);
            self.base64(&wide);
            self.bytes(&wide, |byte, out| hex(byte, Case::Lower, out));
            if value.is_ascii() {
                return;
            }
        }
    }

    /// In the encodings of one byte a character that agree on the letters of Western Europe.
    fn latin1(&mut self, value: &[u8]) {
        let Ok(value) = std::str::from_utf8(value) else { return };
        let latin1 = value.chars().map(|character| u8::try_from(u32::from(character)));
        let Ok(latin1) = latin1.collect::<Result<Vec<u8>, _>>().map(Zeroizing::new) else {
            return;
        };
        self.add(&latin1);
        // As R shows them where they are none of its characters.
        self.bytes(&latin1, |byte, out| match byte {
            0x80.. => push(out, format_args!("<{byte:02x}>")),
            _ => out.push(byte),
        });
    }

    /// As a name that is the same in capitals, of a value long enough to be known without them.
    fn other_case(&mut self, value: &[u8]) {
        if value.len() >= 2 * LEAST_FORMS {
            self.bytes(value, |byte, out| out.push(byte.to_ascii_lowercase()));
            self.bytes(value, |byte, out| out.push(byte.to_ascii_uppercase()));
        }
    }

    /// As quoted-printable, but for its line ends.
    fn quoted_printable(&mut self, value: &[u8]) {
        self.bytes(value, |byte, out| {
            if byte == b'=' || !matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') {
                out.push(b'=');
                hex(byte, Case::Upper, out);
            } else {
                out.push(byte);
            }
        });
    }

    fn percent(&mut self, value: &[u8]) {
        // What is left as it is: by RFC 3986; Python's quote(); encodeURIComponent(); encodeURI();
        // R's URLencode(); WHATWG forms; nothing but letters and digits.
        const KEPT: [&[u8]; 7] = [
            b"-._~",
            b"-._~/",
            b"-._~!'()*",
            b"-._~!'()*;/?:@&=+$,#",
            b"-._~!'()*;/?:@&=+$,#[]",
            b"*-._",
            b"",
        ];
        for case in CASES {
            for kept in KEPT {
                for plus in [false, true] {
                    self.bytes(value, |byte, out| match byte {
                        b' ' if plus => out.push(b'+'),
                        _ if byte.is_ascii_alphanumeric() || kept.contains(&byte) => out.push(byte),
                        _ => {
                            out.push(b'%');
                            hex(byte, case, out);
                        }
                    });
                }
            }
            self.bytes(value, |byte, out| {
                if byte.is_ascii_alphanumeric() || KEPT[0].contains(&byte) {
                    out.push(byte);
                } else {
                    out.extend_from_slice(b"%25");
                    hex(byte, case, out);
                }
            });
        }
    }

    fn json(&mut self, value: &[u8]) {
        // What is escaped though it need not be: nothing; Go; Ruby on Rails and PHP; .NET.
        const MORE: [&[u8]; 4] = [b"", b"<>&", b"<>&'", b"\"'&+<>`"];
        for slash in [false, true] {
            for wide in [None, Some(Case::Lower), Some(Case::Upper)] {
                for more in MORE {
                    for twice in [false, true] {
                        let escape = |unit: Unit, out: &mut Vec<u8>| json_unit(unit, slash, wide, more, out);
                        self.each(value, |unit, out| {
                            if twice {
                                again(unit, escape, out);
                            } else {
                                escape(unit, out);
                            }
                        });
                    }
                }
            }
        }
        for case in CASES {
            self.each(value, |unit, out| match unit {
                Unit::Char(character) => unicode_escape(character, case, out),
                Unit::Byte(byte) => out.push(byte),
            });
        }
    }

    fn html(&mut self, value: &[u8]) {
        // Quotation mark, apostrophe, and what else is escaped beside `&`, `<` and `>`.
        type Style = (&'static str, &'static str, &'static [(u8, &'static str)]);
        const STYLES: [Style; 10] = [
            ("\"", "'", &[]),
            ("&quot;", "'", &[]),
            ("&quot;", "&#x27;", &[]),
            ("&quot;", "&#39;", &[]),
            ("&quot;", "&#039;", &[]),
            ("&quot;", "&apos;", &[]),
            ("&#34;", "&#39;", &[]),
            ("&#34;", "&#39;", &[(b'+', "&#43;")]),
            (
                "&quot;",
                "&#39;",
                &[(b'/', "&#x2F;"), (b'`', "&#x60;"), (b'=', "&#x3D;")],
            ),
            ("&quot;", "&#x27;", &[(b'/', "&#x2F;"), (b'`', "&#x60;")]),
        ];
        for (quote, apostrophe, more) in STYLES {
            let named = |byte: u8| match byte {
                b'&' => Some("&amp;"),
                b'<' => Some("&lt;"),
                b'>' => Some("&gt;"),
                b'"' => Some(quote),
                b'\'' => Some(apostrophe),
                _ => more.iter().find(|(other, _)| *other == byte).map(|(_, entity)| *entity),
            };
            for wide in [None, Some(None), Some(Some(Case::Lower)), Some(Some(Case::Upper))] {
                self.each(value, |unit, out| match (unit.ascii().and_then(named), wide) {
                    (Some(entity), _) => out.extend_from_slice(entity.as_bytes()),
                    (None, Some(number)) if unit.ascii().is_none() => html_number(unit, number, out),
                    (None, _) => plain(unit, out),
                });
            }
            self.each(value, |unit, out| match unit.ascii().and_then(named) {
                Some(entity) => {
                    for byte in entity.bytes() {
                        if byte == b'&' {
                            out.extend_from_slice(b"&amp;");
                        } else {
                            out.push(byte);
                        }
                    }
                }
                None => plain(unit, out),
            });
        }
        for number in [None, Some(Case::Lower), Some(Case::Upper)] {
            self.each(value, |unit, out| html_number(unit, number, out));
            // Without escaping, in a text whose encoding lacks the character.
            self.each(value, |unit, out| match unit {
                Unit::Char(character) if !character.is_ascii() => html_number(unit, number, out),
                _ => plain(unit, out),
            });
        }
    }

    fn shell(&mut self, value: &[u8]) {
        for apostrophe in ["'\\''", "'\"'\"'"] {
            self.each(value, |unit, out| match unit.ascii() {
                Some(b'\'') => out.extend_from_slice(apostrophe.as_bytes()),
                _ => plain(unit, out),
            });
        }
        // In double quotes; unquoted as bash, as zsh and as Python's and R's own functions do it.
        for special in [
            &b"$`\"\\"[..],
            b"$`\"\\!",
            b" \t!\"$&'()*,;<>?[\\]^`{|}",
            b" \t!\"#$&'()*;<=>?[\\]^`{|}~",
            b" \t!\"$&'()*;<>?[\\]^`{|}~",
        ] {
            self.each(value, |unit, out| {
                if unit.ascii().is_some_and(|byte| special.contains(&byte)) {
                    out.push(b'\\');
                }
                plain(unit, out);
            });
        }
        // $'...'
        for wide in [false, true] {
            self.each(value, |unit, out| match unit.ascii() {
                Some(0x1b) => out.extend_from_slice(b"\\E"),
                Some(b'\'') => out.extend_from_slice(b"\\'"),
                Some(byte) => c_unit(byte, b"", out),
                None if wide => octal(unit, out),
                None => plain(unit, out),
            });
        }
        // As ls and coreutils' printf do it: what cannot be shown stands in a $'...' of its own.
        for wide in [false, true] {
            let mut escaped = false;
            let chunks = value.utf8_chunks();
            for unit in chunks.flat_map(|chunk| {
                chunk
                    .valid()
                    .chars()
                    .map(Unit::Char)
                    .chain(chunk.invalid().iter().map(|&byte| Unit::Byte(byte)))
            }) {
                let escape = match unit {
                    Unit::Char(character) if character.is_ascii() => character.is_ascii_control(),
                    Unit::Char(_) => wide,
                    Unit::Byte(_) => true,
                };
                if escape != escaped {
                    self.scratch.extend_from_slice(if escape { b"'$'" } else { b"''" });
                    escaped = escape;
                }
                match unit.ascii() {
                    Some(b'\'') => self.scratch.extend_from_slice(b"'\\''"),
                    Some(byte) if escape => c_unit(byte, b"", &mut self.scratch),
                    None if escape => octal(unit, &mut self.scratch),
                    _ => plain(unit, &mut self.scratch),
                }
            }
            self.keep();
        }
    }

    /// String literals of R, C, Python, Rust.
    fn code(&mut self, value: &[u8]) {
        for quotes in [&b"\""[..], b"'", b"", b"\"'"] {
            for wide in [
                Wide::Plain,
                Wide::Bytes,
                Wide::Octal,
                Wide::Code,
                Wide::Python,
                Wide::Angle,
                Wide::AngleBytes,
            ] {
                // Control characters in octal as R and C do it, in hexadecimal as Python does.
                for hexadecimal in [false, true] {
                    self.each(value, |unit, out| match unit.ascii() {
                        Some(byte) if hexadecimal && (byte < 0x20 || byte == 0x7f) && !b"\n\r\t".contains(&byte) => {
                            push(out, format_args!("\\x{byte:02x}"));
                        }
                        Some(byte) => c_unit(byte, quotes, out),
                        None => wide.write(unit, out),
                    });
                }
            }
        }
    }
}

/// What is done with what is not ASCII.
#[derive(Clone, Copy)]
enum Wide {
    Plain,
    /// `\xc3\xa9`
    Bytes,
    /// `\303\251`
    Octal,
    /// `\u00e9`, and `\U0001f600` as R writes it
    Code,
    /// `\xe9`, `\u20ac`, `\U0001f600`
    Python,
    /// `<U+00E9>`
    Angle,
    /// `<c3><a9>`, as R's `iconv(sub = "byte")` writes it
    AngleBytes,
}

impl Wide {
    fn write(self, unit: Unit, out: &mut Vec<u8>) {
        let code = match unit {
            Unit::Char(character) => u32::from(character),
            Unit::Byte(byte) => {
                return match self {
                    Wide::Plain => out.push(byte),
                    Wide::Octal => octal(unit, out),
                    Wide::Angle | Wide::AngleBytes => push(out, format_args!("<{byte:02x}>")),
                    Wide::Bytes | Wide::Code | Wide::Python => push(out, format_args!("\\x{byte:02x}")),
                }
            }
        };
        match self {
            Wide::Plain => plain(unit, out),
            Wide::Octal => octal(unit, out),
            Wide::Angle if code > 0xffff => push(out, format_args!("<U+{code:08X}>")),
            Wide::Angle => push(out, format_args!("<U+{code:04X}>")),
            Wide::Python if code < 0x100 => push(out, format_args!("\\x{code:02x}")),
            Wide::Code | Wide::Python if code < 0x1_0000 => push(out, format_args!("\\u{code:04x}")),
            Wide::Code | Wide::Python => push(out, format_args!("\\U{code:08x}")),
            Wide::Bytes => with_bytes(unit, |byte| push(out, format_args!("\\x{byte:02x}"))),
            Wide::AngleBytes => with_bytes(unit, |byte| push(out, format_args!("<{byte:02x}>"))),
        }
    }
}

/// Whether a line of a value is secret by itself, and not a setting, a heading or a word that stands in other texts
/// too: letters and digits follow each other in it, or it is base64.
fn tells(line: &[u8]) -> bool {
    const RUN: usize = 8;
    // The frame of a PEM block is the same in all of them.
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    let mixed = |run: &[u8]| run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic);
    let mut runs = line.split(|byte| !byte.is_ascii_alphanumeric());
    !line.starts_with(b"-----")
        && (runs.any(|run| run.len() >= RUN && mixed(run))
            || line.len() >= 2 * RUN && line.iter().all(base64) && mixed(line))
}

fn add_pieces(forms: &mut Vec<Pattern>, form: &[u8]) {
    let mut from = 0;
    while form.len() - from > PIECE {
        add_one(forms, &form[from..from + PIECE]);
        from += PIECE;
    }
    // The last piece is a whole one too, so that it says as much as the others.
    let from = if form.len() > PIECE { form.len() - PIECE } else { 0 };
    add_one(forms, &form[from..]);
}

fn add_one(forms: &mut Vec<Pattern>, form: &[u8]) {
    if form.len() >= LEAST_FORMS && !forms.iter().any(|known| known.as_slice() == form) {
        forms.push(Zeroizing::new(form.to_vec()));
    }
}

fn push(out: &mut Vec<u8>, arguments: std::fmt::Arguments) {
    struct Bytes<'a>(&'a mut Vec<u8>);
    impl std::fmt::Write for Bytes<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }
    let _ = Bytes(out).write_fmt(arguments);
}

fn hex(byte: u8, case: Case, out: &mut Vec<u8>) {
    match case {
        Case::Lower => push(out, format_args!("{byte:02x}")),
        Case::Upper => push(out, format_args!("{byte:02X}")),
    }
}

fn with_bytes(unit: Unit, mut each: impl FnMut(u8)) {
    match unit {
        Unit::Char(character) => character.encode_utf8(&mut [0; 4]).bytes().for_each(each),
        Unit::Byte(byte) => each(byte),
    }
}

fn plain(unit: Unit, out: &mut Vec<u8>) {
    with_bytes(unit, |byte| out.push(byte));
}

fn octal(unit: Unit, out: &mut Vec<u8>) {
    with_bytes(unit, |byte| push(out, format_args!("\\{byte:03o}")));
}

/// An ASCII character of a string literal.
fn c_unit(byte: u8, quotes: &[u8], out: &mut Vec<u8>) {
    let letter = match byte {
        0x07 => b'a',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        b'\\' => b'\\',
        _ if quotes.contains(&byte) => byte,
        0..0x20 | 0x7f => return push(out, format_args!("\\{byte:03o}")),
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

fn unicode_escape(character: char, case: Case, out: &mut Vec<u8>) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        match case {
            Case::Lower => push(out, format_args!("\\u{unit:04x}")),
            Case::Upper => push(out, format_args!("\\u{unit:04X}")),
        }
    }
}

fn json_unit(unit: Unit, slash: bool, wide: Option<Case>, more: &[u8], out: &mut Vec<u8>) {
    // .NET alone writes capitals here.
    let case = wide.unwrap_or(if more.contains(&b'+') { Case::Upper } else { Case::Lower });
    let letter = match unit {
        Unit::Byte(byte) => return out.push(byte),
        Unit::Char(character) if character.is_ascii() && more.contains(&(character as u8)) => {
            return unicode_escape(character, case, out);
        }
        Unit::Char('\x08') => b'b',
        Unit::Char('\t') => b't',
        Unit::Char('\n') => b'n',
        Unit::Char('\x0c') => b'f',
        Unit::Char('\r') => b'r',
        Unit::Char('"') => b'"',
        Unit::Char('\\') => b'\\',
        Unit::Char('/') if slash => b'/',
        Unit::Char(character) if character < ' ' || !character.is_ascii() && wide.is_some() => {
            return unicode_escape(character, case, out);
        }
        Unit::Char(_) => return plain(unit, out),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// What `escape` writes, as it looks in a JSON string within a JSON string.
fn again(unit: Unit, escape: impl Fn(Unit, &mut Vec<u8>), out: &mut Vec<u8>) {
    let mut once = Zeroizing::new(Vec::with_capacity(16));
    escape(unit, &mut once);
    for &byte in once.iter() {
        if byte == b'\\' || byte == b'"' {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

fn html_number(unit: Unit, hexadecimal: Option<Case>, out: &mut Vec<u8>) {
    let Unit::Char(character) = unit else {
        return plain(unit, out);
    };
    let code = u32::from(character);
    match hexadecimal {
        None => push(out, format_args!("&#{code};")),
        Some(Case::Lower) => push(out, format_args!("&#x{code:x};")),
        Some(Case::Upper) => push(out, format_args!("&#x{code:X};")),
    }
}
