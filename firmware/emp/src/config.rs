//! Start-up: addresses of the shared structures, and the host's settings.
//!
//! The firmware publishes the addresses ([`Emp::publish`]). The host fills its words and the route table
//! and sets the command word. [`Emp::poll_start`] reads them.

use crate::Emp;
use crate::descriptor::CACHE_BYTES;
use crate::nic::Nic;
use crate::pace::Pace;
use crate::tables::{ACTIVE_SLOTS, NO_SLOT, Slot};
use defs::emp::control::{
    ACK_GROUP, COMMAND, COMMAND_START, COUNTER_COUNT, COUNTERS, DEFAULT_ACK_GROUP,
    DEFAULT_FRAME_BYTES, DEFAULT_RETRY_LIMIT, DEFAULT_TIMEOUT_US, DESCRIPTORS, EPOCH, FLOW_CONTROL,
    FRAME_BYTES, NODE, READY, READY_MAGIC, RECEIVE_TIMEOUT_LIMIT_US, RECEIVE_TIMEOUT_US,
    RETRY_LIMIT, RETRY_LIMIT_MOST, ROUTE_CAPACITY, ROUTE_COUNT, ROUTE_ENTRY_BYTES,
    ROUTE_TABLE_ENTRIES, ROUTES, TIMEOUT_LIMIT_US, TIMEOUT_US, receive_timeout_us,
};
use defs::emp::descriptor::{DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, SEND_DESCRIPTORS, WORD_STATUS};
use defs::emp::frame::{GROUP_LIMIT, data_frame_capacity, header_frame_capacity};

const ROUTES_AT: u32 = DESCRIPTOR_COUNT * DESCRIPTOR_BYTES;
const TRANSMIT_CACHES_AT: u32 = ROUTES_AT + ROUTE_TABLE_ENTRIES * ROUTE_ENTRY_BYTES;
const ACTIVE_CACHES_AT: u32 = TRANSMIT_CACHES_AT + SEND_DESCRIPTORS * CACHE_BYTES;
const CACHE_SHIFT: u32 = CACHE_BYTES.trailing_zeros();
/// Bytes of NIC memory that the protocol needs in addition to [`Tables`](crate::Tables): descriptors, route
/// table, caches of page entries.
pub const RESERVED_BYTES: u32 = ACTIVE_CACHES_AT + ACTIVE_SLOTS as u32 * CACHE_BYTES;

/// Frame sizes that a host may set.
const FRAME_BYTES_RANGE: core::ops::RangeInclusive<u32> = 46..=9000;

/// NIC memory that host and DMA share with the protocol: [`RESERVED_BYTES`] from a base address.
#[derive(Debug, Clone, Copy)]
pub struct MemoryPlan {
    base: u32,
}

impl MemoryPlan {
    /// Memory that starts at `base` (a multiple of 8).
    #[must_use]
    pub const fn at(base: u32) -> Self {
        Self { base }
    }

    /// NIC address of the descriptor array.
    #[inline(always)]
    #[must_use]
    pub const fn descriptors(self) -> u32 {
        self.base
    }

    /// NIC address of the route table.
    #[inline(always)]
    #[must_use]
    pub const fn routes(self) -> u32 {
        self.base + ROUTES_AT
    }

    /// NIC address of a transmit record's cache of page entries.
    #[inline(always)]
    pub(crate) fn transmit_cache(self, slot: Slot) -> u32 {
        self.base + TRANSMIT_CACHES_AT + (u32::from(slot) << CACHE_SHIFT)
    }

    /// NIC address of an active receive's cache of page entries.
    #[inline(always)]
    pub(crate) fn active_cache(self, slot: Slot) -> u32 {
        self.base + ACTIVE_CACHES_AT + (u32::from(slot) << CACHE_SHIFT)
    }
}

