//! Random schedules of posts and faults, checked against EMP's guarantees (`service.rs`).
//!
//! A case runs its actions. Then the wire is repaired, and the hosts post missing messages until everything
//! has ended: only then can every rule be checked.

use std::fmt;

use crate::common::Settings;
use crate::common::engine::Records;
use crate::hosts::{Hosts, ReceiveRequest, SendRequest};
use crate::network::{Garbage, Hold, Network, Numbers, Rates};
use cases::cases;
use defs::emp::descriptor::PAGE_BYTES;
use defs::emp::frame::{data_frame_capacity, header_frame_capacity};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// A message length: a boundary and an offset from it.
#[derive(Debug, Clone, Copy)]
struct Size {
    border: Border,
    beside: i32,
}

#[derive(Debug, Clone, Copy)]
enum Border {
    Bytes(u32),
    /// Capacity of this many frames.
    Frames(u32),
    /// Capacity of this many ack groups.
    Groups(u32),
    Pages(u32),
}

impl Size {
    fn bytes(self, settings: &Settings) -> usize {
        let frames = |count: u32| match count {
            0 => 0,
            _ => {
                let data = data_frame_capacity(settings.frame_bytes);
                header_frame_capacity(settings.frame_bytes) + (count - 1) * data
            }
        };
        let border = match self.border {
            Border::Bytes(bytes) => bytes,
            Border::Frames(count) => frames(count),
            Border::Groups(count) => frames(count * settings.ack_group),
            Border::Pages(count) => count * PAGE_BYTES,
        };
        border.saturating_add_signed(self.beside).min(40_000) as usize
    }
}

/// A path from a node to another one, `hop` + 1 nodes further on.
#[derive(Debug, Clone, Copy)]
struct Way {
    from: usize,
    hop: usize,
}

impl Way {
    fn nodes(self, nodes: usize) -> (usize, usize) {
        let from = self.from % nodes;
        (from, (from + 1 + self.hop % (nodes - 1)) % nodes)
    }
}

/// An action of a schedule. Node numbers are taken modulo the number of nodes.
#[derive(Debug, Clone)]
enum Action {
    /// A send, preceded by a receive with its source and tag, or with wildcards (`wild`).
    Exchange {
        way: Way,
        tag: u16,
        size: Size,
        wild: (bool, bool),
        spare: isize,
    },
    Send {
        way: Way,
        tag: u16,
        size: Size,
        hole: bool,
    },
    Receive {
        way: Way,
        any_node: bool,
        tag: Option<u16>,
        size: Size,
        hole: bool,
    },
    /// Lets this many us pass.
    Pass(u32),
    /// Holds a node up for this many us.
    HoldUp(usize, Hold, u32),
    Restart(usize),
    Interrupted(Interruption),
    /// A node cancels one of its receives.
    Cancel(usize, usize),
    /// Repeats an old frame, or an old ack.
    Replay(usize, bool),
    Spoil(usize, Garbage),
}

/// An exchange during which, after some us, its receiver or its sender restarts; then a second exchange
/// with other bytes. Some us later the acks sent before arrive; until then the sender may have received
/// nothing.
#[derive(Debug, Clone, Copy)]
struct Interruption {
    way: Way,
    tag: u16,
    size: Size,
    us: u32,
    receiver: bool,
    deaf: bool,
    late_us: u32,
}

impl Interruption {
    fn happen(self, hosts: &mut Hosts, settings: &Settings) {
        let (from, to) = self.way.nodes(hosts.network.stations.len());
        let length = self.size.bytes(settings);
        exchange(hosts, (from, to), self.tag, length, (false, false), 0);
        if self.deaf {
            hosts.network.hold_up(from, Hold::Deaf, self.us.into());
        }
        let first = hosts.network.frames_sent();
        hosts.pass(self.us.into());
        hosts.restart(if self.receiver { to } else { from });
        let before = first..hosts.network.frames_sent();
        exchange(hosts, (from, to), self.tag, length, (false, false), 0);
        hosts.pass(self.late_us.into());
        hosts.network.echo_acks(before);
    }
}

/// A test case.
#[derive(Clone)]
pub struct Schedule {
    nodes: usize,
    ack_group: u32,
    frame_bytes: u32,
    /// Retries of senders last longer than any fault.
    patient: bool,
    receive_timeout_us: u32,
    numbers: Numbers,
    seed: u64,
    rates: Rates,
    actions: Vec<Action>,
}

