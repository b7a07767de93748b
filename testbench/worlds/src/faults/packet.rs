//! Packets of GM: their headers, and faults of single ones.

use defs::gm::fields::{
    HEAD_SUBTYPES, LENGTH, MESSAGE_SUBTYPES, PRIORITY, SENDER, SENDER_CONNECTION, SUBTYPE,
    SUBTYPES, TARGET, TARGET_CONNECTION, TARGET_PORT, TYPE,
};
use defs::gm::mac::{ETHERTYPE, FRAME_HEADER_BYTES, WORD_ETHERTYPE};
use defs::gm::packet::{self, ACK, HEADER_BYTES, NULL, WORD_SEQUENCE};
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::fault::{FaultLayer, Passage};
use emulator::wire::myrinet::{Packet, RouteByte};
use emulator::wire::unit::{Departure, Unit};

use super::{Action, Pattern, Strikes, agree, pattern_methods};
use crate::boards::Medium;
use crate::builder::{WorldError, add_layer};

/// The header of a packet of GM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GmPacket {
    /// Subtype in the header.
    pub subtype: u32,
    /// The node that sends it.
    pub sender: u16,
    /// The node that it is for.
    pub target: u16,
    /// Priority of the connection.
    pub priority: u8,
    /// Session and sequence number; of an answer, the next sequence number that is expected.
    pub sequence: u32,
    /// Length of the payload in bytes; 0 for an answer.
    pub length: u32,
    /// The port that it is for.
    pub target_port: u32,
}

impl GmPacket {
    /// Reads the header whose words `word` returns, by their offsets in bytes; `None` if it is none of GM.
    #[must_use]
    pub fn read(word: impl Fn(u32) -> u32) -> Option<Self> {
        let subtype = SUBTYPE.of(&word);
        let found = Self {
            subtype,
            sender: u16::try_from(SENDER.of(&word)).ok()?,
            target: u16::try_from(TARGET.of(&word)).ok()?,
            priority: (TARGET_CONNECTION.of(&word) & 1) as u8,
            sequence: word(WORD_SEQUENCE),
            length: LENGTH.of(&word),
            target_port: TARGET_PORT.of(&word),
        };
        // A connection's number names the node at the other end: other packets do not look like that.
        let ends = [TARGET_CONNECTION.of(&word), SENDER_CONNECTION.of(&word)];
        let peers = [found.sender, found.target].map(u32::from);
        let known = found.is_data() || SUBTYPES.iter().any(|known| known.0 == subtype);
        let fits = known
            && TYPE.of(&word) == packet::TYPE
            && ends.map(|end| end >> 1) == peers
            && ends[0] & 1 == ends[1] & 1
            && (!found.is_data() || PRIORITY.of(&word) == ends[0] & 1);
        fits.then_some(found)
    }

    /// Reads the header of a packet on the wire, behind what is left of its route.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let route = bytes
            .iter()
            .take_while(|&&byte| RouteByte::read(byte).is_some());
        Self::of_header(bytes.get(route.count()..)?)
    }

    /// Reads the header of a packet in an Ethernet frame.
    #[must_use]
    pub fn of_frame(frame: &[u8]) -> Option<Self> {
        let at = WORD_ETHERTYPE as usize;
        let gm = frame.get(at..at + 2)? == ETHERTYPE.to_be_bytes();
        Self::of_header(frame.get(FRAME_HEADER_BYTES as usize..)?).filter(|_| gm)
    }

    fn of_header(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER_BYTES as usize)?;
        Self::read(|offset| {
            let bytes = &header[offset as usize..offset as usize + 4];
            bytes
                .iter()
                .fold(0, |word, &byte| word << 8 | u32::from(byte))
        })
    }

    /// Whether it carries a message.
    #[must_use]
    pub fn is_data(&self) -> bool {
        (MESSAGE_SUBTYPES[0]..=MESSAGE_SUBTYPES[1]).contains(&self.subtype)
    }

    /// Whether it is an ack or nack.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        self.subtype >= ACK
    }

    /// The kind in words.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let known = SUBTYPES.iter().find(|known| known.0 == self.subtype);
        let head = (HEAD_SUBTYPES[0]..=HEAD_SUBTYPES[1]).contains(&self.subtype);
        known.map_or(if head { "HEAD" } else { "data packet" }, |known| known.1)
    }
}

