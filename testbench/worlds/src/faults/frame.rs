//! Header of an EMP frame, for faults of fragments and acks.

use defs::emp::frame::{
    DATA_PAYLOAD, ETHERTYPE, Kind, WORD_FRAME_EPOCH, WORD_OFFSET, WORD_SOURCE_MESSAGE,
    WORD_TYPE_KIND,
};

use crate::nodes::node_of;

/// The header of an EMP frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmpFrame {
    /// Kind of the frame.
    pub kind: Kind,
    /// Source node.
    pub from: u16,
    /// Destination node, if the address belongs to one.
    pub to: Option<u16>,
    /// Identifier of the message that the frame belongs to, or acknowledges.
    pub message: u16,
    /// Number within the message, from 0.
    pub frame: u16,
    /// Epoch of the source.
    pub epoch: u16,
    /// Data: offset of the payload; header: oldest open message; ack: epoch of the acknowledged frame.
    pub offset: u32,
}

impl EmpFrame {
    /// Parses the header; `None` if the frame is not an EMP frame.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..DATA_PAYLOAD as usize)?;
        let word = |index: usize| {
            let word = bytes.get(4 * index..4 * index + 4)?;
            Some(u32::from_be_bytes(word.try_into().ok()?))
        };
        let type_kind = word(WORD_TYPE_KIND)?;
        if type_kind >> 16 != u32::from(ETHERTYPE) {
            return None;
        }
        let (source_message, frame_epoch) = (word(WORD_SOURCE_MESSAGE)?, word(WORD_FRAME_EPOCH)?);
        Some(Self {
            kind: Kind::from_word(type_kind)?,
            from: (source_message >> 16) as u16,
            to: bytes.first_chunk().and_then(|address| node_of(*address)),
            message: source_message as u16,
            frame: (frame_epoch >> 16) as u16,
            epoch: frame_epoch as u16,
            offset: word(WORD_OFFSET)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::mac_address;

    /// A data frame: the sixth of message 0x1234 from node 2 to node 300.
    fn data_frame() -> Vec<u8> {
        let mut bytes = mac_address(300).0.to_vec();
        bytes.extend(mac_address(2).0);
        for word in [0x88B5_2000_u32, 0x0002_1234, 0x0005_0009, 8000] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.resize(60, 0);
        bytes
    }

    #[test]
    fn a_frame_says_what_it_is() {
        let expected = EmpFrame {
            kind: Kind::Data,
            from: 2,
            to: Some(300),
            message: 0x1234,
            frame: 5,
            epoch: 9,
            offset: 8000,
        };
        assert_eq!(EmpFrame::parse(&data_frame()), Some(expected));
    }

    #[test]
    fn other_frames_say_nothing() {
        let frame = data_frame();
        assert_eq!(EmpFrame::parse(&frame[..27]), None, "too short");
        for (place, value) in [(12, 0x08), (14, 0xF0)] {
            let mut other = frame.clone();
            other[place] = value;
            assert_eq!(EmpFrame::parse(&other), None, "byte {place}");
        }
        let mut elsewhere = frame;
        elsewhere[0] ^= 0xFF;
        let parsed = EmpFrame::parse(&elsewhere);
        assert_eq!(parsed.and_then(|frame| frame.to), None);
    }
}
