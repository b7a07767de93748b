//! The path of one message as spans.

use defs::emp::descriptor::Code;
use defs::probe::stage;
use emulator::sim::time::SimTime;

use super::{Activities, Ledger, Owner, SHORTEST, Span};
use crate::messages::{
    Cpu, DmaTransfer, FrameArrival, FrameWay, Message, MessageCompletion, MessageWork, MishapKind,
};

/// The ledger of a message; `None` if it has not reached its host, or its start is unknown.
pub(super) fn follow(desk: &Activities, index: usize, message: &Message) -> Option<Ledger> {
    let end = message.received.as_ref()?;
    if !matches!(end.code, Some(Code::Done | Code::Truncated)) {
        return None;
    }
    let (frame, arrival) = last_frame(message, end)?;
    let mut way = PathBuilder {
        desk,
        index,
        at: message.begin()?,
        end: end.returned.or(end.seen).unwrap_or(end.told),
        spans: Vec::new(),
    };
    way.post(message);
    way.before(message, frame);
    way.send(frame);
    way.travel(frame, arrival);
    way.receive(arrival, end);
    way.complete(end);
    Some(Ledger {
        id: message.id,
        length: message.length.unwrap_or_default(),
        frames: message.frame_count.unwrap_or_default(),
        resent: message.frames_resent(),
        tag: message.tag,
        spans: way.spans,
    })
}

/// The frame and reception that completed a message.
fn last_frame<'a>(
    message: &'a Message,
    end: &MessageCompletion,
) -> Option<(&'a FrameWay, &'a FrameArrival)> {
    let arrivals = message
        .data_frames()
        .flat_map(|frame| frame.arrivals.iter().map(move |arrival| (frame, arrival)));
    let delivered = |arrival: &FrameArrival| match arrival.writes.last() {
        Some(write) => write.to,
        None => arrival.works.last().map(|work| work.from),
    };
    let in_time = arrivals.filter_map(|(frame, arrival)| {
        let time = delivered(arrival).filter(|time| *time <= end.told)?;
        Some((time, frame, arrival))
    });
    let (_, frame, arrival) = in_time.max_by_key(|(time, ..)| *time)?;
    Some((frame, arrival))
}

/// Name of the dominant wait of a message that lost a frame.
const TIMEOUT: &str = "wait: retransmission timeout";

/// The path so far.
struct PathBuilder<'a> {
    desk: &'a Activities,
    /// Index of the message.
    index: usize,
    /// Start of the next span.
    at: SimTime,
    /// End of the last span: the host may read the status while the firmware is still in the stage that
    /// wrote it.
    end: SimTime,
    spans: Vec<Span>,
}

