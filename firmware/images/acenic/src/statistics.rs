//! Counters and their reports to the host (docs/tigon2-driver.md, section 8). The block in SRAM has the
//! host's layout; the MAC's counters are copied into it before a report.

use defs::acenic::stats::{self, word};
use defs::acenic::{INTERFACE_INDEX, INTERFACE_MTU};
use defs::tigon2::counters;
use defs::tigon2::map::STATISTICS_BASE;
use tigon2_hal::dma::{RingFull, Transfer, WriteRing};
use tigon2_hal::regs::{self, MacRxState};
use tigon2_hal::sram;

use crate::dma::{push_read, push_write, read, write};
use crate::{Alarm, Firmware, tables};

/// Increments a counter, or adds to it: `count!("if_in_discards")`, `count!("nic_recv_bds", 4)`.
macro_rules! count {
    ($name:literal) => {
        $crate::statistics::count!($name, 1)
    };
    ($name:literal, $more:expr) => {
        $crate::statistics::count_at(const { ::defs::acenic::stats::word($name) }, $more)
    };
}
pub(crate) use count;

/// Adds to the counter at a word of the block.
#[inline(always)]
pub fn count_at(word: u32, more: u32) {
    let at = tables::statistics() + (word << 2);
    sram::write(at, sram::read(at).wrapping_add(more));
}

/// Adds to the 64-bit counter at a word of the block.
#[inline(always)]
pub fn count_wide(word: u32, more: u32) {
    let high = tables::statistics() + (word << 2);
    let (sum, carry) = sram::read(high + 4).overflowing_add(more);
    sram::write(high + 4, sum);
    if carry {
        sram::write(high, sram::read(high).wrapping_add(1));
    }
}

fn set(word: u32, value: u32) {
    sram::write(tables::statistics() + (word << 2), value);
}

/// Words of the block for the MAC's counters.
const FROM_MAC: [(u32, u32); 15] = [
    (counters::CRC_ERRORS, word("dot3_fcs_errors")),
    (counters::COLLISIONS, word("dot3_single_collision_frames")),
    (counters::DEFERRED, word("dot3_deferred_transmissions")),
    (counters::LATE_COLLISIONS, word("dot3_late_collisions")),
    (
        counters::EXCESS_COLLISIONS,
        word("dot3_excessive_collisions"),
    ),
    (
        counters::UNDERRUNS,
        word("dot3_internal_mac_transmit_errors"),
    ),
    (counters::CARRIER_LOST, word("dot3_carrier_sense_errors")),
    (counters::DROPPED_UNICAST, word("nic_mac_rx_drop_ula")),
    (counters::DROPPED_MULTICAST, word("nic_mac_rx_drop_mcast")),
    (counters::DROPPED_PAUSE, word("nic_mac_rx_flow_control")),
    (counters::DROPPED_SPACE, word("nic_mac_rx_drop_space")),
    (counters::RX_COLLISIONS, word("nic_mac_rx_colls")),
    // The low words of 64-bit counters.
    (counters::KEPT_UNICAST, word("if_hc_in_ucast_pkts") + 1),
    (
        counters::KEPT_MULTICAST,
        word("if_hc_in_multicast_pkts") + 1,
    ),
    (
        counters::KEPT_BROADCAST,
        word("if_hc_in_broadcast_pkts") + 1,
    ),
];

/// Interface type of the standard MIB: Ethernet.
const ETHERNET: u32 = 6;
const UP_OR_TRUE: u32 = 1;
const DOWN_OR_FALSE: u32 = 2;
const MEGABITS: u32 = 1000;
const BITS: u32 = 1_000_000_000;

const fn truth(value: bool) -> u32 {
    if value { UP_OR_TRUE } else { DOWN_OR_FALSE }
}

/// Clears all counters, those of the MAC included.
pub fn clear() {
    sram::clear(tables::statistics(), stats::BYTES);
    sram::clear(STATISTICS_BASE, counters::BYTES);
}

impl Firmware {
    /// Requests a report, and sets the next alarm.
    #[inline(never)]
    pub fn statistics_are_due(&mut self) {
        let ticks = self.tuning.statistics_ticks;
        if ticks != 0 {
            self.set_alarm(Alarm::Statistics, ticks);
        }
        self.control.statistics_due = true;
        self.push_reports();
    }

    /// Requests a load of the counters from the host's block. The MAC's counters are not affected.
    #[inline(never)]
    pub fn load_statistics(&mut self) {
        self.control.statistics_wanted = true;
        self.fetch_statistics();
    }

    /// Queues a requested load.
    #[inline(always)]
    pub fn fetch_statistics(&mut self) {
        if self.control.statistics_wanted {
            self.push_load();
        }
    }

    #[inline(never)]
    fn push_load(&mut self) {
        let host = self.info.statistics;
        let queued = push_read(&Transfer {
            host_high: host.high,
            host_low: host.low,
            local: tables::statistics(),
            length: stats::BYTES,
            state: self.control.read,
            kind: read::STATISTICS,
            index: 0,
        });
        // Retried when a read completes.
        self.control.statistics_wanted = queued.is_err();
    }

    /// Queues a due report.
    pub fn push_statistics(&mut self) -> Result<(), RingFull> {
        if !self.control.statistics_due {
            return Ok(());
        }
        if WriteRing::room() == 0 {
            return Err(RingFull);
        }
        self.complete_block();
        let host = self.info.statistics;
        push_write(&Transfer {
            host_high: host.high,
            host_low: host.low,
            local: tables::statistics(),
            length: stats::BYTES,
            state: self.control.write,
            kind: write::STATISTICS,
            index: 0,
        })?;
        self.control.statistics_due = false;
        Ok(())
    }

    /// Fills in values that are not counted in the block.
    #[inline(never)]
    fn complete_block(&self) {
        for (counter, word) in FROM_MAC {
            set(word, sram::read(counter));
        }
        let mut several = 0;
        for index in 0..counters::COLLISION_WORDS {
            let frames = sram::read(counters::COLLISIONS + (index << 2));
            set(word("nic_mac_tx_collision_histogram1") + index, frames);
            several += if index == 0 { 0 } else { frames };
        }
        set(word("dot3_multiple_collision_frames"), several);
        set(word("if_index"), sram::read(INTERFACE_INDEX));
        set(word("if_type"), ETHERNET);
        set(word("if_mtu"), sram::read(INTERFACE_MTU));
        let up = self.link.is_up();
        set(word("if_speed"), if up { BITS } else { 0 });
        set(word("if_high_speed"), if up { MEGABITS } else { 0 });
        set(word("if_admin_status"), truth(self.open));
        set(word("if_oper_status"), truth(up));
        let receiver = MacRxState::from_bits_retain(regs::read(regs::MAC_RX_STATE));
        let promiscuous = receiver.contains(MacRxState::PROMISCUOUS);
        set(word("if_promiscuous_mode"), truth(promiscuous));
        set(word("if_connector_present"), UP_OR_TRUE);
    }
}
