//! Layout of what a process writes for the board: send slots, and entries of the queue of receive tokens.
use defs::gm::port::{
    RECEIVE_ADDRESS_HIGH, RECEIVE_ADDRESS_LOW, RECEIVE_READY_WORD, RECEIVE_TAG, SEND_ADDRESS_HIGH,
    SEND_ADDRESS_LOW, SEND_LENGTH, SEND_REMOTE_HIGH, SEND_REMOTE_LOW, SEND_TOKEN, SEND_TYPE,
};
use defs::record;

record! {
    /// Send slot, written by the process.
    pub struct SendSlot {
        /// Address at the target, upper half.
        remote_high: u32 = SEND_REMOTE_HIGH;
        /// Address at the target, lower half.
        remote_low: u32 = SEND_REMOTE_LOW;
        /// Number of the send token.
        token: u32 = SEND_TOKEN;
        /// Address in the process's memory, upper half.
        address_high: u32 = SEND_ADDRESS_HIGH;
        /// Address in the process's memory, lower half.
        address_low: u32 = SEND_ADDRESS_LOW;
        /// Length in bytes; of an alarm its ticks.
        length: u32 = SEND_LENGTH;
        /// Node, subport at the target, type; 0 if the slot is empty.
        word, set_word: u32 = SEND_TYPE;
    }
}

/// The node in [`SendSlot::word`]; of a barrier the number of entries of its list.
#[inline(always)]
pub const fn slot_node(word: u32) -> u32 {
    word >> 16
}

/// The subport at the target in [`SendSlot::word`]; of a barrier its algorithm, of a reduction or a group its number.
#[inline(always)]
pub const fn slot_subport(word: u32) -> u32 {
    word >> 8 & 0xFF
}

/// The type in [`SendSlot::word`].
#[inline(always)]
pub const fn slot_type(word: u32) -> u32 {
    word & 0xFF
}

record! {
    /// Entry of the queue of receive tokens, written by the process.
    pub struct ReceiveSlot {
        /// Address in the process's memory, upper half.
        address_high: u32 = RECEIVE_ADDRESS_HIGH;
        /// Address in the process's memory, lower half.
        address_low: u32 = RECEIVE_ADDRESS_LOW;
        /// Tag.
        tag: u32 = RECEIVE_TAG;
        /// Priority, size and that the token is there; 0 if the entry is empty.
        word, set_word: u32 = RECEIVE_READY_WORD;
    }
}
