//! Images without symbols.

use std::fs;
use std::path::Path;

use super::cli::{check_refused, file, hello, lanigon, text};

#[test]
fn images_without_symbols_are_described_and_run() {
    let stripped = file("stripped.bin", &[]).display().to_string();
    let image = hello().display().to_string();
    let written = lanigon(&["image", &image, "--linux-form", &stripped]);
    assert_eq!(written.status.code(), Some(0));
    let bare = text(&lanigon(&["image", &stripped]).stdout);
    let named = text(&lanigon(&["image", &stripped, "--symbols", &image]).stdout);
    for shown in [&bare, &named] {
        assert!(shown.contains("  Linux form, version "), "{shown}");
    }
    assert!(bare.contains("instruction set: not checked"), "{bare}");
    assert!(named.contains("instruction set: ok"), "{named}");
    assert!(named.contains("\"hello at {} us\""), "{named}");
    let run = lanigon(&["exec", "-v", &stripped, "--symbols", "hello"]);
    let trace = text(&run.stderr);
    assert!(trace.contains("cpu_a     log: hello at "), "{trace}");
    let other = "--symbols timer-tick";
    check_refused(
        &format!("image {stripped} {other}"),
        "it is for other code: at 0x",
    );
    check_refused(
        &format!("exec --load 0={stripped} --pc 0 {other}"),
        "--symbols",
    );
}

/// Places in headers.
const SECTIONS_AT: usize = 32;
const SECTION_COUNTS: usize = 48;
const HEADER_BYTES: usize = 40;
const ALLOCATED: u32 = 2;

/// An image with the headers of loaded sections only, and a link to a file with a checksum.
fn linked(elf: &[u8], name: &str, crc: u32) -> Vec<u8> {
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().unwrap());
    let half = |at: usize| usize::from(u16::from_be_bytes(*elf[at..].first_chunk().unwrap()));
    let table = &elf[word(elf, SECTIONS_AT) as usize..];
    let headers: Vec<_> = table
        .chunks(HEADER_BYTES)
        .take(half(SECTION_COUNTS))
        .collect();
    let texts = headers[half(SECTION_COUNTS + 2)];
    let (at, length) = (word(texts, 16) as usize, word(texts, 20) as usize);
    let mut names = elf[at..at + length].to_vec();
    let link_name = names.len() as u32;
    names.extend(b".gnu_debuglink\0");
    let mut link = name.as_bytes().to_vec();
    link.resize((link.len() + 1).next_multiple_of(4), 0);
    link.extend(crc.to_be_bytes());
    let mut file = elf.to_vec();
    let mut kept = headers[0].to_vec();
    kept.extend(
        headers
            .iter()
            .filter(|header| word(header, 8) & ALLOCATED != 0)
            .flat_map(|header| *header),
    );
    for (name, kind, content) in [(link_name, 1, link), (word(texts, 0), 3, names)] {
        let fields = [
            name,
            kind,
            0,
            0,
            file.len() as u32,
            content.len() as u32,
            0,
            0,
            1,
            0,
        ];
        kept.extend(fields.into_iter().flat_map(u32::to_be_bytes));
        file.extend(content);
    }
    let count = (kept.len() / HEADER_BYTES) as u16;
    let begin = (file.len() as u32).to_be_bytes();
    file[SECTIONS_AT..SECTIONS_AT + 4].copy_from_slice(&begin);
    file[SECTION_COUNTS..SECTION_COUNTS + 2].copy_from_slice(&count.to_be_bytes());
    file[SECTION_COUNTS + 2..SECTION_COUNTS + 4].copy_from_slice(&(count - 1).to_be_bytes());
    file.extend(kept);
    file
}

#[test]
fn a_debug_link_is_followed_beside_the_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linked/.debug");
    fs::create_dir_all(folder).unwrap();
    let elf = fs::read(hello()).unwrap();
    let crc = crc32fast::hash(&elf);
    let path = |name: &str, content: &[u8]| file(name, content).display().to_string();
    let debug = path("linked/hello.debug", &elf);
    let good = path("linked/hello", &linked(&elf, "hello.debug", crc));
    let wrong = path("linked/wrong", &linked(&elf, "hello.debug", crc ^ 1));
    let missing = path("linked/missing", &linked(&elf, "none.debug", crc));
    let hidden = path("linked/hidden", &linked(&elf, "hidden.debug", crc));
    let beside = path("linked/.debug/hidden.debug", &elf);
    let check = |image: &str, from: Option<&str>, warning: &str| {
        let output = lanigon(&["image", image]);
        let (shown, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{errors}");
        let names = from.map(|from| format!("  names and lines of {from}\n"));
        assert_eq!(
            shown.contains("\"hello at {} us\""),
            from.is_some(),
            "{shown}"
        );
        assert!(shown.contains(&names.unwrap_or_default()), "{shown}");
        assert!(errors.contains(warning), "{errors}");
        assert_eq!(errors.is_empty(), warning.is_empty(), "{errors}");
    };
    check(&good, Some(&debug), "");
    check(&hidden, Some(&beside), "");
    check(
        &wrong,
        None,
        "hello.debug has another checksum than it names",
    );
    check(&missing, None, "none.debug is not beside it");
    let named = lanigon(&["image", &wrong, "--symbols", &debug]);
    assert!(named.stderr.is_empty(), "{}", text(&named.stderr));
    assert!(text(&named.stdout).contains("\"hello at {} us\""));
}
