//! Reductions of vectors, and those whose arithmetic the host does in a light interrupt: what images with them share with the host
//! (docs/fast-trap.md).
//!
//! A [descriptor](super::collective) with [`VECTOR`] has the number of elements in its first word; the process writes the elements to its
//! [`operands`] before. A packet with a value has its elements instead of one value of 64 bits. The result goes to the [`result_offset`] of
//! the area of [`HOST_AREA_LOW`], before the event.
//!
//! **Light interrupt** ([`TRAP`]). When the values of all children are there, the board writes them to the end of the area of
//! [`HOST_AREA_LOW`], below four words: number of elements; the descriptor's kind; 0; the number of the request. Then it interrupts. The handler clears the
//! interrupt, and writes the result so that it ends before [`DONE`], with the request's number in that word.

use super::collective::{COLLECTIVE_RECORD_COUNT, LOCAL_COUNT, LOCAL_VALUES, UNEXPECTED_VALUES};
use super::port::PORT_COUNT;

/// Flag of a reduction: its value is a vector.
pub const VECTOR: u32 = 8;
/// Flag of a reduction: the host computes.
pub const TRAP: u32 = 4;

/// Most elements of a vector.
pub const ELEMENT_LIMIT: u32 = 32;
/// Bytes of an element.
pub const ELEMENT_BYTES: u32 = 8;
/// Bytes of a vector's place.
pub const VECTOR_BYTES: u32 = ELEMENT_LIMIT * ELEMENT_BYTES;

/// First byte of what only vectors need.
pub const VECTORS: u32 = 0x10_0000;
/// Vectors of packets that are not acknowledged.
pub const RECORD_VECTORS: u32 = VECTORS;
/// Vectors that came before their reduction.
pub const EARLY_VECTORS: u32 = RECORD_VECTORS + COLLECTIVE_RECORD_COUNT * VECTOR_BYTES;
/// Vectors of packets between ports of the own board.
pub const LOCAL_VECTORS: u32 = EARLY_VECTORS + (UNEXPECTED_VALUES + LOCAL_VALUES) * VECTOR_BYTES;
/// Operands of reductions: the own vector, then those of the children, then the four words.
pub const OPERANDS: u32 = (LOCAL_VECTORS + LOCAL_COUNT * VECTOR_BYTES).next_multiple_of(0x1000);
/// Bytes of the operands of a reduction.
pub const OPERANDS_BYTES: u32 = 0x1000;
/// Words of traps.
pub const TRAPS: u32 = OPERANDS + PORT_COUNT * 8 * OPERANDS_BYTES;
/// Physical address of the host's area, upper half; written by the host.
pub const HOST_AREA_HIGH: u32 = TRAPS;
/// Physical address of the host's area, lower half; 0 if there is none.
pub const HOST_AREA_LOW: u32 = TRAPS + 4;
/// The request that the host has carried out; 0 if the firmware has seen it. The result lies before it.
pub const DONE: u32 = TRAPS + 0x200;
/// End of the memory for vectors.
pub const VECTORS_END: u32 = TRAPS + 0x400;

/// Bytes of the host's area: a vector for each reduction, then the operands of a request.
pub const HOST_AREA_BYTES: u32 = PORT_COUNT * 8 * VECTOR_BYTES + OPERANDS_BYTES;
/// Bytes of the words behind the operands of a request.
pub const REQUEST_BYTES: u32 = 16;

const _: () = assert!(VECTORS_END <= 0x20_0000);

/// SRAM address of the operands of a port's reduction.
#[must_use]
pub const fn operands(port: u32, number: u32) -> u32 {
    OPERANDS + (port << 15) + (number << 12)
}

/// Offset of the result of a port's reduction in the host's area.
#[must_use]
pub const fn result_offset(port: u32, number: u32) -> u32 {
    (port << 11) + (number << 8)
}
