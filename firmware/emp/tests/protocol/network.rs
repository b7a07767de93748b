//! A network with faults: its wire loses, repeats, delays and damages frames at given rates and on demand;
//! nodes pause, disconnect and restart.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::common::engine::Records;
use crate::common::memory::Random;
use crate::common::nic::{Entry, SHARED_BASE, word_of};
use crate::common::{Node, Settings};
use defs::emp::frame::{
    DATA_PAYLOAD, GROUP_MASK, HEADER_PAYLOAD, KIND_SHIFT, Kind, WORD_FRAME_EPOCH,
    WORD_MESSAGE_LENGTH, WORD_SOURCE_MESSAGE, WORD_TAG_FRAMES, WORD_TYPE_KIND,
};
use emp::{FRAME_LIMIT, MemoryPlan};

/// Fault rates of the wire in percent of the frames, and of DMA pauses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    pub loss: u64,
    pub duplication: u64,
    pub delay: u64,
    pub damage: u64,
    pub slow_dma: u64,
}

/// A fault that holds up a node.
#[derive(Debug, Clone, Copy)]
pub enum Hold {
    /// The wire loses all its frames, in both directions.
    Wire,
    /// The wire loses all frames to it.
    Deaf,
    /// The MAC sends nothing.
    Mac,
    /// The CPUs execute nothing.
    Cpu,
    /// One of the CPUs, 0 or 1, executes nothing.
    OneCpu(usize),
}

/// Kinds of invalid frames, which no NIC of this network sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    Noise,
    Ethertype,
    Kind(u8),
    Source,
    OldEpoch,
    NoFrames,
    TooManyFrames,
    TooLong,
    OutsideOfGroup,
    OutsideOfMessage,
    CutShort(u8),
}

/// Largest delay of delayed frames: several timeouts.
const LONGEST_DELAY_US: u64 = 3000;
/// Latency without faults.
const LATENCY_US: u64 = 2;

/// First identifiers and epochs.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// Identifier of the first message of a node's first run to each peer.
    pub id: u16,
    /// Distance between the first identifiers of consecutive runs. The firmware's is 0: frames and acks of
    /// an earlier run name messages of a later one.
    pub id_step: u16,
    /// Epoch of each node's first run.
    pub epoch: u16,
}

struct Flying {
    to: usize,
    bytes: Vec<u8>,
    intact: bool,
}

/// A node and its current faults.
pub struct Station<'a> {
    pub node: Node<'a>,
    /// Number of restarts of this node.
    pub life: u16,
    random: Random,
    /// End time of each [`Hold`].
    cut_until: u64,
    deaf_until: u64,
    stalled_until: u64,
    frozen_until: u64,
    resting_until: [u64; 2],
}

pub struct Network<'a> {
    pub stations: Vec<Station<'a>>,
    pub rates: Rates,
    pub now_us: u64,
    settings: Settings,
    numbers: Numbers,
    spare: std::slice::IterMut<'a, Records>,
    seed: u64,
    /// Number of frames sent to each node from each node.
    frames: Vec<u64>,
    flying: BTreeMap<(u64, u64), Flying>,
    serial: u64,
    /// Every frame ever sent, with its destination.
    history: Vec<(usize, Vec<u8>)>,
}

impl<'a> Network<'a> {
    pub fn new(
        nodes: usize,
        seed: u64,
        numbers: Numbers,
        settings: Settings,
        tables: &'a mut [Records],
    ) -> Self {
        let mut network = Self {
            stations: Vec::new(),
            rates: Rates::default(),
            now_us: 0,
            settings,
            numbers,
            spare: tables.iter_mut(),
            seed,
            frames: vec![0; nodes * nodes],
            flying: BTreeMap::new(),
            serial: 0,
            history: Vec::new(),
        };
        for number in 0..nodes {
            let station = network.start(number, nodes, 0);
            network.stations.push(station);
        }
        network
    }

