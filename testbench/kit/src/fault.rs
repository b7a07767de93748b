//! Exact faults for user protocols: selected by number, by bytes, by probe.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use emulator::observe::event::{TraceEvent, TraceKind};
use emulator::observe::tracer::Sink;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Value, Writer};
use emulator::wire::fault::{FaultLayer, Passage};
use emulator::wire::unit::Departure;

use lanigon_worlds::boards::{BoardType, Medium};
use lanigon_worlds::builder::{WorldError, add_layer};
use lanigon_worlds::faults::{self, Action, Fault, Forge, PacketFault, Strikes};

use super::error::KitError;

type Predicate = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// A fault of frames of any protocol at the port of their sender; by default of the first matching frame. On Myrinet it strikes
/// packets.
///
/// ```
/// use lanigon_kit::{FrameFault, us};
///
/// // The third frame that node 0 sends is lost.
/// let third = FrameFault::drop().from(0).frame(2);
/// // The first two frames of type 0x88b6 whose kind is 2 come 300 us late.
/// let late = FrameFault::delay(us(300))
///     .matching(|frame| frame[12..16] == [0x88, 0xb6, 0, 2])
///     .times(2);
/// // What node 0 sends first after its firmware has passed the probe "timeout" is sent twice.
/// let twice = FrameFault::duplicate().from(0).after_probe("timeout", 1);
/// # let _ = (third, late, twice);
/// ```
#[derive(Clone)]
pub struct FrameFault {
    action: Action,
    from: Option<u16>,
    frame: u32,
    times: Option<u32>,
    after: SimTime,
    probe: Option<(String, u32)>,
    matching: Option<Predicate>,
}

impl fmt::Debug for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameFault")
            .field("action", &self.action)
            .field("from", &self.from)
            .field("frame", &self.frame)
            .field("times", &self.times)
            .field("after", &self.after)
            .field("probe", &self.probe)
            .field("matching", &self.matching.is_some())
            .finish()
    }
}

impl FrameFault {
    /// A fault of the first frame.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self {
            action,
            from: None,
            frame: 0,
            times: Some(1),
            after: SimTime::ZERO,
            probe: None,
            matching: None,
        }
    }

    /// Drops a frame.
    #[must_use]
    pub const fn drop() -> Self {
        Self::new(Action::Drop)
    }

    /// Duplicates a frame.
    #[must_use]
    pub const fn duplicate() -> Self {
        Self::new(Action::Duplicate)
    }

    /// Delays a frame; later frames may overtake it.
    #[must_use]
    pub const fn delay(by: SimTime) -> Self {
        Self::new(Action::Delay(by))
    }

    /// Damages a byte of a frame; the receiving MAC detects it by the FCS.
    #[must_use]
    pub const fn corrupt(byte: u32) -> Self {
        let valid_fcs = false;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// Changes a byte of a frame, and its FCS too: only a comparison of the bytes detects it. A packet of Myrinet gets a new
    /// CRC-8; if it has a CRC-32, that one detects the damage.
    #[must_use]
    pub const fn forge(byte: u32) -> Self {
        let valid_fcs = true;
        Self::new(Action::Corrupt { byte, valid_fcs })
    }

    /// Matches frames from this node only.
    #[must_use]
    pub const fn from(mut self, node: u16) -> Self {
        self.from = Some(node);
        self
    }

    /// Skips matching frames before this one, counted from 0 per sender, as everywhere.
    #[must_use]
    pub const fn frame(mut self, number: u32) -> Self {
        self.frame = number;
        self
    }

    /// Sets the number of consecutive hits.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Removes the limit of hits.
    #[must_use]
    pub const fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Matches frames that leave at `time` or later only; host programs begin at [`START`](super::START).
    #[must_use]
    pub const fn after(mut self, time: SimTime) -> Self {
        self.after = time;
        self
    }

    /// Matches frames that leave after their sender's firmware has passed the probe `name` this many times
    /// only.
    #[must_use]
    pub fn after_probe(mut self, name: &str, hits: u32) -> Self {
        self.probe = Some((name.into(), hits));
        self
    }

    /// Matches frames for whose bytes (from the destination address on, without FCS, at least 60) `holds`
    /// is true only. The bytes of a packet of Myrinet begin with its route and end before the CRC-8.
    #[must_use]
    pub fn matching(mut self, holds: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        self.matching = Some(Arc::new(holds));
        self
    }

    /// Installs the fault at the ports of the nodes.
    fn install(&self, world: &mut World, medium: Medium) -> Result<Strikes, WorldError> {
        let strikes = Strikes::default();
        let senders = match self.from {
            Some(node) => vec![usize::from(node)],
            None => (0..world.nodes.len()).collect(),
        };
        for node in senders {
            let hits = Hits::default();
            let layer = Layer {
                fault: self.clone(),
                seen: 0,
                hits: hits.clone(),
                strikes: strikes.clone(),
            };
            add_layer(world, medium, node, layer)?;
            if let Some((name, _)) = &self.probe {
                let name = name.clone();
                let counter = ProbeCounter { name, hits };
                world.nodes[node].trace.add_sink(Box::new(counter));
            }
        }
        Ok(strikes)
    }
}

