//! Programs over shared memory in scenarios: each with both protocols and all options, on small sizes; wrong settings; nodes that are cut off.

use lanigon_workloads::dsm::DsmUse;
use lanigon_worlds::simulation::RunOptions;

use super::gm::built;
use super::good;

fn text(nodes: u32, program: &str, more: &str) -> String {
    format!(
        "board = \"lanai9.2-200\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nrun = \"dsm\"\nnodes = \"all\"\n{program}\n{more}"
    )
}

#[test]
fn applications_compute_what_one_process_computes() {
    if !built() {
        return;
    }
    let applications = [
        "application = \"pages\"\nsize = 4",
        "application = \"radix-sort\"\nsize = 600",
        "application = \"integer-sort\"\nsize = 500\nrepeats = 1",
        "application = \"fft\"\nsize = 8\nrepeats = 1",
        "application = \"barnes-hut\"\nsize = 60\nrepeats = 2",
        "application = \"water\"\nsize = 60\nrepeats = 2",
    ];
    let ways = [
        (3, "protocol = \"async\""),
        (
            3,
            "protocol = \"ardmar\"\ndiffs = \"put\"\nlocks = \"atomic\"\nbarriers = \"nic\"",
        ),
        (4, "protocol = \"async\"\nearly_fetches = 4"),
        (
            4,
            "protocol = \"ardmar\"\nearly_fetches = 2\nearly_at = \"unlocked\"",
        ),
        (4, "protocol = \"ardmar\"\nparts = 8"),
        (3, "protocol = \"async\"\nnotices = \"put\""),
        (4, "protocol = \"ardmar\"\nlocks = \"board\""),
        (
            4,
            "protocol = \"ardmar\"\nearly_fetches = 4\nparts = 2\nlocks = \"board\"\nbarriers = \"nic\"\nnotices = \"put\"",
        ),
        (
            3,
            "protocol = \"ardmar\"\nearly_fetches = 4\nparts = 4\ndiffs = \"put\"\nlocks = \"atomic\"\nbarriers = \"nic\"",
        ),
    ];
    for application in applications {
        for (nodes, way) in ways {
            let program = format!("{application}\n{way}");
            let outcome = good(&text(nodes, &program, "[faults]\nloss = 0.001\n"));
            let [result] = &outcome.results::<DsmUse>()[..] else {
                panic!("{program}: {:?}", outcome.results::<DsmUse>());
            };
            assert_eq!(result.nodes.len(), nodes as usize);
            let mean = &result.mean;
            assert!(way.contains("early") || mean.early_begun == 0.0);
            assert!(way.contains("parts") || mean.part_waits == 0.0);
            assert!(result.mean.fetches > 0.0 && result.mean.total_us > 0.0);
            let parts = result.nodes.iter().map(|node| {
                let waits = node.page_us + node.lock_us + node.barrier_us;
                (
                    node.total_us,
                    waits + node.compute_us + node.handler_us + node.fault_us,
                )
            });
            for (total, parts) in parts {
                assert!(
                    parts <= total * 1.02 + 20.0,
                    "{program}: {parts} of {total}"
                );
            }
        }
    }
}

#[test]
fn one_node_needs_no_network() {
    if !built() {
        return;
    }
    for protocol in ["async", "ardmar"] {
        let program = format!("application = \"fft\"\nsize = 8\nprotocol = \"{protocol}\"");
        let outcome = good(&text(2, &program, "").replace("\"all\"", "0"));
        assert!(outcome.results::<DsmUse>()[0].mean.fetches == 0.0);
    }
}

#[test]
fn ardmar_needs_no_handler_for_pages() {
    if !built() {
        return;
    }
    let handled = |protocol: &str| {
        let program = format!("application = \"pages\"\nsize = 16\nprotocol = \"{protocol}\"");
        let outcome = good(&text(4, &program, ""));
        // The first node waits in the barrier, where three others come to.
        outcome.results::<DsmUse>()[0].nodes[0].handled
    };
    assert_eq!(
        (handled("async"), handled("ardmar")),
        (3.0 * 16.0 + 3.0, 3.0)
    );
}

