//! Packets through the outbox and inbox in the board's SRAM.

use defs::gm::map::NODE;
use defs::gm::mapping::{
    HEADER_BYTES, INBOX, INBOX_NEXT, INBOX_SLOT_BYTES, INBOX_SLOTS, NO_NODE, OUT, OUT_HEADER,
    OUT_LOCAL, OUT_SEND, OWN_HIGH, OWN_LOW, PROBES_TAKEN, PROBES_TAKEN_MAGIC, ROUTES_VERSION, TYPE,
    WORD_HIGH, WORD_LOW, WORD_NONCE, WORD_SIZES, WORD_TYPE, WORD_VERSION, out_word,
};

use super::error::MapError;
use super::map::UniqueId;
use super::packets::{MapperAnswer, MapperPacket, Patience, Prober};
use crate::lanai::{Family, LanaiBoard};
use crate::window::{AnySystem, AnyWindow, PolledWord, System, SystemPort, WindowWatch};

/// Longest time until the firmware takes a packet, in nanoseconds.
const TAKEN_NS: u64 = 20_000_000;
/// Longest wait for an answer, in nanoseconds: in a network full of messages they take long.
const LONGEST_NS: u64 = 20_000_000;
/// Times as many tries where packets were lost.
const MORE_TRIES: u32 = 4;
/// Time between two looks whether the firmware has been started, in nanoseconds.
const START_NS: u64 = 20_000;
/// The words before a nonce, and what a packet needs of them.
const NONCE: usize = WORD_NONCE as usize / 4;
const HIGH: usize = WORD_HIGH as usize / 4;
const LOW: usize = WORD_LOW as usize / 4;

/// A mapper's access to its board.
#[derive(Debug)]
pub(super) struct MapperPort {
    board: LanaiBoard,
    system: AnySystem,
    timeout_ns: u64,
    /// Estimate of the time from a packet to its answer.
    round_trip_ns: u64,
    /// Packets were lost.
    loses: bool,
    /// Number of the next packet: its nonce.
    nonce: u32,
    sent: u64,
    /// Next slot of the inbox.
    slot: u32,
    own: [u32; 2],
}

impl MapperPort {
    pub(super) fn new(
        window: AnyWindow,
        system: AnySystem,
        family: Family,
        timeout_us: u32,
    ) -> Self {
        Self {
            board: LanaiBoard::new(window, family),
            system,
            timeout_ns: u64::from(timeout_us) * 1000,
            round_trip_ns: 0,
            loses: false,
            nonce: 0,
            sent: 0,
            slot: 0,
            own: [0; 2],
        }
    }

    pub(super) fn system_mut(&mut self) -> &mut dyn SystemPort {
        &mut *self.system
    }

    pub(super) fn now_ps(&self) -> u64 {
        self.system.now_ps()
    }

    /// Begins anew: it is not known whether packets are lost.
    pub(super) const fn forget_losses(&mut self) {
        self.loses = false;
    }

    /// Packets sent so far.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) async fn await_start(&mut self) {
        while self.board.read_sram(PROBES_TAKEN).await != PROBES_TAKEN_MAGIC {
            self.system.sleep(START_NS).await;
        }
        // What is in the inbox is for an earlier mapper.
        for slot in 0..INBOX_SLOTS {
            let at = INBOX + slot * INBOX_SLOT_BYTES;
            self.board.write_sram(at, 0).await;
        }
        let next = self.board.read_sram(INBOX_NEXT).await;
        self.slot = next.wrapping_sub(INBOX) / INBOX_SLOT_BYTES % INBOX_SLOTS;
    }

    /// Id and number of the own node.
    pub(super) async fn own(&mut self) -> (UniqueId, u16) {
        let high = self.board.read_sram(OWN_HIGH).await & !NO_NODE;
        let low = self.board.read_sram(OWN_LOW).await;
        self.own = [high, low];
        let node = self.board.read_sram(NODE).await;
        (UniqueId::from_words(high, low), node.min(NO_NODE) as u16)
    }

    /// Version of the own routes.
    pub(super) async fn version(&mut self) -> u32 {
        self.board.read_sram(ROUTES_VERSION).await
    }

    /// Waits until the outbox is free.
    async fn await_outbox(&mut self) -> Result<(), MapError> {
        let free = PolledWord::Window(WindowWatch {
            before: None,
            offset: self.board.sram_offset(OUT),
            mask: u32::MAX,
            expected: 0,
        });
        let why = "the firmware takes a packet of the mapper";
        let polled = self.system.poll_words(&[free], Some(TAKEN_NS), why).await;
        polled.map(|_| ()).map_err(|_| MapError::Silent)
    }

    async fn post(&mut self, packet: &MapperPacket, kind: u32) -> Result<u32, MapError> {
        self.await_outbox().await?;
        let nonce = self.nonce;
        self.nonce = nonce.wrapping_add(1);
        if !packet.is_sound() {
            return Ok(nonce);
        }
        let mut words = packet.words.clone();
        words[NONCE] = nonce;
        (words[HIGH], words[LOW]) = (self.own[0] | NO_NODE, self.own[1]);
        // The route ends where the packet begins.
        let padding = packet.route.len().next_multiple_of(4) - packet.route.len();
        let mut route = vec![0; padding];
        route.extend(&packet.route);
        let mut all = crate::firmware::words(&route);
        let start = OUT_HEADER - 4 * all.len() as u32;
        all.extend(&words);
        self.board.write_sram_burst(start, &all).await;
        let word = out_word(kind, packet.route.len() as u32, 4 * words.len() as u32);
        self.board.write_sram(OUT, word).await;
        self.sent += u64::from(kind == OUT_SEND);
        Ok(nonce)
    }

    /// Gives routes to the own firmware. Returns whether it has taken them.
    pub(super) async fn give_own(
        &mut self,
        packet: &MapperPacket,
        version: u32,
    ) -> Result<bool, MapError> {
        self.post(packet, OUT_LOCAL).await?;
        self.await_outbox().await?;
        Ok(self.version().await == version)
    }

    /// Reads the next slot of the inbox, if there is something in it: nonce and answer.
    async fn take_answer(&mut self) -> Option<(u32, MapperAnswer)> {
        let at = INBOX + self.slot * INBOX_SLOT_BYTES;
        let first = self.board.read_sram(at + WORD_TYPE).await;
        if first >> 16 != TYPE {
            return None;
        }
        let mut words = [0; HEADER_BYTES as usize / 4];
        for (word, at) in words.iter_mut().zip((at..).step_by(4)).skip(1) {
            *word = self.board.read_sram(at).await;
        }
        self.board.write_sram(at + WORD_TYPE, 0).await;
        self.slot = (self.slot + 1) % INBOX_SLOTS;
        let word = |offset: u32| words[offset as usize / 4];
        let answer = MapperAnswer {
            id: UniqueId::from_words(word(WORD_HIGH), word(WORD_LOW)),
            node: (word(WORD_HIGH) & NO_NODE) as u16,
            version: word(WORD_VERSION),
            nodes: word(WORD_SIZES),
        };
        Some((word(WORD_NONCE), answer))
    }
}

