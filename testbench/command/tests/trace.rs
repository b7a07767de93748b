//! `lanigon trace` for its users: recorded runs and their analysis.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::{pair, stream};

fn lanigon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env_remove("RUST_LOG");
    command.output().unwrap()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a command; returns its exit code and both outputs.
#[track_caller]
fn run(line: &str) -> (Option<i32>, String, String) {
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    let words = line.split_whitespace();
    let words: Vec<_> = words
        .map(|word| word.replace('{', &folder).replace('}', ""))
        .collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let output = lanigon(&words);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A run that loses a frame, recorded in both formats, and a run without a loss; created by the first test.
fn recorded() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let plain = pair(&stream(4, 3000));
        let lossy =
            plain.clone() + "[[fault]]\ndo = \"drop\"\nfragment = 1\nmessage = 2\nfrom = 0\n";
        std::fs::write(path("trace-plain.toml"), plain).unwrap();
        std::fs::write(path("trace-lossy.toml"), lossy).unwrap();
        for options in [
            "run {trace-plain.toml} --trace {plain.trace}",
            "run {trace-lossy.toml} --trace {lossy.trace}",
            "run {trace-lossy.toml} --trace {lossy.txt}",
            "run {trace-lossy.toml} --trace {details.trace} --details all",
        ] {
            let (code, _, error) = run(options);
            assert_eq!((code, error.as_str()), (Some(0), ""), "{options}");
        }
    });
}

#[test]
fn the_compact_form_shows_what_the_text_says() {
    recorded();
    let (code, shown, error) = run("trace show {lossy.trace}");
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(path("lossy.txt")).unwrap();
    assert_eq!(shown.lines().count(), text.lines().count());
    for (shown, line) in shown.lines().zip(text.lines()) {
        assert!(shown.starts_with(line), "{shown}");
    }
    let size = |name| std::fs::metadata(path(name)).unwrap().len();
    assert!(size("lossy.trace") < size("lossy.txt") / 3);
    let objects = run("trace show {lossy.trace} --json --probe retransmit").1;
    let object: serde_json::Value = serde_json::from_str(objects.lines().next().unwrap()).unwrap();
    assert_eq!(object["fields"]["name"], "retransmit");
    assert_eq!(object["by"], "cpu_a");
}

#[test]
fn filters_choose() {
    recorded();
    let lines = |options: &str| {
        let (code, shown, error) = run(&format!("trace show {{lossy.trace}} {options}"));
        assert_eq!((code, error.as_str()), (Some(0), ""), "{options}");
        shown
    };
    let lost = lines("--kind fault");
    assert_eq!(lost.matches("fault: lost").count(), 1);
    assert_eq!(lost.lines().count(), 1);
    assert_eq!(lines("--text fault:"), lost);
    assert_eq!(run("trace grep fault: {lossy.trace}").1, lost);
    assert_eq!(
        run("trace grep fault: {lossy.trace} -B 2 -A 1")
            .1
            .lines()
            .count(),
        4
    );
    assert_eq!(run("trace grep fault: {lossy.trace} --count").1, "1\n");
    let dma = lines("--block dma --node 1");
    assert!(dma.lines().all(|line| line.contains(" n1 dma_")) && !dma.is_empty());
    let message = lines("--message 0:1");
    assert!(message.contains("post transmit") && message.contains("receive complete"));
    let window = lines("--from +10us --until +30us");
    assert!(
        window
            .lines()
            .all(|line| line.trim_start().starts_with("200"))
            && !window.is_empty()
    );
    assert!(
        run("trace show {details.trace} --kind register-read")
            .1
            .contains("read 0x")
    );
}

#[test]
fn a_trigger_works_on_files_and_while_recording() {
    recorded();
    let shown =
        run("trace show {lossy.trace} --trigger probe=retransmit --before 300us --for 50us");
    assert_eq!((shown.0, shown.2.as_str()), (Some(0), ""));
    let retransmission = shown.1.lines().find(|line| line.contains("retransmit"));
    assert!(retransmission.is_some_and(|line| shown.1.lines().next() != Some(line)));
    let trigger = "--trace-trigger probe=retransmit --trace-before 300us --trace-for 50us";
    let (code, _, error) = run(&format!(
        "run {{trace-lossy.toml}} --trace {{window.trace}} {trigger}"
    ));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert_eq!(run("trace show {window.trace}").1, shown.1);
    // A trigger that never fires leaves an empty trace, with a warning.
    let never = "run {trace-plain.toml} --trace {never.trace} --trace-trigger probe=retransmit";
    let (code, _, error) = run(never);
    assert_eq!(code, Some(0));
    assert!(
        error.contains("no event is what the trigger waits for"),
        "{error}"
    );
}

