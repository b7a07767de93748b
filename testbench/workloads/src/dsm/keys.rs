//! Programs over shared memory of a scenario.

use host_lib::dsm::{
    self, Barriers, Diffs, Dispatch, EarlyAt, Locks, MOST_EARLY, MOST_NODES, MOST_PARTS, Notices,
    Protocol,
};

use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;

use super::workload::SharedMemory;
use super::{DsmSettings, DsmWork, MOST_ROUNDS};
use lanigon_worlds::keys;
use lanigon_worlds::scenario::reference::Values::{Choice, Flag, Integer, Nodes as NodesOf};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

/// The programs and their usual sizes, with the key that chooses.
const APPLICATIONS: [(&str, DsmWork); 6] = [
    ("pages", DsmWork::Pages(1024)),
    ("radix-sort", DsmWork::Radix(52_488)),
    ("integer-sort", DsmWork::IntegerSort(1 << 21)),
    ("fft", DsmWork::Fft(64)),
    ("barnes-hut", DsmWork::Barnes(16_384)),
    ("water", DsmWork::Water(4096)),
];

const PROTOCOLS: [(&str, Protocol); 2] = [("async", Protocol::Async), ("ardmar", Protocol::Ardmar)];
const DIFFS: [(&str, Diffs); 2] = [("handler", Diffs::Handler), ("put", Diffs::Put)];
const LOCKS: [(&str, Locks); 3] = [
    ("handler", Locks::Handler),
    ("atomic", Locks::Atomic),
    ("board", Locks::Board),
];
const DISPATCHES: [(&str, Dispatch); 2] = [("each", Dispatch::Each), ("once", Dispatch::Once)];
const NOTICES: [(&str, Notices); 2] = [("carried", Notices::Carried), ("put", Notices::Put)];
const EARLY_TIMES: [(&str, EarlyAt); 2] =
    [("always", EarlyAt::Always), ("unlocked", EarlyAt::Unlocked)];
const BARRIERS: [(&str, Barriers); 2] = [("handler", Barriers::Handler), ("nic", Barriers::Nic)];

/// Largest size of a program.
const MOST: u64 = 1 << 26;

keys! {
    NODES = need("nodes", NodesOf, "the nodes, by rank");
    APPLICATION = need("application", Choice(const { &names(&APPLICATIONS) }), "the program");
    PROTOCOL = need("protocol", Choice(const { &names(&PROTOCOLS) }), "how pages are fetched");
    SIZE = key(
        "size",
        Integer(1, MOST),
        "1024, 52488, 2097152, 64, 16384, 4096",
        "pages, keys, points of a side, bodies, molecules",
    );
    REPEATS = key(
        "repeats",
        Integer(1, MOST_ROUNDS as u64),
        "1, 1, 5, 2, 2, 2",
        "rankings, transforms, steps in time",
    );
    DIFFS_BY = key(
        "diffs",
        Choice(const { &names(&DIFFS) }),
        "handler",
        "how changes reach homes; put needs ardmar",
    );
    LOCKS_BY = key("locks", Choice(const { &names(&LOCKS) }), "handler", "how locks are passed on");
    BARRIERS_BY = key("barriers", Choice(const { &names(&BARRIERS) }), "handler", "how nodes meet");
    NOTICES_BY = key(
        "notices",
        Choice(const { &names(&NOTICES) }),
        "carried",
        "path of write notices",
    );
    EARLY = key(
        "early_fetches",
        Integer(0, MOST_EARLY as u64),
        "0",
        "most early fetches at a time",
    );
    EARLY_AT = key(
        "early_at",
        Choice(const { &names(&EARLY_TIMES) }),
        "always",
        "begin of early fetches",
    );
    PARTS = key(
        "parts",
        Integer(1, MOST_PARTS as u64),
        "1",
        "parts of a page; over 1 need ardmar",
    );
    RACES = key(
        "races",
        Flag,
        "false",
        "looks for races of writers",
    );
    DISPATCH = key(
        "dispatch",
        Choice(const { &names(&DISPATCHES) }),
        "each",
        "requests that pay for a dispatch",
    );
    CLOCK_MHZ = key(
        "clock_mhz",
        Integer(1, 10_000),
        "2400",
        "processor's clock",
    );
}

