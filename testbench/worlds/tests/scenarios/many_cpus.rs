//! Boards whose number of CPUs is a cost of the profile.

use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::simulation::{Blueprint, RunOptions, inputs};

const PAIR: &str = "image = \"emp-sr\"\n[network]\ntopology = \"pair\"\n\
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 20\nbytes = 3000\n";

/// A scenario on boards with so many CPUs.
fn with_cpus(cpus: &str) -> String {
    format!("board = \"tigon-n\"\n{PAIR}[costs]\ncore.cpus = {cpus}\n")
}

/// Firmware for the two CPUs of the chip does the same on boards with more, whose further CPUs nothing starts.
#[test]
fn firmware_of_the_chip_runs_on_boards_with_more_cpus() {
    let run = |text: &str| super::run(text, &RunOptions::default());
    let chip = run(PAIR);
    assert!(chip.is_good());
    for cpus in [2, 3, 8] {
        let other = run(&with_cpus(&cpus.to_string()));
        assert_eq!(other.trace_hash, chip.trace_hash, "{cpus} CPUs");
        assert_eq!(other.verdict.latency_us(50), chip.verdict.latency_us(50));
    }
}

#[test]
fn the_number_of_cpus_is_checked_with_its_position() {
    let check = |cpus: &str, expected: &str| {
        let scenario = lanigon_workloads::parse("s", &with_cpus(cpus)).unwrap();
        let of = |found: Result<(), ScenarioError>| found.unwrap_err().to_string();
        let described = of(inputs::describe(&scenario).map(|_| ()));
        let start = "s:11: costs.core.cpus: profile \"tigon-n-88mhz\": core.cpus = ";
        let reason = described.strip_prefix(start);
        let reason = reason.unwrap_or_else(|| panic!("{described}"));
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(described, of(Blueprint::new(&scenario).map(|_| ())));
    };
    check("0", "0 CPUs: it must lie between 1 and 8");
    check("9", "9 CPUs: it must lie between 1 and 8");
    check("2.5", "2.5 CPUs: it must be a whole number");
}

/// Costs of such boards that make the same exchange faster, each beside those before.
#[test]
fn links_memory_and_buses_are_costs() {
    let with = |link: &str, costs: &str| {
        let text = with_cpus("2").replace("\"pair\"\n", &format!("\"pair\"\n{link}\n")) + costs;
        let outcome = super::run(&text, &RunOptions::default());
        assert!(outcome.is_good(), "{text}");
        outcome.verdict.latency_us(50).unwrap()
    };
    const LINK: &str = "link = { speed_mbit = 10_000 }";
    const CLOCK: &str = "core.clock = 166_000_000\n";
    const MEMORY: &str = "sram.width = 32\nsram.banks = 4\n";
    const BUS: &str = "pci.clock = 1_000_000_000\npci.width = 64\npci.burst_overhead = 0\n";
    let latencies = [
        with("", ""),
        with(LINK, ""),
        with(LINK, CLOCK),
        with(LINK, &[CLOCK, MEMORY].concat()),
        with(LINK, &[CLOCK, MEMORY, BUS].concat()),
    ];
    assert!(
        latencies.is_sorted_by(|slow, fast| slow > fast),
        "{latencies:?}"
    );
    let link_saves = latencies[0] - latencies[1];
    // At least nine tenths of the first frame's 12.3 us, at most of both.
    assert!((11.0..22.2).contains(&link_saves), "{link_saves} us");
}