    /// Starts a node's run number `life`.
    fn start(&mut self, number: usize, nodes: usize, life: u16) -> Station<'a> {
        let tables = self.spare.next().expect("tables for every life");
        let epoch = u32::from(self.numbers.epoch.wrapping_add(life));
        let mut node = Node::start_in(tables, number as u32, nodes as u32, epoch, &self.settings);
        let nic = node.nic();
        nic.log = Some(Default::default());
        let Numbers { id, id_step, .. } = self.numbers;
        let id = id.wrapping_add(life.wrapping_mul(id_step));
        for peer in 0..nodes as u32 {
            let at = MemoryPlan::at(SHARED_BASE).routes() + 16 * peer + 8;
            nic.store(at, u32::from(id) << 16);
        }
        Station {
            node,
            life,
            random: Random::new(self.seed ^ (number as u64 * 77 + u64::from(life))),
            cut_until: 0,
            deaf_until: 0,
            stalled_until: 0,
            frozen_until: 0,
            resting_until: [0; 2],
        }
    }

    /// Restarts a node with empty memory and a later epoch.
    pub fn restart(&mut self, number: usize) {
        let life = self.stations[number].life + 1;
        let station = self.start(number, self.stations.len(), life);
        self.stations[number] = station;
    }

    /// Advances to the next microsecond with an event, but not beyond `until_us`.
    pub fn step(&mut self, until_us: u64) {
        let passed = self.idle_us(until_us).max(1);
        self.now_us += passed;
        while let Some((&due, _)) = self.flying.first_key_value()
            && due.0 <= self.now_us
        {
            let Flying { to, bytes, intact } = self.flying.remove(&due).expect("it is there");
            let station = &mut self.stations[to];
            if station.cut_until.max(station.deaf_until) < self.now_us {
                station.node.nic().receive(&bytes, intact);
            }
        }
        for from in 0..self.stations.len() {
            for frame in self.move_station(from, passed) {
                self.carry(from, frame);
            }
        }
    }

    /// Time without any event.
    fn idle_us(&self, until_us: u64) -> u64 {
        let quiet = |station: &Station| station.node.emp.nic().is_quiet();
        if !self.stations.iter().all(quiet) {
            return 0;
        }
        let arrival = self.flying.first_key_value().map(|(due, _)| due.0);
        let timer = |station: &Station| {
            let left = station.node.emp.nic().timer_in()?;
            Some((self.now_us + u64::from(left)).max(station.frozen_until))
        };
        let timers = self.stations.iter().filter_map(timer);
        let next = timers.chain(arrival).min().unwrap_or(until_us);
        next.min(until_us).saturating_sub(self.now_us)
    }

    /// Advances a node by `passed` microseconds and returns the frames that it sent.
    fn move_station(&mut self, number: usize, passed: u64) -> VecDeque<Vec<u8>> {
        let (now_us, slow) = (self.now_us, self.rates.slow_dma);
        let station = &mut self.stations[number];
        let nic = station.node.nic();
        nic.now_us = nic.now_us.wrapping_add(passed as u32);
        if !station.random.chance(slow) {
            nic.step_read();
        }
        if !station.random.chance(slow) {
            nic.step_write();
        }
        if station.stalled_until < now_us && station.random.chance(70) {
            nic.step_mac();
        }
        if station.frozen_until < now_us {
            for _ in 0..=station.random.below(3) {
                let works = station.resting_until.map(|until| until < now_us);
                station.node.emp.dispatch(works);
            }
        }
        std::mem::take(&mut station.node.nic().sent)
    }

    /// Puts a frame on the wire. Its faults depend only on the seed and the frame's number on its path.
    fn carry(&mut self, from: usize, bytes: Vec<u8>) {
        let to = (word_of(&bytes, 1) >> 16) as usize;
        self.history.push((to, bytes.clone()));
        if self.stations[from].cut_until >= self.now_us {
            return;
        }
        let way = from * self.stations.len() + to;
        self.frames[way] += 1;
        let mut random = Random::new(self.seed ^ ((way as u64) << 40) ^ (self.frames[way] << 8));
        if random.chance(self.rates.loss) {
            return;
        }
        let copies = 1 + u64::from(random.chance(self.rates.duplication));
        for _ in 0..copies {
            let mut bytes = bytes.clone();
            let intact = !random.chance(self.rates.damage);
            if !intact {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            let delay = match random.chance(self.rates.delay) {
                true if random.chance(20) => random.below(LONGEST_DELAY_US),
                true => random.below(60),
                false => 0,
            };
            self.fly(to, bytes, intact, LATENCY_US + delay);
        }
    }

    fn fly(&mut self, to: usize, bytes: Vec<u8>, intact: bool, delay_us: u64) {
        self.serial += 1;
        let due = (self.now_us + delay_us, self.serial);
        self.flying.insert(due, Flying { to, bytes, intact });
    }

    /// Number of frames sent by all nodes in all runs.
    pub fn frames_sent(&self) -> usize {
        self.history.len()
    }

    /// Repeats an old frame or an old ack.
    pub fn replay(&mut self, back: usize, ack: bool) {
        let fits = |(_, bytes): &&(usize, Vec<u8>)| !ack || is_ack(bytes);
        if let Some((to, bytes)) = self.history.iter().rev().filter(fits).nth(back).cloned() {
            self.fly(to, bytes, true, 1);
        }
    }

    /// Repeats the acks in a range of all frames.
    pub fn echo_acks(&mut self, frames: Range<usize>) {
        let frames = self.history[frames].iter();
        let acks: Vec<_> = frames.filter(|frame| is_ack(&frame.1)).cloned().collect();
        for (to, bytes) in acks {
            self.fly(to, bytes, true, 1);
        }
    }

    /// Sends an invalid variant of an old frame.
    pub fn send_garbage(&mut self, back: usize, garbage: Garbage) {
        if let Some(at) = self.history.len().checked_sub(1 + back) {
            let (to, bytes) = self.history[at].clone();
            if let Some(bytes) = spoil(bytes, garbage, self.seed) {
                self.fly(to, bytes, true, 1);
            }
        }
    }

    pub fn hold_up(&mut self, node: usize, hold: Hold, us: u64) {
        let station = &mut self.stations[node];
        let until = match hold {
            Hold::Wire => &mut station.cut_until,
            Hold::Deaf => &mut station.deaf_until,
            Hold::Mac => &mut station.stalled_until,
            Hold::Cpu => &mut station.frozen_until,
            Hold::OneCpu(cpu) => &mut station.resting_until[cpu],
        };
        *until = self.now_us + us;
    }

    /// Ends all faults.
    pub fn repair(&mut self) {
        self.rates = Rates::default();
        for station in &mut self.stations {
            station.cut_until = 0;
            station.deaf_until = 0;
            station.stalled_until = 0;
            station.frozen_until = 0;
            station.resting_until = [0; 2];
        }
    }

    /// Whether nothing is in progress and no timer runs.
    pub fn is_settled(&self) -> bool {
        let settled = |station: &Station| {
            let nic = station.node.emp.nic();
            nic.is_quiet() && !nic.timer_armed()
        };
        self.flying.is_empty() && self.stations.iter().all(settled)
    }

    /// The run in which a node used this epoch.
    pub fn life_of(&self, epoch: u16) -> u16 {
        epoch.wrapping_sub(self.numbers.epoch)
    }

    /// Events that a node has reported since the last call.
    pub fn take_log(&mut self, number: usize) -> Vec<Entry> {
        let log = self.stations[number].node.nic().log.as_mut();
        std::mem::take(log.expect("it is kept").get_mut())
    }
}