/// The host's settings, in the form that the handlers use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Config {
    /// Own node number in the high half.
    pub node_high: u32,
    /// Own epoch, 16 bits.
    pub epoch: u32,
    /// Entries of the route table.
    pub route_count: u32,
    /// Ack group of messages posted from now on, in frames.
    pub ack_group: u8,
    /// Payload bytes of a message's first frame.
    pub header_capacity: u32,
    /// Payload bytes of the other frames.
    pub data_capacity: u32,
    /// First retransmission timeout.
    pub timeout_us: u32,
    /// Timeouts without progress before a message fails.
    pub retry_limit: u32,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// A partly received message is abandoned after a silence of this length; 0 = never.
    pub receive_timeout_us: u32,
    /// Own MAC address: bytes 0..2 in the low half.
    pub mac_high: u32,
    /// Own MAC address: bytes 2..6.
    pub mac_low: u32,
}

impl<N: Nic> Emp<'_, N> {
    /// Publishes the addresses of the shared structures to the host.
    pub fn publish(&mut self) {
        for index in 0..COUNTER_COUNT {
            self.nic.store(COUNTERS + (index << 2), 0);
        }
        for index in 0..DESCRIPTOR_COUNT {
            let status = self.descriptor_word(index, WORD_STATUS);
            self.nic.store(status, 0);
        }
        self.nic.store(COMMAND, 0);
        self.nic.store(DESCRIPTORS, self.memory.descriptors());
        self.nic.store(ROUTES, self.memory.routes());
        self.nic.store(ROUTE_CAPACITY, ROUTE_TABLE_ENTRIES);
        self.nic.store(READY, READY_MAGIC);
    }

    /// Starts the protocol if the host has requested it; returns whether it has.
    pub fn poll_start(&mut self) -> bool {
        if self.nic.load(COMMAND) != COMMAND_START {
            return false;
        }
        self.begin();
        self.reset_peers();
        self.nic.store(COMMAND, 0);
        true
    }

    /// Starts CPU B's part. CPU A starts CPU B after the host's request.
    #[inline(never)]
    #[cold]
    pub fn begin(&mut self) {
        self.config = self.host_config();
        self.take_settings();
        self.tables.reset();
        self.queue_first = NO_SLOT;
        self.queue_last = NO_SLOT;
        self.free_active = 0;
        self.pace = Pace::new(self.config.timeout_us);
        self.open_count = 0;
        self.open_slots = [0; 8];
    }

    /// Reads the host's words; invalid values are replaced by defaults.
    fn host_config(&self) -> Config {
        let frame_bytes = self.host_word(
            FRAME_BYTES,
            |bytes| FRAME_BYTES_RANGE.contains(&bytes),
            DEFAULT_FRAME_BYTES,
        );
        let (mac_high, mac_low) = self.nic.own_mac();
        Config {
            node_high: self.nic.load(NODE) << 16,
            epoch: self.nic.load(EPOCH) & 0xFFFF,
            route_count: self.host_word(ROUTE_COUNT, |count| count <= ROUTE_TABLE_ENTRIES, 0),
            header_capacity: header_frame_capacity(frame_bytes),
            data_capacity: data_frame_capacity(frame_bytes),
            mac_high: mac_high & 0xFFFF,
            mac_low,
            ..Config::default()
        }
    }

    /// Reads the host's words that may change while the protocol runs.
    pub(crate) fn take_settings(&mut self) {
        let timeout_us = self.host_word(
            TIMEOUT_US,
            |us| (1..=TIMEOUT_LIMIT_US).contains(&us),
            DEFAULT_TIMEOUT_US,
        );
        let retry_limit = self.host_word(
            RETRY_LIMIT,
            |retries| retries <= RETRY_LIMIT_MOST,
            DEFAULT_RETRY_LIMIT,
        );
        let config = Config {
            ack_group: self.host_word(
                ACK_GROUP,
                |frames| (1..=GROUP_LIMIT).contains(&frames),
                DEFAULT_ACK_GROUP,
            ) as u8,
            timeout_us,
            retry_limit,
            flow_control: self.nic.load(FLOW_CONTROL) == 1,
            receive_timeout_us: self.host_word(
                RECEIVE_TIMEOUT_US,
                |us| us <= RECEIVE_TIMEOUT_LIMIT_US,
                receive_timeout_us(timeout_us, retry_limit),
            ),
            ..self.config
        };
        self.config = config;
    }

    /// Reads one of the host's words; returns `default` if it is not `valid`.
    fn host_word(&self, at: u32, valid: fn(u32) -> bool, default: u32) -> u32 {
        let value = self.nic.load(at);
        if valid(value) { value } else { default }
    }
}
