//! Write notices by puts: the board writes the intervals that a node ends at releases into the memory of all others.
//!
//! *Slots*: memory of a node for the notices of each other one, whose intervals since the last barrier stand there as records in a row.
//! A record ends with the interval's number, which is not 0 and comes last. So a grant needs a vector time only: who takes it reads the
//! records up to that time, and waits for those that have not come. The intervals that end at a barrier travel with the barrier.
//!
//! There are two sets of slots, for barriers in turn: a node clears what it has read before it goes to the next barrier, behind which the
//! others use the slots again.

use std::sync::Arc;

use super::interval::{Interval, VectorTime};
use super::{Dsm, DsmError, Notices, decode_word};

/// Bytes of a slot.
pub(super) const SLOT_BYTES: u64 = 32 << 10;
/// Words of a record beside the runs of pages: its length, its number.
const FRAME_WORDS: usize = 2;

/// Places in the slots of the current set.
#[derive(Debug)]
pub(super) struct NoticeSlots {
    /// The set: 0 or 1.
    set: u64,
    /// For each node the begin of its next record; for the own node that of the next one to write.
    next: Vec<u64>,
    /// Number of the last own interval that was put.
    put: u32,
}

impl NoticeSlots {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            set: 0,
            next: vec![0; nodes],
            put: 0,
        }
    }
}

/// An interval as a record.
fn record(interval: &Interval) -> Vec<u8> {
    let pages = interval.runs.iter().flat_map(|run| [run.0, run.1]);
    let words = (interval.runs.len() * 2 + FRAME_WORDS) as u32;
    let all = [words].into_iter().chain(pages).chain([interval.number]);
    all.flat_map(u32::to_be_bytes).collect()
}

impl Dsm {
    /// Whether releases put their write notices.
    pub(super) fn puts_notices(&self) -> bool {
        self.settings.notices == Notices::Put
    }

    /// The own intervals that the next barrier brings to all.
    pub(super) fn carried_intervals(&self) -> Vec<Arc<Interval>> {
        let mut own = self.log.intervals_of(self.own);
        own.retain(|one| one.number > self.notice_slots.put);
        own
    }

    /// Puts the own intervals that have not been put into the slots of all others.
    pub(super) async fn put_notices(&mut self) -> Result<(), DsmError> {
        if !self.puts_notices() {
            return Ok(());
        }
        let own = self.own;
        let new = self.carried_intervals();
        let Some(last) = new.last() else {
            return Ok(());
        };
        let number = last.number;
        let bytes: Vec<u8> = new.iter().flat_map(|one| record(one)).collect();
        let first = self.notice_slots.next[own];
        let end = first + bytes.len() as u64;
        // A word of 0 follows the last record.
        if end + 4 > SLOT_BYTES {
            return Err(DsmError::LogFull { rank: own });
        }
        let at = self.layout.slot(self.notice_slots.set, own) + first;
        self.write_own(at, &bytes)?;
        let from = self.own_buffer(at, bytes.len() as u32);
        for rank in self.others() {
            self.network.put(rank, from, self.bases[rank] + at).await?;
            self.report.notice_puts += 1;
        }
        self.notice_slots.next[own] = end;
        self.notice_slots.put = number;
        Ok(())
    }

    /// The next record of a node, if it is here, and its bytes.
    fn next_record(&self, rank: usize) -> Result<Option<(Interval, u64)>, DsmError> {
        let next = self.notice_slots.next[rank];
        let at = self.layout.slot(self.notice_slots.set, rank) + next;
        if next + 4 > SLOT_BYTES {
            return Ok(None);
        }
        let words = self.read_word(at)?;
        if words == 0 {
            return Ok(None);
        }
        let bytes = u64::from(words) * 4;
        if (words as usize) < FRAME_WORDS || next + bytes > SLOT_BYTES {
            return Err(DsmError::Damaged { rank });
        }
        let number = self.read_word(at + bytes - 4)?;
        if number == 0 {
            return Ok(None);
        }
        let mut pages = vec![0; bytes as usize - 8];
        self.read_own(at + 4, &mut pages)?;
        let runs = pages.chunks_exact(8);
        let runs = runs.map(|run| (decode_word(&run[..4]), decode_word(&run[4..])));
        let interval = Interval {
            rank: rank as u32,
            number,
            runs: runs.collect(),
        };
        Ok(Some((interval, bytes)))
    }

    /// Reads the intervals up to a time, as far as `carried` does not have them; waits for those that have not come.
    pub(super) async fn take_notices(
        &mut self,
        time: &VectorTime,
        carried: &[Arc<Interval>],
    ) -> Result<Vec<Arc<Interval>>, DsmError> {
        let began = self.now_ps();
        let mut taken = Vec::new();
        for rank in self.others() {
            let own = carried.iter().filter(|one| one.rank as usize == rank);
            // A node's intervals have successive numbers, and a barrier carries the last ones.
            let until = match own.map(|one| one.number).min() {
                Some(first) => first.saturating_sub(1),
                None => time.0.get(rank).copied().unwrap_or(0),
            };
            let mut known = self.time.0[rank];
            while known < until {
                match self.next_record(rank)? {
                    Some((interval, bytes)) if interval.number <= until => {
                        self.notice_slots.next[rank] += bytes;
                        known = known.max(interval.number);
                        taken.push(Arc::new(interval));
                    }
                    Some(_) => return Err(DsmError::Damaged { rank }),
                    None => self.handle_event_or_pause(began).await?,
                }
            }
        }
        Ok(taken)
    }

    /// Behind a barrier: clears the slots that have been read, and turns to the others.
    pub(super) fn turn_slots(&mut self) -> Result<(), DsmError> {
        if !self.puts_notices() {
            return Ok(());
        }
        for rank in self.others() {
            let used = std::mem::take(&mut self.notice_slots.next[rank]) as usize;
            let at = self.layout.slot(self.notice_slots.set, rank);
            self.write_own(at, &vec![0; used])?;
        }
        self.notice_slots.next[self.own] = 0;
        self.notice_slots.set ^= 1;
        Ok(())
    }
}
