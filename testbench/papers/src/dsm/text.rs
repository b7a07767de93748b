//! Tables of the programs' times, as text.

use std::fmt::Write;

use super::key::{NODES, Program, Testbed, most_nodes, sizes};
use super::results::Results;

const fn protocol(ardmar: bool) -> &'static str {
    if ardmar { "ardmar" } else { "async" }
}

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
    for testbed in Testbed::ALL {
        for ardmar in [false, true] {
            let _ = write!(text, "{:<22} {:>8}", testbed.name(), protocol(ardmar));
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
    let most = most_nodes(results.amount);
    for &size in sizes(results.amount) {
        let _ = write!(
            text,
            "\nTime with async / with ardmar, {} sizes, {most} nodes\n{:<22}",
            size.name(),
            ""
        );
        for program in Program::APPLICATIONS {
            let _ = write!(text, " {:>8}", program.name());
        }
        text.push('\n');
        for testbed in Testbed::ALL {
            let _ = write!(text, "{:<22}", testbed.name());
            for program in Program::APPLICATIONS {
                let gain = number(results.gain(testbed, program, size, most));
                let _ = write!(text, " {gain:>8}");
            }
            text.push('\n');
        }
    }
}

/// Figures 9 to 14: the parts of the time of the paper's testbed.
fn write_parts(text: &mut String, results: &Results) {
    for &size in sizes(results.amount) {
        let _ = writeln!(
            text,
            "\nMeans of nodes, us, {} sizes (figures 9 to 14)\n{:<7} {:<7} {:>5} {:>10} {:>9} {:>10} {:>10} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}",
            size.name(),
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
        for program in Program::APPLICATIONS {
            for ardmar in [false, true] {
                for nodes in [1].into_iter().chain(NODES) {
                    let found = results.times(Testbed::Paper, program, size, nodes, ardmar);
                    let Some(one) = found else { continue };
                    let up = number(results.speed_up(program, size, nodes, ardmar));
                    let _ = writeln!(
                        text,
                        "{:<7} {:<7} {nodes:>5} {:>10.0} {:>9.0} {:>10.0} {:>10.0} {:>9.0} {:>9.0} {:>9.0} {:>7.0} {:>7.0} {up:>8}",
                        program.name(),
                        protocol(ardmar),
                        one.total_us,
                        one.compute_us,
                        one.page_us,
                        one.handler_us,
                        one.lock_us,
                        one.barrier_us,
                        one.fault_us,
                        one.faults,
                        one.fetches,
                    );
                }
            }
        }
    }
}
