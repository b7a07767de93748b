//! Keys of a program that is a guest.

use std::path::PathBuf;

use super::workload::Linux;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::reference::Values::{Flag, Integer, Nodes as NodesOf, Text, Texts};
use lanigon_worlds::scenario::reference::{key, need};
use lanigon_worlds::scenario::table::{Item, Table};

/// Longest silence of a guest, in s of the wall clock.
const LONGEST_SILENCE_S: u64 = 3600;

keys! {
    NODES = need("nodes", NodesOf, "each runs Linux, in `host_memory_mb`");
    SCRIPT = need(
        "script",
        Text,
        "runs in `/root`, `$NODE` is the node's number; its exit code decides, its output is the console",
    );
    FILES = key("files", Texts, "none", "files for `/root`");
    KERNEL = key("kernel", Text, "that of `make linux`", "your own kernel");
    OPTIONS = key(
        "options",
        Texts,
        "none",
        "such as `acenic.rx_coal_tick=100`",
    );
    PROCESSOR = key(
        "processor",
        Flag,
        "false",
        "the kernel's work for the network takes the times of the profile",
    );
    SILENCE = key(
        "silence_s",
        Integer(1, LONGEST_SILENCE_S),
        "120",
        "wall time after which a guest without waits and accesses hangs",
    );
}

/// Reads a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<Linux, ScenarioError> {
    let item = table.want(&NODES)?;
    let nodes = nodes.resolve(&item)?;
    let script = table.want(&SCRIPT)?.text()?.to_owned();
    let texts = |item: Option<Item<'_>>| {
        let items = item.map(|item| item.list()).unwrap_or_default();
        let texts = items.iter().map(|item| Ok(item.text()?.to_owned()));
        texts.collect::<Result<Vec<_>, ScenarioError>>()
    };
    let files = texts(table.find(&FILES))?;
    let options = texts(table.find(&OPTIONS))?;
    let kernel = table
        .find(&KERNEL)
        .map(|item| Ok(PathBuf::from(item.text()?)));
    Ok(Linux {
        nodes,
        script,
        files: files.into_iter().map(PathBuf::from).collect(),
        options,
        kernel: kernel.transpose()?,
        processor: table.is_set(&PROCESSOR)?,
        silence_s: table.whole(&SILENCE)?,
        console: None,
    })
}
