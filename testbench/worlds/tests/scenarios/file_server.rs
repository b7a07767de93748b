//! A file server in scenarios: both modes, with and without loss; wrong keys.

use lanigon_workloads::file::FileUse;

use super::gm::built;
use super::good;

const ON: [&str; 3] = [
    "on = \"nic\"",
    "on = \"host\"",
    "on = \"host\"\nwait = \"block\"",
];

fn text(nodes: u32, program: &str, more: &str) -> String {
    format!(
        "board = \"lanai9.1-133\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nrun = \"file-server\"\nnodes = \"all\"\n{program}\n{more}"
    )
}

#[track_caller]
fn result(text: &str) -> FileUse {
    let outcome = good(text);
    let [result] = &outcome.results::<FileUse>()[..] else {
        panic!("{text}: {:?}", outcome.results::<FileUse>());
    };
    (*result).clone()
}

#[test]
fn all_modes_keep_the_file_whole() {
    if !built() {
        return;
    }
    let programs = [
        (2, "rounds = 40"),
        (4, "rounds = 40\nwrite_percent = 50\nregions = 2"),
        (4, "rounds = 40\nwrite_percent = 0\nserver = 3"),
        (
            5,
            "rounds = 20\nwrite_percent = 60\nregions = 1\nregion_bytes = 9000",
        ),
    ];
    for on in ON {
        for (nodes, program) in programs {
            let result = result(&text(nodes, &format!("{program}\n{on}"), ""));
            assert_eq!(result.clients, nodes as usize - 1);
            let rounds = if nodes == 5 { 20 } else { 40 };
            assert_eq!(result.reads + result.writes, rounds * u64::from(nodes - 1));
            assert!(result.per_second > 0.0 && result.read_us > 0.0);
            assert_eq!(result.writes == 0, program.contains("percent = 0"));
            let served = match result.on {
                "nic" => 0,
                _ => result.reads + result.writes,
            };
            assert_eq!(result.served, served);
            assert_eq!(result.server_us > 0.0, served > 0);
            assert!(result.hits < result.reads);
        }
    }
}

/// Data of puts that pass the end of a Tigon2's receive buffer, and a page of the file, comes whole too.
#[test]
fn a_tigon2_keeps_the_file_whole() {
    let program = "rounds = 200\nwrite_percent = 50\nregion_bytes = 4000\non = \"nic\"";
    let text = text(8, program, "").replace("lanai9.1-133\"", "tigon2\"\nprotocol = \"gm\"");
    assert_eq!(result(&text).clients, 7);
}

/// Reads of the board meet writes, and locks are contended: four clients use one region.
#[test]
fn readers_meet_writers_on_boards() {
    if !built() {
        return;
    }
    let program = "rounds = 60\nwrite_percent = 50\nregions = 1\nregion_bytes = 8192";
    let result = result(&text(5, program, ""));
    assert!(result.retries > 0 && result.busy > 0, "{result:?}");
}

#[test]
fn loss_does_no_harm() {
    if !built() {
        return;
    }
    for on in ON {
        for region_bytes in [1024, 8192] {
            let program = format!(
                "{on}\nrounds = 60\nregions = 3\nwrite_percent = 40\nregion_bytes = {region_bytes}"
            );
            let more =
                "[gm]\nresend_us = 500\n[faults]\nloss = 0.02\nduplication = 0.02\ndelay = 0.05\n";
            let text = text(5, &program, more);
            let outcome = good(&text);
            assert!(outcome.faults["lost"] > 0, "{text}");
            let result = &outcome.results::<FileUse>()[0];
            assert_eq!(result.reads + result.writes, 240);
        }
    }
}

#[test]
fn a_cache_serves_what_nobody_writes() {
    if !built() {
        return;
    }
    for on in ON {
        let program = format!("{on}\nrounds = 50\nregions = 4\nwrite_percent = 0");
        let result = result(&text(2, &program, ""));
        assert_eq!((result.reads, result.hits), (50, 46), "{on}");
    }
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = lanigon_workloads::parse("test.toml", text)
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn wrong_keys_are_explained() {
    let program = |more: &str| text(3, more, "");
    refused(&program("regions = 0"), "0 is not between 1 and 4096");
    refused(
        &program("region_bytes = 60"),
        "60 is not between 64 and 16384",
    );
    refused(
        &program("region_bytes = 1022"),
        "1022 (region_bytes) is no multiple of 4",
    );
    refused(
        &program("write_percent = 101"),
        "101 is not between 0 and 100",
    );
    refused(&program("rounds = 0"), "0 is not between 1 and 1000000");
    refused(
        &program("wait = \"block\""),
        "it is a server on a host that waits for requests: on = \"host\"",
    );
    refused(&program("on = \"board\""), "no place \"board\"");
    refused(&program("server = 3"), "program.server");
    let two = program("server = 2").replace("\"all\"", "[0, 1]");
    refused(&two, "the server is none of the program's nodes");
    let alone = program("").replace("\"all\"", "[0]");
    refused(&alone, "0 clients; 1 to 255 can be");
    refused(&program("homes = 1"), "no key \"homes\"");
    let many = text(8, "rounds = 1000000", "");
    refused(&many, "7000000 operations in all; 4000000 can be checked");
    let emp = "[network]\ntopology = \"star\"\nnodes = 2\n[[program]]\nrun = \"file-server\"\nnodes = \"all\"\n";
    refused(emp, "file-server needs GM, and node 0 runs EMP");
    let small = format!(
        "host_memory_mb = 8\n{}",
        program("regions = 4096\nregion_bytes = 16384")
    );
    refused(&small, "host_memory_mb is 8");
}
