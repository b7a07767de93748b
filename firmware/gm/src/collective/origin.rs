//! Origin of a packet of an operation: subtype, sender and own port in one word, of 24 bits with the usual layout, so that a job between the
//! halves has room for it.
use defs::gm::collective::STEP;

use crate::Nic;
use crate::places::Places;

/// The packet comes from a port of the own board.
pub const OWN_BOARD: u32 = 1 << 31;

/// Position of the subtype, above the node.
#[inline(always)]
const fn subtype_shift<N: Nic>() -> u32 {
    6 + N::NODE_BITS
}

/// Packs subtype, endpoint, own port and the sender's opening.
#[inline(always)]
pub const fn pack<N: Nic>(subtype: u32, node: u32, remote: u32, local: u32, opening: u32) -> u32 {
    let shift = subtype_shift::<N>();
    opening << (shift + 3) | (subtype - STEP) << shift | node << 6 | remote << 3 | local
}

/// The subtype.
#[inline(always)]
pub const fn subtype<N: Nic>(origin: u32) -> u32 {
    (origin >> subtype_shift::<N>() & 7) + STEP
}

/// The sending node.
#[inline(always)]
pub const fn node<N: Nic>(origin: u32) -> u32 {
    origin >> 6 & (N::NODES - 1)
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
pub const fn opening<N: Nic>(origin: u32) -> u32 {
    origin >> (subtype_shift::<N>() + 3) & 0x1F
}

/// The endpoint, as in lists and descriptors.
#[inline(always)]
pub const fn endpoint<N: Nic>(origin: u32) -> u32 {
    node::<N>(origin) << 16 | remote(origin) << 8
}

/// A job between the halves has 24 bits for an origin; where one CPU has both, only [`OWN_BOARD`] is above it.
pub(crate) const fn check<N: Nic>() {
    let bits = subtype_shift::<N>() + 8;
    let limit = match N::ROLE {
        crate::nic::Role::All => 31,
        _ => 24,
    };
    assert!(bits <= limit);
}

const _: () = assert!(defs::gm::port::PORT_COUNT == 1 << 3);
const _: () =
    assert!(defs::gm::collective::OPENINGS < 1 << 5 && defs::gm::collective::SUBTYPES <= 8);
