//! Captures: frames on the wires and their faults, as other tools read them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use emulator::observe::pcapng::PcapNg;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::state::{Reader, State, StateError, Writer};
use emulator::wire::ethernet::frame::Departure;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::switch::Forwarding::{CutThrough, StoreAndForward};
use emulator::wire::ethernet::switch::{Switch, SwitchConfig};
use emulator::wire::fault::{FaultLayer, FaultRates, Outage, Passage, RandomFaults};
use emulator::wire::port::Port;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::rounds::chatting;
use crate::station::{GIGABIT, address, frame, run_us, send_at, star, stations, switch};
use crate::wormhole::medium::LINK_TYPE;

/// A file of limited size that can be inspected.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Vec<u8>>>, usize);

impl Disk {
    pub fn new() -> Self {
        Self(Arc::default(), usize::MAX)
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic before").clone()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.lock().expect("no panic before");
        if disk.len() + bytes.len() > self.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A frame of a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub ns: u64,
    pub wire: String,
    pub data: Vec<u8>,
    comments: String,
    flags: u32,
}

impl Read {
    fn is_on_wire(&self) -> bool {
        let lost = ["never got on the wire", "lost: impossible length"];
        !self.wire.ends_with("drops") && !lost.iter().any(|lost| self.comments.contains(lost))
    }
}

/// Reads a capture file.
pub fn read(bytes: &[u8]) -> Vec<Read> {
    let mut reader = PcapNgReader::new(bytes).expect("a section header");
    let (mut wires, mut frames) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(block) => {
                use InterfaceDescriptionOption as Opt;
                assert!(block.options.contains(&Opt::IfTsResol(9)));
                // Link type and bytes of the check sequence: Ethernet, and the second medium of these tests.
                let is = |(link_type, bytes): (u32, u8)| {
                    u32::from(block.linktype) == link_type
                        && block.options.contains(&Opt::IfFcsLen(bytes))
                };
                assert!(is((1, 4)) || is((LINK_TYPE.0.into(), 1)), "{block:?}");
                wires.extend(block.options.iter().find_map(|option| match option {
                    Opt::IfName(name) => Some(name.to_string()),
                    _ => None,
                }));
            }
            Block::EnhancedPacket(block) => {
                assert_eq!(block.original_len as usize, block.data.len());
                let mut comments = Vec::new();
                let mut flags = 0;
                for option in &block.options {
                    match option {
                        EnhancedPacketOption::Comment(comment) => comments.push(comment.as_ref()),
                        EnhancedPacketOption::Flags(word) => flags = *word,
                        other => panic!("{other:?}"),
                    }
                }
                frames.push(Read {
                    ns: block.timestamp.as_nanos() as u64,
                    wire: wires[block.interface_id as usize].clone(),
                    comments: comments.join("; "),
                    data: block.data.to_vec(),
                    flags,
                });
            }
            other => panic!("{other:?}"),
        }
    }
    frames
}

/// Lets time pass and returns the capture file.
fn capture(world: &mut World, us: u64, threads: usize) -> Vec<u8> {
    let disk = Disk::new();
    world.capture(Box::new(PcapNg::new(Box::new(disk.clone()))));
    run_us(world, us, threads);
    assert!(world.finish_capturing().is_empty());
    disk.bytes()
}

const TAG: usize = 14;

/// Frames in a capture: nanoseconds, wire, tag, comments.
fn shown(frames: &[Read]) -> Vec<(u64, &str, u8, &str)> {
    let frames = frames.iter();
    let frames = frames.map(|frame| (frame.ns, &*frame.wire, frame.data[TAG], &*frame.comments));
    frames.collect()
}

#[test]
fn a_cable_shows_both_directions_with_fcs() {
    let mut world = stations(2);
    world.connect(0, 1, GIGABIT).unwrap();
    let sent = [(0, 1, 7, 100), (1, 0, 8, 64), (0, 1, 9, 1518)];
    let sent =
        sent.map(|(from, to, tag, length)| (from, frame(address(to), from as u8, tag, length)));
    for (time_ns, (from, frame)) in [400, 300, 2_000].into_iter().zip(&sent) {
        send_at(&mut world, *from, time_ns, frame.clone());
    }
    let frames = read(&capture(&mut world, 10, 1));
    let expected = [
        (300, "n1 -> n0", 8, ""),
        (400, "n0 -> n1", 7, ""),
        (2_000, "n0 -> n1", 9, ""),
    ];
    assert_eq!(shown(&frames), expected);
    for (read, sent) in frames.iter().zip([&sent[1].1, &sent[0].1, &sent[2].1]) {
        let (bytes, fcs) = read.data.split_at(read.data.len() - 4);
        assert_eq!(bytes, sent.bytes());
        assert_eq!(fcs, sent.fcs().to_le_bytes());
        assert_eq!(read.flags, 4 << 5, "an FCS of 4 bytes, and nothing wrong");
    }
}

