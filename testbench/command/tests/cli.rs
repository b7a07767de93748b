//! The `lanigon` command for its users: the built binary, its exit codes and its output.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use emulator::cpu::mips::asm;
use emulator::image::{Image, SymbolKind};
use emulator::tigon2::board::Tigon2;
use lanigon_worlds::images::image_folder;
use serde_json::{Value, json};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env_remove("RUST_LOG");
    command
}

#[track_caller]
pub fn lanigon(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary runs")
}

/// A command line as text; `{name}` is the file with that name.
fn split(line: &str) -> Vec<String> {
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    line.split_whitespace()
        .map(|word| word.replace('{', &folder).replace('}', ""))
        .collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A file of the tests. Names are unique per test, because tests run in parallel.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).expect("a writable folder");
    path
}

fn assemble(name: &str, source: &str) -> PathBuf {
    let program = asm::assemble(source).unwrap_or_else(|error| panic!("{name}: {error}"));
    file(name, &program.segments[program.segments.len() - 1].bytes)
}

/// Checks a refused request: nothing on standard output, exit code 2, and the reason in the first line.
#[track_caller]
pub fn check_refused(line: &str, reason: &str) {
    let words = split(line);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let output = lanigon(&words);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {message}");
    assert!(output.stdout.is_empty(), "{line}");
    assert!(message.starts_with("error: "), "{line}: {message}");
    assert!(message.contains(reason), "{line}: {message}");
    assert!(!message.contains("panicked"), "{line}: {message}");
}

#[test]
fn wrong_options_are_refused() {
    file("wrong.bin", &[0; 64]);
    let check = |line: &str, reason| check_refused(&format!("exec {line}"), reason);
    check("", "<IMAGE|--load <ADDR=FILE>>");
    check("--pc 0x4000", "<IMAGE|--load <ADDR=FILE>>");
    check("--load 0x4000={wrong.bin}", "as --pc 0x4000");
    check("--lod 0x4000={wrong.bin}", "'--load'");
    check("--load {wrong.bin} --pc 0", "expected ADDR=FILE");
    check(
        "--load 4000h={wrong.bin} --pc 0",
        "\"4000h\" is not a 32-bit number",
    );
    let check = |line: &str, reason| {
        check_refused(&format!("exec --load 0x4000={{wrong.bin}} {line}"), reason);
    };
    check("--pc 0x100000000", "is not a 32-bit number");
    check("--pc 0x4002", "a multiple of 4");
    check("--pc 0xc0000000", "no memory to execute");
    check("--pc 0xc02000 --cpu b", "no memory to execute");
    check("--pc 0x4000 --cpu c", "[possible values: a, b]");
    check("--pc 0x4000 --sram 700", "512, 1024 or 2048");
    check("--pc 0x4000 --max-instructions 0", "0 is not in 1..");
    check("--pc 0x4000 --max-time nan", "must lie between");
    check(
        "--pc 0x4000 --profile nothing",
        "no profile and no file \"nothing\"",
    );
    check("--pc 0x4000 --profile {wrong.bin}", "wrong.bin, line 1: ");
    check("--pc 0x4000 --dump 0x4000", "expected ADDR:LEN");
    check("--pc 0x4000 --dump 0x4000:0", "the length is 0");
    check("--pc 0x4000 --dump 0xd00000:4", "no memory there");
    check(
        "--pc 0x4000 --dump 0xc03ffd:4",
        "the scratchpad ends at 0xc04000",
    );
    check(
        "--pc 0x4000 --dump 0xffffffff:0xffffffff",
        "no memory there",
    );
    check(
        "--pc 0x4000 --dump 8:4 --dump 8:8",
        "two dumps have the name 8",
    );
}