/// Selection of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// All packets of GM.
    Any,
    /// Messages.
    Data,
    /// Acknowledgments of packets.
    Ack,
    /// Nacks of all kinds.
    Nack,
    /// Packets that stand for a message that was given up.
    Null,
}

impl PacketKind {
    fn holds(self, packet: &GmPacket) -> bool {
        match self {
            Self::Any => true,
            Self::Data => packet.is_data(),
            Self::Ack => packet.subtype == ACK,
            Self::Nack => packet.subtype > ACK,
            Self::Null => packet.subtype == NULL,
        }
    }
}

/// A fault of packets of GM that match its pattern, where they leave their sender; by default of the first one only.
///
/// ```
/// use emulator::sim::time::SimTime;
/// use lanigon_worlds::faults::{Action, PacketFault, PacketKind};
///
/// // The third message from node 2 to node 0 is lost, the first time that it is sent.
/// let lost = PacketFault::new(Action::Drop).kind(PacketKind::Data).from(2).to(0).sequence(2);
/// // The second ack of node 1 from 5 ms on comes twice.
/// let twice = PacketFault::new(Action::Duplicate)
///     .kind(PacketKind::Ack)
///     .from(1)
///     .nth(2)
///     .after(SimTime::from_us(5_000));
/// # let _ = (lost, twice);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketFault {
    action: Action,
    kind: PacketKind,
    sequence: Option<u16>,
    priority: Option<u8>,
    pattern: Pattern,
    nth: u32,
}

impl PacketFault {
    /// A fault of the first packet.
    #[must_use]
    pub const fn new(action: Action) -> Self {
        Self {
            action,
            kind: PacketKind::Any,
            sequence: None,
            priority: None,
            pattern: Pattern::new(),
            nth: 1,
        }
    }

    /// Matches packets of this kind only.
    #[must_use]
    pub const fn kind(mut self, kind: PacketKind) -> Self {
        self.kind = kind;
        self
    }

    /// Matches packets with this sequence number only, in any session. The first message of a connection has 0; an ack has the
    /// number behind the last one that it acknowledges.
    #[must_use]
    pub const fn sequence(mut self, sequence: u16) -> Self {
        self.sequence = Some(sequence);
        self
    }

    /// Matches packets of connections with this priority only: 0 is low, 1 is high.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Skips matching packets before this one, counted from 1 for each sender.
    #[must_use]
    pub const fn nth(mut self, number: u32) -> Self {
        self.nth = number;
        self
    }

    pattern_methods!();

    /// Whether both faults may strike the same message, or what answers it: an ack answers all messages up to its number.
    fn meets(&self, other: &Self) -> bool {
        let answers = |fault: &Self| matches!(fault.kind, PacketKind::Ack | PacketKind::Nack);
        answers(self) || answers(other) || agree(self.sequence, other.sequence)
    }

    /// Whether a packet that leaves at `time` matches the pattern.
    #[must_use]
    pub fn fits(&self, packet: &GmPacket, time: SimTime) -> bool {
        self.pattern.fits(packet.sender, Some(packet.target), time)
            && self.kind.holds(packet)
            && self
                .sequence
                .is_none_or(|wanted| wanted == packet.sequence as u16)
            && self.priority.is_none_or(|wanted| wanted == packet.priority)
    }
}

/// The fault at one sender.
#[derive(Debug)]
struct Layer {
    fault: PacketFault,
    /// Number of matching packets so far.
    seen: u32,
    strikes: Strikes,
}

state!(Layer { seen, strikes } fixed { fault });

