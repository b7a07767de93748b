//! Names and files of another kind than a command takes: it says what to give.

use std::process::Command;

/// Checks the error of a command that refuses its arguments.
#[track_caller]
fn check(arguments: &str, says: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments.split(' ')).env_remove("RUST_LOG");
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = command.current_dir(project).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains(says),
        "{arguments}: lacks {says:?} in\n{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert_eq!(output.status.code(), Some(2), "{errors}");
}

#[test]
fn misspelled_names_have_a_suggestion() {
    for command in ["run", "profile", "debug", "gdb", "ledger"] {
        check(
            &format!("{command} pairr"),
            "no built-in scenario \"pairr\"; did you mean \"pair\"?",
        );
    }
    for command in ["exec", "image", "acenic --firmware"] {
        check(
            &format!("{command} hell"),
            "no built-in image \"hell\"; did you mean \"hello\"?",
        );
    }
    check(
        "sweep los",
        "no built-in sweep \"los\"; did you mean \"loss\"?",
    );
    check(
        "exec --board tigon2 fm",
        "\"fm\" is an image for lanai boards, this one is for tigon2",
    );
}

#[test]
fn files_of_another_kind_name_their_command() {
    let hello = "firmware/target/tigon2/release/hello";
    for scenario in ["pair", "scenarios/pair.toml"] {
        let says = format!("{scenario}: this is a scenario: lanigon run {scenario}");
        for command in ["exec", "image", "acenic --firmware", "sweep"] {
            check(&format!("{command} {scenario}"), &says);
        }
    }
    for image in ["hello", hello] {
        let says = format!("{image}: this is an image: lanigon exec {image}");
        for command in ["run", "profile", "debug", "sweep"] {
            check(&format!("{command} {image}"), &says);
        }
    }
    check("run loss", "loss: this is a sweep: lanigon sweep loss");
    check(
        "exec README.md",
        "if it is raw machine code: lanigon exec --load 0x4000=README.md --pc 0x4000",
    );
    check(
        "exec --load 0x4000=README.md",
        "the address of its first instruction, as --pc 0x4000",
    );
}

#[test]
fn folders_are_no_files() {
    check(
        "run scenarios",
        "this is a folder: give a file of it, as scenarios/",
    );
    check("run examples/echo", "this is the folder of a project");
    check("exec scenarios", "this is a folder, without an image in it");
    check(
        "exec .",
        "this is the folder of a project: give an image of it, as ./firmware/target/",
    );
}

#[test]
fn results_that_cannot_be_written_end_a_sweep_before_its_runs() {
    check(
        "sweep loss --out /proc/x",
        "/proc/x: no results can be written: ",
    );
}
