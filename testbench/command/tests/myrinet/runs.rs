//! Runs of `lanigon myrinet`: good programs, programs that fail, files that are no programs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use emulator::image::coff;
use emulator::lanai::chip::Generation;
use host_lib::myrinet::{mailbox as mailbox_host, mcpshmem as mcpshmem_host};
use serde_json::Value;

use super::mailbox::{self, Fault};
use super::mcpshmem::{self, Variant};

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

fn command(file: &Path, board: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command
        .args(["myrinet", "--board", board, "--firmware"])
        .arg(file)
        .env_remove("RUST_LOG");
    command
}

/// Runs the command to its end; gives its exit code and its output.
fn myrinet(file: &Path, board: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command(file, board)
        .args(options)
        .output()
        .expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn shared(chip: Generation) -> Vec<u8> {
    let (code, data) = mcpshmem::image(chip, Variant::default());
    coff::build(&code, &data, 0x1000)
}

#[test]
fn a_mailbox_program_reaches_all_milestones() {
    let image = mailbox::image(Fault::Nothing);
    let check = |prefix: &[u8], options: &[&str], title: &str| {
        let file = file("mailbox.bin", &[prefix, &image].concat());
        let (code, text, errors) = myrinet(&file, "lanai4.3-33", options);
        assert_eq!(code, Some(0), "{text}");
        assert!(errors.is_empty());
        let first = text.lines().next().unwrap();
        assert_eq!(
            first,
            format!(
                "raw image (mcp-l4v3 test{title}) on lanai4.3-33, host mailbox, way back cable"
            )
        );
        let names = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(2));
        let names: Vec<_> = names
            .filter(|name| mailbox_host::MILESTONES.contains(name))
            .collect();
        for milestone in mailbox_host::MILESTONES {
            assert!(names.contains(milestone), "{milestone}\n{text}");
        }
        assert!(text.ends_with("all milestones were reached\n"), "{text}");
    };
    check(&[], &[], "");
    check(&[0x4F, 0xF8], &[], ", 2 bytes in front of it skipped");
    check(
        &[0; 8],
        &["--skip", "8", "--format", "raw"],
        ", 8 bytes in front of it skipped",
    );
}

