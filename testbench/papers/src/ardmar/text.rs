//! Tables of the programs' times, as text.

use std::fmt::Write;

use super::results::{APPLICATIONS, NODES, PAPERS, PROTOCOLS, Results, TESTBEDS};

/// The tables as text.
pub(super) fn text(results: &Results) -> String {
    let mut text = String::new();
    write_fetches(&mut text, results);
    write_gains(&mut text, results);
    write_parts(&mut text, results);
    text
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

/// Figure 8.
fn write_fetches(text: &mut String, results: &Results) {
    let _ = writeln!(
        text,
        "\nTime of a page fetch, us (figure 8)\n{:<22} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "", "protocol", 2, 4, 8, 16
    );
    for (testbed, name) in TESTBEDS {
        for (ardmar, protocol) in PROTOCOLS {
            let _ = write!(text, "{:<22} {:>8}", name, protocol);
            for nodes in NODES {
                let fetch = number(results.fetch_us(testbed, nodes, ardmar));
                let _ = write!(text, " {fetch:>9}");
            }
            text.push('\n');
        }
    }
}

/// Ratios of the applications' times with handlers to those without, on all testbeds.
fn write_gains(text: &mut String, results: &Results) {
    let most = results.most();
    for &size in results.sizes() {
        let _ = write!(
            text,
            "\nTime with async / with ardmar, {} sizes, {most} nodes\n{:<22}",
            size.to_lowercase(),
            ""
        );
        for (_, name) in APPLICATIONS {
            let _ = write!(text, " {name:>8}");
        }
        text.push('\n');
        for (testbed, name) in TESTBEDS {
            let _ = write!(text, "{:<22}", name);
            for (program, _) in APPLICATIONS {
                let gain = number(results.gain((testbed, program, size, most)));
                let _ = write!(text, " {gain:>8}");
            }
            text.push('\n');
        }
    }
}

/// Figures 9 to 14: the parts of the time of the paper's testbed.
fn write_parts(text: &mut String, results: &Results) {
    for &size in results.sizes() {
        let _ = writeln!(
            text,
            "\nMeans of nodes, us, {} sizes (figures 9 to 14)\n{:<7} {:<7} {:>5} {:>10} {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}",
            size.to_lowercase(),
            "",
            "",
            "nodes",
            "total",
            "compute",
            "page",
            "handler",
            "lock",
            "barrier",
            "fault",
            "faults",
            "fetches",
            "speed-up"
        );
        for (program, name) in APPLICATIONS {
            for (ardmar, protocol) in PROTOCOLS {
                for nodes in [1].into_iter().chain(NODES) {
                    let run = (PAPERS, program, size, nodes);
                    let mean = |of| results.mean(run, ardmar, of).unwrap_or_default();
                    if results.mean(run, ardmar, "total_us").is_none() {
                        continue;
                    }
                    let up = number(results.speed_up(program, size, nodes, ardmar));
                    let _ = writeln!(
                        text,
                        "{:<7} {:<7} {nodes:>5} {:>10.0} {:>9.0} {:>10.0} {:>10.0} {:>9.0} {:>9.0} {:>9.0} {:>7.0} {:>7.0} {up:>8}",
                        name,
                        protocol,
                        mean("total_us"),
                        mean("compute_us"),
                        mean("page_us"),
                        mean("handler_us"),
                        mean("lock_us"),
                        mean("barrier_us"),
                        mean("fault_us"),
                        mean("faults"),
                        mean("fetches"),
                    );
                }
            }
        }
    }
}
