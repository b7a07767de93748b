//! Faults of a scenario.

use emulator::board::{BoardFault, DmaDirection, StallFrom};
use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultRates;

use super::error::{Position, ScenarioError, unknown};
use super::network::{LinkEnd, Network};
use super::nodes::Nodes;
use super::table::{Item, Table};
use crate::boards::{DEFAULT, Medium, Protocol};
use crate::faults::{Action, Fault, FrameKind, PacketFault, PacketKind, ProgramFault};

/// Default limit of random delays, in us.
const DEFAULT_DELAY: SimTime = SimTime::from_us(100);

/// A fault. Times are relative to the start of the programs.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultSpec {
    /// A fault of frames that match a pattern, with its position in the file.
    Exact(ExactFault, Position),
    /// Random faults on links, in both directions.
    Random {
        /// Links on which the faults happen.
        links: Vec<usize>,
        /// Probabilities.
        rates: FaultRates,
    },
    /// A link is cut.
    Cut {
        /// Index of the link.
        link: usize,
        /// Start of the cut.
        from: SimTime,
        /// End of the cut; `None`: never.
        until: Option<SimTime>,
    },
    /// A cable is pulled out and plugged in elsewhere.
    Replug {
        /// Index of the link.
        link: usize,
        /// New ends of the link.
        ends: [LinkEnd; 2],
        /// When it is pulled out.
        at: SimTime,
        /// When it is plugged in.
        until: SimTime,
    },
    /// A fault of a board.
    Board {
        /// Number of the node.
        node: usize,
        /// Fault of the board.
        fault: BoardFault,
    },
    /// A node is reset.
    Reset {
        /// Number of the node.
        node: usize,
        /// Time of the reset.
        at: SimTime,
        /// Pause until the restart; `None`: no restart.
        pause: Option<SimTime>,
    },
    /// Reset of a board, whose host goes on.
    BoardReset {
        /// Node.
        node: usize,
        /// Time of the reset.
        at: SimTime,
    },
}

/// A fault of frames or packets that match a pattern of their protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactFault {
    /// A fault of frames of EMP.
    Emp(Fault),
    /// A fault of packets of GM.
    Gm(PacketFault),
    /// A fault of Ethernet frames of programs.
    Program(ProgramFault),
}

/// Value of `do` in a `[[fault]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Drop,
    Duplicate,
    Delay,
    Corrupt,
    Random,
    Cut,
    Replug,
    StallDma,
    Reset,
    ResetBoard,
}

pub(super) const VERBS: [(&str, Verb); 10] = [
    ("drop", Verb::Drop),
    ("duplicate", Verb::Duplicate),
    ("delay", Verb::Delay),
    ("corrupt", Verb::Corrupt),
    ("random", Verb::Random),
    ("cut", Verb::Cut),
    ("replug", Verb::Replug),
    ("stall-dma", Verb::StallDma),
    ("reset", Verb::Reset),
    ("reset-board", Verb::ResetBoard),
];

pub(super) const KINDS: [(&str, FrameKind); 5] = [
    ("any", FrameKind::Any),
    ("header", FrameKind::Header),
    ("data", FrameKind::Data),
    ("fragment", FrameKind::Fragment),
    ("ack", FrameKind::Ack),
];

pub(super) const PACKETS: [(&str, PacketKind); 5] = [
    ("any", PacketKind::Any),
    ("data", PacketKind::Data),
    ("ack", PacketKind::Ack),
    ("nack", PacketKind::Nack),
    ("null", PacketKind::Null),
];

/// DMA channels, by name.
pub(super) const CHANNELS: [(&str, DmaDirection); 2] =
    [("read", DmaDirection::Read), ("write", DmaDirection::Write)];

pub(super) const PRIORITIES: [(&str, u8); 2] = [("low", 0), ("high", 1)];

/// Reads `[faults]`, the rates for all links.
pub(super) fn read_rates(table: Table<'_>, network: &Network) -> Result<FaultSpec, ScenarioError> {
    let all = (0..network.links.len()).collect();
    random(table, all)
}