#[test]
fn a_shared_structure_program_is_one_document() {
    let boards = [
        ("lanai4.3-33", Generation::L4),
        ("lanai7.2-66", Generation::L7),
        ("lanai9.1-133", Generation::L9),
    ];
    for (board, chip) in boards {
        let file = file("shared.coff", &shared(chip));
        let (code, text, errors) = myrinet(&file, board, &["--json"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(errors.is_empty());
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["format"], "coff");
        assert_eq!(document["host"], "mcpshmem");
        assert_eq!(document["way_back"], "switch");
        assert_eq!(document["missing"], Value::Array(Vec::new()));
        assert_eq!(document["cpu"], Value::Null);
        assert_eq!(document["error"], Value::Null);
        assert_eq!(document["values"]["benchmark 0x381d8"], 10_000);
        assert_eq!(document["values"]["benchmark 0x381dc"], -20_000);
        assert_eq!(document["warning"], Value::Null);
        assert_eq!(document["dma_from_host"], 40);
        let milestones = document["milestones"].as_array().unwrap();
        let names: Vec<_> = milestones
            .iter()
            .map(|milestone| milestone["milestone"].as_str().unwrap())
            .collect();
        assert_eq!(names.last(), mcpshmem_host::MILESTONES_4.last());
        let tests = names.iter().filter(|name| **name == "dma_to_host");
        assert_eq!(tests.count(), mcpshmem::SIZES.len());
    }
}

#[test]
fn a_failure_shows_the_state_of_the_chip() {
    let hang = file("hang.bin", &mailbox::image(Fault::HangsAtStart));
    let (code, text, _) = myrinet(&hang, "lanai4.3-33", &[]);
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "PROBLEM: state \"ready\" of the channel did not come",
        "missing milestone: ready\nthen: frame_taken, frame_received, longest_frame\n",
        "isr 0x",
        "last writes of special registers:",
        "cpu      version      0x00000003",
        "instructions that it executes:",
        " bt 0x",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (code, text, _) = myrinet(&hang, "lanai4.3-33", &["--json", "--time", "18000"]);
    assert_eq!(code, Some(1), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["missing"][0], "ready");
    assert_eq!(document["error"], "the time is over");
    let writes = document["cpu"]["last_writes"].as_array().unwrap();
    assert!(writes.len() > 10);
    assert!(document["instructions"].as_u64().unwrap() > 30);
}

#[test]
fn a_program_for_another_chip_fails() {
    let file = file("other.coff", &shared(Generation::L7));
    let warning = "the program says that it is for a LANai 7; the board has a LANai 4";
    let (code, text, errors) = myrinet(&file, "lanai4.3-33", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("missing milestone: handshake"), "{text}");
    let line = format!("warning: {}: {warning}", file.display());
    assert_eq!(errors.lines().next(), Some(&*line));
    let (_, text, _) = myrinet(&file, "lanai4.3-33", &["--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["warning"], warning);
    let (code, text, _) = myrinet(
        &file,
        "lanai7.2-66",
        &["--host", "mailbox", "--sram", "1024"],
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("missing milestone: ready"), "{text}");
}

#[test]
fn wrong_requests_are_refused() {
    let image = shared(Generation::L4);
    let check = |bytes: &[u8], board: &str, options: &[&str], reason: &str| {
        let file = file("wrong.bin", bytes);
        let (code, text, errors) = myrinet(&file, board, options);
        assert_eq!(code, Some(2), "{errors}");
        assert!(text.is_empty(), "{text}");
        assert!(errors.contains(reason), "{errors}");
    };
    let board = "lanai4.3-33";
    check(
        b"",
        board,
        &[],
        "at least one instruction; the file has 0 bytes",
    );
    check(b"\x7FELF....", board, &[], "an ELF image");
    check(
        &image[..90],
        board,
        &[],
        "the COFF image is cut off within its headers",
    );
    check(
        &image[..400],
        board,
        &[],
        "cut off within the contents of a section",
    );
    check(
        b"abcdefgh",
        board,
        &["--format", "coff"],
        "does not begin with 0x1300",
    );
    check(&image, board, &["--skip", "4"], "no bytes to skip");
    check(&image, board, &["--sram", "256"], "does not fit");
    check(
        &image,
        board,
        &["--sram", "300"],
        "it is a power of two from 256 to 8192",
    );
    check(
        &image,
        "lanai5",
        &[],
        "there are: lanai4.3-33, gm-paper-lanai4.3-33, fm-paper-lanai4.3-33, lanai7.2-66",
    );
    check(&image, board, &["--time", "0"], "it must lie between");
    let (code, _, errors) = myrinet(Path::new("/nowhere/mcp"), board, &[]);
    assert_eq!(code, Some(2));
    assert_eq!(errors.lines().count(), 1);
    assert!(errors.contains("/nowhere/mcp: No such file"), "{errors}");
}

#[test]
fn adapters_meet_in_a_scenario() {
    let image = file("pair.mcp", &mailbox::image(Fault::Nothing));
    let other = file("pair7.coff", &shared(Generation::L7));
    let run = |board: &str, image: &Path, program: &str, options: &[&str]| {
        let text = format!(
            "board = \"{board}\"\nimage = \"{}\"\n[network]\ntopology = \"pair\"\n\
             [[program]]\nnodes = \"all\"\n{program}\n",
            image.display()
        );
        let name = format!("mcp-{}.toml", program.len());
        let scenario = file(&name, text.as_bytes());
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        command.arg("run").arg(scenario).args(options);
        let output = command.output().expect("the binary runs");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let meeting = "run = \"mcp-mailbox\"\nframes = 3";
    let (code, text, errors) = run("lanai4", &image, meeting, &["--json"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    for host in document["hosts"].as_array().unwrap() {
        assert_eq!(host["host"], "mailbox");
        assert_eq!(host["missing"], Value::Array(Vec::new()));
        assert_eq!(host["values"]["frames_received"], 3);
    }
    let (_, text, _) = run("lanai4", &image, meeting, &[]);
    assert!(
        text.contains("mcp       1, host mailbox: last milestone all_frames at"),
        "{text}"
    );
    // Without a crossbar the packets of the self-test do not come back; and the chip is another one.
    let alone = "run = \"mcp-shmem\"";
    let (code, text, errors) = run("lanai9", &other, alone, &["--max-time", "2000000"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        errors.contains("is for a LANai 7; the board has a LANai 9"),
        "{errors}"
    );
    assert!(text.contains("missing milestone"), "{text}");
}

#[test]
fn an_interrupt_leaves_what_there_is() {
    // Without an answer the host waits for 10 s.
    let mut assembly = super::assembly::Assembly::new(Generation::L9);
    assembly.place("count").set("led", 1);
    assembly.constant(1 << 20, "r10").place("down");
    assembly.line("st %r10, 0x700[%r0]\n sub.f %r10, 1, %r10");
    assembly.branch("bne", "down").branch("bt", "count");
    let file = file("busy.coff", &coff::build(&assembly.image(), &[], 0));
    let mut child = command(&file, "lanai9.2-200")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let _ = lines.next().expect("a title").expect("text");
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("eeprom"), "{first}");
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill runs").success());
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(child.wait().expect("the binary ends").code(), Some(130));
    assert_eq!(
        rest.last().map(String::as_str),
        Some("not finished: interrupted")
    );
}
