//! Looks for races on a board ([`RaceDetector`]): who accesses which words of SRAM and registers, and what orders them.
//!
//! * Accesses under the semaphore, or the same one of several, do not race with each other.
//! * A set software bit of an event register orders its writer before the CPU that reads the bit. A set hardware bit stands for the
//!   register that hardware has moved.
//! * A register that hardware moves (an index of a ring, the state of a DMA channel) orders the block before who reads the register.
//! * A register that software writes orders the writer before the block that acts on it, for rings entry by entry; and before who reads
//!   it, unless several write it in turn.
//! * A frame that was sent comes before those that are received later: they may answer it.
//! * A mailbox orders the host before the CPU that sees its event or reads its value.
//! * A word of SRAM that the firmware declares ([`PublishedWords`]) orders its writers before its readers; a guarded one must be changed under
//!   the semaphore; a sampled one neither orders nor races.
//! * A bit instruction changes a word at once: such changes do not race with each other. One that clears bits comes behind all that set
//!   bits of the word before.
//! * The start of a CPU orders who starts it before it. A reset orders all before it and behind it.
//! * The host's reads of SRAM and its looks at host memory order what they may see before it.
//!
//! An event register that several CPUs write must be written under the semaphore, whatever orders the writes. Other
//! registers race if two agents write the same one, but for those that the firmware declares; those without a function also if one agent writes and another one reads.
//! Not looked at: scratchpads, which are private; accesses to instructions; the statistics of the MAC, in which it adds; the word
//! behind `WINDOW_DATA`.

mod orders;
mod tell;

use std::collections::{BTreeMap, BTreeSet};

use defs::probe::Kind;
use defs::tigon2::banks::{MOST_CPUS, event_register};
use defs::tigon2::event as bit;
use defs::tigon2::map::REGISTER_BASE;
use defs::tigon2::regs as r;
use defs::tigon2::rings::{DMA_DESCRIPTOR_BYTES, MAC_DESCRIPTOR_BYTES};

use crate::cores::owner_of;
use crate::dma::Direction;
use crate::semaphore::ToggleEffect;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::races::{
    Agent, GuardedWrite, Order, RaceDetector, RacePair, WordAccess, WordBytes,
};
use emulator_cpu::mips::bus::Width;
use emulator_image::PublishedWords;
use orders::{
    HOST_MEMORY, NETWORK, PUBLISHED, REGISTERS, TakenRing, by_hardware, by_software, event_bit,
    event_owner, freed_by, is_mailbox, is_semaphore, is_storage, joins_writes, moved_with,
    number_of, offset_of, shown_by,
};

const HOST: Agent = Agent::of(Initiator::Host);
const RECEIVER: Agent = Agent::of(Initiator::Receiver);
const TRANSMITTER: Agent = Agent::of(Initiator::Transmitter);

/// The last write by each CPU.
type LastWrites = [Option<GuardedWrite>; MOST_CPUS];

/// A word of SRAM that the firmware declares.
#[derive(Debug, Clone, Copy)]
enum Declared {
    /// An order.
    Published(Order),
    /// The index of a guarded word.
    Guarded(usize),
    /// Neither an order nor a race.
    Sampled,
}

/// The search for races on a board.
#[derive(Debug)]
pub struct BoardRaces {
    detector: RaceDetector,
    /// Words of SRAM; the registers follow.
    sram_words: u32,
    /// Orders of the words that bit instructions have changed, by word.
    changed: BTreeMap<u32, Order>,
    /// Published words, sorted.
    published: Vec<u32>,
    /// Guarded words, sorted, with the last write by each CPU since one was started.
    guarded: Vec<(u32, LastWrites)>,
    /// A bit for each word of SRAM: whether it is declared.
    is_declared: Vec<u64>,
    /// Offsets of registers that the firmware declares.
    declared_registers: Vec<u32>,
    /// The last write of each event register by each CPU since one was started.
    event_writes: [LastWrites; MOST_CPUS],
    /// Who has written each register.
    writers: Box<[Writers; REGISTERS as usize]>,
}