/// Reads a `[[fault]]`.
pub(super) fn read(
    mut table: Table<'_>,
    nodes: &Nodes,
    network: &Network,
    islands: usize,
) -> Result<(FaultSpec, Position), ScenarioError> {
    let item = table.need("do")?;
    let verb = item.choice("fault", &VERBS)?;
    let spec = match verb {
        Verb::Drop => exact(&mut table, Action::Drop, nodes, islands)?,
        Verb::Duplicate => exact(&mut table, Action::Duplicate, nodes, islands)?,
        Verb::Delay => {
            let by = table.need("by_us")?.time()?;
            exact(&mut table, Action::Delay(by), nodes, islands)?
        }
        Verb::Corrupt => {
            let action = Action::Corrupt {
                byte: table.need("byte")?.whole()?,
                valid_fcs: table.flag("valid_fcs", false)?,
            };
            exact(&mut table, action, nodes, islands)?
        }
        Verb::Random => {
            let links = links(&mut table, nodes, network)?;
            let all = || (0..network.links.len()).collect();
            let links = links.unwrap_or_else(all);
            return Ok((random(table, links)?, item.place));
        }
        Verb::Cut => cut(&mut table, nodes, network)?,
        Verb::Replug => replug(&mut table, nodes, network)?,
        Verb::StallDma => stall(&mut table, nodes)?,
        Verb::Reset => FaultSpec::Reset {
            node: nodes.resolve_one(&table.need("node")?)?,
            at: table.need("at_us")?.time()?,
            pause: match table.get("pause_us") {
                Some(item) => Some(item.time()?),
                None => None,
            },
        },
        Verb::ResetBoard => FaultSpec::BoardReset {
            node: nodes.resolve_one(&table.need("node")?)?,
            at: table.need("at_us")?.time()?,
        },
    };
    table.finish()?;
    Ok((spec, item.place))
}

fn exact(
    table: &mut Table<'_>,
    action: Action,
    nodes: &Nodes,
    islands: usize,
) -> Result<FaultSpec, ScenarioError> {
    let protocol = protocol(table, nodes)?;
    let fault = match protocol {
        Protocol::Emp => ExactFault::Emp(frames(table, action)?),
        Protocol::Gm => ExactFault::Gm(packets(table, action)?),
        Protocol::Fm => {
            let reason = "exact faults know no packets of FM: use do = \"random\"";
            return Err(table.place.refuse(reason));
        }
        Protocol::Acenic => ExactFault::Program(program_frames(table, action)?),
    };
    let from = match table.get("from") {
        Some(item) => Some(nodes.resolve_one(&item)?),
        None if islands > 1 => {
            let reason = "\"from\" is missing: the nodes have no way to each other, \
                          so that nobody could say which frame comes first";
            return Err(table.place.refuse(reason));
        }
        None => None,
    };
    let to = match table.get("to") {
        Some(item) => {
            let node = nodes.resolve_one(&item)?;
            if from == Some(node) && protocol != Protocol::Gm {
                return Err(item.place.refuse("a node sends nothing to itself"));
            }
            Some(node)
        }
        None => None,
    };
    let after = table.time("after_us", SimTime::ZERO)?;
    let fault = fault.limited(from, to, after);
    let times = table.get("times");
    let count = match &times {
        Some(item) => Some(item.whole()?),
        None => Some(1),
    };
    let always = table.flag("always", false)?;
    if let Some(item) = times.filter(|_| always) {
        return Err(item.place.refuse("either \"times\" or \"always\""));
    }
    let fault = fault.times(count.filter(|_| !always));
    Ok(FaultSpec::Exact(fault, table.place.clone()))
}