/// Prints one action per line.
impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            ack_group,
            frame_bytes,
            patient,
            receive_timeout_us,
            numbers,
            seed,
            rates,
            actions,
        } = self;
        write!(
            f,
            "{nodes} nodes, group {ack_group}, frames {frame_bytes}, patient {patient}, \
             receive timeout {receive_timeout_us}, {numbers:?}, seed {seed}, {rates:?}"
        )?;
        for action in actions {
            write!(f, "\n    {action:?}")?;
        }
        Ok(())
    }
}

impl Schedule {
    fn settings(&self) -> Settings {
        Settings {
            ack_group: self.ack_group,
            frame_bytes: self.frame_bytes,
            timeout_us: 300,
            retry_limit: if self.patient { 60 } else { 3 },
            receive_timeout_us: self.receive_timeout_us,
            host_bytes: 8 << 20,
        }
    }

    fn restarts(&self) -> usize {
        let restart =
            |action: &&Action| matches!(action, Action::Restart(_) | Action::Interrupted(_));
        self.actions.iter().filter(restart).count()
    }

    /// Runs the case; panics if EMP violates a guarantee.
    pub fn check(&self) {
        let settings = self.settings();
        let lives = self.nodes + self.restarts();
        let mut tables: Vec<Records> = (0..lives).map(|_| Records::new()).collect();
        let mut network = Network::new(self.nodes, self.seed, self.numbers, settings, &mut tables);
        network.rates = self.rates;
        let mut hosts = Hosts::new(network, settings, self.seed);
        hosts.ledger.all_succeed =
            self.patient && self.receive_timeout_us == 0 && self.restarts() == 0;
        for action in &self.actions {
            self.act(&mut hosts, action);
        }
        hosts.finish();
    }

    fn act(&self, hosts: &mut Hosts, action: &Action) {
        let settings = self.settings();
        let nodes = self.nodes;
        match *action {
            Action::Exchange {
                way,
                tag,
                size,
                wild,
                spare,
            } => {
                let ways = way.nodes(nodes);
                exchange(hosts, ways, tag, size.bytes(&settings), wild, spare);
            }
            Action::Interrupted(interruption) => interruption.happen(hosts, &settings),
            Action::Send {
                way,
                tag,
                size,
                hole,
            } => {
                let (from, to) = way.nodes(nodes);
                let length = size.bytes(&settings);
                hosts.send(SendRequest {
                    from,
                    to,
                    tag,
                    length,
                    hole,
                });
            }
            Action::Receive {
                way,
                any_node,
                tag,
                size,
                hole,
            } => {
                let (from, at) = way.nodes(nodes);
                hosts.receive(ReceiveRequest {
                    at,
                    from: (!any_node).then_some(from as u16),
                    tag,
                    capacity: size.bytes(&settings),
                    hole,
                });
            }
            Action::Pass(us) => hosts.pass(us.into()),
            Action::Restart(node) => hosts.restart(node % nodes),
            Action::Cancel(node, pick) => hosts.cancel(node % nodes, pick),
            Action::Replay(back, ack) => hosts.network.replay(back, ack),
            Action::Spoil(back, garbage) => hosts.network.send_garbage(back, garbage),
            Action::HoldUp(node, hold, us) => {
                hosts.network.hold_up(node % nodes, hold, us.into());
            }
        }
    }
}

/// A send, and before it its receive.
fn exchange(
    hosts: &mut Hosts,
    (from, to): (usize, usize),
    tag: u16,
    length: usize,
    wild: (bool, bool),
    spare: isize,
) {
    hosts.receive(ReceiveRequest {
        at: to,
        from: (!wild.0).then_some(from as u16),
        tag: (!wild.1).then_some(tag),
        capacity: length.saturating_add_signed(spare),
        hole: false,
    });
    hosts.send(SendRequest {
        from,
        to,
        tag,
        length,
        hole: false,
    });
}

fn size() -> impl Strategy<Value = Size> {
    let border = prop_oneof![
        2 => (0u32..4).prop_map(Border::Bytes),
        2 => (0u32..12_000).prop_map(Border::Bytes),
        3 => (0u32..6).prop_map(Border::Frames),
        2 => (1u32..4).prop_map(Border::Groups),
        2 => (1u32..=8).prop_map(Border::Pages),
    ];
    (border, -1..=1).prop_map(|(border, beside)| Size { border, beside })
}

fn way() -> impl Strategy<Value = Way> {
    (0usize..4, 0usize..3).prop_map(|(from, hop)| Way { from, hop })
}

/// True in one of ten cases.
fn seldom() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.1)
}

