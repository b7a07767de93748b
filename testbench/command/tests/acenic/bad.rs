//! Invalid firmware files, and firmware that fails: each ends with a clear report.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use emulator::cpu::mips::asm;
use lanigon_worlds::images::image_folder;
use serde_json::Value;

/// Runs the command to its end.
pub fn acenic(file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["acenic", "--firmware"])
        .arg(file)
        .args(options)
        .env_remove("RUST_LOG")
        .output()
        .expect("the binary runs")
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

/// A file in the Linux format.
fn linux(header: [u32; 3], payload: &[u8]) -> Vec<u8> {
    let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
    file.extend(payload);
    file
}

/// A firmware in the Linux format, from assembly at 0x4000.
fn assembled(source: &str) -> Vec<u8> {
    let program = asm::assemble(&format!(".org 0x4000\n{source}")).unwrap();
    let code = &program.segments[program.segments.len() - 1].bytes;
    linux([0x0C04_0B00, 0x4000, 0x4000], code)
}

#[test]
fn files_that_are_no_firmware_are_refused() {
    let version = 0x0C04_0B00;
    let check = |name: &str, bytes: &[u8], options: &[&str], reason: &str| {
        let output = acenic(&file(name, bytes), options);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert!(output.stdout.is_empty(), "{name}");
        assert!(message.contains(reason), "{name}: {message}");
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
    };
    check("empty.fw", b"", &[], "an empty file");
    check(
        "header.fw",
        &linux([version, 0x4000, 0x4000], b""),
        &[],
        "12 bytes are too short",
    );
    check(
        "script.fw",
        b"#!/bin/sh\nexit 0\n",
        &[],
        "not a firmware in the Linux form",
    );
    check(
        "pe.fw",
        b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xFF\xFF\0\0",
        &[],
        "not an ELF file, but a PE file, a program for Windows",
    );
    check(
        "odd.fw",
        &linux([version, 0x4000, 0x4000], b"123"),
        &[],
        "no whole number of words",
    );
    check(
        "low.fw",
        &linux([version, 0x100, 0x100], &[0; 8]),
        &[],
        "load address 0x100",
    );
    check(
        "start.fw",
        &linux([version, 0x5000, 0x4000], &[0; 8]),
        &[],
        "start address 0x5000",
    );
    let large = linux([version, 0x4000, 0x4000], &vec![0; 0x8_0000]);
    check("large.fw", &large, &["--sram", "512"], "does not fit");
    check("elf.fw", b"\x7FELF", &[], "cut off");
    let mut elf = std::fs::read(image_folder().join("acenic")).unwrap();
    elf[19] = 62;
    check("x86.fw", &elf, &[], "another processor");
    let missing = acenic(Path::new("/nowhere/tg2.bin"), &[]);
    assert_eq!(missing.status.code(), Some(2));
    for size in ["59", "9015", "0x40"] {
        let refused = acenic(&image_folder().join("acenic"), &["--size", size]);
        assert_eq!(refused.status.code(), Some(2), "--size {size}");
    }
}

