//! Atomic operations on words of other nodes' memory: posts, packets, memory (docs/gm-atomics.md).
//!
//! A word has 32 bits, is big-endian and lies at a multiple of 4. Its process must have registered it, and must allow others to use
//! its memory. A process posts an operation in a send slot of type [`ATOMIC`]:
//!
//! | word | content |
//! |------|---------|
//! | 0, 1 | address of the word at the target |
//! | 2 | operand |
//! | 3 | of a compare and swap the value that is compared |
//! | 4, 5 | 0; or the address, a multiple of 8 of the own process, to which the result goes in place of an event |
//! | 6 | number of the operation among those of the port, above its [`Atomic`] in the low byte |
//! | 7 | node, subport at the target, type |
//!
//! It ends with an event of type [`COMPLETED`](super::event::COMPLETED), whose number is [`ATOMIC_OPERATIONS`] more and whose result is
//! the word before the operation. With an address in words 4 and 5 there is no event: the board writes the result there and behind it
//! [`DIRECT_DONE`] with the status, in one DMA.

use super::collective::DESCRIPTOR_COUNT;
use super::gossip::{GOSSIP_END, GROUP_COUNT};
use super::map::{NODE_LIMIT, PORT_BYTES};
use super::packet::SUBTYPE_BASE;

/// Type of a send slot: an atomic operation.
#[doc(alias = "gm_atomic_send_with_callback")]
pub const ATOMIC: u32 = 114;
/// Word of a send slot: the operand.
pub const SEND_OPERAND: u32 = 8;
/// Word of a send slot: the value that is compared.
pub const SEND_COMPARED: u32 = 12;

/// Word of a send slot: where the result goes, upper half.
pub const SEND_DIRECT_HIGH: u32 = 16;
/// Word of a send slot: where the result goes, lower half.
pub const SEND_DIRECT_LOW: u32 = 20;
/// Bit of the word behind a result that was written directly: it is there. The status is in the low byte.
pub const DIRECT_DONE: u32 = 1 << 31;

/// Word of a port's control block, written by the host: it wants to use words that others change by operations.
pub const GUARD_INTERESTED: u32 = 0x164;
/// Word of a port's control block: who came last, [`GUARD_HOST`] or [`GUARD_NIC`].
pub const GUARD_TURN: u32 = 0x168;
/// Word of a port's control block, written by the host: address in its process's memory, a multiple of 4, of the word that says that the board
/// wants to use such words; upper half.
pub const GUARD_HIGH: u32 = 0x16C;
/// Lower half of the address whose upper half is [`GUARD_HIGH`]; 0: operations are not kept apart from the host's accesses.
pub const GUARD_LOW: u32 = 0x170;
/// Words of a port's control block, for DMA: 1 and 0, what the board writes into the word in host memory.
pub const GUARD_VALUES: u32 = 0x174;
/// Value of [`GUARD_TURN`]: the host came last.
pub const GUARD_HOST: u32 = 1;
/// Value of [`GUARD_TURN`]: the board came last.
pub const GUARD_NIC: u32 = 2;
/// Polls of the host's interest before the board drops the question, which is asked again later.
pub const GUARD_POLLS: u32 = 256;

/// Operations that a port has under way at most.
pub const ATOMIC_COUNT: u32 = 8;
/// Number of the first of them among the events of a port's operations.
pub const ATOMIC_OPERATIONS: u32 = 1 + DESCRIPTOR_COUNT + GROUP_COUNT;

/// Effect of an operation on its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Atomic {
    /// The operand is added, modulo 2^32.
    FetchAdd = 0,
    /// The operand takes its place.
    FetchWrite = 1,
    /// The operand takes its place if it has the compared value.
    CompareSwap = 2,
}

impl Atomic {
    /// All operations.
    pub const ALL: [Self; 3] = [Self::FetchAdd, Self::FetchWrite, Self::CompareSwap];

    /// The word after the operation, from the one before; the bits of an operation that does not exist leave it.
    #[inline(always)]
    #[must_use]
    pub const fn apply(operation: u32, word: u32, operand: u32, compared: u32) -> u32 {
        if operation == Self::FetchAdd as u32 {
            word.wrapping_add(operand)
        } else if operation == Self::FetchWrite as u32
            || operation == Self::CompareSwap as u32 && word == compared
        {
            operand
        } else {
            word
        }
    }
}

