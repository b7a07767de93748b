//! Keys of a program whose processes the run starts.

use std::path::PathBuf;

use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::reference::Values::{
    Choice, Integer, Nodes as NodesOf, Number, Text, Texts,
};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

use crate::workload::{MOST_PER_NODE, Mode, Processes};

/// Pause between the starts of two successive ranks with sockets, in ns.
const APART_NS: u64 = 1_000_000;

const SOCKETS: Mode = Mode::Sockets { apart_ns: APART_NS };

const INTERFACES: [(&str, Mode); 2] = [
    (SOCKETS.interface(), SOCKETS),
    (Mode::Messages.interface(), Mode::Messages),
];

keys! {
    NODES = need("nodes", NodesOf, "the nodes, by rank");
    COMMAND = key(
        "command",
        Texts,
        "none",
        "program and arguments, if not of `lanigon launch`",
    );
    INTERFACE = key(
        "interface",
        Choice(const { &names(&INTERFACES) }),
        "sockets",
        "sockets, in one network of all such programs, or MPI",
    );
    APART = key(
        "apart_us",
        Number(0.0, 1e9),
        "1000",
        "sockets: between the begins of ranks",
    );
    PER_NODE = key(
        "per_node",
        Integer(1, MOST_PER_NODE as u64),
        "1",
        "mpi: ranks of each node, over GM and a crossbar",
    );
    RANKS = key(
        "ranks",
        Integer(1, 1 << 16),
        "all",
        "mpi: so many begin; MPI_Comm_spawn gets the other places",
    );
    COMPUTE = key(
        "compute",
        Number(0.0, 1e6),
        "none",
        "simulated ns for each ns of processor time",
    );
    STARTER = key("mpiexec", Text, "mpiexec", "mpi: the starter of the MPI library");
}

/// Reads a program.
pub(crate) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<Processes, ScenarioError> {
    let nodes = nodes.resolve(&table.want(&NODES)?)?;
    let command = table.find(&COMMAND);
    let command_place = command.as_ref().map(|item| item.place.clone());
    let words = command.map(|item| item.list());
    let words = words.unwrap_or_default().into_iter();
    let words = words.map(|word| Ok(word.text()?.into()));
    let words = words.collect::<Result<Vec<_>, ScenarioError>>()?;
    let interface = table.find(&INTERFACE);
    let mut mode = match &interface {
        Some(item) => item.choice("interface", &INTERFACES)?,
        None => INTERFACES[0].1,
    };
    let apart = table.find(&APART);
    let per_node = table.find(&PER_NODE);
    let ranks = table.find(&RANKS);
    let compute = table.find(&COMPUTE);
    let starter = table.find(&STARTER);
    let is_mpi = mode == Mode::Messages;
    let of_commands = (!words.is_empty(), "goes with a command");
    let of_sockets = (of_commands.0 && !is_mpi, "goes with a command and sockets");
    let of_mpi = (
        of_commands.0 && is_mpi,
        "goes with a command and interface = \"mpi\"",
    );
    for (item, (applies, what)) in [
        (&interface, of_commands),
        (&compute, of_commands),
        (&apart, of_sockets),
        (&per_node, of_mpi),
        (&ranks, of_mpi),
        (&starter, of_mpi),
    ] {
        if let Some(item) = item.as_ref().filter(|_| !applies) {
            return Err(item.place.refuse(what));
        }
    }
    if let (Mode::Sockets { apart_ns }, Some(item)) = (&mut mode, &apart) {
        *apart_ns = item.nanoseconds()?;
    }
    let per_node = per_node.map_or(Ok(1), |item| item.whole())?;
    let places = nodes.len() * per_node;
    let begin = ranks.as_ref().map(|item| item.whole()).transpose()?;
    if let (Some(item), Some(begin)) = (&ranks, begin)
        && begin > places
    {
        return Err(item.place.refuse(format!(
            "{begin} ranks, and the nodes have room for {places}"
        )));
    }
    Ok(Processes {
        ranks: begin,
        compute: compute.map(|item| item.amount()).transpose()?,
        words,
        command_place,
        starter: match starter {
            Some(item) => PathBuf::from(item.text()?),
            None => "mpiexec".into(),
        },
        ..Processes::new(mode, nodes, per_node, None)
    })
}