/// The protocol whose headers tell single frames: that of all nodes.
fn protocol(table: &Table<'_>, nodes: &Nodes) -> Result<Protocol, ScenarioError> {
    let mut found = None;
    for node in &nodes.all {
        match (node.protocol, found) {
            (None, _) => {
                let reason = format!(
                    "faults of single frames are told by the headers of a message protocol; the board of node {} runs none",
                    node.name
                );
                return Err(table.place.refuse(reason));
            }
            (protocol, Some(_)) if protocol != found => {
                let reason = "faults of single frames need nodes with one message protocol";
                return Err(table.place.refuse(reason));
            }
            (protocol, _) => found = protocol,
        }
    }
    Ok(found.unwrap_or(Protocol::Emp))
}

/// Reads what selects frames of EMP.
fn frames(table: &mut Table<'_>, action: Action) -> Result<Fault, ScenarioError> {
    let mut fault = Fault::new(action);
    let kind = table.choice("frame", "kind of frame", &KINDS, FrameKind::Any)?;
    fault = fault.kind(kind);
    if let Some(item) = table.get("fragment") {
        let fragment = item.whole()?;
        if (kind == FrameKind::Header && fragment > 0) || (kind == FrameKind::Data && fragment == 0)
        {
            let reason = "a message's first fragment is its header frame, and no other is";
            return Err(item.place.refuse(reason));
        }
        fault = fault.fragment(fragment);
    }
    if let Some(item) = table.get("message") {
        fault = fault.of_message(item.whole()?);
    }
    Ok(fault)
}

/// Reads what selects packets of GM.
fn packets(table: &mut Table<'_>, action: Action) -> Result<PacketFault, ScenarioError> {
    let mut fault = PacketFault::new(action);
    if let Some(item) = table.get("packet") {
        fault = fault.kind(item.choice("kind of packet", &PACKETS)?);
    }
    if let Some(item) = table.get("sequence") {
        fault = fault.sequence(item.whole()?);
    }
    if let Some(item) = table.get("priority") {
        fault = fault.priority(item.choice("priority", &PRIORITIES)?);
    }
    if let Some(item) = table.get("nth") {
        fault = fault.nth(item.whole()?);
    }
    Ok(fault)
}

/// Reads what selects Ethernet frames of programs.
fn program_frames(table: &mut Table<'_>, action: Action) -> Result<ProgramFault, ScenarioError> {
    let mut fault = ProgramFault::new(action);
    if let Some(item) = table.get("message") {
        fault = fault.number(item.whole()?);
    }
    if let Some(item) = table.get("nth") {
        fault = fault.nth(item.whole()?);
    }
    Ok(fault)
}

impl ExactFault {
    /// Sender, receiver and time of the frames.
    fn limited(self, from: Option<usize>, to: Option<usize>, after: SimTime) -> Self {
        let [from, to] = [from, to].map(|node| node.map(|node| node as u16));
        match self {
            Self::Emp(mut fault) => {
                if let Some(node) = from {
                    fault = fault.from(node);
                }
                if let Some(node) = to {
                    fault = fault.to(node);
                }
                Self::Emp(fault.after(after))
            }
            Self::Gm(mut fault) => {
                if let Some(node) = from {
                    fault = fault.from(node);
                }
                if let Some(node) = to {
                    fault = fault.to(node);
                }
                Self::Gm(fault.after(after))
            }
            Self::Program(mut fault) => {
                if let Some(node) = from {
                    fault = fault.from(node);
                }
                if let Some(node) = to {
                    fault = fault.to(node);
                }
                Self::Program(fault.after(after))
            }
        }
    }

    /// The number of hits; `None`: unlimited.
    fn times(self, times: Option<u32>) -> Self {
        match (self, times) {
            (Self::Emp(fault), Some(times)) => Self::Emp(fault.times(times)),
            (Self::Emp(fault), None) => Self::Emp(fault.always()),
            (Self::Gm(fault), Some(times)) => Self::Gm(fault.times(times)),
            (Self::Gm(fault), None) => Self::Gm(fault.always()),
            (Self::Program(fault), Some(times)) => Self::Program(fault.times(times)),
            (Self::Program(fault), None) => Self::Program(fault.always()),
        }
    }
}

