//! `lanigon reproduce` for its users.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::process::{Command, Output};

use serde_json::Value;

fn lanigon(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(args)
        // TCP is measured by the tests of Linux: results are the same with and without a kernel of guests.
        .env("LANIGON_LINUX", "no-kernel")
        .output()
        .unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = lanigon(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{args:?}: {}, {errors}",
        output.status
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().unwrap()
}

fn points(document: &Value) -> &Vec<Value> {
    document["points"].as_array().unwrap()
}

/// Ids of all measured or derived numbers in `data/published-emp.csv`.
fn published_ids() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/published-emp.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row[2] != "parameter");
    rows.map(|row| row[0].to_owned()).collect()
}

#[test]
fn every_published_number_is_accounted_for() {
    let document = json(&["reproduce", "emp", "--quick", "--json"]);
    for profile in ["tigon2-88mhz", "emp-thesis"] {
        for id in published_ids() {
            let found = rows(&document)
                .iter()
                .filter(|row| row["id"] == *id && row["profile"] == profile);
            assert_eq!(found.count(), 1, "{id} {profile}");
        }
    }
    let all = || rows(&document).iter().chain(points(&document));
    for row in all() {
        row_has_the_agreed_form(row);
    }
    assert_eq!(document["partial"], false);
    let schemes = document["extra"]["missing"].as_array().unwrap();
    let without_image = |row: &&Value| schemes.contains(&row["scheme"]) && row["experiment"] != "-";
    for row in all().filter(without_image) {
        assert_eq!(row["role"], "not measured", "{row}");
        assert!(
            row["note"].as_str().unwrap().starts_with("no image emp-"),
            "{row}"
        );
    }
    claims_have_the_agreed_form(&document);
    verdicts_are_pinned(&document);
    medians_are_stated(&document);
}

fn row_has_the_agreed_form(row: &Value) {
    let word = |key: &str| row[key].as_str().unwrap();
    let roles = [
        "input",
        "calibrated",
        "predicted",
        "compared",
        "not modelled",
        "not measured",
    ];
    assert!(roles.contains(&word("role")), "{row}");
    assert!(
        ["latency", "one-way", "two-way", "-"].contains(&word("experiment")),
        "{row}"
    );
    assert!(
        ["us", "Mb/s", "%", "MB", "ns"].contains(&word("unit")),
        "{row}"
    );
    assert_eq!(row["id"].is_null(), row["published"].is_null(), "{row}");
    let measured = !row["measured"].is_null();
    assert_eq!(measured, !word("role").starts_with("not "), "{row}");
    assert!(measured || !word("note").is_empty(), "{row}");
    let compared = ["error", "error_points", "verdict"];
    let compared = compared.iter().filter(|key| !row[**key].is_null()).count();
    let one = measured && !row["id"].is_null();
    assert_eq!(compared, usize::from(one), "{row}");
    assert_eq!(
        row["error_points"].is_null(),
        row["unit"] != "%" || !row["verdict"].is_null() || !measured,
        "{row}"
    );
}

fn claims_have_the_agreed_form(document: &Value) {
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() > 30, "{}", claims.len());
    for claim in claims {
        assert!(claim["id"].as_str().unwrap().starts_with("emp-"), "{claim}");
        let holds = match claim["verdict"].as_str() {
            Some("holds") => Value::Bool(true),
            Some("fails") => Value::Bool(false),
            Some("open") => Value::Null,
            _ => panic!("{claim}"),
        };
        assert_eq!(claim["holds"], holds, "{claim}");
        let uncertain = claim["evidence"].as_str().unwrap().contains("; open: ");
        assert!(!uncertain || holds.is_null(), "{claim}");
        assert!(claim["rounds_needed"].is_null() || uncertain, "{claim}");
        let words = ["claim", "evidence"].map(|key| claim[key].as_str().unwrap());
        assert!(words.iter().all(|words| !words.is_empty()), "{claim}");
    }
    assert_eq!(document["extra"]["judged_under"], "emp-thesis");
    for (verdict, total) in [("holds", "hold"), ("fails", "fail"), ("open", "open")] {
        let found = claims.iter().filter(|claim| claim["verdict"] == verdict);
        let count = found.count();
        assert!(count >= 5, "{verdict}: {count}");
        assert_eq!(document["verdicts"][total], count, "{verdict}");
    }
}

