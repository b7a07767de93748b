//! Frames: payload DMA, MAC, wire.

use std::collections::VecDeque;

use defs::emp::frame::{DATA_PAYLOAD, HEADER_PAYLOAD, Kind, WORD_MESSAGE_LENGTH, WORD_TAG_FRAMES};
use emulator::observe::event::{FrameHead, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;

use super::message::{DmaTransfer, Fate, FrameArrival, FrameSending, FrameWay, Mishap, MishapKind};
use super::names::emp as names;
use super::tracker::{ArrivalRef, FrameRef, Tracker};
use lanigon_worlds::faults::EmpFrame;

/// A frame's head, with its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    time: SimTime,
    number: u64,
    fcs: u32,
    words: FrameHead,
}

/// A frame in a receive buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct RxFrame {
    /// EMP header of the frame.
    pub says: Option<EmpFrame>,
    /// Arrival of the frame.
    pub arrival: Option<ArrivalRef>,
}

/// A transfer with the numbers of its events.
#[derive(Debug, Clone, Copy)]
struct NumberedTransfer {
    dma: DmaTransfer,
    local_end: u32,
    events: [u64; 2],
}

/// Transfers of one direction.
#[derive(Debug, Default)]
pub(super) struct ChannelTransfers {
    open: Option<(DmaTransfer, u64)>,
    /// Completed reads without a frame so far.
    over: VecDeque<NumberedTransfer>,
    /// Arrival of the write in progress.
    owner: Option<ArrivalRef>,
    /// End address of the last write.
    end: u32,
    /// Completed writes that the firmware has not processed, with their times.
    pub ended: VecDeque<(SimTime, Option<ArrivalRef>)>,
}

/// Largest number of reads kept for a frame: more than the pieces in a transmit buffer.
const MOST_READS: usize = 4096;

impl Head {
    fn says(&self) -> Option<EmpFrame> {
        names::header(&self.words)
    }
}

/// Length of the headers before a frame's payload.
const fn payload_offset(kind: Kind) -> u32 {
    match kind {
        Kind::Header => HEADER_PAYLOAD,
        _ => DATA_PAYLOAD,
    }
}

/// Whether an EMP header can belong to this frame. A void frame had another kind before.
fn is_frame(frame: &FrameWay, says: &EmpFrame) -> bool {
    frame.number == says.frame
        && (frame.kind == says.kind || (says.kind == Kind::Void && frame.is_data()))
}

impl Tracker {
    pub(super) fn read_event(&mut self, node: u16, event: &TraceEvent) {
        let number = self.number;
        let channel = &mut self.node(node).read;
        match event.kind {
            TraceKind::DmaStarted { local, length, .. } => {
                channel.open = Some((begun(event.time, local, length), number));
            }
            TraceKind::DmaDone { .. } | TraceKind::DmaFailed { .. } => {
                let Some((mut dma, began)) = channel.open.take() else {
                    return;
                };
                dma.to = Some(event.time);
                let local_end = match event.kind {
                    TraceKind::DmaDone { local_end } => local_end,
                    _ => {
                        dma.failed = true;
                        dma.local
                    }
                };
                channel.over.push_back(NumberedTransfer {
                    dma,
                    local_end,
                    events: [began, number],
                });
                if channel.over.len() > MOST_READS {
                    channel.over.pop_front();
                }
            }
            _ => {}
        }
    }

    pub(super) fn write_event(&mut self, node: u16, event: &TraceEvent) {
        match event.kind {
            TraceKind::DmaStarted { local, length, .. } => {
                let owner = self.owner_of_write(node, local);
                self.node(node).write.owner = owner;
                if let Some(owner) = owner {
                    let dma = begun(event.time, local, length);
                    self.arrival(owner).writes.push(dma);
                    self.own(owner.frame.message);
                }
            }
            TraceKind::DmaDone { local_end } => self.write_over(node, event.time, Some(local_end)),
            TraceKind::DmaFailed { .. } => self.write_over(node, event.time, None),
            _ => {}
        }
    }