/// Reads the nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<SharedMemory, ScenarioError> {
    let members = nodes.resolve(&table.want(&NODES)?)?;
    let work = work(table, members.len())?;
    let protocol = table.want(&PROTOCOL)?;
    let protocol = protocol.choice("protocol", &PROTOCOLS)?;
    let mut settings = DsmSettings::new(work, protocol);
    if let Some(rounds) = table.find_whole(&REPEATS)? {
        settings.rounds = rounds;
    }
    let memory = &mut settings.memory;
    if let Some(item) = table.find(&DIFFS_BY) {
        memory.diffs = item.choice("way", &DIFFS)?;
        if memory.diffs == Diffs::Put && protocol == Protocol::Async {
            let reason = "diffs by put need protocol = \"ardmar\"";
            return Err(item.place.refuse(reason));
        }
    }
    if let Some(locks) = table.choose(&LOCKS_BY, "way", &LOCKS)? {
        memory.locks_by = locks;
    }
    if let Some(barriers) = table.choose(&BARRIERS_BY, "way", &BARRIERS)? {
        memory.barriers_by = barriers;
    }
    read_fetches(table, memory)?;
    memory.find_races = table.is_set(&RACES)?;
    if memory.find_races && memory.diffs == Diffs::Put {
        let reason = "races are found in diffs that a handler applies";
        return Err(table.place.refuse(reason));
    }
    if let Some(dispatch) = table.choose(&DISPATCH, "way", &DISPATCHES)? {
        memory.dispatch = dispatch;
    }
    settings.clock_mhz = table.whole(&CLOCK_MHZ)?;
    Ok(SharedMemory {
        nodes: members,
        settings,
    })
}

/// Reads how pages are fetched beside the program.
fn read_fetches(table: &mut Table<'_>, memory: &mut dsm::Settings) -> Result<(), ScenarioError> {
    if let Some(path) = table.choose(&NOTICES_BY, "way", &NOTICES)? {
        memory.notices = path;
    }
    memory.early_fetches = table.whole(&EARLY)?;
    if let Some(time) = table.choose(&EARLY_AT, "time", &EARLY_TIMES)? {
        memory.early_at = time;
    }
    let Some(item) = table.find(&PARTS) else {
        return Ok(());
    };
    memory.parts = item.whole()?;
    if !memory.parts.is_power_of_two() {
        let reason = format!("{} parts: it has to be a power of two", memory.parts);
        return Err(item.place.refuse(reason));
    }
    if memory.parts > 1 && memory.protocol == Protocol::Async {
        let reason = "pages in parts need protocol = \"ardmar\"";
        return Err(item.place.refuse(reason));
    }
    Ok(())
}

/// The program and its size.
fn work(table: &mut Table<'_>, nodes: usize) -> Result<DsmWork, ScenarioError> {
    let work = table.want(&APPLICATION)?;
    let work = work.choice("application", &APPLICATIONS)?;
    if nodes > MOST_NODES {
        let reason = format!("{nodes} nodes are more than {MOST_NODES}");
        return Err(table.place.refuse(reason));
    }
    let Some(item) = table.find(&SIZE) else {
        return Ok(work);
    };
    let size: usize = item.whole()?;
    if size < nodes {
        let reason = format!("a size of {size} for {nodes} nodes: each needs a part");
        return Err(item.place.refuse(reason));
    }
    if matches!(work, DsmWork::Fft(_)) && !size.is_power_of_two() {
        let reason = format!("a grid of {size}: it has to be a power of two");
        return Err(item.place.refuse(reason));
    }
    Ok(work.with_size(size))
}
