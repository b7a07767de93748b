//! Rings and buffers as text: DMA descriptors, MAC descriptors, and their frames.

use defs::tigon2::map::RX_BUFFER_LIMIT;
use defs::tigon2::regs::{self, DmaState};
use defs::tigon2::rings::{
    DMA_DESCRIPTOR_BYTES, MAC_DESCRIPTOR_BYTES, MAC_RX_BELOW, MAC_TX_BELOW, MAC_TX_INSERT_VLAN,
    READ_RING_BELOW, WRITE_RING_BELOW,
};

use super::names;
use crate::dma::Channel;
use crate::fabric::Fabric;
use crate::mac::Buffer;
use crate::map;
use crate::ring::RingPointers;
use emulator_board::DescribeFrame;

/// Largest number of descriptors per ring.
const MOST: u32 = 24;

/// The DMA channels and rings, MAC rings and buffers, with every descriptor in progress.
pub fn rings(fabric: &Fabric, describe: DescribeFrame<'_>) -> Vec<String> {
    let (assist, mac) = (&fabric.assist, &fabric.mac);
    let read = channel("read", &fabric.dma_read, regs::READ_STATE);
    let write = channel("write", &fabric.dma_write, regs::WRITE_STATE);
    if mac.tx_buffer.base == 0 {
        let unset = "rings and buffers: the firmware has not said where they lie";
        return vec![read, write, unset.into()];
    }
    let mut lines = vec![read];
    dma_ring(fabric, ("read", READ_RING_BELOW), &assist.read, &mut lines);
    lines.push(write);
    dma_ring(
        fabric,
        ("write", WRITE_RING_BELOW),
        &assist.write,
        &mut lines,
    );
    lines.push(buffer("transmit", &mac.tx_buffer, mac.tx_limit()));
    mac_ring(fabric, &TRANSMIT, &mac.tx, describe, &mut lines);
    lines.push(buffer("receive", &mac.rx_buffer, RX_BUFFER_LIMIT));
    mac_ring(fabric, &RECEIVE, &mac.rx, describe, &mut lines);
    lines
}

/// State of a DMA channel.
fn channel(name: &str, channel: &Channel, register: u32) -> String {
    let bits = |value| names::bits(map::register_address(register), value).unwrap_or_default();
    if channel.failed() {
        return format!("DMA {name} channel: failed, {}", bits(channel.state()));
    }
    if !channel.active() {
        return format!("DMA {name} channel: idle");
    }
    let Channel {
        host,
        local,
        length,
        ..
    } = channel;
    let bits = bits(channel.state());
    format!("DMA {name} channel: host {host:#x}, local {local:#x}, {length} bytes left, {bits}")
}

/// Registers of a buffer.
fn buffer(name: &str, buffer: &Buffer, limit: u32) -> String {
    let Buffer {
        base,
        producer,
        consumer,
    } = buffer;
    let held = buffer.distance(*consumer, *producer, limit);
    format!(
        "{name} buffer {base:#x}..{limit:#x}: producer {producer:#x}, consumer {consumer:#x}, {held} bytes between them"
    )
}

/// First line of a ring, and the indices of entries from consumer to producer.
fn pointers(name: &str, ring: &RingPointers, base: u32) -> (String, Vec<u32>) {
    let RingPointers {
        producer,
        reference,
        consumer,
        ..
    } = *ring;
    let under_way = ring.distance(consumer, producer);
    if under_way == 0 && ring.pending() == 0 {
        return (
            format!("{name} at {base:#x}: nothing under way (index {producer})"),
            Vec::new(),
        );
    }
    let places = format!("producer {producer}, reference {reference}, consumer {consumer}");
    let line = format!(
        "{name} at {base:#x}: {places}: {} under way, {} not taken",
        under_way.max(ring.pending()),
        ring.pending()
    );
    // Firmware may move the consumer ahead of the reference.
    let first = match under_way >= ring.pending() {
        true => consumer,
        false => reference,
    };
    let all = ring.distance(first, producer);
    let mut indices = Vec::new();
    let mut index = first;
    for _ in 0..all {
        indices.push(index);
        index = ring.next(index);
    }
    (line, indices)
}

