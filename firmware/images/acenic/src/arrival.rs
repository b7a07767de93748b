//! Properties of a received frame: errors, VLAN tag, checksums.

use acenic_protocol::checksum::{self, Packet};
use defs::acenic::descriptor::Errors;
use defs::acenic::info::RingFlags;
use defs::acenic::stats::word;
use defs::tigon2::rings::RX_STATUS_RUNT;
use tigon2_hal::mac::RxFrame;
use tigon2_hal::rings::Region;
use tigon2_hal::sram;

use crate::statistics::{count, count_at};

/// Shortest frame with addresses and type.
const SHORTEST_BYTES: u32 = 14;
/// Number of bytes before a VLAN tag, and size of the tag.
pub const BEFORE_TAG: u32 = 12;
pub const TAG_BYTES: u32 = 4;
const TAG_PROTOCOL: u32 = 0x8100;

/// Counts a frame's errors; returns whether there are any. Runts are not counted here.
#[inline(always)]
pub fn is_damaged(frame: &RxFrame) -> bool {
    let errors = frame.status() & !RX_STATUS_RUNT;
    if errors == 0 && frame.length() >= SHORTEST_BYTES {
        return false;
    }
    count_errors(Errors::from_bits_retain(errors));
    true
}

#[inline(never)]
fn count_errors(errors: Errors) {
    count!("if_in_errors");
    const COUNTERS: [(Errors, u32); 6] = [
        (Errors::COLLISION, word("nic_mac_rx_late_colls")),
        (Errors::LINK_LOST, word("nic_mac_rx_link_lost_during_pkt")),
        (Errors::PHY_DECODE, word("nic_mac_rx_phy_decode_err")),
        (Errors::ODD_NIBBLES, word("dot3_alignment_errors")),
        (Errors::MAC_ABORT, word("nic_mac_rx_mac_abort")),
        (Errors::TRUNCATED, word("nic_mac_rx_trunc_no_resources")),
    ];
    for (error, counter) in COUNTERS {
        if errors.contains(error) {
            count_at(counter, 1);
        }
    }
}

/// The bytes of a frame that the host gets.
pub struct Bytes {
    /// Length in the receive buffer, tag included.
    pub length: u32,
    /// The removed tag.
    pub tag: Option<u32>,
    /// Low half: sum of everything except the TCP or UDP part. High half: sum of the IP header.
    pub sums: Option<u32>,
}

impl Bytes {
    #[inline(always)]
    pub fn look_at(frame: &RxFrame, region: &Region, ring: RingFlags) -> Self {
        let half = |at| u32::from(sram::read_half(region.advance(frame.address, at)));
        let length = frame.length();
        let tagged = ring.contains(RingFlags::VLAN_ASSIST)
            && length >= SHORTEST_BYTES + TAG_BYTES
            && half(BEFORE_TAG) == TAG_PROTOCOL;
        let tag = tagged.then(|| half(BEFORE_TAG + 2));
        let wanted = ring.contains(RingFlags::TCP_UDP_SUM);
        let sums = wanted
            .then(|| sums_around(ring, length, tag, half))
            .flatten();
        Self { length, tag, sums }
    }
}

#[inline(never)]
fn sums_around(
    ring: RingFlags,
    length: u32,
    tag: Option<u32>,
    half: impl Fn(u32) -> u32,
) -> Option<u32> {
    let packet = Packet::find(length, &half)?;
    let mut around = packet.sum_around(length, &half);
    if let Some(tag) = tag {
        around = checksum::subtract(around, checksum::add(TAG_PROTOCOL, tag));
    }
    if !ring.contains(RingFlags::NO_PSEUDO_HEADER) {
        around = checksum::subtract(around, packet.sum_pseudo(&half));
    }
    Some(packet.sum_ip(&half) << 16 | around)
}
