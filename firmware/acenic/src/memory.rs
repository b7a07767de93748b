//! Division of SRAM: tables at the bottom, the two frame buffers up to 0x200000, the chip's rings between
//! them (docs/tigon2-io.md, section 5; docs/tigon2-driver.md, section 7).

use defs::tigon2::map::RX_BUFFER_LIMIT;
use defs::tigon2::rings::MAC_TX_BELOW;

/// Buffers are multiples of this page size.
const PAGE_SHIFT: u32 = 12;
/// Smallest buffer.
const LEAST_PAGES: u32 = 16;
/// The host gives the share of the transmit buffer in 1/64.
const SHARE_SHIFT: u32 = 6;

/// First addresses of the two frame buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffers {
    /// Transmit buffer; the chip's rings lie below it.
    pub tx: u32,
    /// Receive buffer, up to 0x200000.
    pub rx: u32,
}

/// Divides the memory after `used_bytes` of `sram_bytes`: `tx_share` 64ths are the transmit buffer. `None`
/// if there is not enough memory for both buffers.
#[must_use]
pub const fn buffers(sram_bytes: u32, used_bytes: u32, tx_share: u32) -> Option<Buffers> {
    let free = sram_bytes.saturating_sub(used_bytes + MAC_TX_BELOW);
    let pages = free >> PAGE_SHIFT;
    if pages < 2 * LEAST_PAGES {
        return None;
    }
    let wanted = share(pages, tx_share);
    let most = pages - LEAST_PAGES;
    let tx_pages = if wanted < LEAST_PAGES {
        LEAST_PAGES
    } else if wanted > most {
        most
    } else {
        wanted
    };
    let tx = RX_BUFFER_LIMIT - (pages << PAGE_SHIFT);
    Some(Buffers {
        tx,
        rx: tx + (tx_pages << PAGE_SHIFT),
    })
}

/// `pages` * `share` / 64 by shifts, for a share up to 63.
const fn share(pages: u32, share: u32) -> u32 {
    let mut sum = 0;
    let mut bit = 0;
    while bit < SHARE_SHIFT {
        if share & 1 << bit != 0 {
            sum += pages << bit;
        }
        bit += 1;
    }
    sum >> SHARE_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fill_what_is_free() {
        let check = |kilobytes: u32, used, share, tx, rx| {
            let expected = Some(Buffers { tx, rx });
            assert_eq!(buffers(kilobytes * 1024, used, share), expected);
        };
        // The shares of 12.4.11, which uses 0x190D0 + 0x190F8 bytes.
        let vendor = 0x190D0 + 0x190F8 - MAC_TX_BELOW;
        check(1024, vendor, 21, 0x13_3000, 0x17_6000);
        check(512, vendor, 21, 0x1B_3000, 0x1C_C000);
        check(2048, vendor, 21, 0x3_3000, 0xC_A000);
        // Each buffer has at least 64 KB.
        check(512, vendor, 0, 0x1B_3000, 0x1C_3000);
        check(512, vendor, 63, 0x1B_3000, 0x1F_0000);
    }

    #[test]
    fn too_little_memory_is_said() {
        assert_eq!(buffers(512 * 1024, 0x5E000, 32), None);
        assert_eq!(buffers(512 * 1024, 0x10_0000, 32), None);
    }
}
