//! The flame graph of `lanigon profile`: zoom, search, hover.

use std::process::Command;

use super::{folder, is_there, run};

const SCRIPT: &str = r#"
const width = (box) => Number(box.rect.getAttribute("width"));
const shown = () => boxes.filter((box) => box.group.style.display !== "none");
const mouse = (target, type) => target.dispatchEvent(new MouseEvent(type, { bubbles: true }));
say("one cpu: " + (boxes.filter((box) => box.depth === 0).length === 1));
const send = boxes.find((box) => box.name.endsWith("::send"));
const before = [width(send), shown().length];
mouse(send.group, "mouseenter");
say("hover: " + (words.textContent === `${send.name}: ${send.cycles} cycles, ${(100 * send.cycles / total).toFixed(2)} %`));
mouse(send.group, "mouseleave");
say("left: " + words.textContent);
mouse(send.group, "click");
say("zoomed: " + (before[0] < 1200) + " " + width(send) + " " + (shown().length < before[1]) + " " + (reset.style.display === ""));
say("callers: " + shown().filter((box) => box.depth < send.depth).every((box) => width(box) === 1200));
say("label: " + send.label.textContent);
mouse(reset, "click");
say("back: " + (width(send) === before[0]) + " " + (shown().length === before[1]));
field.value = "CPU_A::SEND";
field.dispatchEvent(new Event("input"));
const hits = boxes.filter((box) => box.rect.classList.contains("hit"));
say("found: " + hits.every((box) => box.name.includes("cpu_a::send")) + " " + (hits.length > 0));
const sum = hits.reduce((sum, box) => sum + box.cycles, 0);
say("sum: " + found.textContent.startsWith(`found: ${sum} cycles, `));
field.value = "";
field.dispatchEvent(new Event("input"));
say("none: " + boxes.some((box) => box.rect.classList.contains("hit")) + found.textContent);
say("requests: " + performance.getEntriesByType("resource").length);
"#;

#[test]
fn a_flame_graph_is_interactive() {
    if !is_there() {
        return;
    }
    let folder = folder("browser-flame");
    let file = folder.join("pair.svg");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/pair.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args([
            "profile", scenario, "--node", "0", "--until", "+2ms", "--flame",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let picture = std::fs::read_to_string(&file).unwrap();
    let total = picture.split("data-total=\"").nth(1).unwrap();
    let total = total.split('"').next().unwrap();
    let said = run(&file, "</svg>", SCRIPT);
    assert_eq!(
        said,
        [
            "one cpu: true",
            "hover: true",
            &format!("left: {total} cycles"),
            "zoomed: true 1200 true true",
            "callers: true",
            "label: cpu_a::send",
            "back: true true",
            "found: true true",
            "sum: true",
            "none: false",
            "requests: 0",
        ]
    );
}
