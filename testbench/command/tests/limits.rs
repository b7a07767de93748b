//! Programs without an end, as `lanigon exec` runs them up to a limit.

use serde_json::json;

use super::cli::check_run;

#[test]
fn endless_programs_end_at_a_limit() {
    let limit = |reason| ("limit", 0, reason);
    check_run(
        "spin",
        "again: b again\n nop",
        "--max-instructions 12345",
        limit(
            "cpu_a: rests at a jump to itself after 12345 instructions, the limit: at pc 0x0000400",
        ),
        &[
            ("/cpu_a/instructions", json!(12345)),
            ("/memory", json!({})),
        ],
    );
    check_run(
        "timed",
        "again: b again\n nop",
        "--max-time 250",
        limit("cpu_a: rests at a jump to itself when the time is over: at pc"),
        &[("/cpu_a/instructions", json!(21994))],
    );
    check_run(
        "busy",
        "again: addiu $t0, $t0, 1\n b again\n nop",
        "",
        (
            "limit",
            1,
            "cpu_a: still runs after 10000000 instructions, the limit",
        ),
        &[("/cpu_a/instructions", json!(10_000_000))],
    );
    let idle = "lui $t0, 0xc000\n again: lw $t1, 0x60($t0)\n b again\n nop";
    let waits = "nothing is pending that could wake it";
    let count = json!(1_000_000_000_000_u64);
    check_run(
        "idle",
        idle,
        "--max-instructions 1000000000000",
        limit(waits),
        &[("/cpu_a/instructions", count)],
    );
    check_run(
        "idle_default",
        idle,
        "",
        limit(waits),
        &[("/cpu_a/instructions", json!(10_000_000))],
    );
    check_run("idle_timed", idle, "--max-time 1e12", limit("cpu_a: "), &[]);
    // A has stopped; B, started by A, continues.
    check_run(
        "left",
        "lui $t0, 0xc000\n li $t1, 0x4014\n sw $t1, 0x244($t0)\n sw $zero, 0x240($t0)\n \
         break\n again: b again\n nop",
        "--max-instructions 1000",
        limit("cpu_b: rests at a jump to itself after 1000 instructions, the limit"),
        &[("/cpu_b/instructions", json!(1000))],
    );
}