fn medians_are_stated(document: &Value) {
    for profile in ["tigon2-88mhz", "emp-thesis"] {
        let errors = |row: &Value| row["error"].as_f64().map(f64::abs);
        let predicted = rows(document)
            .iter()
            .filter(|row| row["role"] == "predicted" && row["profile"] == profile);
        let mut errors: Vec<_> = predicted.filter_map(errors).collect();
        errors.sort_by(f64::total_cmp);
        let mut medians = document["extra"]["medians"].as_array().unwrap().iter();
        let stated = medians
            .find(|median| median["profile"] == profile && median["of"] == "error")
            .unwrap();
        assert_eq!(stated["predictions"], errors.len());
        let (below, above) = (errors[(errors.len() - 1) / 2], errors[errors.len() / 2]);
        let median = stated["median"].as_f64().unwrap();
        assert!(
            (median - f64::midpoint(below, above)).abs() < 1e-4,
            "{stated}"
        );
    }
}

/// The verdict of each claim: a change of the model or the firmware that changes one must be seen.
fn verdicts_are_pinned(document: &Value) {
    let thesis = document["claims"].as_array().unwrap().iter();
    // Claims about GM are judged where its image is built.
    let about_gm = |claim: &&Value| ["emp-066", "emp-187"].contains(&claim["id"].as_str().unwrap());
    let (about_gm, thesis): (Vec<_>, Vec<_>) = thesis.partition(about_gm);
    assert_eq!(about_gm.len(), 2);
    for claim in about_gm {
        let evidence = claim["evidence"].as_str().unwrap();
        let missing = evidence == "not measured: no image gm";
        assert!(missing || evidence.contains("GM"), "{claim}");
        let verdict = match claim["id"].as_str() {
            _ if missing => "open",
            Some("emp-187") => "fails",
            _ => "holds",
        };
        assert_eq!(claim["verdict"], verdict, "{claim}");
    }
    let thesis = thesis.into_iter();
    let verdicts = thesis.map(|claim| {
        let word = |key: &str| claim[key].as_str().unwrap();
        format!("{} {}\n", word("id"), word("verdict"))
    });
    insta::assert_snapshot!("verdicts", verdicts.collect::<String>());
}

/// The project's guarantees about the thesis's numbers.
#[test]
fn the_thesis_profile_comes_near_the_thesis() {
    let args = ["reproduce", "emp", "--json", "--profile", "emp-thesis"];
    let more = ["--size", "10", "--size", "65536"];
    let document = json(&[&args[..], &more].concat());
    let value = |experiment: &str, scheme: &str, bytes: u32| {
        let at = |row: &&Value| {
            row["experiment"] == experiment
                && row["scheme"] == scheme
                && row["message_bytes"] == bytes
                && row["testbed"] == "933mhz-direct"
                && ["latency", "bandwidth"]
                    .iter()
                    .any(|what| row["what"] == *what)
        };
        let row = points(&document).iter().find(at);
        row.unwrap_or_else(|| panic!("no {experiment} {scheme}"))["measured"]
            .as_f64()
            .unwrap()
    };
    let check = |what: &str, value: f64, least: f64, most: f64| {
        assert!(
            (least..=most).contains(&value),
            "{what}: {value}, not {least} to {most}"
        );
    };
    let latency = |scheme| value("latency", scheme, 10);
    check("base latency", latency("base") / 24.31, 0.85, 1.15);
    for (scheme, published) in [("so", 0.21), ("ro", -1.69), ("dsr", -1.55)] {
        let difference = latency(scheme) - latency("base");
        check(scheme, difference, published - 1.5, published + 1.5);
        assert!(
            difference < 0.0 || published > 0.0,
            "{scheme}: {difference}"
        );
    }
    let one_way = |scheme| value("one-way", scheme, 65_536);
    // One frame's receive work of 10.50 + 2.75 + 2.50 / 3 us limits the bandwidth to 844 Mb/s.
    check("base one-way", one_way("base"), 815.0, 890.0);
    for scheme in ["so", "dsr"] {
        check(scheme, one_way(scheme) / one_way("base"), 1.0, 1.07);
    }
    check("SO and DSR", one_way("so") / one_way("dsr"), 0.98, 1.02);
    for scheme in ["ro", "sr"] {
        check(scheme, one_way(scheme) / 964.0, 0.99, 1.01);
    }
    let two_way = |scheme| value("two-way", scheme, 65_536);
    check("base two-way", two_way("base") / 940.0, 0.95, 1.05);
    check("SO two-way", two_way("so") / 1100.0, 0.88, 1.12);
}

