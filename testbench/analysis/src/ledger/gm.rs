//! The path of a GM message as spans.
//!
//! The firmware marks steps by probes, so a stage is what the CPU does from the last step of anything else to the message's own
//! next step. What it did before, since the message could have gone on, is a wait.

use std::collections::BTreeMap;

use emulator::sim::time::SimTime;
use lanigon_worlds::wire_times::PacketTimes;

use super::{Ledger, Owner, Span};
use crate::messages::gm::{GmMessage, GmMessages, PacketDelivery, Transmission};

/// The wait for a CPU that works on other packets.
const OTHERS: &str = "wait: CPU with other packets";
/// Bytes of the check sequence behind a packet.
const CHECK_BYTES: u64 = 1;

/// Ledgers of all delivered messages.
pub(super) fn ledgers(times: &PacketTimes, found: &GmMessages) -> Vec<Ledger> {
    let mut leaving: BTreeMap<u16, Vec<(SimTime, SimTime)>> = BTreeMap::new();
    for message in &found.messages {
        for sending in &message.transmissions {
            let end = sending.sent + times.send_start + times.bytes(bytes(sending));
            let all = leaving.entry(message.id.from).or_default();
            all.push((sending.sent, end));
        }
    }
    for all in leaving.values_mut() {
        all.sort_unstable();
    }
    let messages = found.messages.iter().enumerate();
    let follow = |(index, message)| {
        let way = PathBuilder {
            times,
            found,
            leaving: &leaving,
            index,
            at: SimTime::ZERO,
            end: SimTime::MAX,
            spans: Vec::new(),
        };
        way.follow(message)
    };
    messages.filter_map(follow).collect()
}

fn bytes(sending: &Transmission) -> u64 {
    u64::from(sending.length) + CHECK_BYTES
}

/// The path so far.
struct PathBuilder<'a> {
    times: &'a PacketTimes,
    found: &'a GmMessages,
    /// Packets of each node with a message: given to the sender, and gone if nothing stopped them.
    leaving: &'a BTreeMap<u16, Vec<(SimTime, SimTime)>>,
    /// Index of the message.
    index: usize,
    /// Start of the next span.
    at: SimTime,
    /// End of the last span.
    end: SimTime,
    spans: Vec<Span>,
}

impl PathBuilder<'_> {
    fn follow(mut self, message: &GmMessage) -> Option<Ledger> {
        let delivery = message.delivery.as_ref()?;
        let written = delivery.writes.last()?.to?;
        self.at = message.call.unwrap_or(message.taken);
        self.end = delivery.returned.or(delivery.seen).unwrap_or(written);
        self.post(message);
        self.resent(message, &delivery.transmission);
        self.send(message, &delivery.transmission);
        self.travel(delivery);
        self.receive(message.id.to, delivery);
        self.complete(delivery, written);
        Some(Ledger {
            id: message.id,
            length: message.length,
            frames: 1,
            resent: message.transmissions.len().saturating_sub(1),
            tag: None,
            spans: self.spans,
        })
    }

    /// Adds a span up to `time`, unless that has passed.
    fn until(&mut self, time: SimTime, owner: Owner, what: &str) {
        let time = time.min(self.end);
        if time <= self.at {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.owner == owner && last.what == what => last.to = time,
            _ => self.spans.push(Span {
                owner,
                what: what.into(),
                from: self.at,
                to: time,
            }),
        }
        self.at = time;
    }

    /// Adds the work of a node's CPU up to `time`, behind its work on other packets.
    fn cpu(&mut self, node: u16, time: SimTime, owner: Owner, stage: &str) {
        let marks = self.found.marks.get(&node).map_or(&[][..], Vec::as_slice);
        let before = marks.partition_point(|mark| mark.time < time);
        let others = marks[..before].iter().rev();
        let mut others = others.take_while(|mark| mark.time > self.at);
        if let Some(other) = others.find(|mark| mark.message != Some(self.index)) {
            self.until(other.time, owner, OTHERS);
        }
        self.until(time, owner, stage);
    }

    /// Adds the wait for the sender of packets, before the packet that is given to it at `sent`.
    fn await_sender(&mut self, node: u16, sent: SimTime) {
        let all = self.leaving.get(&node).map_or(&[][..], Vec::as_slice);
        let before = all.partition_point(|packet| packet.0 < sent);
        if let Some(&(_, end)) = all[..before].last()
            && end < sent
        {
            let what = "wait: sender with earlier packets";
            self.until(end, Owner::SenderNic, what);
        }
    }

    fn post(&mut self, message: &GmMessage) {
        let (node, taken) = (message.id.from, message.taken);
        let returned = message.returned.unwrap_or(taken);
        let what = "send: library, PIO writes";
        self.until(returned.min(taken), Owner::SenderHost, what);
        self.cpu(node, taken, Owner::SenderNic, "CPU: take send slot");
    }

    /// Adds what came before the transmission that arrived.
    fn resent(&mut self, message: &GmMessage, last: &Transmission) {
        let begun = last.read.map_or(last.sent, |read| read.from);
        let mut resends = message.resends.iter().rev();
        let Some(&resend) = resends.find(|time| **time < begun) else {
            return;
        };
        let first = message.transmissions.first();
        if let Some(first) = first.filter(|first| first.sent < resend) {
            self.send(message, first);
        }
        let what = "wait: sent again after a loss or a refusal";
        self.until(resend, Owner::SenderNic, what);
    }

    /// Adds spans up to the first byte.
    fn send(&mut self, message: &GmMessage, sending: &Transmission) {
        let (node, owner) = (message.id.from, Owner::SenderNic);
        if let Some(read) = sending.read {
            self.await_sender(node, read.from);
            self.cpu(node, read.from, owner, "CPU: SDMA");
            self.until(read.to.unwrap_or(read.from), owner, "read DMA");
            self.await_sender(node, sending.sent);
            self.cpu(node, sending.sent, owner, "CPU: SEND");
        } else {
            self.await_sender(node, sending.sent);
            self.cpu(node, sending.sent, owner, "CPU: SDMA and SEND");
        }
        let leaves = sending.sent + self.times.send_start;
        self.until(leaves, owner, "sender of packets");
    }

    /// Adds spans from the first byte to the packet in the receiver's SRAM.
    fn travel(&mut self, delivery: &PacketDelivery) {
        let tail = delivery.received.saturating_sub(self.times.receive_end);
        let flight = self.at + self.times.bytes(bytes(&delivery.transmission));
        self.until(flight.min(tail), Owner::Wire, "the packet's bytes");
        self.until(tail, Owner::Wire, "cables, crossbars, backpressure");
        let owner = Owner::ReceiverNic;
        self.until(delivery.received, owner, "receiver of packets");
    }

    /// Adds spans up to the event in host memory.
    fn receive(&mut self, node: u16, delivery: &PacketDelivery) {
        let owner = Owner::ReceiverNic;
        self.cpu(node, delivery.accepted, owner, "CPU: RECV");
        for (place, write) in delivery.writes.iter().enumerate() {
            match place {
                0 => self.cpu(node, write.from, owner, "CPU: RDMA"),
                _ => self.until(write.from, owner, "wait: write DMA of the event"),
            }
            self.until(write.to.unwrap_or(write.from), owner, "write DMA");
        }
    }

    /// Adds spans from the event in host memory to the call's return.
    fn complete(&mut self, delivery: &PacketDelivery, written: SimTime) {
        let seen = delivery.seen.unwrap_or(written);
        let owner = Owner::ReceiverHost;
        self.until(seen, owner, "wait: the host's next poll");
        self.until(self.end, owner, "receive: library");
    }
}
