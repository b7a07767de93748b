//! Tests with gdb, if installed.

use std::path::Path;
use std::process::{Command, Stdio};

use lanigon_worlds::images::image_folder;

use super::client::PAIR;
use super::server::{Server, file};
use crate::tools::is_installed;

/// Output of gdb for a script on node 0 of a scenario. It begins attached, and ends the run.
fn gdb(name: &str, scenario: &str, image: &Path, script: &str) -> String {
    let socket = file(&format!("gdb-{name}.sock"));
    let socket = socket.to_str().unwrap();
    let server = Server::of(name, scenario, &["--socket", socket]);
    let path = file(&format!("gdb-{name}.gdb"));
    let script = format!(
        "set pagination off\nset confirm off\nset width 0\ntarget remote {socket}\n{script}\nkill\n"
    );
    std::fs::write(&path, script).unwrap();
    // Both output streams in one, as shown to a user.
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "exec gdb-multiarch -nx -q -batch -x \"$0\" \"$1\" 2>&1",
    ]);
    command.arg(path).arg(image);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{shown}\n{said}");
    shown
}

/// Whether these pieces occur in order.
#[track_caller]
fn check(name: &str, script: &str, pieces: &[&str]) {
    check_of(name, PAIR, &image_folder().join("emp-so"), script, pieces);
}

/// Whether these pieces occur in order, in gdb on node 0 of a scenario with this image.
#[track_caller]
fn check_of(name: &str, scenario: &str, image: &Path, script: &str, pieces: &[&str]) {
    if !is_installed("gdb-multiarch", name) {
        return;
    }
    let shown = gdb(name, scenario, image, script);
    let mut rest = shown.as_str();
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            panic!("\"{piece}\" does not come where it should:\n{shown}");
        };
        rest = &rest[at + piece.len()..];
    }
}

#[test]
fn source_symbols_and_threads() {
    check(
        "source",
        "break post_receive\ncontinue\ninfo threads\nbt\ninfo symbol $pc\nx/2i $pc\nlist\nfinish\n\
         thread 2\nbt\nthread apply all print $pc\nbreak lib.rs:179\ncontinue\ninfo registers pc",
        &[
            "Breakpoint 1 at",
            "Thread 1 hit Breakpoint 1, post_receive",
            "CPU A of 0, running",
            "CPU B of 0, ",
            "#0  post_receive",
            "#1  ",
            "on_mailbox",
            "post_receive + ",
            "=> 0x",
            "emp_image!(So, two CPUs)",
            "on_mailbox",
            "Switching to thread 2",
            "#0  ",
            "Thread 2 (",
            "Thread 1 (",
            "Breakpoint 2 at",
            "hit Breakpoint 2",
            "pc: 0x",
        ],
    );
}

#[test]
fn its_own_steps_pass_the_dispatch_of_both_cpus() {
    // lw, pri, joff, its slot, a jump of the table with its slot, and again.
    check(
        "dispatch",
        "set language c\nbreak *(int)&__dispatch_a thread 1\ncontinue\ndelete\nstepi\nstepi\nstepi\nstepi\nstepi\n\
         printf \"A %x\\n\", $pc - (int)&__dispatch_a\n\
         break *(int)&__dispatch_b thread 2\ncontinue\ndelete\nstepi\nstepi\nstepi\nstepi\nstepi\n\
         printf \"B %x\\n\", $pc - (int)&__dispatch_b\nreverse-stepi\nreverse-stepi\nreverse-stepi\n\
         printf \"B %x\\n\", $pc - (int)&__dispatch_b\nstepi\nprintf \"B %x\\n\", $pc - (int)&__dispatch_b",
        &[
            "Thread 1 hit Breakpoint 1, 0x",
            " in __dispatch_a",
            " in __dispatch_a",
            " in __dispatch_a",
            " in __dispatch_a",
            " in __dispatch_table_a",
            "A 0",
            "Thread 2 hit Breakpoint 2, 0x",
            " in __dispatch_table_b",
            "B 0",
            "B 8",
            "B c",
        ],
    );
}

#[test]
fn watchpoints_forwards_and_back() {
    check(
        "watch",
        "break post_receive\ncontinue\ndelete\nset language c\nwatch -l *(int *)($sp - 8)\ncontinue\nreverse-continue\n\
         x/i $pc\ndelete\nrwatch *(int *)0xc0000060\ncontinue\ndelete\nreverse-continue",
        &[
            "Hardware watchpoint 2",
            "hit Hardware watchpoint 2",
            "Old value = 0",
            "New value = ",
            "hit Hardware watchpoint 2",
            "New value = 0",
            "sw\t",
            "hit Hardware read watchpoint 3",
            "Value = ",
            "No more reverse-execution history",
        ],
    );
}

#[test]
fn monitor_and_changes() {
    check(
        "monitor",
        "set language c\nmonitor goto +30us\nmaintenance flush register-cache\nprintf \"%x\\n\", $pc == 0\n\
         set var *(int *)0xffff0 = 42\nprint *(int *)0xffff0\nset var $t0 = 7\nprint $t0\nmonitor goto +29us\nstepi\n\
         print *(int *)0xffff0\nnext\nstep\nmonitor where",
        &[
            "gdb does not know of this yet",
            "0\n",
            "$1 = 42",
            "$2 = 7",
            "SIGINT",
            "$3 = 0",
            "us (+29.",
        ],
    );
}

/// A program of `firmware/cases` on a board that its host starts.
#[track_caller]
fn check_case(program: &str, script: &str, pieces: &[&str]) {
    let image = image_folder().join("../cases").join(program);
    let scenario = format!(
        "image = \"{}\"\nmax_time_us = 1000\n[network]\ntopology = \"none\"\nnodes = 1\n\
         [[program]]\nrun = \"start\"\nnodes = 0\n",
        image.display()
    );
    check_of(program, &scenario, &image, script, pieces);
}

#[test]
fn a_panic_is_shown_where_it_happened() {
    check_case(
        "panic_expect",
        // The slot of a branch that is taken.
        "tbreak *0x40e0\ncontinue\nx/i $pc - 4\nprintf \"slot %x\\n\", $pc\n\
         continue\nbt\nmonitor backtrace\ninfo threads\ninfo all-registers\nstepi",
        &[
            "bne",
            "slot 40e0",
            "CPU A has stopped: panic at cases/src/bin/panic_expect.rs:13: no descriptor is free",
            "received signal SIGABRT",
            "#0  ",
            "panic_expect.rs:13",
            "#0  ",
            "core::panicking::panic_fmt",
            "panic_expect::main at cases/src/bin/panic_expect.rs:13",
            "CPU A of 0, stopped",
            "fcsr",
            "nothing can happen any more",
        ],
    );
}

#[test]
fn a_misaligned_access_is_a_bus_error_and_can_be_left_behind() {
    check_case(
        "misaligned",
        "continue\nbt\nset var $pc = $pc + 4\ninfo threads\nmonitor where\nstepi\nstepi\ninfo threads",
        &[
            "CPU A has stopped: misaligned 4-byte access to 0x00004001",
            "received signal SIGBUS",
            "#0  ",
            "misaligned.rs:15",
            "CPU A of 0, running",
            "CPU A  running at",
            "CPU A of 0, running",
        ],
    );
}