#[test]
fn files_that_do_not_fit_are_refused() {
    file("page.bin", &[0; 4096]);
    file("large.bin", &vec![0; 512 * 1024 + 1]);
    file("empty.bin", b"");
    let check = |load: &str, reason| check_refused(&format!("exec --pc 0 --load {load}"), reason);
    check("0={missing.bin}", "missing.bin: No such file");
    check("0={empty.bin}", "empty.bin: the file is empty");
    check("0=/dev/zero", "/dev/zero: too long: SRAM ends at 0x100000");
    check(
        "0={large.bin} --sram 512",
        "large.bin: too long: SRAM ends at 0x80000",
    );
    check(
        "0x80000={page.bin} --sram 512",
        "too long: SRAM ends at 0x80000",
    );
    check("0xff004={page.bin}", "too long: SRAM ends at 0x100000");
    check(
        "0xc03001={page.bin}",
        "too long: the scratchpad ends at 0xc04000",
    );
    check(
        "0xc01001={page.bin} --cpu b",
        "too long: the scratchpad ends at 0xc02000",
    );
    check("0xc02000={page.bin} --cpu b", "no memory there");
    check("0x900000={page.bin}", "no memory there");
    check("0xc0000000={page.bin}", "no memory there");
    check("0xffffffff={page.bin}", "no memory there");
}

