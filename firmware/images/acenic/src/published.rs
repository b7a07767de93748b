//! Words of SRAM that CPUs, DMA and the host share, for the search for races.

use defs::acenic::{
    EVENT_CONSUMER, INTERFACE_INDEX, MASK_INTERRUPTS, MODE, RX_TICKS, TRACE_MASK, TX_BUFFER_RATIO,
    stats,
};
use tigon2_hal::probe::Published;
use tigon2_hal::published;

use crate::tables;

/// Words from one address to another one.
const fn range(name: &'static str, first: u32, last: u32) -> Published {
    Published::words(name, first, (last - first) / 4 + 1)
}

/// The host's index; what a driver sets while the firmware runs, which holds from when the firmware looks.
const HOST: [Published; 4] = [
    range("consumer of the event ring", EVENT_CONSUMER, EVENT_CONSUMER),
    range("modes", MODE, TX_BUFFER_RATIO).sampled(),
    range("limits of reports", RX_TICKS, TRACE_MASK).sampled(),
    range("interface", INTERFACE_INDEX, MASK_INTERRUPTS).sampled(),
];

published!(all HOST: 0 1 2 3);

/// A report of statistics has each counter as it is when DMA comes to it.
const STATISTICS: [Published; 1] =
    [Published::words("statistics", tables::STATISTICS, stats::WORDS).sampled()];

published!(all STATISTICS: 0 behind "__image_end");
