//! The statistics block that the firmware reports to host memory (docs/tigon2-driver.md, section 8):
//! 256 words, in the order of the drivers' structures.

/// Words of the block.
pub const WORDS: u32 = 256;
/// Bytes of the block.
pub const BYTES: u32 = 4 * WORDS;

/// A counter of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Counter name of the drivers, in the project's spelling.
    pub name: &'static str,
    /// Index of the first word.
    pub word: u32,
    /// Number of words: 2 for a 64-bit counter, high word first.
    pub words: u32,
}

const fn one(name: &'static str, word: u32) -> Counter {
    Counter {
        name,
        word,
        words: 1,
    }
}

const fn two(name: &'static str, word: u32) -> Counter {
    Counter {
        name,
        word,
        words: 2,
    }
}

/// All counters, sorted by word.
pub const COUNTERS: &[Counter] = &[
    one("dot3_alignment_errors", 0),
    one("dot3_fcs_errors", 1),
    one("dot3_single_collision_frames", 2),
    one("dot3_multiple_collision_frames", 3),
    one("dot3_sqe_test_errors", 4),
    one("dot3_deferred_transmissions", 5),
    one("dot3_late_collisions", 6),
    one("dot3_excessive_collisions", 7),
    one("dot3_internal_mac_transmit_errors", 8),
    one("dot3_carrier_sense_errors", 9),
    one("dot3_frame_too_longs", 10),
    one("dot3_internal_mac_receive_errors", 11),
    one("if_index", 12),
    one("if_type", 13),
    one("if_mtu", 14),
    one("if_speed", 15),
    one("if_admin_status", 16),
    one("if_oper_status", 17),
    one("if_last_change", 18),
    one("if_in_discards", 19),
    one("if_in_errors", 20),
    one("if_in_unknown_protos", 21),
    one("if_out_discards", 22),
    one("if_out_errors", 23),
    one("if_out_qlen", 24),
    two("if_hc_in_octets", 36),
    two("if_hc_in_ucast_pkts", 38),
    two("if_hc_in_multicast_pkts", 40),
    two("if_hc_in_broadcast_pkts", 42),
    two("if_hc_out_octets", 44),
    two("if_hc_out_ucast_pkts", 46),
    two("if_hc_out_multicast_pkts", 48),
    two("if_hc_out_broadcast_pkts", 50),
    one("if_link_up_down_trap_enable", 52),
    one("if_high_speed", 53),
    one("if_promiscuous_mode", 54),
    one("if_connector_present", 55),
    one("nic_cmds_host_state", 56),
    one("nic_cmds_fdr_filtering", 57),
    one("nic_cmds_set_recv_prod_index", 58),
    one("nic_cmds_update_gencomm_stats", 59),
    one("nic_cmds_reset_jumbo_ring", 60),
    one("nic_cmds_add_mcast_addr", 61),
    one("nic_cmds_del_mcast_addr", 62),
    one("nic_cmds_set_promisc_mode", 63),
    one("nic_cmds_link_negotiate", 64),
    one("nic_cmds_set_mac_addr", 65),
    one("nic_cmds_clear_profile", 66),
    one("nic_cmds_set_multicast_mode", 67),
    one("nic_cmds_clear_stats", 68),
    one("nic_cmds_set_recv_jumbo_prod_index", 69),
    one("nic_cmds_set_recv_mini_prod_index", 70),
    one("nic_cmds_refresh_stats", 71),
    one("nic_cmds_unknown", 72),
    one("nic_events_nic_firmware_operational", 73),
    one("nic_events_stats_updated", 74),
    one("nic_events_link_state_changed", 75),
    one("nic_events_error", 76),
    one("nic_events_mcast_list_updated", 77),
    one("nic_events_reset_jumbo_ring", 78),
    one("nic_ring_set_send_prod_index", 79),
    one("nic_ring_set_send_cons_index", 80),
    one("nic_ring_set_recv_return_prod_index", 81),
    one("nic_interrupts", 82),
    one("nic_avoided_interrupts", 83),
    one("nic_event_threshold_hit", 84),
    one("nic_send_threshold_hit", 85),
    one("nic_recv_threshold_hit", 86),
    one("nic_dma_rd_overrun", 87),
    one("nic_dma_rd_underrun", 88),
    one("nic_dma_wr_overrun", 89),
    one("nic_dma_wr_underrun", 90),
    one("nic_dma_wr_master_aborts", 91),
    one("nic_dma_rd_master_aborts", 92),
    one("nic_dma_write_ring_full", 93),
    one("nic_dma_read_ring_full", 94),
    one("nic_event_ring_full", 95),
    one("nic_event_producer_ring_full", 96),
    one("nic_tx_mac_descr_ring_full", 97),
    one("nic_out_of_tx_buf_space_frame_retry", 98),
    one("nic_no_more_wr_dma_descriptors", 99),
    one("nic_no_more_rx_bds", 100),
    one("nic_no_space_in_return_ring", 101),
    one("nic_send_bds", 102),
    one("nic_recv_bds", 103),
    one("nic_jumbo_recv_bds", 104),
    one("nic_mini_recv_bds", 105),
    one("nic_total_recv_bds", 106),
    one("nic_total_send_bds", 107),
    one("nic_jumbo_spill_over", 108),
    one("nic_sbus_hang_cleared", 109),
    one("nic_enq_event_delayed", 110),
    one("nic_mac_rx_late_colls", 111),
    one("nic_mac_rx_link_lost_during_pkt", 112),
    one("nic_mac_rx_phy_decode_err", 113),
    one("nic_mac_rx_mac_abort", 114),
    one("nic_mac_rx_trunc_no_resources", 115),
    one("nic_mac_rx_drop_ula", 116),
    one("nic_mac_rx_drop_mcast", 117),
    one("nic_mac_rx_flow_control", 118),
    one("nic_mac_rx_drop_space", 119),
    one("nic_mac_rx_colls", 120),
    one("nic_mac_rx_total_attns", 121),
    one("nic_mac_rx_link_attns", 122),
    one("nic_mac_rx_sync_attns", 123),
    one("nic_mac_rx_config_attns", 124),
    one("nic_mac_reset", 125),
    one("nic_mac_rx_buf_descr_attns", 126),
    one("nic_mac_rx_buf_attns", 127),
    one("nic_mac_rx_zero_frame_cleanup", 128),
    one("nic_mac_rx_one_frame_cleanup", 129),
    one("nic_mac_rx_multiple_frame_cleanup", 130),
    one("nic_mac_rx_timer_cleanup", 131),
    one("nic_mac_rx_dma_cleanup", 132),
    one("nic_mac_tx_collision_histogram1", 133),
    one("nic_mac_tx_collision_histogram2", 134),
    one("nic_mac_tx_collision_histogram3", 135),
    one("nic_mac_tx_collision_histogram4", 136),
    one("nic_mac_tx_collision_histogram5", 137),
    one("nic_mac_tx_collision_histogram6", 138),
    one("nic_mac_tx_collision_histogram7", 139),
    one("nic_mac_tx_collision_histogram8", 140),
    one("nic_mac_tx_collision_histogram9", 141),
    one("nic_mac_tx_collision_histogram10", 142),
    one("nic_mac_tx_collision_histogram11", 143),
    one("nic_mac_tx_collision_histogram12", 144),
    one("nic_mac_tx_collision_histogram13", 145),
    one("nic_mac_tx_collision_histogram14", 146),
    one("nic_mac_tx_collision_histogram15", 147),
    one("nic_mac_tx_total_attns", 148),
];

/// Finds a counter by name.
#[must_use]
pub fn counter(name: &str) -> Option<Counter> {
    COUNTERS
        .iter()
        .copied()
        .find(|counter| counter.name == name)
}

/// Index of a counter's first word, for constants.
/// An unknown name is a compile error.
///
/// # Panics
/// If there is no such counter.
#[must_use]
pub const fn word(name: &str) -> u32 {
    let mut at = 0;
    while at < COUNTERS.len() {
        if same(COUNTERS[at].name, name) {
            return COUNTERS[at].word;
        }
        at += 1;
    }
    panic!("no such counter")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