/// Runs a program at 0x4000 (or at its `.org`) and checks exit code, stop and reason, and values of the
/// document by their JSON pointers.
#[track_caller]
pub fn check_run(
    name: &str,
    source: &str,
    options: &str,
    (stop, code, reason): (&str, i32, &str),
    values: &[(&str, Value)],
) {
    let path = assemble(&format!("{name}.bin"), source);
    let load = format!("0x4000={}", path.display());
    let options = split(options);
    let mut arguments = vec!["exec", "--json"];
    if !options.iter().any(|option| option == "--load") {
        arguments.extend(["--load", &load]);
    }
    if !options.iter().any(|option| option == "--pc") {
        arguments.extend(["--pc", "0x4000"]);
    }
    arguments.extend(options.iter().map(String::as_str));
    let output = lanigon(&arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{name}: {errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["stop"], stop, "{name}: {document}");
    let given = document["reason"].as_str().expect("a reason");
    assert!(given.contains(reason), "{name}: {given}");
    for (pointer, expected) in values {
        assert_eq!(
            document.pointer(pointer),
            Some(expected),
            "{name}: {pointer}"
        );
    }
}

const BREAK: (&str, i32, &str) = ("break", 0, "cpu_a: break at pc ");

#[test]
fn programs_run_to_their_break() {
    let zero = json!("0x00000000");
    check_run(
        "store",
        "lui $t0, 7\n li $v0, 0x1234\n sw $v0, 4($t0)\n sb $v0, 1($t0)\n break",
        "--dump 0x70000:8 --dump 458757:3",
        BREAK,
        &[
            ("/reason", json!("cpu_a: break at pc 0x00004010")),
            ("/cpu_a/pc", json!("0x00004010")),
            ("/cpu_a/regs/2", json!("0x00001234")),
            ("/cpu_a/regs/8", json!("0x00070000")),
            ("/cpu_a/regs/31", zero.clone()),
            ("/cpu_a/instructions", json!(5)),
            ("/cpu_b/pc", zero.clone()),
            ("/cpu_b/instructions", json!(0)),
            ("/cpu_b/cycles", json!(0)),
            (
                "/memory",
                json!({"0x70000": "0034000000001234", "458757": "001234"}),
            ),
        ],
    );
    check_run(
        "cpu_b",
        "lui $t0, 0xc0\n lw $v0, 0x100($t0)\n break",
        "--cpu b --load 0xc00100={cpu_b.bin} --pc 0xc00100 --dump 0xC00100:4",
        ("break", 0, "cpu_b: break at pc 0x00c00108"),
        &[
            ("/cpu_b/regs/2", json!("0x3c0800c0")),
            ("/cpu_a/instructions", json!(0)),
            ("/memory/0xC00100", json!("3c0800c0")),
        ],
    );
    check_run(
        "both",
        "lui $t0, 0xc000\n li $t1, 0x4018\n sw $t1, 0x244($t0)\n sw $zero, 0x240($t0)\n \
         break 7\n nop\n li $v0, 9\n break",
        "--max-instructions 1000",
        (
            "break",
            0,
            "cpu_a: break 7 at pc 0x00004010; cpu_b: break at pc 0x0000401c",
        ),
        &[("/cpu_b/regs/2", json!("0x00000009"))],
    );
    check_run(
        "slower",
        "break",
        "--profile emp-thesis --sram 512 --max-time 0.5 --dump 0xc0000040:4",
        BREAK,
        &[
            ("/cpu_a/instructions", json!(1)),
            ("/memory/0xc0000040", json!("60000000")),
        ],
    );
}

#[test]
fn faults_are_named() {
    let check = |name, source, reason| check_run(name, source, "", ("fault", 1, reason), &[]);
    check(
        "misaligned",
        "li $t0, 1\n lw $t1, 0($t0)",
        "cpu_a: fault at pc 0x00004004: misaligned 4-byte access to 0x00000001",
    );
    check(
        "mult",
        ".word 0x00430018",
        "pc 0x00004000: the chip has no mult instruction",
    );
    check(
        "illegal",
        ".word 0x70000000",
        "pc 0x00004000: the chip has no instruction 0x70000000",
    );
    check(
        "wild",
        "lui $t0, 0xd0\n jr $t0\n nop",
        "pc 0x00d00000: jump to 0x00d00000, where no memory is",
    );
}

#[test]
fn mistakes_are_warnings_and_do_not_flood() {
    assemble(
        "mistake.bin",
        "lui $t0, 0xd0\n again: lw $t1, 0($t0)\n b again\n nop",
    );
    let line = "exec --load 0={mistake.bin} --pc 0 --max-instructions 10000";
    let check = |options: &str, lines: std::ops::Range<usize>| {
        let words = split(&format!("{line} {options}"));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let errors = text(&lanigon(&words).stderr);
        assert!(lines.contains(&errors.lines().count()), "{errors}");
        assert!(errors.contains("warning: "), "{errors}");
        assert!(errors.contains("cpu_a > nothing > 0x00d00000"), "{errors}");
    };
    check("", 2..30);
    check("-v", 100..120);
    check("-vv", 3000..4000);
}

#[test]
fn trace_lines_are_filtered_by_block() {
    assemble("blocks.bin", "break");
    let check = |options: &str, filter: &str, lines: usize, first: &str| {
        let words = split(&format!("exec --load 0={{blocks.bin}} --pc 0 {options}"));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let output = command(&words).env("RUST_LOG", filter).output();
        let errors = text(&output.expect("the binary runs").stderr);
        assert_eq!(errors.lines().count(), lines, "{filter}: {errors}");
        assert!(errors.contains(first), "{filter}: {errors}");
    };
    check("", "", 0, "");
    check("-v", "", 2, "0.000000 n0 cpu_a     started at 0x0");
    check("", "info", 2, "cpu_a");
    check("", "warn,cpu_a=info", 2, "stopped at 0x0: break 0");
    check("", "warn,cpu_b=info", 0, "");
    check("--cpu b", "warn,cpu_b=info", 2, "cpu_b");
}

#[test]
fn people_get_tables() {
    assemble(
        "people.bin",
        "lui $t0, 7\n li $v0, 0x4e49\n sh $v0, 0($t0)\n break",
    );
    let words = split("exec --load 0={people.bin} --pc 0 --dump 0x70000:4");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let shown = text(&lanigon(&words).stdout);
    for line in [
        "stop: break",
        "  cpu_a: break at pc 0x0000000c",
        "  pc    0x0000000c  0000000d  break",
        "  $v0   00004e49   $t2   00000000   $s2   00000000   $k0   00000000",
        "cpu_b: not started",
        "  00070000  4e490000                             |NI..|",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "{line} not in\n{shown}"
        );
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    assemble("pipe.bin", "break");
    let words = split("exec --load 0={pipe.bin} --pc 0 --dump 0:0x100000");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut child = command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_interrupt_leaves_what_there_is() {
    assemble("long.bin", "again: b again\n nop");
    let words = split("exec -v --json --load 0={long.bin} --pc 0 --max-instructions 1000000000000");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut child = command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert!(line.contains("cpu_a     started at 0x0"), "{line}");
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.expect("kill runs").success());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(130));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["stop"], "interrupted");
    // The interrupt may come before the first instruction.
    assert!(document["cpu_a"]["instructions"].is_u64());
}