    /// The frame whose payload, or next piece, begins at `local`.
    fn owner_of_write(&mut self, node: u16, local: u32) -> Option<ArrivalRef> {
        for kind in [Kind::Header, Kind::Data] {
            let start = local.wrapping_sub(payload_offset(kind));
            let at = self.node(node).places.get(&start).copied();
            if let Some(at) = at.filter(|at| self.frame(at.frame).kind == kind) {
                return Some(at);
            }
        }
        let write = &self.node(node).write;
        write.owner.filter(|_| write.end == local)
    }

    fn write_over(&mut self, node: u16, time: SimTime, local_end: Option<u32>) {
        let write = &mut self.node(node).write;
        let owner = write.owner;
        write.end = local_end.unwrap_or(write.end);
        write.ended.push_back((time, owner));
        if let Some(owner) = owner {
            if let Some(dma) = self.arrival(owner).writes.last_mut() {
                dma.to = Some(time);
                dma.failed = local_end.is_none();
            }
            self.own(owner.frame.message);
        }
    }

    pub(super) fn mac_event(&mut self, node: u16, event: &TraceEvent) {
        let number = self.number;
        match event.kind {
            TraceKind::FrameHead { fcs, head } => {
                let head = Head {
                    time: event.time,
                    number,
                    fcs,
                    words: head,
                };
                let state = self.node(node);
                if event.initiator == Initiator::Transmitter {
                    state.sending = Some(head);
                } else {
                    state.receiving.push_back(head);
                }
            }
            TraceKind::FrameSent { address, length } => {
                let first_bit = event.time;
                let sending = FrameSending {
                    address,
                    length,
                    first_bit,
                };
                self.frame_sent(node, sending);
            }
            TraceKind::FrameReceived {
                address, status, ..
            } => self.frame_received(node, event.time, address, status),
            TraceKind::FrameDropped { reason } => {
                let head = self.node(node).receiving.pop_back();
                if let Some(frame) = head.and_then(|head| self.frame_of(node, &head)) {
                    self.befall(frame, event, MishapKind::Dropped(reason));
                }
            }
            _ => {}
        }
    }

    fn frame_sent(&mut self, node: u16, sending: FrameSending) {
        let head = self.node(node).sending.take();
        let frame = match &head {
            Some(head) => self.sent_frame(node, head),
            None => self.node(node).built.pop_front(),
        };
        let Some(frame) = frame else {
            return;
        };
        self.node(node).built.retain(|built| *built != frame);
        self.own(frame.message);
        self.frame(frame).sent = Some(sending);
        if let Some(head) = head {
            self.message(frame.message).events.push(head.number);
            self.by_fcs.insert(head.fcs, frame);
            if self.frame(frame).kind == Kind::Header {
                let message = self.message(frame.message);
                let tag_frames = head.words[WORD_TAG_FRAMES];
                message.tag = Some((tag_frames >> 16) as u16);
                message.frame_count = Some(tag_frames as u16);
                message.length = Some(head.words[WORD_MESSAGE_LENGTH]);
            }
        }
        self.claim_reads(node, frame, sending);
    }

    /// The frame that a MAC sends.
    fn sent_frame(&mut self, node: u16, head: &Head) -> Option<FrameRef> {
        let says = head.says()?;
        let message = self.message_of(node, &says)?;
        let is = |frame: &FrameWay| frame.sent.is_none() && is_frame(frame, &says);
        // The firmware reports an ack after it has queued it to the MAC.
        let known = self.find_frame(message, is);
        Some(known.unwrap_or_else(|| self.add_frame(message, says.kind, says.frame)))
    }

    /// The message of a frame that `node` sends.
    fn message_of(&mut self, node: u16, says: &EmpFrame) -> Option<usize> {
        Some(self.find(names::message_of(says, node, says.to?)))
    }

