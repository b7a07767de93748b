//! Images without symbols.

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
