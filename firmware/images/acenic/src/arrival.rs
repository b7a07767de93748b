//! What the firmware wants to know of a received frame: whether it is sound, its VLAN tag, its sums.

use acenic_protocol::checksum::{self, Packet};
use defs::acenic::descriptor::Errors;
use defs::acenic::info::RingFlags;
use defs::acenic::stats::word;
use defs::tigon2::rings::RX_STATUS_RUNT;
use tigon2_hal::mac::RxFrame;
use tigon2_hal::rings::Region;
use tigon2_hal::sram;

use crate::statistics::{count, count_at};

/// A shorter frame has no addresses and type.
const SHORTEST_BYTES: u32 = 14;
/// Bytes before a VLAN tag, and of the tag.
pub const BEFORE_TAG: u32 = 12;
pub const TAG_BYTES: u32 = 4;
const TAG_PROTOCOL: u32 = 0x8100;

/// Counts what is wrong with a frame; tells whether anything is. Runts are none of our business.
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

/// The bytes of a frame as the host gets them.
pub struct Bytes {
    /// With the tag, as they lie in the receive buffer.
    pub length: u32,
    /// The tag that is taken out.
    pub tag: Option<u32>,
    /// What the rest of the frame sums to, around the TCP or UDP part: low half; the IP header's sum:
    /// high half.
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