fn random(mut table: Table<'_>, links: Vec<usize>) -> Result<FaultSpec, ScenarioError> {
    // A rate of 0 is a rate: sweeps begin with it.
    let mut has_rate = false;
    let mut rate = |key| match table.get(key) {
        Some(item) => {
            has_rate = true;
            item.amount()
        }
        None => Ok(0.0),
    };
    let rates = FaultRates {
        loss: rate("loss")?,
        duplication: rate("duplication")?,
        delay: rate("delay")?,
        corruption: rate("corruption")?,
        longest_delay: table.time("longest_delay_us", DEFAULT_DELAY)?,
    };
    let place = table.place.clone();
    table.finish()?;
    if !has_rate {
        let reason = "no rate: give loss, duplication, delay or corruption, between 0 and 1";
        return Err(place.refuse(reason));
    }
    Ok(FaultSpec::Random { links, rates })
}

fn cut(
    table: &mut Table<'_>,
    nodes: &Nodes,
    network: &Network,
) -> Result<FaultSpec, ScenarioError> {
    let link = one_link(table, nodes, network)?;
    let from = table.need("at_us")?.time()?;
    let until = match table.get("for_us") {
        Some(item) => Some(from.saturating_add(item.time()?)),
        None => None,
    };
    Ok(FaultSpec::Cut { link, from, until })
}

/// The one link that a fault concerns.
fn one_link(
    table: &mut Table<'_>,
    nodes: &Nodes,
    network: &Network,
) -> Result<usize, ScenarioError> {
    let place = table.place.clone();
    match links(table, nodes, network)?.as_deref() {
        Some(&[link]) => Ok(link),
        Some(_) => Err(place.refuse("the fault concerns one link")),
        None => Err(place.refuse("which link? \"nodes\" or \"link\" is missing")),
    }
}

fn replug(
    table: &mut Table<'_>,
    nodes: &Nodes,
    network: &Network,
) -> Result<FaultSpec, ScenarioError> {
    let link = one_link(table, nodes, network)?;
    let item = table.need("ends")?;
    if network.medium != Medium::Myrinet {
        let reason = "only cables of a Myrinet can be plugged in elsewhere";
        return Err(item.place.refuse(reason));
    }
    let items = item.list();
    let [a, b] = items.as_slice() else {
        let reason = format!("a link has two ends, not {}", items.len());
        return Err(item.place.refuse(reason));
    };
    let ends = [end(a, nodes, network)?, end(b, nodes, network)?];
    let own = network.links[link].ends;
    let node = |ends: [LinkEnd; 2]| ends.into_iter().find(|end| matches!(end, LinkEnd::Node(_)));
    if node(ends) != node(own) || ends[0] == ends[1] {
        let reason = "a cable keeps its node: only ends at switches move";
        return Err(item.place.refuse(reason));
    }
    let taken = |end: &LinkEnd| {
        !own.contains(end) && network.links.iter().any(|link| link.ends.contains(end))
    };
    if ends.iter().any(taken) {
        let reason = "there is another cable from the beginning";
        return Err(item.place.refuse(reason));
    }
    let at = table.need("at_us")?.time()?;
    let until = match table.get("for_us") {
        Some(item) => at.saturating_add(item.time()?),
        None => at,
    };
    Ok(FaultSpec::Replug {
        link,
        ends,
        at,
        until,
    })
}

/// Reads an end of a cable: a node, or a switch's port as `"name:3"`.
fn end(item: &Item<'_>, nodes: &Nodes, network: &Network) -> Result<LinkEnd, ScenarioError> {
    if item.is_text()
        && let Some((name, port)) = item.text()?.split_once(':')
    {
        let mut switches = network.switches.iter();
        let found = switches.position(|switch| switch.name == name);
        let switch = found.ok_or_else(|| {
            let names = network.switches.iter().map(|switch| switch.name.as_str());
            item.place.refuse(unknown("switch", name, names))
        })?;
        let ports = network.switches[switch].ports;
        let port = port.parse().ok().filter(|&port| port < ports);
        let port = port.ok_or_else(|| {
            let reason = format!("{name} has ports 0 to {}", ports - 1);
            item.place.refuse(reason)
        })?;
        return Ok(LinkEnd::Port { switch, port });
    }
    match device(item, nodes, network)? {
        CabledDevice::Node(node) => Ok(LinkEnd::Node(node)),
        CabledDevice::Switch(switch) => {
            let name = &network.switches[switch].name;
            let reason = format!("which port? \"{name}:0\" is its first one");
            Err(item.place.refuse(reason))
        }
    }
}