impl Layer {
    fn strikes<U: Unit>(&mut self, packet: Option<GmPacket>, departure: &Departure<U>) -> bool {
        if !packet.is_some_and(|packet| self.fault.fits(&packet, departure.head))
            || !self.fault.action.fits(&departure.unit)
        {
            return false;
        }
        self.seen = self.seen.saturating_add(1);
        self.seen >= self.fault.nth && self.strikes.try_count(self.fault.pattern.times)
    }
}

impl FaultLayer<Packet> for Layer {
    fn pass(&mut self, departure: Departure<Packet>, passage: &mut Passage<Packet>) {
        let packet = GmPacket::parse(departure.unit.bytes());
        if !self.strikes(packet, &departure) {
            return passage.forward(departure);
        }
        self.fault.action.strike(departure, passage);
    }
}

impl FaultLayer<Frame> for Layer {
    fn pass(&mut self, departure: Departure<Frame>, passage: &mut Passage<Frame>) {
        let packet = GmPacket::of_frame(departure.unit.bytes());
        if !self.strikes(packet, &departure) {
            return passage.forward(departure);
        }
        self.fault.action.strike(departure, passage);
    }
}

/// Installs a fault at the nodes' ports, as [`install`](super::install) does.
///
/// # Errors
/// If the sender does not exist or has no cable.
pub fn install_packet(world: &mut World, fault: &PacketFault) -> Result<Strikes, WorldError> {
    let strikes = Strikes::default();
    let senders = match fault.pattern.from {
        Some(node) => vec![usize::from(node)],
        None => (0..world.nodes.len())
            .filter(|&node| world.myrinet_counts(node).is_ok() || world.line_counts(node).is_ok())
            .collect(),
    };
    for node in senders {
        let layer = Layer {
            fault: fault.clone(),
            seen: 0,
            strikes: strikes.clone(),
        };
        let medium = match world.line_counts(node) {
            Ok(_) => Medium::Ethernet,
            Err(_) => Medium::Myrinet,
        };
        add_layer(world, medium, node, layer)?;
    }
    Ok(strikes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use defs::gm::packet::{DATA, NACK, first_word};

    fn bytes(subtype: u32, route: &[u8]) -> Vec<u8> {
        let lengths = match subtype {
            DATA => 100 << 16 | (2 << 1 | 1) << 8 | 4,
            _ => 0,
        };
        let words = [first_word(subtype), 7, 0x0001_0005, lengths, 3, 0x0007_000F];
        let mut bytes = route.to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes
    }

    #[test]
    fn a_packet_says_what_it_is() {
        let packet = GmPacket::parse(&bytes(DATA, &[0x81, 0xBF])).expect("a packet");
        let expected = GmPacket {
            subtype: DATA,
            sender: 3,
            target: 7,
            priority: 1,
            sequence: 0x0001_0005,
            length: 100,
            target_port: 2,
        };
        assert_eq!(packet, expected);
        assert!(GmPacket::parse(&bytes(NACK, &[])).is_some_and(|packet| packet.is_answer()));
        assert_eq!(GmPacket::parse(&bytes(NACK + 9, &[])), None, "subtype");
        assert_eq!(GmPacket::parse(&bytes(DATA, &[])[..23]), None, "too short");
        for place in [0, 1, 7, 19, 21, 23] {
            let mut other = bytes(DATA, &[]);
            other[place] ^= 0x10;
            assert_eq!(GmPacket::parse(&other), None, "byte {place}");
        }
    }

    #[test]
    fn a_pattern_selects() {
        let packet = GmPacket::parse(&bytes(DATA, &[])).expect("a packet");
        let fault = || PacketFault::new(Action::Drop);
        let check = |fault: PacketFault, fits| {
            assert_eq!(fault.fits(&packet, SimTime::from_us(5)), fits, "{fault:?}");
        };
        check(fault(), true);
        check(fault().kind(PacketKind::Data).from(3).to(7), true);
        check(fault().sequence(5).priority(1), true);
        check(fault().kind(PacketKind::Ack), false);
        check(fault().sequence(4), false);
        check(fault().priority(0), false);
        check(fault().from(7), false);
        check(fault().to(3), false);
        check(fault().after(SimTime::from_us(6)), false);
    }
}
