//! Room that the images of EMP leave: a change that takes the last of it is noticed before an image does not start.

use std::process::Command;

use emp::jobs::Queue;
use rings::Queue as Layout;
use serde_json::Value;

/// Address at which the rings of a board with 512 KB begin (`__image_end` of firmware/tigon2-hal/tigon2.x stays below).
const RINGS: u32 = 0x3D800;
/// Least room in SRAM, in bytes, and in each scratchpad.
const SRAM_ROOM: u32 = 64;
const SCRATCHPAD_ROOM: u64 = 256;
/// Begin of the line in which EMP reports its memory when it is ready.
const USED: &str = "memory used up to 0x";

fn lanigon(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    let output = command.args(arguments).env_remove("RUST_LOG").output();
    super::cases::text(&output.unwrap())
}

/// A line for each memory of which the image leaves too little.
fn full(image: &str, log: &str, memories: &Value) -> Vec<String> {
    let queues = Queue::ALL
        .into_iter()
        .map(|queue| Layout::new(0, queue.entries(), queue.words()).bytes());
    let limit = RINGS - queues.sum::<u32>();
    let used = log.split_once(USED).map(|(_, rest)| &rest[..5]);
    let used = used.and_then(|used| u32::from_str_radix(used, 16).ok());
    let left = used.map(|used| limit.saturating_sub(used));
    let mut lines = Vec::new();
    if left.is_none_or(|left| left < SRAM_ROOM) {
        let left = left.unwrap_or_default();
        lines.push(format!(
            "{image} leaves {left} bytes of SRAM below the queues at {limit:#x}: at least {SRAM_ROOM} are wanted"
        ));
    }
    for memory in memories.as_array().into_iter().flatten() {
        let [used, size] = ["used_bytes", "size_bytes"].map(|key| memory[key].as_u64());
        let left = size
            .zip(used)
            .map_or(0, |(size, used)| size.saturating_sub(used));
        if left < SCRATCHPAD_ROOM {
            let name = &memory["memory"];
            lines.push(format!(
                "{image} leaves {left} bytes of {name}: at least {SCRATCHPAD_ROOM} are wanted"
            ));
        }
    }
    lines
}

#[test]
fn images_of_emp_leave_room() {
    let mut lines = Vec::new();
    for image in [
        "emp-base", "emp-so", "emp-ro", "emp-dsr", "emp-sr", "emp-dyn",
    ] {
        let log = lanigon(&["exec", "-v", "--max-instructions", "1000000", image]);
        let json = lanigon(&["image", "--json", image]);
        let json: Value = serde_json::from_str(&json).unwrap();
        lines.extend(full(image, &log, &json["memories"]));
    }
    // With 1 MB of SRAM it has room there.
    let json = lanigon(&["image", "--json", "--board", "tigon-n", "emp-dyn-n"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    lines.extend(full(
        "emp-dyn-n",
        &format!("{USED}00000"),
        &json["memories"],
    ));
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn an_image_without_room_is_named() {
    let memories = serde_json::json!([
        {"memory": "scratchpad_a", "used_bytes": 100, "size_bytes": 16384},
        {"memory": "scratchpad_b", "used_bytes": 8000, "size_bytes": 8192},
    ]);
    let lines = full("emp", "log: memory used up to 0x3d7ff", &memories);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("emp leaves 0 bytes of SRAM below the queues at 0x3"));
    assert!(lines[1].starts_with("emp leaves 192 bytes of \"scratchpad_b\""));
}