/// The stages run on the CPUs of Tables 3.2 and 3.3.
#[test]
fn stages_are_placed_as_published() {
    for table in ["table-3.2", "table-3.3"] {
        let args = [
            "reproduce",
            "emp",
            "--json",
            "--profile",
            "emp-thesis",
            "--figure",
            table,
        ];
        let document = json(&args);
        assert_eq!(rows(&document).len(), 29, "{table}");
        for row in rows(&document) {
            let off = row["error"].as_f64().unwrap().abs();
            // A CPU that handles mailboxes may enter a stage of the other one briefly.
            assert!(off <= 0.03, "{row}");
        }
    }
}

/// The spans of a ledger add up exactly to the whole.
#[test]
fn the_ledger_adds_up() {
    let document = json(&["reproduce", "emp", "--figure", "emp-004", "--json"]);
    for ledger in document["extra"]["ledgers"].as_array().unwrap() {
        let spans = ledger["spans"].as_array().unwrap();
        let picoseconds = |us: &Value| (us.as_f64().unwrap() * 1e6).round() as u64;
        let sum: u64 = spans.iter().map(|span| picoseconds(&span[2])).sum();
        assert_eq!(sum, picoseconds(&ledger["total_us"]));
        assert!(spans.len() > 10);
    }
    assert_eq!(document["extra"]["ledgers"].as_array().unwrap().len(), 2);
}