#[test]
fn firmware_of_the_older_protocol_is_named() {
    let older = file("older.fw", &linux([0x0C01_0600, 0x4000, 0x4000], &[0; 64]));
    let output = acenic(&older, &["--max-time", "12000"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("firmware 12.1.6 speaks the host protocol before 12.3"),
        "{message}"
    );
}

/// Checks a failing firmware: exit code 1, one JSON document, and the reason on both nodes.
#[track_caller]
fn check_fails(name: &str, bytes: &[u8], options: &[&str], reasons: &[&str]) -> Value {
    let path = file(name, bytes);
    let output = acenic(&path, &[options, &["--json"]].concat());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{name}: {message}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for node in document["nodes"].as_array().unwrap() {
        let error = node["error"].as_str().unwrap();
        for reason in reasons {
            assert!(error.contains(reason), "{name}: {error}");
        }
        assert_eq!(node["cpus"].as_array().unwrap().len(), 2);
        assert_eq!(node["fw_version"], "12.4.11");
        assert_eq!(node["received"], 0);
    }
    let text = acenic(&path, options);
    assert_eq!(text.status.code(), Some(1), "{name}");
    let text = String::from_utf8(text.stdout).unwrap();
    for reason in reasons {
        assert!(text.contains(reason), "{name}: {text}");
    }
    assert!(text.contains("$sp"), "{name}, registers: {text}");
    document
}

#[test]
fn firmware_that_fails_is_reported_with_both_cpus() {
    let document = check_fails(
        "break.fw",
        &assembled("break"),
        &[],
        &["CPU A has halted at pc 0x4000", "stopped by itself"],
    );
    let state = document["nodes"][0]["cpus"][0]["state"].as_str().unwrap();
    assert_eq!(state, "cpu_a stopped by break 0 at pc 0x4000");
    check_fails(
        "void.fw",
        &assembled("lui $t0, 0x1000\n jr $t0\n nop"),
        &[],
        &["CPU A has halted at pc 0x10000000"],
    );
    // A 64-bit instruction, which the chip does not have.
    check_fails(
        "foreign.fw",
        &linux([0x0C04_0B00, 0x4000, 0x4000], &[0xFF; 16]),
        &[],
        &["CPU A has halted at pc 0x4000"],
    );
    // CPU A halts itself after a record in the trace buffer, like a panic.
    let panic = "
        lui   $gp, 0xc000
        lui   $t0, 0x0001
        ori   $t1, $t0, 0x9030
        lui   $t2, 0x2a50
        ori   $t2, $t2, 0x414e
        sw    $t2, 0($t1)
        ori   $t3, $t0, 0x9010
        sw    $t3, 0x250($zero)
        lui   $t4, 1
        sw    $t4, 0x140($gp)
        nop
        nop";
    let document = check_fails("panic.fw", &assembled(panic), &[], &["CPU A has halted"]);
    let trace = &document["nodes"][1]["trace"];
    assert!(trace[0].as_str().unwrap().starts_with("*PAN"), "{trace}");
}

/// Reads the information block by DMA, writes an invalid event producer to host memory, and interrupts.
const NONSENSE: &str = "
        lui   $gp, 0xc000
        ori   $t1, $zero, 0x8000
        lw    $t2, 0x208($zero)
        lw    $t3, 0x20c($zero)
        sw    $t2, 0x90($gp)
        sw    $t3, 0x94($gp)
        sw    $t1, 0xb4($gp)
        ori   $t0, $zero, 0x490
        sw    $t0, 0x9c($gp)
        ori   $t0, $zero, 6
        sw    $t0, 0xb0($gp)
read:   lw    $t0, 0xb0($gp)
        nop
        andi  $t0, $t0, 4
        bne   $t0, $zero, read
        nop
        lw    $t2, 0x470($t1)
        lw    $t3, 0x474($t1)
        sw    $t2, 0x80($gp)
        sw    $t3, 0x84($gp)
        ori   $t0, $zero, 0x1234
        sw    $t0, 0($t1)
        sw    $t1, 0xa4($gp)
        ori   $t0, $zero, 4
        sw    $t0, 0xac($gp)
        ori   $t0, $zero, 6
        sw    $t0, 0xa0($gp)
write:  lw    $t0, 0xa0($gp)
        nop
        andi  $t0, $t0, 4
        bne   $t0, $zero, write
        nop
        ori   $t0, $zero, 4
        sw    $t0, 0x44($gp)
        break";

#[test]
fn nonsense_before_the_first_event_is_told() {
    let reasons = [
        "the event producer = 4660 does not exist",
        "CPU A has halted",
    ];
    check_fails("nonsense.fw", &assembled(NONSENSE), &[], &reasons);
}

#[test]
fn firmware_that_never_reports_is_given_up() {
    check_fails(
        "spin.fw",
        &assembled("spin: b spin\n nop"),
        &[],
        &["waited 5000 ms for the firmware to report that it runs"],
    );
    // CPU A starts CPU B at an address without code, and continues.
    let second = "
        lui   $gp, 0xc000
        lui   $t0, 0x1000
        sw    $t0, 0x244($gp)
        sw    $zero, 0x240($gp)
spin:   b     spin
        nop";
    check_fails(
        "second.fw",
        &assembled(second),
        &["--max-time", "20000"],
        &[
            "the time is over",
            "cpu_b stopped",
            "a CPU has stopped by itself",
        ],
    );
    let cut = check_fails(
        "spin2.fw",
        &assembled("spin: b spin\n nop"),
        &["--max-time", "20000"],
        &["the time is over"],
    );
    assert_eq!(cut["nodes"][0]["fw_running_us"], Value::Null);
}