/// The name of the program that a process executes, as Linux tells it.
fn process_name(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/comm")).expect("a process")
}

/// A named pipe without a writer: the command waits for its input, and has nothing to finish.
#[test]
fn an_interrupt_ends_a_command_that_waits_for_its_input() {
    let pipe = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nobody-writes.toml");
    // That of an earlier test run.
    let _ = fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    for words in ["run", "debug", "gdb", "profile", "sweep", "image", "ledger"] {
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_lanigon")])
            .args([Path::new(words), &pipe])
            .spawn()
            .expect("env runs");
        let waits = |id: u32| {
            let place = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            place.contains("(lanigon) S")
        };
        while !waits(child.id()) {
            assert_eq!(child.try_wait().expect("a child"), None, "{words}");
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &id]).status();
        assert!(killed.expect("kill runs").success());
        let status = child.wait().expect("the binary ends");
        assert!(
            status.signal() == Some(2) || status.code() == Some(130),
            "{words}: {status}"
        );
    }
}

#[test]
fn a_look_into_a_trace_ends_at_once() {
    for words in ["show -", "grep x -", "stats -", "instructions -"] {
        let words = split(&format!("trace {words}"));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        // A shell without job control ignores interrupts in its background jobs, and a child inherits that.
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_lanigon")])
            .args(&words)
            .stdin(Stdio::piped())
            .spawn()
            .expect("env runs");
        while process_name(child.id()) != "lanigon\n" {
            let ended = child.try_wait().expect("a child");
            assert_eq!(ended, None, "{words:?}");
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &id]).status();
        assert!(killed.expect("kill runs").success());
        // It waits for its input until here.
        let status = child.wait().expect("the binary ends");
        assert_eq!(status.signal(), Some(2), "{words:?}");
    }
}

pub fn hello() -> PathBuf {
    image_folder().join("hello")
}

#[test]
fn images_run_with_their_log_lines() {
    let image = hello().display().to_string();
    let output = lanigon(&["exec", "-v", &image]);
    assert_eq!(output.status.code(), Some(0));
    let (shown, trace) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("(__dispatch_"), "{shown}");
    assert!(trace.contains("cpu_a     log: hello at "), "{trace}");
    let quiet = lanigon(&["exec", &image]);
    assert_eq!(
        (text(&quiet.stdout), text(&quiet.stderr)),
        (shown, String::new())
    );
}

#[test]
fn images_are_described() {
    let image = hello().display().to_string();
    let output = lanigon(&["image", "--json", &image]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["instruction_set"], "ok");
    assert_eq!(document["memories"][0]["size_bytes"], 1024 * 1024);
    let names = |list: &str, name: &str| -> Vec<String> {
        let rows = document[list].as_array().expect("a list");
        rows.iter()
            .map(|row| row[name].as_str().expect("a text").to_owned())
            .collect()
    };
    assert!(names("sections", "name").contains(&".text".into()));
    assert!(names("handlers", "event").contains(&"mailbox".into()));
    assert!(names("probes", "kind").contains(&"panic".into()));
    assert!(names("log_lines", "text").contains(&"hello at {} us".into()));
    let shown = text(&lanigon(&["image", &image]).stdout);
    for part in [
        "instruction set: ok",
        ".text",
        "scratchpad_a",
        "of 256 bytes: ",
        "mailbox",
    ] {
        assert!(shown.contains(part), "{part} not in\n{shown}");
    }
}