#[test]
fn names_that_do_not_exist_are_refused_with_the_nearest() {
    recorded();
    for (options, reason) in [
        (
            "--probe retransmt",
            "no probe \"retransmt\" (did you mean retransmit?)",
        ),
        ("--kind frame-lst", "did you mean frame-lost"),
        ("--block dma_raed", "did you mean dma_read"),
        ("--node 2", "no node \"2\""),
        ("--symbol nothing_like_it", "no function"),
        ("--message 3", "expected SENDER:NUMBER"),
        ("--from soon", "is no time"),
        ("--trigger prob=x", "nothing to filter by"),
    ] {
        let (code, shown, error) = run(&format!("trace show {{lossy.trace}} {options}"));
        assert_eq!((code, shown.as_str()), (Some(2), ""), "{options}");
        assert!(error.contains(reason), "{error}");
    }
    let (code, shown, error) = run("trace show {plain.trace} --kind fault");
    assert_eq!((code, shown.as_str()), (Some(0), ""));
    assert!(error.contains("no event passes the filter"), "{error}");
    assert_eq!(run("trace grep nothing-like-it {plain.trace}").0, Some(1));
    assert_eq!(run("trace grep [ {plain.trace}").0, Some(2));
    assert_eq!(
        run("run {trace-plain.toml} --trace {x.trace} --details rings,rigns").0,
        Some(2)
    );
}

#[test]
fn broken_and_foreign_files_say_so() {
    recorded();
    let bytes = std::fs::read(path("lossy.trace")).unwrap();
    std::fs::write(path("cut.trace"), &bytes[..bytes.len() - 20]).unwrap();
    let (code, shown, error) = run("trace show {cut.trace}");
    assert_eq!(code, Some(1));
    assert_eq!(shown, run("trace show {lossy.trace}").1);
    assert!(
        error.contains("the file is cut off: whole up to"),
        "{error}"
    );
    let (code, _, error) = run("trace stats {lossy.txt}");
    assert_eq!(code, Some(2));
    assert!(error.contains("this is no trace file"), "{error}");
    assert_eq!(run("trace diff {lossy.trace} {nowhere.trace}").0, Some(2));
    // A full disk affects neither the run nor its report.
    let (code, report, error) = run("run {trace-plain.toml} --trace /dev/full");
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: /dev/full: No space"), "{error}");
    assert!(report.contains("all is done"), "{report}");
}

#[test]
fn runs_are_compared() {
    recorded();
    let (code, text, _) = run("trace diff {lossy.trace} {lossy.trace}");
    assert_eq!(code, Some(0));
    assert!(text.contains("\nequal "), "{text}");
    // Additional details are no difference.
    assert_eq!(run("trace diff {lossy.trace} {details.trace}").0, Some(0));
    let (code, text, error) = run("trace diff {plain.trace} {lossy.trace}");
    assert_eq!((code, error.as_str()), (Some(1), ""));
    for part in [
        "another run: ",
        "\nfirst     n0 at 20",
        "fault: lost",
        "a frame fares differently on its way",
        "\nresults ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let document: serde_json::Value =
        serde_json::from_str(&run("trace diff {plain.trace} {lossy.trace} --json").1).unwrap();
    assert_eq!(document["equal"], false);
    assert_eq!(document["places"][0]["place"], "n0");
}

#[test]
fn statistics_count() {
    recorded();
    let document: serde_json::Value =
        serde_json::from_str(&run("trace stats {details.trace} --json").1).unwrap();
    assert_eq!(
        document["retransmissions"].as_u64().map(|count| count > 0),
        Some(true)
    );
    assert_eq!(document["frames"]["fault: lost"], 1);
    let spans = document["spans"].as_array().unwrap();
    for what in ["stage", "handler", "dma", "call"] {
        assert!(spans.iter().any(|span| span["what"] == what), "{what}");
    }
    let text = run("trace stats {lossy.trace}").1;
    assert!(
        text.contains("receive frame") && text.contains("fault: lost 1"),
        "{text}"
    );
}