/// Packets with adjacent nonces and their answers, over all tries.
struct ProbeGroup {
    /// Nonces of a try: the first one, and which packet each is.
    tries: Vec<(u32, Vec<usize>)>,
    /// When each packet was sent last, in picoseconds.
    sent_ps: Vec<u64>,
    answers: Vec<Option<MapperAnswer>>,
    missing: usize,
    first: bool,
}

impl ProbeGroup {
    /// Takes an answer. Returns the index of its packet, and whether an earlier try was lost. Others are answers to earlier packets
    /// that come too late.
    fn add_answer(&mut self, (nonce, answer): (u32, MapperAnswer)) -> Option<(usize, bool)> {
        let tries = self.tries.iter().enumerate();
        let mut found = tries.filter_map(|(try_, (first, packets))| {
            let index = nonce.wrapping_sub(*first) as usize;
            Some((try_, *packets.get(index)?))
        });
        let (try_, index) = found.next()?;
        let is_first = self.answers[index].is_none();
        self.missing -= usize::from(is_first);
        self.answers[index] = Some(answer);
        Some((index, is_first && try_ > 0))
    }

    fn is_done(&self) -> bool {
        self.missing == 0 || self.first && self.missing < self.answers.len()
    }
}

impl MapperPort {
    /// Takes what is in the inbox.
    async fn drain(&mut self, group: &mut ProbeGroup) {
        while let Some(found) = self.take_answer().await {
            if let Some((index, lost)) = group.add_answer(found) {
                self.loses |= lost;
                let took_ns = self.now_ps().saturating_sub(group.sent_ps[index]) / 1000;
                // A slow answer counts at once, fast ones by and by.
                self.round_trip_ns = (self.round_trip_ns - self.round_trip_ns / 8).max(took_ns);
            }
        }
    }

    /// Waits for answers after the last packet.
    async fn await_answers(&mut self, group: &mut ProbeGroup) {
        let patience_ns = self.timeout_ns.max(4 * self.round_trip_ns).min(LONGEST_NS);
        let end_ps = self.now_ps() + patience_ns * 1000;
        while !group.is_done() && self.now_ps() < end_ps {
            let slot = PolledWord::Window(WindowWatch {
                before: None,
                offset: self.board.sram_offset(INBOX + self.slot * INBOX_SLOT_BYTES),
                mask: 0xFFFF_0000,
                expected: TYPE << 16,
            });
            let left_ns = (end_ps - self.now_ps()).div_ceil(1000);
            let why = "an answer in the mapper's inbox";
            let polled = self.system.poll_words(&[slot], Some(left_ns), why).await;
            if polled.is_err() {
                break;
            }
            self.drain(group).await;
        }
    }
}

impl Prober for MapperPort {
    async fn ask(
        &mut self,
        packets: &[MapperPacket],
        patience: Patience,
    ) -> Result<Vec<Option<MapperAnswer>>, MapError> {
        let mut group = ProbeGroup {
            tries: Vec::new(),
            sent_ps: vec![0; packets.len()],
            answers: vec![None; packets.len()],
            missing: packets.len(),
            first: patience.first,
        };
        let mut tries = 0;
        // Where packets are lost, one that is not answered may have been lost each time.
        while tries < patience.tries * if self.loses { MORE_TRIES } else { 1 } {
            tries += 1;
            let missing: Vec<usize> = (0..packets.len())
                .filter(|&index| group.answers[index].is_none())
                .collect();
            group.tries.push((self.nonce, missing.clone()));
            for index in missing {
                self.post(&packets[index], OUT_SEND).await?;
                group.sent_ps[index] = self.now_ps();
                self.drain(&mut group).await;
                if group.is_done() {
                    return Ok(group.answers);
                }
            }
            self.await_answers(&mut group).await;
            if group.is_done() {
                break;
            }
        }
        Ok(group.answers)
    }
}
