//! Plans of programs: the messages that each node sends and receives.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use defs::emp::descriptor::{CHAIN_PAGES, PAGE_BYTES, RECEIVE_DESCRIPTORS, SEND_DESCRIPTORS};
use host_lib::emp::{Source, Tag};

use crate::scenario::programs::{Program, ProgramSpec, Sizes};

/// The tag of programs with a single tag.
const TAG: u16 = 1;
/// Default number of posted receives of a node.
const DEFAULT_RECEIVES: usize = 128;
/// Default limit of the memory of posted receives.
const RECEIVE_BYTES: u64 = 24 << 20;
/// Largest number of receive classes of a node.
const MOST_CLASSES: usize = 32;

/// A message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedMessage {
    /// Destination node.
    pub to: u16,
    /// Tag of the message.
    pub tag: u16,
    /// Length in bytes.
    pub length: u32,
    /// Number of received messages after which it may be posted.
    pub after: u64,
    /// Shortest pause after the previous step, in ns.
    pub pause_ns: u64,
}

/// The messages that a node sends, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendPlan {
    /// Rounds of one message to each peer.
    Rounds {
        /// Nodes with which messages are exchanged.
        peers: Vec<u16>,
        /// Number of rounds.
        rounds: u64,
        /// Message lengths of the rounds.
        sizes: Sizes,
        /// A round begins when at least this many messages more than its number were received.
        gate: Option<u64>,
        /// A pause in ns after each group of rounds: (rounds, ns).
        pause: Option<(u64, u64)>,
    },
    /// Random messages, drawn in advance.
    Drawn(Vec<PlannedMessage>),
}

impl Default for SendPlan {
    fn default() -> Self {
        Self::Drawn(Vec::new())
    }
}

impl SendPlan {
    fn rounds_to(peer: usize, spec: &ProgramSpec) -> Self {
        Self::to_all(vec![peer as u16], spec)
    }

    fn to_all(peers: Vec<u16>, spec: &ProgramSpec) -> Self {
        Self::Rounds {
            peers,
            rounds: spec.messages,
            sizes: spec.sizes.clone(),
            gate: None,
            pause: None,
        }
    }

    /// Message number `index`, if it exists.
    #[must_use]
    pub fn step(&self, index: u64) -> Option<PlannedMessage> {
        match self {
            Self::Drawn(steps) => steps.get(usize::try_from(index).ok()?).copied(),
            Self::Rounds {
                peers,
                rounds,
                sizes,
                gate,
                pause,
            } => {
                let (round, peer) = (index / peers.len() as u64, index % peers.len() as u64);
                let rest = pause
                    .filter(|(burst, _)| peer == 0 && round > 0 && round.is_multiple_of(*burst));
                (round < *rounds).then(|| PlannedMessage {
                    to: peers[peer as usize],
                    tag: TAG,
                    length: sizes.nth(round),
                    after: gate.map_or(0, |gate| round + gate),
                    pause_ns: rest.map_or(0, |(_, pause_ns)| pause_ns),
                })
            }
        }
    }
}

/// A class of equal receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveClass {
    /// Source to match.
    pub source: Source,
    /// Tag to match.
    pub tag: Tag,
    /// Number of expected messages; `None`: unknown.
    pub expected: Option<u64>,
    /// Number of receives to keep posted.
    pub ahead: usize,
}

/// Plan of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrafficPlan {
    /// Start delay, in ns.
    pub start_ns: u64,
    /// Messages to send.
    pub sends: SendPlan,
    /// Largest number of posted transmits.
    pub window: usize,
    /// Classes of receives.
    pub classes: Vec<ReceiveClass>,
    /// Length of the longest message.
    pub longest: u32,
    /// Whether a failed transmit ends the plan, because no answer can arrive.
    pub lockstep: bool,
}

/// Number of descriptors of a message with this length.
#[must_use]
pub const fn descriptors(length: u32) -> usize {
    let pages = length.div_ceil(PAGE_BYTES) as usize;
    if pages > 1 && pages <= CHAIN_PAGES {
        1 + pages / 2
    } else {
        1
    }
}

/// Largest number of posted transmits of this length.
#[must_use]
pub const fn most_transmits(length: u32) -> usize {
    SEND_DESCRIPTORS as usize / descriptors(length)
}

/// Largest number of posted receives of this length.
#[must_use]
pub const fn most_receives(length: u32) -> usize {
    RECEIVE_DESCRIPTORS as usize / descriptors(length)
}

impl TrafficPlan {
    fn new(spec: &ProgramSpec) -> Self {
        Self {
            start_ns: spec.start_ns,
            window: spec.window,
            longest: spec.longest(),
            ..Self::default()
        }
    }

    /// Adds a class for `expected` messages.
    fn receive(&mut self, source: Source, tag: Tag, expected: u64) {
        self.classes.push(ReceiveClass {
            source,
            tag,
            expected: Some(expected),
            ahead: 0,
        });
    }