fn is_ack(bytes: &[u8]) -> bool {
    Kind::from_word(word_of(bytes, WORD_TYPE_KIND)) == Some(Kind::Ack)
}

/// Makes a frame invalid; `None` if this kind of frame cannot be spoiled in this way.
fn spoil(mut bytes: Vec<u8>, garbage: Garbage, seed: u64) -> Option<Vec<u8>> {
    let kind = Kind::from_word(word_of(&bytes, WORD_TYPE_KIND))?;
    let is_header = kind == Kind::Header;
    let (word, clear, set) = match garbage {
        Garbage::Noise => {
            let noise = Random::new(seed).bytes(bytes.len() - 12);
            bytes[12..].copy_from_slice(&noise);
            return Some(bytes);
        }
        Garbage::CutShort(length) => {
            let limit = if is_header {
                HEADER_PAYLOAD
            } else {
                DATA_PAYLOAD
            };
            bytes.truncate(14 + usize::from(length) % (limit as usize - 14));
            return Some(bytes);
        }
        Garbage::Ethertype => (WORD_TYPE_KIND, 0xFFFF_0000, 0x0800_0000),
        Garbage::Kind(kind) => {
            // A void frame and three unused kinds. A nack would be accepted.
            let kind = [0, 5, 6, 15][usize::from(kind & 3)];
            (WORD_TYPE_KIND, 0xF << KIND_SHIFT, kind << KIND_SHIFT)
        }
        Garbage::Source => (WORD_SOURCE_MESSAGE, 0, 0xFF00_0000),
        // A header frame or an ack of an unused epoch could be the first of a new run.
        Garbage::OldEpoch if kind == Kind::Data => {
            let epoch = word_of(&bytes, WORD_FRAME_EPOCH);
            (WORD_FRAME_EPOCH, 0xFFFF, epoch.wrapping_sub(100) & 0xFFFF)
        }
        Garbage::OutsideOfMessage if kind == Kind::Data => (WORD_FRAME_EPOCH, 0, 0xFFF0_0000),
        Garbage::NoFrames if is_header => (WORD_TAG_FRAMES, 0xFFFF, 0),
        Garbage::TooManyFrames if is_header => (WORD_TAG_FRAMES, 0xFFFF, FRAME_LIMIT + 1),
        Garbage::TooLong if is_header => (WORD_MESSAGE_LENGTH, 0, 0x8000_0000),
        Garbage::OutsideOfGroup if is_header => (WORD_TYPE_KIND, 0, GROUP_MASK << 4),
        _ => return None,
    };
    let value = (word_of(&bytes, word) & !clear) | set;
    bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_be_bytes());
    Some(bytes)
}