/// The explanation of base names the limiting resource, and no utilisation exceeds 1.
#[test]
fn a_scheme_is_explained() {
    let args = [
        "reproduce",
        "emp",
        "--explain",
        "base",
        "--profile",
        "emp-thesis",
    ];
    let document = json(&[&args[..], &["--json"]].concat());
    let usages = document["extra"]["usages"].as_array().unwrap();
    assert_eq!(usages.len(), 2);
    for usage in usages {
        let resources = usage["resources"].as_array().unwrap();
        let busy = |resource: &Value| resource["busy"].as_f64().unwrap();
        assert!(
            resources
                .iter()
                .all(|resource| (0.0..=1.001).contains(&busy(resource))),
            "{usage}"
        );
        let most = resources.iter().map(busy).fold(0.0, f64::max);
        assert!(most > 0.9, "{usage}");
        for cpu in resources
            .iter()
            .filter(|resource| resource["resource"] == "CPU A")
        {
            let parts = cpu["parts"].as_object().unwrap();
            let sum: f64 = parts.values().map(|share| share.as_f64().unwrap()).sum();
            assert!((sum - busy(cpu)).abs() < 0.01, "{cpu}");
        }
        let named = usage["bottleneck"].as_str().unwrap();
        assert!(named.contains("CPU A"), "{named}");
    }
    let output = lanigon(&args);
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "one 10-byte message",
        "one 1478-byte message",
        "Bottleneck: the receiver's CPU A",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn one_figure_and_one_size() {
    let count = |args: &[&str]| {
        let document = json(
            &[
                &["reproduce", "emp", "--json", "--profile", "emp-thesis"],
                args,
            ]
            .concat(),
        );
        let all = rows(&document).iter().chain(points(&document));
        let measured = all.filter(|row| !row["measured"].is_null());
        assert!(measured.count() > 0, "{args:?}");
        (rows(&document).len(), points(&document).len())
    };
    assert_eq!(count(&["--figure", "emp-004"]), (1, 1));
    assert_eq!(count(&["--figure", "table-3.1"]), (6, 0));
    // The difference of two points.
    assert_eq!(count(&["--figure", "emp-006"]), (1, 2));
    assert_eq!(
        count(&["--figure", "figure-2.6", "--size", "77", "--size", "78"]),
        (0, 8)
    );
    // Each scheme in 7 experiments, and base with flow control on two testbeds.
    assert_eq!(count(&["--size", "77"]), (0, 5 * 7 + 2));
}

/// Every file is written, and the plots show each measured curve.
#[test]
fn files_are_written() {
    let folder = std::env::temp_dir().join(format!("lanigon-reproduce-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let output = lanigon(&[
        "reproduce",
        "emp",
        "--size",
        "10",
        "--size",
        "1478",
        "--quick",
        "--out",
        path,
    ]);
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let csv = read("emp.csv");
    let columns = |line: &str| line.split(',').count();
    let head = columns(csv.lines().next().unwrap());
    assert!(csv.lines().all(|line| columns(line) == head), "{csv}");
    assert!(
        csv.lines().any(|line| line.starts_with("emp-004,latency,")),
        "{csv}"
    );
    let document: Value = serde_json::from_str(&read("emp.json")).unwrap();
    assert!(!rows(&document).is_empty());
    assert!(!read("emp.txt").is_empty());
    let page = read("report.md");
    assert!(!page.contains("latency latency"), "{page}");
    let html = read("report.html");
    assert!(
        html.contains("<td>emp-004</td>") && html.contains("image emp-base"),
        "{html}"
    );
    for figure in [
        "2.6", "2.7", "2.8", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7",
    ] {
        for profile in ["tigon2-88mhz", "emp-thesis"] {
            let name = format!("figure-{figure}-{profile}.svg");
            assert!(page.contains(&format!("]({name})")), "{page}");
            let svg = read(&name);
            let curve = if figure == "2.6" {
                "no flow control"
            } else {
                "base"
            };
            let legend = svg.contains(&format!("<g aria-label=\"{curve}\""));
            let point = svg.contains(&format!("<title>{curve}: 10 bytes, "));
            assert!(svg.starts_with("<svg") && legend && point, "{name}: {svg}");
            let pdf = std::fs::read(folder.join(name.replace(".svg", ".pdf"))).unwrap();
            assert!(pdf.starts_with(b"%PDF-"), "{name}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let check = |args: &[&str], expected: &str| {
        let output = lanigon(&[&["reproduce"], args].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(output.stdout.is_empty());
    };
    check(&["tcp"], "invalid value 'tcp'");
    check(&["all", "--size", "10"], "--size is for single papers");
    check(&["all", "--explain"], "--explain is for single papers");
    check(
        &["barrier", "--size", "4"],
        "--size is for `reproduce emp`, `reproduce gm`",
    );
    check(
        &["atomics", "--explain"],
        "--explain: there is no critical path of atomic operations",
    );
    check(
        &["emp", "--size", "0"],
        "--size 0: a message has between 1 and",
    );
    check(&["emp", "--size", "2097153"], "--size 2097153");
    check(&["emp", "--size", "ten"], "ten");
    check(&["emp", "--figure", "emp-018"], "a parameter of the thesis");
    check(&["emp", "--figure", "figure-9"], "there is no such figure");
    check(&["emp", "--figure", "figure-9"], "figures 2.6, 2.7");
    check(&["emp", "--figure", "figure-9"], "emp-178");
    check(
        &["emp", "--explain", "sro"],
        "there are: base, so, ro, dsr, sr",
    );
    check(
        &["emp", "--explain", "base", "--figure", "3.5"],
        "cannot be used with",
    );
    check(&["emp", "--profile", "nothing"], "nothing");
    check(
        &["emp", "--out", "/proc/nowhere/at/all"],
        "/proc/nowhere/at/all",
    );
    check(
        &["emp", "--out", "/dev/null"],
        "--out /dev/null: cannot be written",
    );
    check(&["emp", "--quik"], "--quick");
    check(
        &["emp", "--max-time", "10", "--size", "10"],
        "the limit of simulated time",
    );
}
