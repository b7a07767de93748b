//! Heads of frames and packets as text, from the tables of fields that the dissector has too.

use defs::emp::fields::{FIELDS, FRAME, Field, MESSAGE, SOURCE};
use defs::emp::frame::{ETHERTYPE, Kind, WORD_TYPE_KIND};
use defs::fm;
use defs::gm;
use defs::gm::fields::Packets;
use lanigon_worlds::faults::GmPacket;

/// The words of a head, by index.
type HeadWords<'a> = &'a dyn Fn(usize) -> u32;

/// Decoders of all protocols.
const DECODERS: [fn(HeadWords<'_>) -> Option<String>; 3] = [emp, packet, fm_packet];

/// Description of a frame or packet from its first words: its fields by name, or a frame's type.
pub fn describe(word: impl Fn(usize) -> u32) -> String {
    let known = DECODERS.iter().find_map(|decode| decode(&word));
    known.unwrap_or_else(|| {
        let (first, fourth) = (word(0) >> 16, word(WORD_TYPE_KIND) >> 16);
        format!("neither EMP nor GM nor FM: type {fourth:04x} of a frame, {first:04x} of a packet")
    })
}

fn emp(word: HeadWords<'_>) -> Option<String> {
    let type_kind = word(WORD_TYPE_KIND);
    let ethertype = (type_kind >> 16) as u16;
    let kind = Kind::from_word(type_kind).filter(|_| ethertype == ETHERTYPE)?;
    // First the identification.
    let is_name = |field: &&Field| [SOURCE, MESSAGE, FRAME].contains(*field);
    let (names, others): (Vec<&Field>, Vec<&Field>) = FIELDS.iter().skip(1).partition(is_name);
    let fields = names.into_iter().chain(others);
    let fields = fields.filter(|field| field.is_in(kind)).map(|field| {
        let value = field.of(word);
        let mut names = field.values.iter();
        let name = names.find(|named| named.0 == value);
        let value = name.map_or_else(|| value.to_string(), |named| named.1.to_owned());
        format!("{}={value}", field.name)
    });
    let fields: Vec<_> = fields.collect();
    Some(format!("{} {}", kind.name(), fields.join(" ")))
}

fn packet(word: HeadWords<'_>) -> Option<String> {
    let at = |offset: u32| word(offset as usize / 4);
    let packet = GmPacket::read(at)?;
    let is_in = |field: &&gm::fields::Field| match field.packets {
        Packets::All => true,
        Packets::Sequenced => !packet.is_answer(),
        Packets::Answers => packet.is_answer(),
    };
    let fields = gm::fields::FIELDS.iter().skip(2).filter(is_in);
    let fields: Vec<_> = fields
        .map(|field| format!("{}={}", field.name, field.of(at)))
        .collect();
    Some(format!("GM {} {}", packet.name(), fields.join(" ")))
}

fn fm_packet(word: HeadWords<'_>) -> Option<String> {
    let at = |offset: u32| word(offset as usize / 4);
    let first = at(fm::packet::WORD_TYPE);
    let mut kinds = fm::fields::KINDS.iter();
    let (_, kind) = kinds.find(|(known, _)| *known == first)?;
    let fields = fm::fields::FIELDS.iter().skip(2);
    let fields: Vec<_> = fields
        .map(|field| format!("{}={}", field.name, field.of(at)))
        .collect();
    Some(format!("FM {kind} {}", fields.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use defs::gm::packet::{ACK, DATA, first_word};

    fn shown(words: &[u32]) -> String {
        describe(|index| words.get(index).copied().unwrap_or_default())
    }

    #[test]
    fn packets_of_fm_show_their_fields() {
        let target = defs::fm::packet::target_word(3, 1, 18);
        assert_eq!(
            shown(&[defs::fm::packet::DATA, target, 2 << 16 | 7, 16_384]),
            "FM data target=3 sender=1 credits=18 handler=2 message=7 length=16384"
        );
        assert_eq!(
            shown(&[defs::fm::packet::CREDIT, target, 0, 0]),
            "FM credits target=3 sender=1 credits=18 handler=0 message=0 length=0"
        );
    }

    #[test]
    fn packets_of_gm_show_their_fields() {
        let data = [first_word(DATA + 4), 1, 0x0001_0012, 8 << 16 | 0x404, 0, 2];
        assert_eq!(
            shown(&data),
            "GM data packet target=1 session=1 sequence=18 length=8 target_port=2 priority=0 \
             sender_port=2 sender=0 target_connection=0 sender_connection=2"
        );
        let ack = [first_word(ACK), 0, 0x0001_0013, 0, 1, 2 << 16];
        assert_eq!(
            shown(&ack),
            "GM ACK target=0 session=1 next=19 sender=1 target_connection=2 sender_connection=0"
        );
        assert_eq!(
            shown(&[0x0004_0001, 0, 0, 0x0800_0000]),
            "neither EMP nor GM nor FM: type 0800 of a frame, 0004 of a packet"
        );
    }
}
