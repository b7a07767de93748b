//! Origin of a packet of an operation: subtype, sender and own port in one word of 24 bits, so that a job between the halves has room for it.
use defs::gm::collective::STEP;

/// The packet comes from a port of the own board.
pub const OWN_BOARD: u32 = 1 << 31;

/// Packs subtype, endpoint, own port and the sender's opening.
#[inline(always)]
pub const fn pack(subtype: u32, node: u32, remote: u32, local: u32, opening: u32) -> u32 {
    opening << 19 | (subtype - STEP) << 16 | node << 6 | remote << 3 | local
}

/// The subtype.
#[inline(always)]
pub const fn subtype(origin: u32) -> u32 {
    (origin >> 16 & 7) + STEP
}

/// The sending node.
#[inline(always)]
pub const fn node(origin: u32) -> u32 {
    origin >> 6 & 0x3FF
}

/// The sending port.
#[inline(always)]
pub const fn remote(origin: u32) -> u32 {
    origin >> 3 & 7
}

/// The own port.
#[inline(always)]
pub const fn local(origin: u32) -> u32 {
    origin & 7
}

/// The sender's opening.
#[inline(always)]
pub const fn opening(origin: u32) -> u32 {
    origin >> 19 & 0x1F
}

/// The endpoint, as in lists and descriptors.
#[inline(always)]
pub const fn endpoint(origin: u32) -> u32 {
    node(origin) << 16 | remote(origin) << 8
}

const _: () = assert!(defs::gm::map::NODE_LIMIT == 1 << 10 && defs::gm::port::PORT_COUNT == 1 << 3);
const _: () =
    assert!(defs::gm::collective::OPENINGS < 1 << 5 && defs::gm::collective::SUBTYPES <= 8);