impl PathBuilder<'_> {
    /// Adds a span up to `time`, unless that has passed.
    fn until(&mut self, time: SimTime, owner: Owner, what: impl Into<String>) {
        let time = time.min(self.end);
        if time <= self.at {
            return;
        }
        let what = what.into();
        match self.spans.last_mut() {
            Some(last) if last.owner == owner && last.what == what => last.to = time,
            _ => self.spans.push(Span {
                owner,
                what,
                from: self.at,
                to: time,
            }),
        }
        self.at = time;
    }

    /// Adds spans of waiting for a CPU up to `time`, named by its activity. If the CPU is idle, those of the
    /// others count.
    fn until_cpu(&mut self, time: SimTime, owner: Owner, (node, cpu): (u16, Cpu)) {
        let time = time.min(self.end);
        while self.at < time {
            let busy = self.desk.stage_at((node, cpu), self.at);
            let others = Cpu::all().filter(|other| *other != cpu);
            let others: Vec<_> = others
                .map(|other| self.desk.stage_at((node, other), self.at))
                .collect();
            // The message waits for its own frame's work on another CPU.
            let own = others.iter().find_map(|other| match other {
                CpuActivity::Stage(theirs) if self.is_own(theirs) => Some(theirs),
                _ => None,
            });
            let (what, to) = match (busy, own) {
                (CpuActivity::Stage(work), Some(theirs)) if !self.is_own(work) => {
                    (self.describe(theirs), theirs.to.min(work.to))
                }
                (CpuActivity::Stage(work), _) => (self.describe(work), work.to),
                (CpuActivity::Free(until), Some(theirs)) => {
                    (self.describe(theirs), theirs.to.min(until))
                }
                (CpuActivity::Free(until), None) => {
                    let changes = others.iter().map(|other| match other {
                        CpuActivity::Stage(work) => work.to,
                        CpuActivity::Free(until) => *until,
                    });
                    let next = changes.min().unwrap_or(until);
                    (format!("wait: {cpu} in dispatch"), until.min(next))
                }
            };
            self.until(to.min(time), owner, what);
        }
    }

    fn is_own(&self, work: &MessageWork) -> bool {
        self.desk.owner(work) == Some(self.index)
    }

    /// Description of a stage from this message's view.
    fn describe(&self, work: &MessageWork) -> String {
        let cpu = work.cpu;
        match self.desk.owner(work) {
            Some(owner) if owner == self.index => name(work),
            Some(_) => format!("wait: {cpu} with another message"),
            None => format!("wait: {cpu} in no message's stage"),
        }
    }

    /// Adds a stage, up to `time`.
    fn work(&mut self, owner: Owner, work: &MessageWork, time: SimTime) {
        self.until_cpu(work.from.min(time), owner, (work.node, work.cpu));
        self.until(work.to.min(time), owner, name(work));
    }

    /// Adds spans from the call to the opened record.
    fn post(&mut self, message: &Message) {
        if let Some(mailbox) = message.post.mailbox {
            let what = "post: system call, PIO writes";
            self.until(mailbox, Owner::SenderHost, what);
        }
        for work in &message.posting {
            self.work(Owner::SenderNic, work, work.to);
        }
    }

    /// Adds spans from the opened record to the work on the frame: earlier frames, and delays.
    fn before(&mut self, message: &Message, frame: &FrameWay) {
        let Some(first) = frame.works.first() else {
            return;
        };
        if frame.again != 0 {
            self.await_timeout(message, frame, first);
        }
        self.until_cpu(first.from, Owner::SenderNic, (first.node, first.cpu));
    }

    /// Adds the span from the frame's first transmission to the retransmission timeout.
    fn await_timeout(&mut self, message: &Message, frame: &FrameWay, again: &MessageWork) {
        let same = |other: &&FrameWay| (other.kind, other.number) == (frame.kind, frame.number);
        let Some(lost) = message.frames.iter().find(same) else {
            return;
        };
        if let Some(work) = lost.works.last() {
            self.until_cpu(work.from, Owner::SenderNic, (work.node, work.cpu));
            self.until(work.to, Owner::SenderNic, name(work));
        }
        let mut timeouts = message.retransmits.iter().rev();
        if let Some(timeout) = timeouts.find(|time| **time <= again.from) {
            self.until(*timeout, Owner::SenderNic, TIMEOUT);
        }
    }

    /// Adds spans from the first work on the frame to its first bit on the wire.
    fn send(&mut self, frame: &FrameWay) {
        let first_read = frame.reads.first().map(|read| read.from);
        let Some(sent) = frame.sent else {
            return;
        };
        let handed_over = first_read.or(frame.built).unwrap_or(sent.first_bit);
        for work in &frame.works {
            self.work(Owner::SenderNic, work, handed_over);
        }
        self.transfer(Owner::SenderNic, "read DMA", &frame.reads);
        let start = sent
            .first_bit
            .saturating_sub(self.desk.times.transmit_start);
        if let Some(work) = frame.works.last() {
            // While the MAC is free, a fetched frame waits for the CPU to queue it.
            let earlier = self.desk.sendings.get(&work.node);
            let mac_free = earlier
                .and_then(|sendings| sendings.range(..sent.first_bit).next_back())
                .is_none_or(|(_, end)| *end < start);
            let handed_over = if mac_free {
                start
            } else {
                frame.built.unwrap_or(start)
            };
            self.until(handed_over.min(work.to), Owner::SenderNic, name(work));
        }
        self.until(start, Owner::SenderNic, "wait: MAC with earlier frames");
        self.until(sent.first_bit, Owner::SenderNic, "MAC");
    }

    /// Adds the transfers of a frame.
    fn transfer(&mut self, owner: Owner, name: &str, transfers: &[DmaTransfer]) {
        for dma in transfers {
            self.until(
                dma.from,
                owner,
                format!("wait: {name} with other transfers"),
            );
            self.until(dma.to.unwrap_or(dma.from), owner, name);
        }
    }

    /// Adds spans from the first bit to the frame in the receiver's SRAM.
    fn travel(&mut self, frame: &FrameWay, arrival: &FrameArrival) {
        let (Some(sent), times) = (frame.sent, &self.desk.times) else {
            return;
        };
        let (on_wire, flight) = (
            times.frame(sent.length.max(SHORTEST)),
            times.link.propagation,
        );
        let last_bit = arrival.last_bit.unwrap_or(arrival.received);
        let there = sent.first_bit + on_wire + flight;
        let delayed = frame.mishaps.iter().any(|mishap| {
            mishap.kind == MishapKind::Fault(emulator::wire::fault::FaultKind::Delayed)
        });
        self.until(there.min(last_bit), Owner::Wire, "the frame on the cable");
        let more = if delayed {
            "wait: held back by a fault"
        } else {
            "other links, switches, their queues"
        };
        self.until(last_bit, Owner::Wire, more);
        self.until(arrival.received, Owner::ReceiverNic, "MAC");
    }

    /// Adds spans from the frame in SRAM to the stage that writes the status.
    fn receive(&mut self, arrival: &FrameArrival, end: &MessageCompletion) {
        let owner = Owner::ReceiverNic;
        let known = end.seen.map_or(end.told, |seen| seen.min(end.told));
        let first = arrival.writes.first().map_or(known, |write| write.from);
        for work in &arrival.works {
            if arrival.writes.is_empty() || work.from < first {
                self.work(owner, work, first);
            }
            if *work.stage == *stage::RECEIVE_FRAME && !arrival.writes.is_empty() {
                break;
            }
        }
        self.transfer(owner, "write DMA", &arrival.writes);
        if let Some(ending) = arrival.endings.last() {
            self.work(owner, ending, known);
        }
    }

    /// Adds spans from the status word to the host's return.
    fn complete(&mut self, end: &MessageCompletion) {
        let Some(seen) = end.seen else {
            return self.until(
                end.told,
                Owner::ReceiverNic,
                "the rest of the firmware's work",
            );
        };
        self.until(
            end.told.min(seen),
            Owner::ReceiverNic,
            "the rest of the firmware's work",
        );
        self.until(seen, Owner::ReceiverHost, "wait: the host's next poll");
        if let Some(returned) = end.returned {
            let what = "PIO read's way back, call's return";
            self.until(returned, Owner::ReceiverHost, what);
        }
    }
}

/// Name of a stage of this message.
fn name(work: &MessageWork) -> String {
    format!("{}: {}", work.cpu, work.stage)
}

/// Activity of a CPU.
enum CpuActivity<'a> {
    Stage(&'a MessageWork),
    /// No stage until this time.
    Free(SimTime),
}

impl Activities {
    fn stage_at(&self, cpu: (u16, Cpu), time: SimTime) -> CpuActivity<'_> {
        let Some(works) = self.works.get(&cpu) else {
            return CpuActivity::Free(SimTime::MAX);
        };
        let next = works.partition_point(|work| work.to <= time);
        match works.get(next) {
            Some(work) if work.from <= time => CpuActivity::Stage(work),
            Some(work) => CpuActivity::Free(work.from),
            None => CpuActivity::Free(SimTime::MAX),
        }
    }

    fn owner(&self, work: &MessageWork) -> Option<usize> {
        let key = (work.node, work.cpu, work.from);
        self.owners.get(&key).copied()
    }
}