fn stall(table: &mut Table<'_>, nodes: &Nodes) -> Result<FaultSpec, ScenarioError> {
    let item = table.need("node")?;
    let node = nodes.resolve_one(&item)?;
    let board = nodes.all[node].board;
    if board.name != DEFAULT.name {
        let reason = format!("the DMA channels of {} do not stall", board.name);
        return Err(item.place.refuse(reason));
    }
    let channel = table.need("channel")?.choice("DMA channel", &CHANNELS)?;
    let transfer = table.get("transfer");
    let from = match (table.get("at_us"), &transfer) {
        (Some(_), Some(item)) => {
            return Err(item.place.refuse("either \"at_us\" or \"transfer\""));
        }
        (Some(item), None) => StallFrom::Time(item.time()?),
        (None, Some(item)) => StallFrom::Transfer(item.whole()?),
        (None, None) => {
            let reason = "when? \"at_us\" or \"transfer\" is missing";
            return Err(table.place.refuse(reason));
        }
    };
    let span = table.need("for_us")?.time()?;
    let fault = BoardFault::DmaStall {
        channel,
        from,
        span,
    };
    Ok(FaultSpec::Board { node, fault })
}

/// The links of `nodes`, or the link between the two ends in `link`.
fn links(
    table: &mut Table<'_>,
    nodes: &Nodes,
    network: &Network,
) -> Result<Option<Vec<usize>>, ScenarioError> {
    if let Some(item) = table.get("link") {
        let items = item.list();
        let [a, b] = items.as_slice() else {
            let reason = format!("a link has two ends, not {}", items.len());
            return Err(item.place.refuse(reason));
        };
        let (a, b) = (device(a, nodes, network)?, device(b, nodes, network)?);
        let joins = |ends: [LinkEnd; 2]| {
            let ends = ends.map(CabledDevice::from_end);
            ends == [a, b] || ends == [b, a]
        };
        let found = network.links.iter().position(|link| joins(link.ends));
        let reason = "there is no link between these two";
        return match found {
            Some(link) => Ok(Some(vec![link])),
            None => Err(item.place.refuse(reason)),
        };
    }
    let Some(item) = table.get("nodes") else {
        return Ok(None);
    };
    let mut links = Vec::new();
    for node in nodes.resolve(&item)? {
        let link = network.link_of(node).ok_or_else(|| {
            let reason = format!("node {} has no cable", nodes.all[node].name);
            item.place.refuse(reason)
        })?;
        if !links.contains(&link) {
            links.push(link);
        }
    }
    Ok(Some(links))
}

/// A device with ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CabledDevice {
    Node(usize),
    Switch(usize),
}

impl CabledDevice {
    const fn from_end(end: LinkEnd) -> Self {
        match end {
            LinkEnd::Node(node) => Self::Node(node),
            LinkEnd::Port { switch, .. } => Self::Switch(switch),
        }
    }
}

fn device(
    item: &Item<'_>,
    nodes: &Nodes,
    network: &Network,
) -> Result<CabledDevice, ScenarioError> {
    if item.is_text() {
        let name = item.text()?;
        let mut switches = network.switches.iter();
        if let Some(switch) = switches.position(|switch| switch.name == name) {
            return Ok(CabledDevice::Switch(switch));
        }
        if !nodes.all.iter().any(|node| node.name == name) {
            let switches = network.switches.iter().map(|switch| switch.name.as_str());
            let names = nodes.all.iter().map(|node| node.name.as_str());
            let reason = unknown("node or switch", name, names.chain(switches));
            return Err(item.place.refuse(reason));
        }
    }
    nodes.resolve_one(item).map(CabledDevice::Node)
}