/// Subtype of a packet: asks for an operation. It belongs to the connection of low priority.
pub const ASK: u32 = SUBTYPE_BASE + 92;
/// Subtype of a packet: the word before the operation. It acknowledges as an ack does.
pub const VALUE: u32 = SUBTYPE_BASE + 93;
/// Bytes of an [`ASK`]: address, [`Atomic`], operand, compared value, number.
pub const ASK_BYTES: u32 = 24;
/// Bytes of a [`VALUE`]: number, word.
pub const VALUE_BYTES: u32 = 8;

/// Operations of a node's processes on the memory of one other node that are not answered, at most.
///
/// The target keeps the answers of so many: the low bits of an operation's number are its place there. Only the next operation with
/// this place overwrites it, which is asked for when the answer is there.
pub const UNANSWERED: u32 = 4;

/// Answers: for each node [`UNANSWERED`] pairs of number and word.
pub const ANSWERS: u32 = GOSSIP_END.next_multiple_of(64);
/// Bytes of a node's answers.
pub const ANSWER_BYTES: u32 = 8 * UNANSWERED;
/// For each node a byte with a bit for each answer that is to be sent.
pub const PENDING: u32 = ANSWERS + NODE_LIMIT * ANSWER_BYTES;
/// For DMA: the word that is read; the word that is written.
pub const WORDS: u32 = PENDING + NODE_LIMIT;
/// End of the memory for atomic operations.
pub const ATOMICS_END: u32 = WORDS + 8;

/// Words of a port's control block, for each operation: where its result goes (0: into an event), the result, [`DIRECT_DONE`] with the
/// status.
pub const DIRECTS: u32 = 0x600;

/// Address of the words ([`DIRECTS`]) of operation `number` of the port whose control block is at `block`.
#[inline(always)]
#[must_use]
pub const fn direct(block: u32, number: u32) -> u32 {
    block + DIRECTS + (number << 4)
}

const _: () = assert!(ATOMICS_END <= 0xE_0000 && UNANSWERED == 4 && ANSWER_BYTES == 1 << 5);
const _: () = assert!(DIRECTS + (ATOMIC_COUNT << 4) <= PORT_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_do_what_they_say() {
        let check = |operation: Atomic, word, operand, compared, after| {
            let found = Atomic::apply(operation as u32, word, operand, compared);
            assert_eq!(found, after, "{operation:?}");
        };
        check(Atomic::FetchAdd, u32::MAX, 3, 9, 2);
        check(Atomic::FetchWrite, 7, 3, 9, 3);
        check(Atomic::CompareSwap, 7, 3, 7, 3);
        check(Atomic::CompareSwap, 7, 3, 8, 7);
        assert_eq!(Atomic::apply(3, 7, 1, 7), 7);
    }

    /// SRAM that a further node takes in all, and the nodes for which boards of 1, 2, 4 and 8 MB would have room beside what does not
    /// grow with them (docs/large-clusters.md).
    #[test]
    fn memory_of_all_peers() {
        use super::super::collective::NOTE_BYTES;
        use super::super::map::{
            BUFFER_BYTES, MORE_RECEIVE_BUFFER_COUNT, PEER_BYTES, PEERS, SRAM_BYTES,
        };
        use super::super::port::PORT_COUNT;
        let lists = 2 * PORT_COUNT * 4;
        let each = PEER_BYTES + lists + NOTE_BYTES + ANSWER_BYTES + 1;
        assert_eq!(each, 289);
        let buffers = MORE_RECEIVE_BUFFER_COUNT * BUFFER_BYTES;
        let fixed = ATOMICS_END + buffers - NODE_LIMIT * each;
        let room = [1, 2, 4, 8].map(|megabytes| ((megabytes << 20) - fixed) / each);
        assert_eq!(room, [1298, 4926, 12_183, 26_696]);
        // Without collective and atomic operations.
        let plain = [SRAM_BYTES, 1 << 20, 2 << 20].map(|bytes| (bytes - PEERS) / PEER_BYTES);
        assert_eq!(plain, [302, 4398, 12_590]);
    }
}