fn garbage() -> impl Strategy<Value = Garbage> {
    prop_oneof![
        Just(Garbage::Noise),
        Just(Garbage::Ethertype),
        any::<u8>().prop_map(Garbage::Kind),
        Just(Garbage::Source),
        Just(Garbage::OldEpoch),
        Just(Garbage::NoFrames),
        Just(Garbage::TooManyFrames),
        Just(Garbage::TooLong),
        Just(Garbage::OutsideOfGroup),
        Just(Garbage::OutsideOfMessage),
        any::<u8>().prop_map(Garbage::CutShort),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let tag = || 0u16..3;
    let hold = prop_oneof![
        Just(Hold::Wire),
        Just(Hold::Deaf),
        Just(Hold::Mac),
        Just(Hold::Cpu),
        (0usize..2).prop_map(Hold::OneCpu)
    ];
    prop_oneof![
        8 => (way(), tag(), size(), any::<(bool, bool)>(), prop_oneof![Just(0), -2000isize..2000])
            .prop_map(|(way, tag, size, wild, spare)| Action::Exchange { way, tag, size, wild, spare }),
        4 => (way(), tag(), size(), seldom())
            .prop_map(|(way, tag, size, hole)| Action::Send { way, tag, size, hole }),
        4 => (way(), any::<bool>(), option::of(tag()), size(), seldom())
            .prop_map(|(way, any_node, tag, size, hole)| {
                Action::Receive { way, any_node, tag, size, hole }
            }),
        6 => prop_oneof![0u32..60, 0u32..2500].prop_map(Action::Pass),
        1 => (0usize..4, hold, 0u32..2000).prop_map(|(node, hold, us)| Action::HoldUp(node, hold, us)),
        1 => (0usize..4).prop_map(Action::Restart),
        2 => (0usize..4, 0usize..40).prop_map(|(node, pick)| Action::Cancel(node, pick)),
        2 => (way(), tag(), size(), 0u32..400, any::<(bool, bool)>(), 0u32..600)
            .prop_map(|(way, tag, size, us, (receiver, deaf), late_us)| {
                Action::Interrupted(Interruption { way, tag, size, us, receiver, deaf, late_us })
            }),
        3 => (prop_oneof![0usize..20, 0usize..200], any::<bool>())
            .prop_map(|(back, ack)| Action::Replay(back, ack)),
        2 => (0usize..20, garbage()).prop_map(|(back, garbage)| Action::Spoil(back, garbage)),
    ]
}

fn rates() -> impl Strategy<Value = Rates> {
    (0u64..12, 0u64..8, 0u64..30, 0u64..5, 0u64..90).prop_map(
        |(loss, duplication, delay, damage, slow_dma)| Rates {
            loss,
            duplication,
            delay,
            damage,
            slow_dma,
        },
    )
}

/// Usually all runs begin with equal identifiers; else a few before or after, or far apart.
fn numbers() -> impl Strategy<Value = Numbers> {
    let first = || prop_oneof![Just(0u16), 0xFFF0..=0xFFFFu16, any::<u16>()];
    let step = prop_oneof![4 => Just(0), 1 => 1u16..6, 1 => 0xFFFA..=0xFFFFu16, 1 => Just(1000)];
    (first(), step, first()).prop_map(|(id, id_step, epoch)| Numbers { id, id_step, epoch })
}

pub fn schedule() -> impl Strategy<Value = Schedule> {
    (
        2usize..=4,
        1u32..=16,
        prop_oneof![4 => Just(1500u32), 2 => Just(576), 1 => Just(46), 2 => Just(9000)],
        any::<bool>(),
        prop_oneof![2 => Just(0u32), 1 => 300..8000u32],
        numbers(),
        any::<u64>(),
        prop_oneof![1 => Just(Rates::default()), 3 => rates()],
        prop::collection::vec(action(), 1..40),
    )
        .prop_map(
            |(
                nodes,
                ack_group,
                frame_bytes,
                patient,
                receive_timeout_us,
                numbers,
                seed,
                rates,
                actions,
            )| Schedule {
                nodes,
                ack_group,
                frame_bytes,
                patient,
                receive_timeout_us,
                numbers,
                seed,
                rates,
                actions,
            },
        )
}

/// Configuration that runs previously failed cases first.
fn remembering(quick: u32) -> ProptestConfig {
    const REGRESSIONS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/protocol/regressions.txt"
    );
    let mut config = cases(quick);
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS)));
    config
}

proptest! {
    #![proptest_config(remembering(300))]

    #[test]
    fn the_promise_holds_whatever_happens(schedule in schedule()) {
        schedule.check();
    }
}