/// Appends the lines of a ring.
fn ring_lines(
    name: &str,
    ring: &RingPointers,
    base: u32,
    lines: &mut Vec<String>,
    mut entry: impl FnMut(u32, bool, &mut Vec<String>),
) {
    let (line, indices) = pointers(name, ring, base);
    lines.push(line);
    let pending = ring.pending();
    let more = indices.len().saturating_sub(MOST as usize);
    for &index in indices.iter().take(MOST as usize) {
        let behind = ring.distance(ring.reference, index) >= pending;
        entry(index, behind, lines);
    }
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}

/// Appends the lines of a DMA ring, given its name and its distance below the transmit buffer.
fn dma_ring(
    fabric: &Fabric,
    (name, below): (&str, u32),
    ring: &RingPointers,
    lines: &mut Vec<String>,
) {
    let base = fabric.mac.tx_buffer.base.wrapping_sub(below);
    let register = map::register_address(regs::READ_STATE);
    ring_lines(
        &format!("DMA {name} ring"),
        ring,
        base,
        lines,
        |index, done, lines| {
            let at = base.wrapping_add(index * DMA_DESCRIPTOR_BYTES);
            let word = |number: u32| fabric.sram.word(at.wrapping_add(4 * number));
            let host = u64::from(word(0)) << 32 | u64::from(word(1));
            let (local, length, kind, own) = (word(2), word(3) & 0xFFFF, word(6), word(7));
            let state = word(4) & !DmaState::ERRORS.bits();
            let state = names::bits(register, state).unwrap_or_default();
            let done = if done { "done" } else { "" };
            lines.push(format!(
            "  {index:3} {done:4} host {host:#x}, local {local:#x}, {length} bytes, kind {kind}, index {own:#x}, {state}"
        ));
        },
    );
}

/// Properties of a MAC ring.
struct MacRing {
    name: &'static str,
    /// Distance below the base of the transmit buffer.
    below: u32,
    /// Description of the entries before the reference.
    before: &'static str,
    /// Whether its frames are in the receive buffer.
    receives: bool,
}

const TRANSMIT: MacRing = MacRing {
    name: "transmit ring",
    below: MAC_TX_BELOW,
    before: "sent",
    receives: false,
};

const RECEIVE: MacRing = MacRing {
    name: "receive ring",
    below: MAC_RX_BELOW,
    before: "seen",
    receives: true,
};

fn mac_ring(
    fabric: &Fabric,
    of: &MacRing,
    ring: &RingPointers,
    describe: DescribeFrame<'_>,
    lines: &mut Vec<String>,
) {
    let base = fabric.mac.tx_buffer.base.wrapping_sub(of.below);
    ring_lines(of.name, ring, base, lines, |index, done, lines| {
        let at = base.wrapping_add(index * MAC_DESCRIPTOR_BYTES);
        let [address, second] = [at, at.wrapping_add(4)].map(|at| fabric.sram.word(at));
        let frame_at = match of.receives {
            true => address,
            false => address & !MAC_TX_INSERT_VLAN,
        };
        let done = if done { of.before } else { "" };
        let (high, length) = (second >> 16, second & 0xFFFF);
        let high = match (of.receives, high) {
            (_, 0) => String::new(),
            (true, status) => format!(", status {status:#06x}"),
            (false, tag) => format!(", tag {tag:#06x}"),
        };
        let head = describe(&|index| frame_word(fabric, of, frame_at, index));
        lines.push(format!(
            "  {index:3} {done:4} at {frame_at:#x}, {length} bytes{high}: {head}"
        ));
    });
}

/// A word of a frame in its buffer, which wraps.
fn frame_word(fabric: &Fabric, of: &MacRing, frame_at: u32, index: usize) -> u32 {
    let mac = &fabric.mac;
    let (buffer, limit) = match of.receives {
        true => (&mac.rx_buffer, RX_BUFFER_LIMIT),
        false => (&mac.tx_buffer, mac.tx_limit()),
    };
    let offset = 4 * index as u32;
    let at = match buffer.base <= frame_at && frame_at < limit {
        true => buffer.advance(frame_at, offset, limit),
        false => frame_at.wrapping_add(offset),
    };
    fabric.sram.word(at)
}
