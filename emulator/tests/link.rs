//! EEPROM wires, serdes words, carrier and VLAN tags, as a host or firmware sees them in registers.

use defs::tigon2::regs as r;
use defs::tigon2::regs::{MacRxState, MacTxState};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::serdes::LinkPartner;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::{board::Board, wire::ethernet::frame::Departure};

const SIGNAL: u32 = MacRxState::SIGNAL.bits();
const CONFIG: u32 = MacRxState::PARTNER_CONFIG.bits();
const SYNC: u32 = MacRxState::ATTENTION_SYNC.bits();
const LINK_LOST: u32 = MacRxState::ATTENTION_LINK.bits() | SYNC;
const NEW_WORD: u32 = MacRxState::ATTENTION_CONFIG.bits();
const ENABLE: u32 = MacRxState::ENABLE.bits();

fn timing() -> Timing {
    Timing::built_in("tigon2-88mhz").expect("a built-in profile")
}

/// A step of a test on one board with a cable.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The host writes a register.
    Write(u32, u32),
    /// The host reads a register and gets this value.
    Reads(u32, u32),
    /// Microseconds pass.
    Wait(u64),
    /// The far end of the fibre changes.
    Partner(LinkPartner),
    /// The cable is pulled or plugged in.
    Signal(bool),
}
use Step::{Partner, Reads, Signal, Wait, Write};

#[track_caller]
fn check(steps: &[Step]) {
    let timing = timing();
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let link = node.board::<Tigon2>().fabric.link;
    node.board_mut::<Tigon2>().plug_in(&link);
    // No alarm: the event register then shows link events only.
    node.with_board::<Tigon2, _>(|board, ctx| {
        board.window_write(r::TIMER_REFERENCE_A, 1 << 30, ctx)
    });
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Write(offset, value) => {
                node.with_board::<Tigon2, _>(|board, ctx| board.window_write(offset, value, ctx));
            }
            Reads(offset, expected) => {
                let value =
                    node.with_board::<Tigon2, _>(|board, ctx| board.window_read(offset, ctx));
                assert_eq!(value, expected, "step {number}: {step:x?}, read {value:#x}");
            }
            Wait(us) => node.run_until(node.now() + SimTime::from_us(us)),
            Partner(partner) => node.board_mut::<Tigon2>().fabric.serdes.partner = partner,
            Signal(present) => {
                let now = node.now();
                node.with_board::<Tigon2, _>(|board, ctx| {
                    board.schedule_carrier(present, now, ctx)
                });
                node.run_until(now + SimTime::from_ps(1));
            }
        }
    }
}

#[test]
fn read_only_and_write_one_to_clear_bits_are_not_stored() {
    check(&[
        Reads(r::MAC_RX_STATE, SIGNAL),
        Write(r::MAC_RX_STATE, !ENABLE),
        Reads(r::MAC_RX_STATE, 0x08F7_FFFC | SIGNAL),
        Write(r::MAC_RX_STATE, 0),
        Reads(r::MAC_RX_STATE, SIGNAL),
        Write(r::MAC_TX_STATE, 0xFFFF_FFFF),
        Reads(r::MAC_TX_STATE, 0xC0FF_FFFE),
        // Interrupt, MDIO in and EEPROM in cannot be stored; the undriven EEPROM wire is high.
        Write(r::LOCAL_CONTROL, 0x0008_0004),
        Reads(r::LOCAL_CONTROL, 0x0080_0000),
        Reads(r::HOST_CONTROL, 0x6000_0001),
        Reads(0x000, 0x0001_12AE),
        Write(0x000, 0),
        Reads(0x000, 0x0001_12AE),
    ]);
}

#[test]
fn a_receiver_that_is_disabled_loses_sync_only_under_a_signal() {
    check(&[
        Write(r::MAC_RX_STATE, ENABLE),
        Write(r::MAC_RX_STATE, SYNC),
        Reads(r::MAC_RX_STATE, SIGNAL | SYNC),
        Write(r::MAC_RX_STATE, SYNC),
        Reads(r::MAC_RX_STATE, SIGNAL),
        Signal(false),
        Write(r::MAC_RX_STATE, LINK_LOST | ENABLE),
        Write(r::MAC_RX_STATE, 0),
        Reads(r::MAC_RX_STATE, 0),
    ]);
}