#[test]
fn requests_pay_for_posts_and_dispatch() {
    if !built() {
        return;
    }
    // Three nodes fetch pages of the first one, whose handler never rests.
    let handler_us = |dispatch: &str, costs: &str| {
        let program = format!(
            "application = \"pages\"\nsize = 16\nprotocol = \"async\"\ndispatch = \"{dispatch}\""
        );
        let text = text(4, &program, costs).replace("lanai9.2-200", "hca-4x");
        let home = good(&text).results::<DsmUse>()[0].nodes[0];
        home.handler_us / home.handled
    };
    let each = handler_us("each", "");
    // Posts and receive descriptor are 24.6 us, the dispatch is 3.5 us (ardmar-015, 016, 022). Arrivals at the barrier pay the dispatch only.
    assert!((25.0..32.0).contains(&each), "{each}");
    let once = handler_us("once", "");
    assert!(once < each - 0.5, "{once} {each}");
    let cheap =
        "[costs]\n\"host.dsm_post\" = 0\n\"host.dsm_post_byte\" = 0\n\"host.dsm_receive\" = 0\n";
    let cheap = handler_us("once", cheap);
    assert!(cheap < 5.0, "{cheap}");
}

#[test]
fn cables_are_as_fast_as_the_profile_says() {
    let byte_ps = |board: &str, more: &str| {
        let text = text(2, "application = \"pages\"\nprotocol = \"async\"", "");
        let text = text.replace("lanai9.2-200", board);
        let text = text.replace("[[program]]", &format!("{more}[[program]]"));
        let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
        scenario.network.links[0].byte_time.ps()
    };
    let slow = "link = { speed_mbit = 1000 }\n";
    let found = [("lanai9.2-200", ""), ("hca-4x", ""), ("hca-4x", slow)]
        .map(|(board, more)| byte_ps(board, more));
    assert_eq!(found, [4_000, 1_000, 8_000]);
}

#[test]
fn wrong_programs_are_refused() {
    let check = |program: &str, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", &text(3, program, ""));
        let error = error.expect_err(program).to_string();
        assert!(error.contains(expected), "{error}");
    };
    let fft = "application = \"fft\"\n";
    check("protocol = \"async\"", "\"application\" is missing");
    check(fft, "\"protocol\" is missing");
    check("application = \"sor\"", "no application \"sor\"");
    check(
        &format!("{fft}size = 10\nprotocol = \"async\""),
        "a grid of 10: it has to be a power of two",
    );
    check(
        &format!("{fft}size = 2\nprotocol = \"async\""),
        "a size of 2 for 3 nodes: each needs a part",
    );
    check(
        &format!("{fft}protocol = \"async\"\ndiffs = \"put\""),
        "diffs by put need protocol = \"ardmar\"",
    );
    check(
        &format!("{fft}protocol = \"async\"\nparts = 4"),
        "pages in parts need protocol = \"ardmar\"",
    );
    check(
        &format!("{fft}protocol = \"ardmar\"\nparts = 6"),
        "6 parts: it has to be a power of two",
    );
    check(
        &format!("{fft}protocol = \"ardmar\"\nearly_fetches = 17"),
        "17",
    );
    check(
        &format!("{fft}protocol = \"async\"\ndispatch = \"never\""),
        "no way \"never\"",
    );
    check(
        &format!("{fft}protocol = \"ardmar\"\ndiffs = \"put\"\nraces = true"),
        "races are found in diffs that a handler applies",
    );
    check(
        "application = \"pages\"\nsize = 1000000\nprotocol = \"async\"",
        "MB",
    );
    let emp = text(3, &format!("{fft}protocol = \"async\""), "").replace("lanai9.2-200", "tigon2");
    let emp = emp.replace("[network]", "protocol = \"emp\"\n[network]");
    let error = lanigon_workloads::parse("test.toml", &emp)
        .unwrap_err()
        .to_string();
    assert!(error.contains("dsm needs GM"), "{error}");
}

#[test]
fn a_node_that_is_cut_off_ends_the_others() {
    if !built() {
        return;
    }
    // Boards give up after 20 ms.
    let cut = "[gm]\nfatal_us = 20000\n[[fault]]\ndo = \"cut\"\nnodes = 1\nat_us = 3000\n";
    let program = "application = \"water\"\nsize = 60\nrepeats = 64\nprotocol = \"ardmar\"";
    let outcome = super::run(&text(3, program, cut), &RunOptions::default());
    assert!(!outcome.is_good());
    for node in ["node 0: ", "node 2: "] {
        let ended = |problem: &String| {
            problem.contains(node) && problem.contains("of the shared memory is gone")
        };
        assert!(outcome.problems.iter().any(ended), "{:?}", outcome.problems);
    }
}
