//! The report of `lanigon reproduce`: tables that sort and filter, figures that show values.

use std::process::Command;

use super::{folder, is_there, run};

/// Runs in the page: the first cells of a table, and what happens to them.
const SCRIPT: &str = r#"
const table = (title) => [...document.querySelectorAll("figure.table")]
    .find((box) => box.querySelector("figcaption").textContent.trim().startsWith(title));
const points = table("Measured points");
const columns = [...points.querySelectorAll("th")].map((head) => head.textContent);
const column = (name) => [...points.querySelectorAll("tbody tr")].filter((row) => !row.hidden)
    .map((row) => row.cells[columns.indexOf(name)].textContent);
const click = (name) => points.querySelectorAll("th button")[columns.indexOf(name)].click();
const numbers = () => column("here").map(Number);
const ascends = (list) => list.every((value, index) => index === 0 || list[index - 1] <= value);
say(columns.join());
say(numbers().length);
say("before: " + ascends(numbers()));
click("here");
say("ascending: " + ascends(numbers()) + " " + points.querySelectorAll("th")[columns.indexOf("here")].getAttribute("aria-sort"));
click("here");
say("descending: " + ascends(numbers().reverse()) + " " + ascends(numbers()));
click("scheme");
say("by text: " + ascends(column("scheme")));
const filter = points.querySelector("input");
const type = (words) => { filter.value = words; filter.dispatchEvent(new Event("input")); };
type("latency dsr 933MHZ-direct");
say("filtered: " + column("scheme").join() + " " + column("what").join() + " " + points.querySelector("output").textContent);
type("no such words");
say("none: " + column("scheme").length + " " + points.querySelector("output").textContent);
type("");
say("all: " + column("scheme").length);
const figure = document.querySelector("svg.figure");
const group = figure.querySelector("g.point");
const tip = document.getElementById("tip");
say("tip: " + tip.hidden);
figure.scrollIntoView();
const at = group.lastElementChild.getBoundingClientRect();
const move = (x, y) => figure.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: y, bubbles: true }));
move(at.left + at.width / 2 + 1, at.top + at.height / 2);
say("tip: " + tip.hidden + " " + tip.textContent);
say("near: " + group.classList.contains("near"));
figure.dispatchEvent(new MouseEvent("mouseleave"));
say("tip: " + tip.hidden + " " + group.classList.contains("near"));
say("requests: " + performance.getEntriesByType("resource").length);
say("letters: " + [...figure.querySelectorAll("use")].every((use) => document.querySelector(use.getAttribute("href"))));
"#;

#[test]
fn a_report_is_interactive() {
    if !is_there() {
        return;
    }
    let folder = folder("browser-report");
    let status = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["reproduce", "emp", "--quick", "--profile", "emp-thesis"])
        .args(["--size", "10", "--size", "1024", "--out"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let said = run(&folder.join("report.html"), "</body>", SCRIPT);
    // Two sizes of 37 curves.
    let expected = [
        "scheme,profile,testbed,what,bytes,here,±,unit,rounds,role",
        "74",
        "before: false",
        "ascending: true ascending",
        "descending: true false",
        "by text: true",
        "filtered: dsr,dsr latency,latency 2 of 74 rows",
        "none: 0 0 of 74 rows",
        "all: 74",
        "tip: true",
        "tip: false no flow control: 10 bytes, ",
        "near: true",
        "tip: true false",
        "requests: 0",
        "letters: true",
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        // The measured value is not pinned here.
        let exact = !expected.ends_with(", ");
        assert!(
            said.starts_with(expected) && (!exact || said == expected),
            "{said}, not {expected}"
        );
    }
}
