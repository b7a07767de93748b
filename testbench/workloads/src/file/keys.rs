//! Keys of a program with a file server.

use host_lib::gm::atomic::Wait;

use super::workload::FileServer;
use super::{LEAST_REGION_BYTES, MOST_CLIENTS, MOST_REGION_BYTES, MOST_REGIONS, Settings};
use crate::collective::ExecutedOn;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Integer, Node as NodeOf, Nodes as NodesOf,
};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

/// Most operations of all clients, whose records are kept in memory.
const MOST_OPERATIONS: u64 = 4_000_000;

const PLACES: [(&str, ExecutedOn); 2] = [("host", ExecutedOn::Host), ("nic", ExecutedOn::Nic)];

const WAITS: [(&str, Wait); 3] = [
    ("poll", Wait::Poll),
    ("spin-block", Wait::SpinBlock),
    ("block", Wait::Block),
];

keys! {
    NODES = need("nodes", NodesOf, "the server and its clients");
    SERVER = key("server", NodeOf, "the first one", "the node with the file");
    REGIONS = key("regions", Integer(1, MOST_REGIONS as u64), "64", "regions of the file");
    REGION_BYTES = key(
        "region_bytes",
        Integer(LEAST_REGION_BYTES as u64, MOST_REGION_BYTES as u64),
        "1024",
        "a multiple of 4",
    );
    ROUNDS = key("rounds", Integer(1, 1_000_000), "100", "operations of each client");
    WRITE_PERCENT = key("write_percent", Integer(0, 100), "10", "of these, writes");
    ON = key(
        "on",
        Choice(const { &names(&PLACES) }),
        "nic",
        "who serves",
    );
    WAIT = key(
        "wait",
        Choice(const { &names(&WAITS) }),
        "poll",
        "on hosts",
    );
}

/// Reads the nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<FileServer, ScenarioError> {
    let all = nodes.resolve(&table.want(&NODES)?)?;
    let server = match table.find(&SERVER) {
        Some(item) => {
            let server = nodes.resolve_one(&item)?;
            if !all.contains(&server) {
                let reason = "the server is none of the program's nodes";
                return Err(item.place.refuse(reason));
            }
            server
        }
        None => all[0],
    };
    let clients: Vec<_> = all.into_iter().filter(|node| *node != server).collect();
    let on = table.choose(&ON, "place", &PLACES)?;
    let on = on.unwrap_or(ExecutedOn::Nic);
    let wait = match (on, table.find(&WAIT)) {
        (ExecutedOn::Host, Some(item)) => item.choice("kind of wait", &WAITS)?,
        (ExecutedOn::Nic, Some(item)) => {
            let reason = "it is a server on a host that waits for requests: on = \"host\"";
            return Err(item.place.refuse(reason));
        }
        (_, None) => Wait::Poll,
    };
    let settings = Settings {
        on,
        wait,
        regions: table.whole(&REGIONS)?,
        region_bytes: table.whole(&REGION_BYTES)?,
        rounds: table.whole(&ROUNDS)?,
        write_percent: table.whole(&WRITE_PERCENT)?,
    };
    if !settings.region_bytes.is_multiple_of(4) {
        let reason = format!(
            "{} (region_bytes) is no multiple of 4",
            settings.region_bytes
        );
        return Err(table.place.refuse(reason));
    }
    if clients.is_empty() || clients.len() > MOST_CLIENTS {
        let reason = format!("{} clients; 1 to {MOST_CLIENTS} can be", clients.len());
        return Err(table.place.refuse(reason));
    }
    let operations = u64::from(settings.rounds) * clients.len() as u64;
    if operations > MOST_OPERATIONS {
        let reason = format!("{operations} operations in all; {MOST_OPERATIONS} can be checked");
        return Err(table.place.refuse(reason));
    }
    Ok(FileServer {
        server,
        clients,
        settings,
    })
}
