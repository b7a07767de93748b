//! `lanigon reproduce gm` for its users. Needs the images `gm` and `gm-l4`, which are built where LLVM's tools are.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use lanigon_worlds::boards;
use serde_json::Value;

/// Whether the images were built.
fn images() -> bool {
    let there = ["lanai9", "lanai4"].iter().all(|name| {
        boards::board_type(name).is_some_and(|board| {
            let gm = board.gm.map(|gm| board.image_folder().join(gm.image));
            gm.is_some_and(|path| path.exists())
        })
    });
    if !there {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the images of GM (`make firmware` builds them where llc of LLVM 22 is installed)"
        );
    }
    there
}

fn lanigon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env_remove("RUST_LOG");
    command.output().unwrap()
}

#[test]
fn figures_are_near_the_published_ones() {
    if !images() {
        return;
    }
    let output = lanigon(&["reproduce", "gm", "--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["extra"]["profiles"].as_array().unwrap().len(), 6);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 14);
    let check = |id: &str, at_most: f64| {
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        let error = row["error"].as_f64().unwrap();
        assert!(error.abs() <= at_most, "{id}: {row}");
    };
    check("gm-001", 0.25);
    check("gm-006", 0.25);
    check("gm-002", 0.15);
    check("gm-007", 0.15);
    check("gm-005", 0.1);
    check("gm-010", 0.1);
}

#[test]
fn people_get_tables() {
    if !images() {
        return;
    }
    let arguments = ["reproduce", "gm", "--profile", "lanai9.1-133", "--quick"];
    let output = lanigon(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "profile lanai9.1-133: ",
        "GM, profile lanai9.1-133, image gm",
        "latency us",
        "latency: short message",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
    let again = String::from_utf8(lanigon(&arguments).stdout).unwrap();
    assert_eq!(again, text);
}

#[test]
fn files_are_written() {
    if !images() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reproduce-gm");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().unwrap();
    let profile = ["--profile", "lanai9.1-133"];
    let arguments = [&["reproduce", "gm", "--quick", "--out", path], &profile[..]].concat();
    assert!(lanigon(&arguments).status.success());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    for name in ["report.html", "gm-latency.svg"] {
        let text = read(name);
        let mark =
            "<title>gm-001, published: GM 1.6.4 on PCI64B, short message: 8 bytes, 8.5 us</title>";
        assert!(text.contains(mark), "{name}: {text}");
    }
    let page = read("report.md");
    assert!(
        page.contains(
            "| gm-001 | GM 1.6.4 on PCI64B | lanai9.1-133 | gm | latency: short message |"
        ),
        "{page}"
    );
    assert!(
        page.contains("](gm-bandwidth.svg)") && page.contains("\n* image gm: "),
        "{page}"
    );
    assert!(!page.contains("gm-006"), "another product: {page}");
    assert!(
        std::fs::read(folder.join("gm-bandwidth.pdf"))
            .unwrap()
            .starts_with(b"%PDF-")
    );
}

#[test]
fn an_explanation_adds_up_to_the_measured_latency() {
    if !images() {
        return;
    }
    let with = |options: &[&str]| {
        let profile = ["reproduce", "gm", "--profile", "lanai9.2-200", "--json"];
        let output = lanigon(&[&profile, options].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let explained = &with(&["--explain"])[0];
    let parts = explained["parts"].as_array().unwrap();
    let sum: u64 = parts
        .iter()
        .map(|part| part["sum_ps"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, explained["sum_ps"].as_u64().unwrap());
    // Nothing but the time between two messages is outside of their ledgers.
    let between = parts.last().unwrap();
    assert!(between["what"].as_str().unwrap().starts_with("the next"));
    assert!(between["mean_us"].as_f64().unwrap() < 0.1, "{between}");
    // Observers change nothing.
    let measured = with(&["--size", "8"]);
    let point = &measured["points"][0];
    assert_eq!(explained["latency_us"], point["latency_us"]);
    for count in ["sent_instructions", "received_instructions"] {
        let count = explained[count].as_f64().unwrap();
        assert!((100.0..800.0).contains(&count), "{explained}");
    }
}

#[test]
fn an_image_for_another_chip_is_refused() {
    if !images() {
        return;
    }
    let check = |board: &str, image: &str, message: &str| {
        let board = boards::board_type(board).unwrap();
        let path = board.image_folder().join(image).display().to_string();
        for command in ["image", "exec"] {
            let output = lanigon(&[command, "--board", board.name, &path]);
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(message), "{text}");
        }
    };
    check(
        "lanai4",
        "gm",
        "firmware for boards of type lanai7 or lanai9, not lanai4",
    );
    check(
        "lanai9",
        "gm-l4",
        "firmware for boards of type lanai4, not lanai9",
    );
}

#[test]
fn wrong_requests_are_refused() {
    if !images() {
        return;
    }
    let check = |options: &[&str], message: &str| {
        let arguments = [&["reproduce", "gm"], options].concat();
        let output = lanigon(&arguments);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(message), "{options:?}: {text}");
    };
    check(
        &["--size", "65537"],
        "--size 65537: a message has at most 65536 bytes",
    );
    check(
        &["--explain", "base"],
        "--explain base: a scheme is for `reproduce emp`",
    );
    check(&["--figure", "gm-001"], "--figure is for `reproduce emp`");
    check(
        &["--profile", "tigon2-88mhz", "--explain"],
        "no profile of boards on Myrinet",
    );
}