/// The agents that have written a register.
#[derive(Debug, Clone, Copy, Default)]
struct Writers {
    /// A bit for each.
    all: u32,
    /// The bit of the last one.
    last: u32,
    /// Whether agents write in turn: they share the register.
    alternate: bool,
}

impl Writers {
    fn add(&mut self, agent: Agent) {
        let bit = 1 << (agent.initiator().number() & 31);
        self.alternate |= bit != self.last && self.all & bit != 0;
        self.all |= bit;
        self.last = bit;
    }
}

impl BoardRaces {
    /// A search that begins now, for a board with this much SRAM and firmware that declares these words.
    #[must_use]
    pub fn new(sram_bytes: u32, declared: &[PublishedWords]) -> Self {
        let sram_words = sram_bytes / 4;
        let mut registers = Vec::new();
        let [mut published, mut guarded] = [BTreeSet::new(), BTreeSet::new()];
        let mut is_declared = vec![0; sram_words.div_ceil(64) as usize];
        for range in declared {
            for address in range.addresses() {
                if let Some(offset) = address.checked_sub(REGISTER_BASE) {
                    registers.push(offset);
                    continue;
                }
                let word = address / 4 % sram_words;
                is_declared[word as usize / 64] |= 1 << (word % 64);
                match range.kind {
                    Kind::Sampled => {}
                    Kind::Guarded => _ = guarded.insert(word),
                    _ => _ = published.insert(word),
                }
            }
        }
        let published: Vec<_> = published.into_iter().collect();
        let orders = PUBLISHED + published.len() as u32;
        Self {
            detector: RaceDetector::new(sram_words + REGISTERS, orders),
            sram_words,
            changed: BTreeMap::new(),
            published,
            is_declared,
            guarded: guarded
                .into_iter()
                .map(|word| (word, Default::default()))
                .collect(),
            declared_registers: registers,
            event_writes: Default::default(),
            writers: Box::new([Writers::default(); REGISTERS as usize]),
        }
    }

    /// The races found so far, with the addresses of their words, and the number of pairs at further places.
    #[must_use]
    pub fn found(&self) -> (Vec<RacePair>, u64) {
        let races = self.detector.races().into_iter();
        let races = races.map(|race| RacePair {
            word: self.address_of(race.word),
            ..race
        });
        (races.collect(), self.detector.omitted())
    }

    /// Address as seen by a CPU of a word of the detector.
    const fn address_of(&self, word: u32) -> u32 {
        match word < self.sram_words {
            true => 4 * word,
            false => crate::map::register_address(offset_of(word - self.sram_words)),
        }
    }

    /// The firmware's declaration of a word of SRAM.
    fn declared(&self, word: u32) -> Option<Declared> {
        let bits = self.is_declared.get(word as usize / 64)?;
        if bits & 1 << (word % 64) == 0 {
            return None;
        }
        if let Ok(index) = self.published.binary_search(&word) {
            return Some(Declared::Published(Order(PUBLISHED + index as u32)));
        }
        let index = self.guarded.binary_search_by_key(&word, |(word, _)| *word);
        Some(index.map_or(Declared::Sampled, Declared::Guarded))
    }

    const fn register(&self, offset: u32) -> WordBytes {
        WordBytes::whole(self.sram_words + number_of(offset))
    }

    fn words(&self, address: u32, length: u32) -> impl Iterator<Item = WordBytes> + use<> {
        let sram_words = self.sram_words;
        WordBytes::range(address, length).map(move |place| WordBytes {
            word: place.word % sram_words,
            ..place
        })
    }

    /// An agent reads a range of SRAM.
    fn reads(&mut self, access: &WordAccess, address: u32, length: u32) {
        for place in self.words(address, length) {
            if !self.is_sampled(place.word) {
                self.detector.read(access, place);
            }
        }
    }

    /// An agent writes a range of SRAM.
    fn writes(&mut self, access: &WordAccess, address: u32, length: u32) {
        for place in self.words(address, length) {
            if !self.is_sampled(place.word) {
                self.detector.write(access, place);
            }
        }
    }

    /// Whether the firmware declares a word of SRAM as sampled.
    fn is_sampled(&self, word: u32) -> bool {
        matches!(self.declared(word), Some(Declared::Sampled))
    }