    /// Divides the receives among the classes.
    fn share_receives(&mut self, spec: &ProgramSpec) {
        let each = (receives(spec) / self.classes.len().max(1)).max(1);
        for class in &mut self.classes {
            let expected = class.expected.and_then(|count| usize::try_from(count).ok());
            class.ahead = expected.map_or(each, |count| count.min(each));
        }
    }
}

fn pages(spec: &ProgramSpec) -> u64 {
    u64::from(spec.longest().div_ceil(PAGE_BYTES).max(1))
}

/// Number of receives that a node keeps posted, in all classes.
fn receives(spec: &ProgramSpec) -> usize {
    let fitting = (RECEIVE_BYTES / (pages(spec) * u64::from(PAGE_BYTES))) as usize;
    let most = most_receives(spec.longest());
    let default = DEFAULT_RECEIVES.min(fitting).min(most);
    spec.receives.unwrap_or(default)
}

/// Largest memory of a node's buffers, in bytes.
#[must_use]
pub fn memory_bytes(spec: &ProgramSpec) -> u64 {
    if let Some(workload) = spec.workload() {
        return workload.memory_bytes();
    }
    // Each class has at least one receive.
    let classes = match spec.program {
        Program::Random { .. } => MOST_CLASSES,
        _ => 1,
    };
    let posted = receives(spec).max(classes) + spec.window;
    // Pages of a buffer are not adjacent (`HostMemory::allocate`), and long messages need lists.
    posted as u64 * (2 * pages(spec) + 4) * u64::from(PAGE_BYTES)
}

/// Plans of the nodes of a program that uses EMP; `seed` is the scenario's. `endless`: the number of
/// messages is unknown, because nodes may be restarted.
#[must_use]
pub fn plans(spec: &ProgramSpec, seed: u64, endless: bool) -> Vec<(usize, TrafficPlan)> {
    let mut plans = match &spec.program {
        Program::PingPong { nodes } => ping_pong(spec, *nodes),
        Program::Stream { from, to } => stream(spec, *from, *to),
        Program::AllToAll { nodes } => all_to_all(spec, nodes),
        Program::Random { nodes, tags } => random(spec, nodes, *tags, seed),
        Program::Incast {
            from,
            to,
            bursts,
            pause_ns,
        } => incast(spec, from, *to, *bursts, *pause_ns),
        Program::Idle { nodes } => nodes
            .iter()
            .map(|&node| (node, TrafficPlan::new(spec)))
            .collect(),
        Program::Frames { .. }
        | Program::Workload(..)
        | Program::Start { .. }
        | Program::Control { .. }
        | Program::Replay { .. } => Vec::new(),
    };
    for (_, plan) in &mut plans {
        for class in &mut plan.classes {
            class.expected = class.expected.filter(|_| !endless);
        }
        plan.share_receives(spec);
    }
    plans
}

fn ping_pong(spec: &ProgramSpec, [ping, pong]: [usize; 2]) -> Vec<(usize, TrafficPlan)> {
    let plan = |me: usize, peer: usize| {
        let mut plan = TrafficPlan::new(spec);
        plan.lockstep = true;
        plan.sends = SendPlan::rounds_to(peer, spec);
        if let SendPlan::Rounds { gate, .. } = &mut plan.sends {
            *gate = Some(u64::from(me == pong));
        }
        plan.receive(Source::Node(peer as u16), Tag::Value(TAG), spec.messages);
        (me, plan)
    };
    vec![plan(ping, pong), plan(pong, ping)]
}

fn stream(spec: &ProgramSpec, from: usize, to: usize) -> Vec<(usize, TrafficPlan)> {
    let mut sender = TrafficPlan::new(spec);
    sender.sends = SendPlan::rounds_to(to, spec);
    let mut receiver = TrafficPlan::new(spec);
    receiver.receive(Source::Node(from as u16), Tag::Value(TAG), spec.messages);
    vec![(from, sender), (to, receiver)]
}

fn all_to_all(spec: &ProgramSpec, nodes: &[usize]) -> Vec<(usize, TrafficPlan)> {
    let others = nodes.len() - 1;
    let plan = |(place, &me): (usize, &usize)| {
        let mut plan = TrafficPlan::new(spec);
        // Each node begins with its neighbour, so that not all send to one node at once.
        let after = nodes.iter().cycle().skip(place + 1).take(others);
        plan.sends = SendPlan::to_all(after.map(|&peer| peer as u16).collect(), spec);
        let expected = others as u64 * spec.messages;
        plan.receive(Source::Any, Tag::Value(TAG), expected);
        (me, plan)
    };
    nodes.iter().enumerate().map(plan).collect()
}