/// A fault of a kit.
#[derive(Debug, Clone)]
pub enum KitFault {
    /// A fault of EMP fragments and acks.
    Emp(Fault),
    /// A fault of packets of GM.
    Gm(PacketFault),
    /// A fault of frames of any protocol.
    Frame(FrameFault),
}

impl From<Fault> for KitFault {
    fn from(fault: Fault) -> Self {
        Self::Emp(fault)
    }
}

impl From<PacketFault> for KitFault {
    fn from(fault: PacketFault) -> Self {
        Self::Gm(fault)
    }
}

impl From<FrameFault> for KitFault {
    fn from(fault: FrameFault) -> Self {
        Self::Frame(fault)
    }
}

impl KitFault {
    pub(super) fn install(
        &self,
        world: &mut World,
        board: &BoardType,
    ) -> Result<Strikes, KitError> {
        match self {
            Self::Emp(_) if board.medium != Medium::Ethernet => Err(KitError::NeedsEthernet {
                what: "a fault of EMP frames",
                board: board.name,
            }),
            Self::Gm(fault) => Ok(faults::install_packet(world, fault)?),
            Self::Emp(fault) => Ok(faults::install(world, fault).map_err(WorldError::from)?),
            Self::Frame(fault) => Ok(fault.install(world, board.medium)?),
        }
    }
}

/// Times at which a node's firmware passed a probe.
#[derive(Debug, Clone, Default)]
struct Hits(Arc<Mutex<Vec<SimTime>>>);

impl Hits {
    fn up_to(&self, time: SimTime) -> usize {
        let hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hits.iter().filter(|&&hit| hit <= time).count()
    }
}

/// Sink that counts the hits of a probe on one node.
struct ProbeCounter {
    name: String,
    hits: Hits,
}

impl Sink for ProbeCounter {
    fn event(&mut self, event: &TraceEvent) {
        if matches!(&event.kind, TraceKind::Probe { name, .. } if **name == self.name) {
            let mut hits = self.hits.0.lock().unwrap_or_else(PoisonError::into_inner);
            hits.push(event.time);
        }
    }
}

/// The fault at one sender.
#[derive(Debug)]
struct Layer {
    fault: FrameFault,
    /// Number of matching frames so far.
    seen: u32,
    hits: Hits,
    strikes: Strikes,
}

impl Layer {
    fn fits<U: Forge>(&self, departure: &Departure<U>) -> bool {
        let FrameFault {
            after,
            probe,
            matching,
            ..
        } = &self.fault;
        let time = departure.head;
        time >= *after
            && self.fault.action.fits(&departure.unit)
            && probe
                .as_ref()
                .is_none_or(|(_, wanted)| self.hits.up_to(time) >= *wanted as usize)
            && matching
                .as_ref()
                .is_none_or(|holds| holds(departure.unit.bytes()))
    }
}

impl State for Hits {
    fn save(&self, out: &mut Writer) {
        let hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hits.write(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let mut hits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hits.load(from)
    }
}

emulator::state!(Layer { seen, hits, strikes } fixed { fault });

impl<U: Forge> FaultLayer<U> for Layer {
    fn pass(&mut self, departure: Departure<U>, passage: &mut Passage<U>) {
        if self.fits(&departure) {
            let number = self.seen;
            self.seen += 1;
            if number >= self.fault.frame && self.strikes.try_count(self.fault.times) {
                return self.fault.action.strike(departure, passage);
            }
        }
        passage.forward(departure);
    }
}