    /// A CPU loads from SRAM.
    pub(crate) fn loaded(&mut self, access: &WordAccess, address: u32, width: Width) {
        for place in self.words(address, width as u32) {
            match self.declared(place.word) {
                Some(Declared::Published(order)) => self.detector.see(access.agent, order),
                Some(Declared::Guarded(_) | Declared::Sampled) => {}
                // The host writes it behind what it tells of.
                None if is_mailbox(address) => {
                    let told = by_hardware(r::MAILBOX_EVENT_A);
                    self.detector.see(access.agent, told);
                }
                None => self.detector.read(access, place),
            }
        }
    }

    /// A CPU or the host stores to SRAM.
    pub(crate) fn stored(&mut self, access: &WordAccess, address: u32, length: u32) {
        for place in self.words(address, length) {
            if is_mailbox(address) {
                continue;
            }
            match self.declared(place.word) {
                Some(Declared::Sampled) => {}
                Some(Declared::Guarded(index)) => self.guarded_written(access, index),
                Some(Declared::Published(order)) => {
                    self.detector.write(access, place);
                    self.detector.publish(access.agent, order);
                }
                None => self.detector.write(access, place),
            }
        }
    }

    /// A CPU changes a word of SRAM by a bit instruction, at once; `takes`: it clears bits, and knows what was done before they were set.
    pub(crate) fn bits_changed(&mut self, access: &WordAccess, address: u32, takes: bool) {
        let word = WordBytes::range(address, 4).next();
        let Some(word) = word.map(|place| place.word % self.sram_words) else {
            return;
        };
        let order = match self.declared(word) {
            Some(Declared::Guarded(index)) => return self.guarded_written(access, index),
            Some(Declared::Published(order)) => order,
            Some(Declared::Sampled) => return,
            None => {
                let detector = &mut self.detector;
                *self
                    .changed
                    .entry(word)
                    .or_insert_with(|| detector.add_order())
            }
        };
        self.detector.change(access, word, order, takes);
    }

    /// A CPU or the host writes a guarded word.
    fn guarded_written(&mut self, access: &WordAccess, index: usize) {
        let Some(cpu) = cpu_of(access) else {
            return;
        };
        let Some((word, writes)) = self.guarded.get_mut(index) else {
            return;
        };
        let others = of_others(writes, cpu);
        let written = self.detector.write_under_lock(access, *word, others);
        writes[cpu] = Some(written);
    }

    /// The host writes a word of SRAM.
    pub(crate) fn host_wrote(&mut self, address: u32, now: SimTime) {
        self.detector.see(HOST, HOST_MEMORY);
        self.stored(&hardware(Initiator::Host, now), address, 4);
    }

    /// The host writes a mailbox.
    pub(crate) fn mailbox_written(&mut self) {
        self.detector.publish(HOST, by_hardware(r::MAILBOX_EVENT_A));
    }

    /// The host reads a word of SRAM.
    pub(crate) fn host_read(&mut self, address: u32) {
        let word = address / 4 % self.sram_words;
        if let Some(Declared::Published(order)) = self.declared(word) {
            self.detector.see(HOST, order);
        }
        self.detector.look(HOST, word);
        self.detector.see(HOST, HOST_MEMORY);
    }

    /// An agent reads a register.
    pub(crate) fn register_read(&mut self, access: &WordAccess, offset: u32, value: u32) {
        match event_owner(offset) {
            Some(cpu) => self.events_read(access.agent, cpu, value),
            None if is_storage(offset) => self.detector.read(access, self.register(offset)),
            None => {
                self.index_seen(access.agent, shown_by(offset));
                if let Some(consumer) = freed_by(offset) {
                    self.index_seen(access.agent, consumer);
                }
            }
        }
        if access.agent == HOST {
            self.detector.see(HOST, HOST_MEMORY);
        }
    }

    fn events_read(&mut self, reader: Agent, cpu: u32, value: u32) {
        for bit in (0..32).filter(|bit| value & 1 << bit != 0) {
            match moved_with(bit) {
                Some(register) => self.index_seen(reader, register),
                None => self.detector.see(reader, event_bit(cpu, bit)),
            }
        }
    }

