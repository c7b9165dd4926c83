//! What the verbs show of files that hold a secret, and what they do to them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhocap_core::capability::{Capability, CapabilitySpec};
use rhocap_core::outcome::{Call, Code};
use rhocap_core::redact::MARKER;
use rhocap_core::resolve::Use;
use rhocap_core::secret::{source, Secret, SourceKind};
use rhocap_core::verb::{
    self, Caller, Edited, Expected, Principal, ReadLimit, ReadPart, Request, Target, Text, Value, Written,
};

/// Random hexadecimal digits, two for each of so many bytes.
fn digits<const BYTES: usize>() -> String {
    let mut random = [0_u8; BYTES];
    getrandom::fill(&mut random).unwrap();
    random.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// A directory, a capability that writes in it, and a secret with characters that are escaped in many ways.
struct Stage {
    directory: tempfile::TempDir,
    capability: Arc<Capability>,
    value: String,
    _secret: Secret,
}

impl Stage {
    fn new() -> Self {
        let digits = digits::<12>();
        let value = format!("s3{digits}-Tok3n\\val+ue\"&1");
        let secret = source::given(value.as_bytes(), SourceKind::Literal, "").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().as_os_str().as_bytes().to_vec();
        let spec = CapabilitySpec {
            write: vec![root.clone()],
            ..CapabilitySpec::new(root)
        };
        Self {
            capability: Capability::new(spec).unwrap(),
            directory,
            value,
            _secret: secret,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text.replace("SECRET", &self.value)).unwrap();
    }

    fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name))
            .unwrap()
            .replace(&self.value, "SECRET")
    }

    /// Runs a request; neither its outcome nor its receipt may hold the value.
    fn run(&self, request: Request<'_>) -> Call<Value> {
        let caller = Caller {
            tool: "test".to_owned(),
            principal: Principal::Model,
        };
        let call = verb::run(&self.capability, request, caller, Use::Best);
        let part = &self.value[..26];
        assert!(!format!("{:?}", call.outcome).contains(part), "{:?}", call.outcome);
        assert!(!call.receipt.json.contains(part), "{}", call.receipt.json);
        call
    }

    fn read(&self, name: &str, skip: u64, limit: u64) -> Text {
        let part = ReadPart {
            lines: None,
            skip,
            limit: ReadLimit::Bytes(limit),
        };
        let target = Target::Path(name.as_bytes().to_vec());
        match self.run(Request::Read { target, part }).outcome {
            Ok(Value::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, name: &str, content: &str, append: bool) -> Result<Written, Code> {
        self.write_if(name, content, append, None)
    }

    fn write_if(&self, name: &str, content: &str, append: bool, expected: Option<Expected>) -> Result<Written, Code> {
        let content = content.replace("SECRET", &self.value);
        let request = Request::Write {
            target: Target::Path(name.as_bytes().to_vec()),
            content: Cow::Owned(content.into_bytes()),
            append,
            create_parents: false,
            expected,
        };
        match self.run(request).outcome {
            Ok(Value::Written(written)) => Ok(written),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code),
        }
    }

    fn edit(&self, name: &str, old: &str, new: &str) -> Result<Edited, Code> {
        let request = Request::Edit {
            target: Target::Path(name.as_bytes().to_vec()),
            old: old.as_bytes().to_vec(),
            new: new.as_bytes().to_vec(),
            count: 1,
            expected: None,
        };
        match self.run(request).outcome {
            Ok(Value::Edited(edited)) => Ok(edited),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.code),
        }
    }
}

#[test]
fn a_text_is_masked_and_tells_neither_length_nor_version() {
    let stage = Stage::new();
    stage.put("a", "one\nkey SECRET end\nthree\n");
    let text = stage.read("a", 0, 1 << 20);
    assert_eq!(text.text, format!("one\nkey {MARKER} end\nthree\n"));
    assert_eq!((text.masked, text.lines, text.total_lines), (1, 3, 3));
    assert_eq!(text.bytes, text.text.len() as u64);
    assert_eq!(text.total_bytes, text.bytes);
    assert_eq!(text.version, "");
    stage.put("b", "one\ntwo\n");
    let plain = stage.read("b", 0, 1 << 20);
    assert_eq!((plain.masked, plain.version.len()), (0, 32));
}

#[test]
fn no_page_shows_a_fragment() {
    let stage = Stage::new();
    stage.put("a", "before SECRET after\n");
    let whole = stage.read("a", 0, 1 << 20).text;
    for start in 0..whole.len() as u64 {
        for limit in [1, 3, 4, 7, 50] {
            let page = stage.read("a", start, limit).text;
            assert!(whole.contains(&page), "{page}");
            for at in 0..stage.value.len() - 4 {
                let fragment = &stage.value[at..at + 4];
                assert!(whole.contains(fragment) || !page.contains(fragment), "{page}");
            }
        }
    }
}

#[test]
fn receipts_of_a_secret_hold_nothing_to_test_guesses_against() {
    let stage = Stage::new();
    stage.put("secret", "SECRET");
    stage.put("plain", "nothing");
    for (name, told) in [("secret", false), ("plain", true)] {
        let part = ReadPart {
            lines: None,
            skip: 0,
            limit: ReadLimit::Default,
        };
        let target = Target::Path(name.as_bytes().to_vec());
        let call = stage.run(Request::Read { target, part });
        let receipt: serde_json::Value = serde_json::from_str(&call.receipt.json).unwrap();
        assert_eq!(receipt["version_before"].is_string(), told, "{receipt}");
        assert_eq!(receipt["masked"], u64::from(!told), "{receipt}");
    }
    // Also where it is overwritten, and where it is written.
    for (content, before, after) in [("other", false, true), ("SECRET", true, false), ("x", false, true)] {
        let request = Request::Write {
            target: Target::Path(b"secret".to_vec()),
            content: Cow::Owned(content.replace("SECRET", &stage.value).into_bytes()),
            append: false,
            create_parents: false,
            expected: None,
        };
        let call = stage.run(request);
        let receipt: serde_json::Value = serde_json::from_str(&call.receipt.json).unwrap();
        assert_eq!(receipt["version_before"].is_string(), before, "{content}: {receipt}");
        assert_eq!(receipt["version_after"].is_string(), after, "{content}: {receipt}");
    }
}