#[test]
fn the_signal_comes_and_goes_with_attentions() {
    check(&[
        Signal(true),
        Reads(r::MAC_RX_STATE, SIGNAL),
        Signal(false),
        Reads(r::MAC_RX_STATE, LINK_LOST),
        Reads(r::EVENT_A, 1 << 25),
        Write(r::MAC_RX_STATE, LINK_LOST),
        Reads(r::EVENT_A, 0),
        Signal(true),
        Reads(r::MAC_RX_STATE, SIGNAL | LINK_LOST),
    ]);
}

#[test]
fn one_hot_words_come_back_in_loopback_only() {
    check(&[
        Write(r::TX_CONFIG_WORD, 0x4000),
        Reads(r::RX_CONFIG_WORD, 0),
        Write(r::LOCAL_CONTROL, 0xF080),
        Reads(r::RX_CONFIG_WORD, 0x4000),
        Write(r::TX_CONFIG_WORD, 0x2),
        Reads(r::RX_CONFIG_WORD, 0x2),
        Write(r::LOCAL_CONTROL, 0x5080),
        Reads(r::RX_CONFIG_WORD, 0),
        Reads(r::MAC_RX_STATE, SIGNAL),
    ]);
}

#[test]
fn a_negotiating_partner_answers_and_falls_silent() {
    let transmit = MacTxState::ENABLE.bits();
    check(&[
        Partner(LinkPartner::FULL_DUPLEX_WITH_PAUSE),
        Reads(r::MAC_RX_STATE, SIGNAL | CONFIG),
        Write(r::RX_CONFIG_WORD, 0),
        Reads(r::RX_CONFIG_WORD, 0),
        Wait(2),
        Reads(r::RX_CONFIG_WORD, 0xA001),
        Reads(r::MAC_RX_STATE, SIGNAL | CONFIG | NEW_WORD),
        // Writing back the read value: status bits do not stick, the attention is cleared.
        Write(r::MAC_RX_STATE, SIGNAL | CONFIG | NEW_WORD | ENABLE),
        Reads(r::MAC_RX_STATE, SIGNAL | CONFIG | ENABLE),
        Write(r::TX_CONFIG_WORD, 0x2000),
        Wait(2),
        Reads(r::RX_CONFIG_WORD, 0xA041),
        Reads(r::EVENT_A, 1 << 25),
        Write(r::MAC_RX_STATE, NEW_WORD | ENABLE),
        Write(r::RX_CONFIG_WORD, 0),
        Wait(2),
        Reads(r::RX_CONFIG_WORD, 0xA041),
        Write(r::MAC_TX_STATE, transmit),
        Reads(r::MAC_RX_STATE, SIGNAL | NEW_WORD | ENABLE),
        Signal(false),
        Reads(r::MAC_RX_STATE, LINK_LOST | NEW_WORD | ENABLE),
    ]);
}