    /// An agent sees the value of a register that hardware or software moves.
    fn index_seen(&mut self, reader: Agent, offset: u32) {
        self.detector.see(reader, by_hardware(offset));
        // Of several writers none may rely on what it reads.
        if !self.writers[number_of(offset) as usize].alternate {
            self.detector.see(reader, by_software(offset));
        }
    }

    /// An agent is about to write a register. `old`: its value.
    pub(crate) fn register_written(
        &mut self,
        access: &WordAccess,
        offset: u32,
        old: u32,
        value: u32,
    ) {
        if access.agent == HOST {
            self.detector.see(HOST, HOST_MEMORY);
        }
        if is_semaphore(offset) || owner_of(offset).is_some() {
            return;
        }
        self.writers[number_of(offset) as usize].add(access.agent);
        let is_declared = self.declared_registers.contains(&offset);
        if let Some(cpu) = event_owner(offset) {
            if !is_declared {
                self.event_register_written(access, cpu as usize);
            }
            let raised = value & !old & !bit::HARDWARE_MASK;
            for bit in (0..32).filter(|bit| raised & 1 << bit != 0) {
                self.detector.publish(access.agent, event_bit(cpu, bit));
            }
            return;
        }
        if !joins_writes(offset) && !is_declared {
            self.detector.write(access, self.register(offset));
        }
        self.detector.publish(access.agent, by_software(offset));
    }

    /// A CPU changes an event register by a read and a write: needs the semaphore if another CPU does so too, whatever orders
    /// these changes in this run.
    fn event_register_written(&mut self, access: &WordAccess, register: usize) {
        let Some(cpu) = cpu_of(access) else {
            return;
        };
        let word = self.register(event_register(register)).word;
        let others = of_others(&self.event_writes[register], cpu);
        let written = self.detector.write_under_lock(access, word, others);
        self.event_writes[register][cpu] = Some(written);
    }

    /// An agent is about to move the producer of a ring from one entry to another one.
    pub(crate) fn produced(
        &mut self,
        agent: Agent,
        ring: TakenRing,
        entries: impl Iterator<Item = u32>,
    ) {
        for index in entries {
            self.detector.publish(agent, ring.entry(index));
        }
    }

    /// A write of a register of the semaphore with this number had an effect.
    pub(crate) fn semaphore_written(&mut self, who: Agent, number: usize, effect: ToggleEffect) {
        match effect {
            ToggleEffect::Taken => self.detector.set_holding(who, number, true),
            ToggleEffect::Released => self.detector.set_holding(who, number, false),
            ToggleEffect::Refused => {}
        }
    }

    /// An agent starts a CPU.
    pub(crate) fn started(&mut self, by: Agent, cpu: Agent) {
        self.detector.hand_over(by, cpu);
        self.event_writes = Default::default();
        for (_, writes) in &mut self.guarded {
            *writes = Default::default();
        }
    }

    /// The chip is reset.
    pub(crate) fn reset(&mut self) {
        self.detector.separate_all();
    }

    /// A DMA channel begins a transfer: by the descriptor with this index and address, or by its registers.
    pub(crate) fn transfer_begins(
        &mut self,
        direction: Direction,
        entry: Option<(u32, u32)>,
        now: SimTime,
    ) {
        let channel = hardware(direction.initiator(), now);
        let Some((index, address)) = entry else {
            let state = match direction {
                Direction::Read => r::READ_STATE,
                Direction::Write => r::WRITE_STATE,
            };
            return self.detector.see(channel.agent, by_software(state));
        };
        let ring = match direction {
            Direction::Read => TakenRing::DmaRead,
            Direction::Write => TakenRing::DmaWrite,
        };
        self.detector.see(channel.agent, ring.entry(index));
        self.reads(&channel, address, DMA_DESCRIPTOR_BYTES);
    }

    /// A DMA channel moves bytes.
    pub(crate) fn moved(&mut self, direction: Direction, local: u32, length: u32, now: SimTime) {
        let channel = hardware(direction.initiator(), now);
        match direction {
            Direction::Read => {
                self.detector.hand_over(HOST, channel.agent);
                self.writes(&channel, local, length);
            }
            Direction::Write => {
                self.reads(&channel, local, length);
                self.detector.publish(channel.agent, HOST_MEMORY);
            }
        }
    }