/// Damages byte 20 of a frame, or truncates it.
#[derive(Debug)]
enum Harm {
    Byte,
    Short,
}

impl State for Harm {
    fn save(&self, _: &mut Writer) {}

    fn load(&mut self, _: &mut Reader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

impl FaultLayer<Frame> for Harm {
    fn pass(&mut self, departure: Departure, passage: &mut Passage<Frame>) {
        let mut bytes = departure.unit.bytes().to_vec();
        match self {
            Self::Byte => bytes[20] ^= 1,
            Self::Short => bytes.truncate(20),
        }
        let unit = Frame::with_fcs(bytes, departure.unit.fcs());
        passage.forward(Departure { unit, ..departure });
    }
}

/// A fault with probability 1.
fn always(rates: FaultRates) -> Box<dyn FaultLayer<Frame>> {
    Box::new(RandomFaults::new(rates, 5, 0).expect("possible rates"))
}

#[test]
fn faults_are_told_in_comments() {
    let check = |layers: Vec<Box<dyn FaultLayer<Frame>>>, expected: &[(u64, &str)], flags: u32| {
        let mut world = stations(2);
        world.connect(0, 1, GIGABIT).unwrap();
        for layer in layers {
            world.add_fault(0, layer).unwrap();
        }
        send_at(&mut world, 0, 1_000, frame(address(1), 0, 3, 64));
        let frames = read(&capture(&mut world, 100, 1));
        let shown: Vec<_> = frames.iter().map(|f| (f.ns, f.comments.as_str())).collect();
        assert_eq!(shown, expected);
        assert!(frames.iter().all(|frame| frame.flags == flags | 4 << 5));
    };
    let none = FaultRates::default();
    let duplication = 1.0;
    let twice = || {
        always(FaultRates {
            duplication,
            ..none
        })
    };
    let harm = |harm: Harm| -> Box<dyn FaultLayer<Frame>> { Box::new(harm) };
    let (from, until) = (SimTime::ZERO, SimTime::from_us(9));
    let crc_error = 1 << 24;
    check(vec![], &[(1_000, "")], 0);
    let lost = "dropped by a fault: it never got on the wire";
    check(vec![Box::new(Outage { from, until })], &[(1_000, lost)], 0);
    let [first, second] = [1, 2].map(|copy| format!("duplicated by a fault: {copy} of 2"));
    check(vec![twice()], &[(1_000, &first), (1_000 + 672, &second)], 0);
    let damaged = "damaged by a fault: byte 20";
    check(vec![harm(Harm::Byte)], &[(1_000, damaged)], crc_error);
    let [first, second] = [first, second].map(|copy| format!("{copy}; {damaged}"));
    let both = [(1_000, first.as_str()), (1_000 + 672, &second)];
    check(vec![twice(), harm(Harm::Byte)], &both, crc_error);
    let short = "damaged by a fault: its FCS or its length; lost: impossible length";
    check(
        vec![harm(Harm::Short)],
        &[(1_000, short)],
        crc_error | 1 << 26,
    );
}

#[test]
fn what_gets_lost_is_shown_where_it_does() {
    let config = SwitchConfig {
        buffer_bytes: 1_600,
        ..switch(StoreAndForward, 3)
    };
    let mut world = star(3, &config);
    let [from, until] = [100, 200].map(SimTime::from_us);
    world.unplug(2, from, Some(until)).unwrap();
    // Two at a time for station 2: there is room for one.
    send_at(&mut world, 0, 0, frame(address(2), 0, 1, 1518));
    send_at(&mut world, 1, 0, frame(address(2), 1, 2, 1518));
    send_at(&mut world, 0, 50_000, frame(address(77), 0, 3, 64));
    // Cut while on the cable to the switch; then before it gets there.
    send_at(&mut world, 2, 95_000, frame(address(0), 2, 4, 1518));
    send_at(&mut world, 0, 110_000, frame(address(2), 0, 5, 64));
    let frames = read(&capture(&mut world, 300, 1));
    let interrupted = "the link is cut while the frame is on it";
    let expected = [
        (0, "n0 -> s0", 1, ""),
        (0, "n1 -> s0", 2, ""),
        (12_308, "s0 drops", 2, "lost: buffer full at port 2"),
        (12_808, "s0 port 2 -> n2", 1, ""),
        (50_000, "n0 -> s0", 3, ""),
        (50_676, "s0 drops", 3, "lost: unknown destination at port 0"),
        (95_000, "n2 -> s0", 4, interrupted),
        (107_308, "s0 drops", 4, "lost: damaged at port 2"),
        (110_000, "n0 -> s0", 5, ""),
        (111_176, "s0 port 2 -> n2", 5, "lost: link cut"),
    ];
    assert_eq!(shown(&frames), expected);
}

/// All ends of links and all switches' ports.
fn ports(world: &World) -> Vec<Port> {
    let nodes = (0..world.nodes.len()).map(Port::Node);
    let of_switch = |switch: &Switch| {
        let (switch, ports) = (switch.index(), switch.counts().count());
        (0..ports).map(move |port| Port::Switch { switch, port })
    };
    nodes
        .chain(world.switches().iter().flat_map(of_switch))
        .collect()
}

#[test]
fn a_busy_network_is_captured_as_a_whole_and_nothing_changes() {
    for forwarding in [StoreAndForward, CutThrough] {
        let mut plain = chatting(forwarding);
        run_us(&mut plain, 1_000, 1);
        let mut world = chatting(forwarding);
        let file = capture(&mut world, 1_000, 1);
        assert_eq!(world.trace_hash(), plain.trace_hash());
        let mut shared = chatting(forwarding);
        assert!(
            capture(&mut shared, 1_000, 4) == file,
            "threads do not matter"
        );
        let frames = read(&file);
        assert!(frames.is_sorted_by_key(|frame| frame.ns));
        let lines = ports(&world).into_iter();
        let lines = lines.filter_map(|port| world.line_counts(port).ok());
        let carried: u64 = lines.map(|counts| counts.units).sum();
        let on_wire = frames.iter().filter(|frame| frame.is_on_wire()).count();
        assert!(carried > 2_000, "{carried}");
        assert_eq!(on_wire as u64, carried);
        let switches = world.switches().iter().flat_map(Switch::counts);
        let dropped: u64 = switches.map(|port| port.dropped.total()).sum();
        let drops = frames.iter().filter(|frame| frame.wire.ends_with("drops"));
        assert_eq!(drops.count() as u64, dropped);
    }
}

#[test]
fn a_full_disk_ends_the_capture_and_not_the_run() {
    let mut plain = chatting(StoreAndForward);
    let whole = capture(&mut plain, 1_000, 1);
    let mut world = chatting(StoreAndForward);
    let disk = Disk(Arc::default(), whole.len() / 2);
    world.capture(Box::new(PcapNg::new(Box::new(disk.clone()))));
    run_us(&mut world, 1_000, 1);
    assert_eq!(world.trace_hash(), plain.trace_hash());
    let errors = world.finish_capturing();
    let kinds: Vec<_> = errors.iter().map(io::Error::kind).collect();
    assert_eq!(kinds, [io::ErrorKind::StorageFull]);
    // Data written before is complete.
    let written = disk.bytes();
    assert!(!read(&written).is_empty() && whole.starts_with(&written));
}

#[test]
fn a_capture_can_be_read_while_the_run_goes_on() {
    let mut world = chatting(StoreAndForward);
    let disk = Disk::new();
    world.capture(Box::new(PcapNg::new(Box::new(disk.clone()))));
    run_us(&mut world, 200, 1);
    let early = read(&disk.bytes());
    run_us(&mut world, 400, 1);
    let later = read(&disk.bytes());
    assert!(!early.is_empty() && later.len() > early.len());
    assert!(later.starts_with(&early));
    assert!(early.iter().all(|frame| frame.ns < 200_000));
}