#[test]
fn a_masked_text_is_not_written_back() {
    let stage = Stage::new();
    stage.put("a", "key SECRET\n");
    let masked = stage.read("a", 0, 1 << 20).text;
    for append in [false, true] {
        assert_eq!(stage.write("a", &masked, append).unwrap_err(), Code::RedactedContent);
    }
    assert_eq!(stage.edit("a", "key", MARKER).unwrap_err(), Code::RedactedContent);
    assert_eq!(stage.edit("a", &masked, "other").unwrap_err(), Code::RedactedContent);
    assert_eq!(stage.get("a"), "key SECRET\n");
    // Beside it everything can be changed.
    let edited = stage.edit("a", "key", "the key").unwrap();
    assert_eq!(stage.get("a"), "the key SECRET\n");
    assert!(
        edited.diff.contains(&format!("-key {MARKER}\n+the key {MARKER}\n")),
        "{}",
        edited.diff
    );
    assert_eq!(edited.version, "");
    assert_eq!(edited.bytes, format!("the key {MARKER}\n").len() as u64);
    let written = stage.write("a", "more\n", true).unwrap();
    assert_eq!(stage.get("a"), "the key SECRET\nmore\n");
    assert_eq!(written.bytes, format!("the key {MARKER}\nmore\n").len() as u64);
    assert_eq!(stage.write("b", "SECRET", false).unwrap().version, "");
}

#[test]
fn an_edit_is_no_search_in_what_is_masked() {
    let stage = Stage::new();
    stage.put("a", "key SECRET\n");
    let absent = stage.edit("a", "not there", "x").unwrap_err();
    assert_eq!(absent, Code::CountMismatch);
    for length in 1..stage.value.len() {
        let prefix = &stage.value[..length];
        if "key \n".contains(prefix) {
            continue;
        }
        assert_eq!(stage.edit("a", prefix, "x").unwrap_err(), absent, "{length}");
        let suffix = &stage.value[length..];
        assert_eq!(stage.edit("a", suffix, "x").unwrap_err(), absent, "{length}");
    }
    assert_eq!(
        stage.edit("a", &format!("key {}", &stage.value[..1]), "x").unwrap_err(),
        absent
    );
    assert_eq!(stage.get("a"), "key SECRET\n");
}

/// A value of 4 to 7 bytes is masked where it stands alone. Text beside it must not make a longer word of it.
#[test]
fn no_change_brings_out_what_is_masked() {
    let stage = Stage::new();
    let short = digits::<3>();
    let _short = source::given(short.as_bytes(), SourceKind::Literal, "").unwrap();
    let text = format!("pin {short}");
    std::fs::write(stage.path("a"), &text).unwrap();
    assert_eq!(stage.read("a", 0, 1 << 20).text, format!("pin {MARKER}"));
    assert_eq!(stage.write("a", "x", true).unwrap_err(), Code::RedactedContent);
    assert_eq!(stage.edit("a", "pin ", "pin").unwrap_err(), Code::RedactedContent);
    assert_eq!(std::fs::read_to_string(stage.path("a")).unwrap(), text);
    stage.write("a", "\nnext", true).unwrap();
    stage.edit("a", "pin ", "PIN: ").unwrap();
    assert_eq!(
        std::fs::read_to_string(stage.path("a")).unwrap(),
        format!("PIN: {short}\nnext")
    );
}

#[test]
fn names_are_masked_wherever_they_are_told() {
    let stage = Stage::new();
    let name = format!("dir-{}", stage.value);
    std::fs::create_dir(stage.path(&name)).unwrap();
    std::fs::write(stage.path(&name).join("file"), "x").unwrap();
    let target = || Target::Path(b".".to_vec());
    let call = stage.run(Request::List {
        target: target(),
        recursive: true,
    });
    let Ok(Value::Listing(listing)) = call.outcome else {
        panic!("{:?}", call.outcome)
    };
    let names: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| String::from_utf8_lossy(&entry.path))
        .collect();
    assert_eq!(names, [format!("dir-{MARKER}"), format!("dir-{MARKER}/file")]);
    // Refusals and results tell no more; `run()` looks.
    let named = |name: &str| Target::Path(name.as_bytes().to_vec());
    stage.run(Request::Remove { target: named(&name) });
    let missing = stage.run(Request::Remove {
        target: named(&format!("{name}/missing")),
    });
    assert!(missing.outcome.unwrap_err().message.contains(MARKER));
    stage.run(Request::Move {
        from: named(&format!("{name}/file")),
        to: format!("{name}/other").into_bytes(),
        overwrite: false,
    });
    assert!(Path::new(&stage.path(&name)).join("other").exists());
    stage.run(Request::Remove {
        target: named(&format!("{name}/other")),
    });
    assert!(!Path::new(&stage.path(&name)).join("other").exists());
    assert_eq!(
        stage
            .write_if("absent", "x", false, Some(Expected::Version("0".repeat(32))))
            .unwrap_err(),
        Code::LostUpdate
    );
}