#[test]
fn damaged_images_are_refused() {
    let good = fs::read(hello()).expect("built firmware");
    let image = Image::parse(&good, &Tigon2::image_limits(1024 * 1024)).expect("an image");
    let check = |name: &str, damage: &dyn Fn(&mut Vec<u8>), reason: &str| {
        let mut bytes = good.clone();
        damage(&mut bytes);
        let path = file(name, &bytes).display().to_string();
        for command in ["image", "exec"] {
            check_refused(&format!("{command} {path}"), &format!("{name}: "));
            check_refused(&format!("{command} {path}"), reason);
        }
    };
    check("text.elf", &|bytes| bytes.clear(), "not an ELF file");
    check(
        "little.elf",
        &|bytes| bytes[5] = 1,
        "a little-endian ELF file",
    );
    check(
        "machine.elf",
        &|bytes| bytes[19] = 3,
        "another processor (machine 3)",
    );
    check("short.elf", &|bytes| bytes.truncate(200), "cut off");
    let main = image.symbols.iter().find(|symbol| {
        let code = image.instruction(symbol.address).is_some();
        code && symbol.kind == SymbolKind::Function && symbol.size_bytes >= 8
    });
    let main = main.expect("a function");
    let words = [0, 4].map(|offset| image.instruction(main.address + offset).expect("code"));
    let code = words.map(u32::to_be_bytes).concat();
    let at = good
        .windows(8)
        .position(|bytes| bytes == code)
        .expect("the function");
    let mult = |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&[0, 0x43, 0, 0x18]);
    let reason = format!(
        "{} ({:#x}): the chip has no mult instruction",
        main.name, main.address
    );
    check("mult.elf", &mult, &reason);
    check_refused("image {missing.elf}", "missing.elf: No such file");
}

#[test]
fn lists_name_what_there_is() {
    let output = lanigon(&["list", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let has = |list: &str, name: &str| {
        let rows = document[list].as_array().expect("a list");
        assert!(
            rows.iter().any(|row| row["name"] == name),
            "{name} not in {document}"
        );
    };
    has("experiments", "emp");
    has("boards", "tigon2");
    has("profiles", "emp-thesis");
    has("images", "hello");
    has("scenarios", "star-with-loss");
    let shown = text(&lanigon(&["list"]).stdout);
    let lists = document.as_object().expect("an object").values();
    for row in lists.flat_map(|list| list.as_array().expect("a list")) {
        let begin = format!("\n  {}  ", row["name"].as_str().expect("a name"));
        assert!(shown.contains(&begin), "{begin}{shown}");
    }
}

#[test]
fn the_benchmark_prints_one_flat_object() {
    if !::cases::runs_long("the benchmark prints one flat object") {
        return;
    }
    let output = lanigon(&["bench", "--quick", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let members = document.as_object().expect("an object");
    assert!(
        members.values().all(|value| value.as_f64() > Some(0.0)),
        "{document}"
    );
    for key in [
        "busy_mips",
        "busy_mips_sram",
        "busy_slowdown",
        "emp_pingpong_realtime",
        "emp_stream_realtime",
        "idle_realtime",
        "trace_slowdown",
        "threads2_speedup",
        "snapshot_ms",
        "snapshot_megabytes",
        "reverse_step_ms",
        "reverse_step_worst_ms",
        "breakpoint_slowdown",
        "watchpoint_slowdown",
        "busy_breakpoint_slowdown",
        "busy_watchpoint_slowdown",
        "board_megabytes",
        "idle_boards_1024_gigabytes",
        "idle_boards_1024_boot_s",
    ] {
        assert!(members.contains_key(key), "{key} in {document}");
    }
}
