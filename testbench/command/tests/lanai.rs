//! Boards with a LANai, as users of the command see them. Needs the image `hello`, which is built where LLVM's tools are.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lanigon_worlds::boards;
use lanigon_worlds::files::own::project_scenarios as examples;
use serde_json::Value;

/// The image, if it was built.
fn hello() -> Option<String> {
    let path = boards::board_type("lanai")?.image_folder().join("hello");
    if path.exists() {
        return Some(path.display().to_string());
    }
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED for lack of the image hello for the LANai (`make firmware` builds it where llc of LLVM 22 is installed)"
    );
    None
}

fn lanigon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env_remove("RUST_LOG");
    command.output().unwrap()
}

/// The output of a command that ends with this code.
#[track_caller]
fn output(arguments: &[&str], code: i32) -> String {
    let output = lanigon(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap() + &error
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let output = lanigon(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn scenario() -> String {
    let path = examples().join("lanai-hello.toml");
    path.display().to_string()
}

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn an_image_says_what_board_it_is_for() {
    let Some(hello) = hello() else {
        return;
    };
    let document = json(&["image", &hello, "--json"]);
    assert_eq!(document["entry"], "0x00000000");
    let memories = document["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 1);
    assert_eq!(memories[0]["size_bytes"], 2 << 20);
    assert_eq!(document["stacks"][0]["cpu"], "cpu");
    let small = json(&[
        "image",
        &hello,
        "--board",
        "lanai4.3-33",
        "--sram",
        "256",
        "--json",
    ]);
    assert_eq!(small["memories"][0]["size_bytes"], 256 << 10);
    let wrong = output(&["image", &hello, "--board", "tigon2"], 2);
    assert!(
        wrong.contains("an ELF file for another processor (machine 244)"),
        "{wrong}"
    );
    for (board, hint) in [
        ("lanai8", "; did you mean \"lanai4\"? There are tigon2, "),
        ("tigon", "; did you mean \"tigon2\"? There are tigon2, "),
        ("e1000-pro", "; there are tigon2, "),
    ] {
        let unknown = output(&["image", &hello, "--board", board], 2);
        let expected = format!("no board \"{board}\"{hint}");
        assert!(unknown.contains(&expected), "{unknown}");
    }
}

#[test]
fn exec_runs_an_image_to_its_end() {
    let Some(hello) = hello() else {
        return;
    };
    let mark = "0x3f008:4";
    let document = json(&["exec", &hello, "--dump", mark, "--json"]);
    assert_eq!(document["memory"]["0x3f008"], "600d600d");
    assert!(
        document["reason"]
            .as_str()
            .unwrap()
            .contains("cpu: idle after ")
    );
    let slow = json(&[
        "exec", &hello, "--board", "lanai4", "--dump", mark, "--json",
    ]);
    assert_eq!(slow["memory"]["0x3f008"], "600d600d");
    let second = output(&["exec", &hello, "--cpu", "b"], 2);
    assert!(second.contains("has no second CPU"), "{second}");
    let other = output(&["exec", &hello, "--profile", "tigon2-88mhz"], 2);
    assert!(other.contains("another processor"), "{other}");
    let both = output(
        &[
            "exec",
            &hello,
            "--board",
            "lanai7",
            "--profile",
            "lanai9.1-133",
        ],
        2,
    );
    assert!(both.contains("is for the board \"lanai9\""), "{both}");
}

#[test]
fn a_scenario_runs_and_is_traced() {
    if hello().is_none() {
        return;
    }
    let (trace, timeline) = (temporary("lanai.trace"), temporary("lanai.pftrace"));
    let [trace, timeline] = [&trace, &timeline].map(|path| path.to_str().unwrap());
    let document = json(&["run", &scenario(), "--trace", trace, "--json"]);
    assert_eq!(document["end"], "completed", "{document}");
    let again = json(&["run", &scenario(), "--threads", "2", "--json"]);
    assert_eq!(again["trace_hash"], document["trace_hash"]);
    output(&["timeline", trace, "--out", timeline], 0);
    assert!(Path::new(timeline).exists());
    let shown = output(&["trace", "show", trace], 0);
    assert!(shown.contains("n1 cpu       started at 0x0"), "{shown}");
    let shares = output(&["profile", &scenario()], 0);
    assert!(
        shares.contains("main") || shares.contains("work"),
        "{shares}"
    );
    assert!(shares.contains(" cpu: "), "{shares}");
}

#[test]
fn the_debugger_steps_a_lanai() {
    if hello().is_none() {
        return;
    }
    let script = [
        "-e",
        "nodes",
        "-e",
        "break main",
        "-e",
        "continue",
        "-e",
        "where",
        "-e",
        "step 3",
        "-e",
        "registers",
    ];
    let shown = output(&[&["debug", &scenario()][..], &script].concat(), 0);
    assert!(shown.contains("main"), "{shown}");
    assert!(shown.contains("rca"), "{shown}");
    assert!(shown.contains("crossbar 0 with "), "{shown}");
    assert!(shown.contains(": 0 packets left, 0 lost"), "{shown}");
    let refused = output(&["gdb", &scenario()], 2);
    assert!(refused.contains("use `lanigon debug`"), "{refused}");
}

#[test]
fn the_list_has_boards_and_images() {
    let document = json(&["list", "--json"]);
    let names = |key: &str| -> Vec<String> {
        let rows = document[key].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        names("boards"),
        ["tigon2", "tigon-n", "lanai4", "lanai7", "lanai9"]
    );
    assert!(names("profiles").contains(&"lanai9.2-200".to_owned()));
    assert!(names("scenarios").contains(&"lanai-hello".to_owned()));
}

#[test]
fn a_panic_ends_a_run_with_its_place() {
    if hello().is_none() {
        return;
    }
    let file = temporary("lanai-panics.toml");
    let scenario = "board = \"lanai9.2-200\"\nimage = \"out-of-bounds\"\n[network]\ntopology = \"none\"\n[[node]]\nname = \"one\"\n\
        [[program]]\nrun = \"start\"\nnodes = \"all\"\n";
    std::fs::write(&file, scenario).unwrap();
    let file = file.display().to_string();
    let said = output(&["run", &file, "-v"], 1);
    // Once as a line of the firmware, once as the reason for the end.
    let place = "panic at images/out-of-bounds/src/main.rs:18";
    assert!(said.matches(place).count() >= 2, "{said}");
    assert!(said.contains("square of 8 (entry 0x8)"), "{said}");
    let shown = output(&["debug", &file, "-e", "continue", "-e", "list"], 0);
    assert!(shown.contains(place), "{shown}");
    // The line that panicked, not the one of the panic handler.
    assert!(shown.contains("\n->    18  "), "{shown}");
}