    /// A DMA channel ends a transfer, with the buffer's pointer that it moves.
    pub(crate) fn transfer_ends(&mut self, direction: Direction, moves: Option<u32>, now: SimTime) {
        let channel = hardware(direction.initiator(), now);
        if let Some(pointer) = moves {
            self.detector.write(&channel, self.register(pointer));
            self.detector.publish(channel.agent, by_hardware(pointer));
        }
        let registers = match direction {
            Direction::Read => [r::READ_RING_REFERENCE, r::READ_STATE],
            Direction::Write => [r::WRITE_RING_REFERENCE, r::WRITE_STATE],
        };
        for offset in registers {
            self.detector.publish(channel.agent, by_hardware(offset));
        }
    }

    /// The transmitter reads the descriptor with this index and address. Its frame may not be complete yet.
    pub(crate) fn frame_described(&mut self, (index, descriptor): (u32, u32), now: SimTime) {
        let transmitter = hardware(Initiator::Transmitter, now);
        self.detector
            .see(TRANSMITTER, TakenRing::Transmit.entry(index));
        self.reads(&transmitter, descriptor, MAC_DESCRIPTOR_BYTES);
    }

    /// The transmitter takes the frame in these ranges, whose descriptor it has read.
    pub(crate) fn frame_taken(&mut self, frame: [(u32, u32); 2], now: SimTime) {
        let transmitter = hardware(Initiator::Transmitter, now);
        self.detector
            .see(TRANSMITTER, by_software(r::TX_BUFFER_PRODUCER));
        self.detector
            .see(TRANSMITTER, by_hardware(r::TX_BUFFER_PRODUCER));
        for (address, length) in frame {
            self.reads(&transmitter, address, length);
        }
    }

    /// The transmitter has sent a frame.
    pub(crate) fn frame_sent(&mut self) {
        for offset in [
            r::TX_DESCRIPTOR_REFERENCE,
            r::TX_DESCRIPTOR_CONSUMER,
            r::TX_BUFFER_CONSUMER,
        ] {
            self.detector.publish(TRANSMITTER, by_hardware(offset));
        }
        self.detector.publish(TRANSMITTER, NETWORK);
    }

    /// The receiver stores bytes of a frame.
    pub(crate) fn frame_stored(&mut self, address: u32, length: u32, now: SimTime) {
        let receiver = hardware(Initiator::Receiver, now);
        self.detector
            .see(RECEIVER, by_software(r::RX_BUFFER_CONSUMER));
        self.detector
            .see(RECEIVER, by_hardware(r::RX_BUFFER_CONSUMER));
        self.writes(&receiver, address, length);
    }

    /// The receiver writes the descriptor of a whole frame.
    pub(crate) fn frame_received(&mut self, descriptor: u32, now: SimTime) {
        let receiver = hardware(Initiator::Receiver, now);
        self.detector.see(RECEIVER, NETWORK);
        self.detector
            .see(RECEIVER, by_software(r::RX_DESCRIPTOR_CONSUMER));
        self.writes(&receiver, descriptor, MAC_DESCRIPTOR_BYTES);
        for offset in [r::RX_DESCRIPTOR_PRODUCER, r::RX_BUFFER_PRODUCER] {
            self.detector.publish(RECEIVER, by_hardware(offset));
        }
    }
}

/// The CPU that accesses.
fn cpu_of(access: &WordAccess) -> Option<usize> {
    let cpu = access.agent.initiator().cpu();
    cpu.filter(|cpu| *cpu < MOST_CPUS)
}

/// The last writes of the others than this CPU.
fn of_others(writes: &LastWrites, cpu: usize) -> impl Iterator<Item = GuardedWrite> {
    let others = (0..MOST_CPUS).filter(move |other| *other != cpu);
    others.filter_map(|other| writes[other])
}

/// An access of a hardware block, or of the host.
const fn hardware(who: Initiator, time: SimTime) -> WordAccess {
    WordAccess {
        agent: Agent::of(who),
        pc: None,
        time,
    }
}