/// A board with buffers at 0x133000 and 0x176000 and an enabled transmitter.
fn sender() -> Node {
    let timing = timing();
    let mut node = Node::new(0, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    node.board_mut::<Tigon2>().plug_in(&Link {
        byte_time: timing.wire.byte_time,
        propagation: timing.wire.propagation,
    });
    for (register, value) in [
        (r::TX_BUFFER_BASE, 0x13_3000),
        (r::TX_BUFFER_PRODUCER, 0x13_3000),
        (r::TX_BUFFER_CONSUMER, 0x13_3000),
        (r::RX_BUFFER_BASE, 0x17_6000),
        (r::RX_BUFFER_PRODUCER, 0x17_6000),
        (r::RX_BUFFER_CONSUMER, 0x17_6000),
        (r::MAC_TX_STATE, MacTxState::ENABLE.bits()),
        (r::MAC_RX_STATE, ENABLE | MacRxState::PROMISCUOUS.bits()),
        (r::VLAN_TAG_TYPE, 0x8100_241F),
    ] {
        node.with_board::<Tigon2, _>(|board, ctx| board.window_write(register, value, ctx));
    }
    node
}

fn send(descriptor: [u32; 2], data: &[u8]) -> Vec<Departure> {
    let mut node = sender();
    let sram = &mut node.board_mut::<Tigon2>().fabric.sram;
    sram.copy_in(0x13_3000, data);
    sram.set_word(0x13_0800, descriptor[0]);
    sram.set_word(0x13_0804, descriptor[1]);
    let end = 0x13_3000 + data.len() as u32;
    for (register, value) in [
        (r::TX_BUFFER_PRODUCER, end),
        (r::TX_DESCRIPTOR_PRODUCER, 0x13_0808),
    ] {
        node.with_board::<Tigon2, _>(|board, ctx| board.window_write(register, value, ctx));
    }
    node.run_until(SimTime::from_us(20));
    node.take_departures()
}

#[test]
fn the_mac_inserts_a_vlan_tag_behind_the_addresses() {
    let data: Vec<u8> = (0..100).collect();
    let plain = send([0x13_3000, 100], &data);
    assert_eq!(plain[0].unit.bytes(), data);
    let tagged = send([0x4013_3000, 0x2345_0064], &data);
    let mut expected = data.clone();
    expected.splice(12..12, [0x81, 0x00, 0x23, 0x45]);
    assert_eq!(tagged[0].unit.bytes(), expected);
    let short = send([0x4013_3000, 0x2345_0008], &data[..8]);
    assert_eq!(short[0].unit.bytes().len(), 60, "no addresses, no tag");
}

#[test]
fn a_frame_that_loses_its_link_is_cut_off_with_a_status() {
    let mut node = sender();
    node.frame_arrives(Frame::new(vec![7; 1000]), SimTime::ZERO);
    let cut = SimTime::from_us(4);
    node.with_board::<Tigon2, _>(|board, ctx| board.schedule_carrier(false, cut, ctx));
    node.run_until(SimTime::from_us(20));
    let sram = &node.board::<Tigon2>().fabric.sram;
    assert_eq!(sram.word(0x13_1000), 0x17_6000);
    let status_length = sram.word(0x13_1004);
    assert_eq!(status_length >> 16, 4, "link lost");
    let stored = status_length & 0xFFFF;
    assert!(
        stored > 64 && stored < 1004 && stored.is_multiple_of(64),
        "{stored}"
    );
    node.frame_arrives(Frame::new(vec![7; 1000]), SimTime::from_us(30));
    node.run_until(SimTime::from_us(60));
    assert_eq!(
        node.board::<Tigon2>().fabric.sram.word(0x13_1008),
        0,
        "no second frame"
    );
}

#[test]
fn a_frame_within_another_one_is_lost_and_said_so() {
    let mut node = sender();
    node.trace.keep(true);
    for start_ns in [0, 100, 9_000] {
        node.frame_arrives(Frame::new(vec![7; 1000]), SimTime::from_ns(start_ns));
    }
    node.run_until(SimTime::from_us(40));
    let sram = &node.board::<Tigon2>().fabric.sram;
    let received = [0x13_1004, 0x13_100C, 0x13_1014].map(|at| sram.word(at));
    assert_eq!(received, [1004, 1004, 0]);
    let lines = node.trace.take().into_iter();
    let lines: Vec<_> = lines.map(|event| event.to_string()).collect();
    let lost = lines.iter().filter(|line| line.contains("within another"));
    assert_eq!(lost.count(), 1, "{lines:?}");
}

#[test]
fn a_cable_that_is_pulled_out_carries_nothing() {
    let timing = timing();
    let link = Link {
        byte_time: timing.wire.byte_time,
        propagation: timing.wire.propagation,
    };
    let node = |index| Node::new(index, Tigon2::new(SramSize::M1, timing), &timing.host, 1);
    let mut world = World::new(vec![node(0), node(1), node(2)]);
    world.connect(0, 1, link).unwrap();
    assert!(world.unplug(2, SimTime::ZERO, None).is_err());
    let (from, until) = (SimTime::from_us(10), SimTime::from_us(20));
    world.unplug(1, from, Some(until)).unwrap();
    let signals = |world: &mut World, us| {
        for node in &mut world.nodes {
            node.run_until(SimTime::from_us(us));
        }
        let signal = |node: &Node| node.board::<Tigon2>().fabric.serdes.signal;
        world.nodes.iter().map(signal).collect::<Vec<_>>()
    };
    assert_eq!(signals(&mut world, 9), [true, true, false]);
    assert_eq!(signals(&mut world, 15), [false, false, false]);
    assert_eq!(signals(&mut world, 25), [true, true, false]);
}