    /// Assigns reads to a frame's payload.
    fn claim_reads(&mut self, node: u16, frame: FrameRef, sending: FrameSending) {
        let kind = self.frame(frame).kind;
        let offset = payload_offset(kind);
        let payload = sending.length.saturating_sub(offset);
        if payload == 0 || !self.frame(frame).is_data() {
            return;
        }
        let over = &mut self.node(node).read.over;
        let begins = |transfer: &NumberedTransfer| transfer.dma.local == sending.address + offset;
        let Some(first) = over.iter().rposition(begins) else {
            return;
        };
        over.drain(..first);
        let mut claimed: Vec<NumberedTransfer> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = over.front()
            && bytes < payload
        {
            bytes += next.dma.length;
            if claimed
                .last()
                .is_none_or(|last| last.local_end == next.dma.local)
            {
                claimed.push(*next);
            } else {
                // Page entries were fetched in between.
                bytes -= next.dma.length;
            }
            over.pop_front();
        }
        for transfer in claimed {
            self.frame(frame).reads.push(transfer.dma);
            self.message(frame.message).events.extend(transfer.events);
        }
    }

    /// The frame of a head at its receiver.
    fn frame_of(&mut self, node: u16, head: &Head) -> Option<FrameRef> {
        if let Some(&frame) = self.by_fcs.get(&head.fcs) {
            return Some(frame);
        }
        // The FCS is wrong, or the trace began during its transmission.
        let says = head.says()?;
        let message = self.find(names::message_of(&says, says.from, node));
        let is = |frame: &FrameWay| frame.sent.is_some() && is_frame(frame, &says);
        self.find_last_frame(message, is)
    }

    fn frame_received(&mut self, node: u16, received: SimTime, address: u32, status: u32) {
        let head = self.node(node).receiving.pop_front();
        let frame = head.and_then(|head| self.frame_of(node, &head));
        let arrival = frame.map(|frame| {
            self.own(frame.message);
            let head_number = head.map(|head| head.number);
            self.message(frame.message).events.extend(head_number);
            let way = self.frame(frame);
            way.arrivals.push(FrameArrival {
                last_bit: head.map(|head| head.time),
                received,
                address,
                works: Vec::new(),
                fate: Fate::Unknown,
                writes: Vec::new(),
                endings: Vec::new(),
            });
            if status != 0 {
                way.mishaps.push(Mishap {
                    time: received,
                    place: Place::Node(node),
                    kind: MishapKind::Damaged(status),
                });
            }
            let arrival = way.arrivals.len() - 1;
            ArrivalRef { frame, arrival }
        });
        let state = self.node(node);
        match arrival {
            Some(arrival) => state.places.insert(address, arrival),
            None => state.places.remove(&address),
        };
        state.stored.push_back(RxFrame {
            says: head.and_then(|head| head.says()),
            arrival,
        });
    }

    pub(super) fn wire_event(&mut self, event: &TraceEvent) {
        let (kind, fcs) = match event.kind {
            TraceKind::Fault { fault, fcs, .. } => (MishapKind::Fault(fault), fcs),
            TraceKind::FrameLost { reason, fcs, .. } => (MishapKind::Lost(reason), fcs),
            _ => return,
        };
        if let Some(&frame) = self.by_fcs.get(&fcs) {
            self.befall(frame, event, kind);
        }
    }

    /// Records a fault or loss of a frame.
    pub(super) fn befall(&mut self, frame: FrameRef, event: &TraceEvent, kind: MishapKind) {
        self.own(frame.message);
        self.frame(frame).mishaps.push(Mishap {
            time: event.time,
            place: event.place,
            kind,
        });
    }
}

/// A transfer that begins.
const fn begun(from: SimTime, local: u32, length: u32) -> DmaTransfer {
    DmaTransfer {
        local,
        length,
        from,
        to: None,
        failed: false,
    }
}