fn incast(
    spec: &ProgramSpec,
    from: &[usize],
    to: usize,
    bursts: u64,
    pause_ns: u64,
) -> Vec<(usize, TrafficPlan)> {
    let mut receiver = TrafficPlan::new(spec);
    let expected = from.len() as u64 * spec.messages * bursts;
    receiver.receive(Source::Any, Tag::Any, expected);
    let sender = |&me: &usize| {
        let mut plan = TrafficPlan::new(spec);
        plan.sends = SendPlan::Rounds {
            peers: vec![to as u16],
            rounds: spec.messages * bursts,
            sizes: spec.sizes.clone(),
            gate: None,
            pause: Some((spec.messages, pause_ns)),
        };
        (me, plan)
    };
    let mut plans: Vec<_> = from.iter().map(sender).collect();
    plans.push((to, receiver));
    plans
}

/// Wildcard style of a node's receives in the random program. The receives of a class are equal, and no
/// message matches two classes: so there is always a receive for the next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Any node, any tag.
    Open,
    /// Any node, this tag.
    ByTag,
    /// This node, any tag.
    BySource,
    /// This node, this tag.
    Exact,
}

impl Style {
    fn class(self, from: usize, tag: u16) -> (Source, Tag) {
        let source = Source::Node(from as u16);
        match self {
            Self::Open => (Source::Any, Tag::Any),
            Self::ByTag => (Source::Any, Tag::Value(tag)),
            Self::BySource => (source, Tag::Any),
            Self::Exact => (source, Tag::Value(tag)),
        }
    }
}

fn random(spec: &ProgramSpec, nodes: &[usize], tags: u16, seed: u64) -> Vec<(usize, TrafficPlan)> {
    let others = nodes.len() - 1;
    let styles: Vec<Style> = [
        (Style::Exact, others * usize::from(tags)),
        (Style::BySource, others),
        (Style::ByTag, usize::from(tags)),
        (Style::Open, 1),
    ]
    .into_iter()
    .filter(|(_, classes)| *classes <= MOST_CLASSES)
    .map(|(style, _)| style)
    .collect();
    let drawn: Vec<Vec<PlannedMessage>> = (0..nodes.len())
        .map(|place| random_sends(spec, nodes, place, tags, seed))
        .collect();
    let plan = |(place, &me): (usize, &usize)| {
        let mut plan = TrafficPlan::new(spec);
        let style = styles[place % styles.len()];
        for ((from, tag), count) in counts(style, nodes, &drawn, me) {
            let (source, tag) = style.class(from, tag);
            plan.receive(source, tag, count);
        }
        plan.sends = SendPlan::Drawn(drawn[place].clone());
        (me, plan)
    };
    nodes.iter().enumerate().map(plan).collect()
}

/// Numbers of messages to node `me` by source and tag, as far as its style distinguishes them; sorted, so
/// that every run posts its receives in one order.
fn counts(
    style: Style,
    nodes: &[usize],
    drawn: &[Vec<PlannedMessage>],
    me: usize,
) -> BTreeMap<(usize, u16), u64> {
    let (by_source, by_tag) = match style {
        Style::Open => (false, false),
        Style::ByTag => (false, true),
        Style::BySource => (true, false),
        Style::Exact => (true, true),
    };
    let mut counts = BTreeMap::new();
    for (&from, steps) in nodes.iter().zip(drawn) {
        for step in steps.iter().filter(|step| usize::from(step.to) == me) {
            let from = if by_source { from } else { 0 };
            let tag = if by_tag { step.tag } else { 0 };
            *counts.entry((from, tag)).or_default() += 1;
        }
    }
    counts
}

fn random_sends(
    spec: &ProgramSpec,
    nodes: &[usize],
    place: usize,
    tags: u16,
    seed: u64,
) -> Vec<PlannedMessage> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(nodes[place] as u64 + 1);
    let step = |_| {
        let step = 1 + below(&mut random, nodes.len() as u32 - 1) as usize;
        let tag = TAG + below(&mut random, u32::from(tags)) as u16;
        let length = match &spec.sizes {
            Sizes::List(sizes) => sizes[below(&mut random, sizes.len() as u32) as usize],
            Sizes::UpTo(most) => up_to(&mut random, *most),
        };
        PlannedMessage {
            to: nodes[(place + step) % nodes.len()] as u16,
            tag,
            length,
            after: 0,
            pause_ns: 0,
        }
    };
    (0..spec.messages).map(step).collect()
}

/// A random number below `limit`.
fn below(random: &mut ChaCha8Rng, limit: u32) -> u32 {
    random.next_u32() % limit.max(1)
}

/// A random length up to `most`; each power of two is equally likely, so that short lengths are frequent.
fn up_to(random: &mut ChaCha8Rng, most: u32) -> u32 {
    let bits = below(random, u32::BITS - most.leading_zeros() + 1);
    below(random, 1 << bits).min(most)
}
