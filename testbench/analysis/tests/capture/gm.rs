//! Captures of Myrinet packets with GM, as tshark shows them.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use defs::gm::fields::{LENGTH, SENDER, SENDER_PORT, SEQUENCE, SUBTYPE, TARGET, TARGET_PORT, TYPE};
use defs::gm::packet::{self, ACK, DATA, size_for};
use emulator::observe::capture::{CapturedFrame, FrameObserver, Interface};
use emulator::observe::pcapng::PcapNg;
use emulator::wire::myrinet::LINK_TYPE;
use lanigon_worlds::boards::{self, Medium};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::{file, tshark};
use crate::tools::is_installed;

/// Two boards on a crossbar: one sends six messages of 200 bytes, all damaged or lost ones again.
const STREAM: &str = "seed = 3
[gm]
resend_us = 500
[network]
topology = \"star\"
nodes = 2
[[program]]
run = \"stream\"
from = 0
to = 1
messages = 6
bytes = 200
";

const BYTES: u32 = 200;

/// The packets that leave nodes.
#[derive(Default)]
struct Leaving {
    on_ethernet: bool,
    from_node: Vec<bool>,
    packets: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl FrameObserver for Leaving {
    fn begin(&mut self, interfaces: &[Interface]) {
        assert!(
            interfaces
                .iter()
                .all(|interface| (interface.link_type == LINK_TYPE) != self.on_ethernet)
        );
        let names = interfaces.iter().map(|interface| &interface.name);
        self.from_node = names.map(|name| name.starts_with('n')).collect();
    }

    fn frames(&mut self, frames: &[CapturedFrame]) {
        let own = frames
            .iter()
            .filter(|frame| self.from_node[frame.interface]);
        let bytes = own.map(|frame| frame.bytes.to_vec());
        self.packets.lock().unwrap().extend(bytes);
    }
}

/// Runs the scenario on a board with more text, with a capture; returns the packets that left nodes. `None` without GM's image.
fn run(board: &str, more: &str, capture: &Path) -> Option<Vec<Vec<u8>>> {
    let kind = boards::board_type(board)?;
    if kind
        .own_image(kind.gm?.image, kind.usual_sram_bytes)
        .is_err()
    {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of GM's images (`make firmware` builds them where llc of LLVM 22 is installed)"
        );
        return None;
    }
    let text = format!("board = \"{board}\"\n{STREAM}{more}");
    let scenario = Scenario::parse("gm.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let out = std::fs::File::create(capture).unwrap();
    simulation
        .world
        .capture(Box::new(PcapNg::new(Box::new(out))));
    let leaving = Leaving {
        on_ethernet: kind.medium == Medium::Ethernet,
        ..Leaving::default()
    };
    let packets = Arc::clone(&leaving.packets);
    simulation.world.capture(Box::new(leaving));
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert!(outcome.is_good(), "{outcome:?}");
    assert_eq!(outcome.verdict.messages.delivered, 6);
    assert!(simulation.world.finish_capturing().is_empty());
    let packets = packets.lock().unwrap().clone();
    Some(packets)
}

#[test]
fn the_table_of_fields_is_the_firmwares() {
    let Some(packets) = run("lanai9", "", &file("gm-table.pcapng")) else {
        return;
    };
    let mut sequence = 0;
    for packet in packets {
        // One route byte leads over the crossbar.
        let word = |at: u32| u32::from_be_bytes(packet[at as usize + 1..][..4].try_into().unwrap());
        assert_eq!(TYPE.of(word), packet::TYPE);
        let (from, to) = (SENDER.of(word), TARGET.of(word));
        assert_eq!(from + to, 1);
        if from == 1 {
            assert_eq!(SUBTYPE.of(word), ACK);
            continue;
        }
        assert_eq!(SUBTYPE.of(word), DATA + size_for(BYTES));
        assert_eq!(LENGTH.of(word), BYTES);
        assert_eq!(TARGET_PORT.of(word), SENDER_PORT.of(word));
        assert_eq!(SEQUENCE.of(word), sequence);
        sequence += 1;
    }
    assert_eq!(sequence, 6);
}

#[test]
fn tshark_shows_packets_in_ethernet_frames() {
    if !is_installed("tshark", "fields of packets") {
        return;
    }
    let capture = file("gm-tigon2.pcapng");
    run("tigon2", "", &capture).expect("an image");
    let data = "gm.kind == \"DATA\" && frame.interface_name == \"n0 -> s0\"";
    let shown = tshark(&capture, data, &["gm.sequence", "gm.length", "gm.target"]);
    let expected = (0..6_u32).map(|number| [number, BYTES, 1].map(|value| value.to_string()));
    let expected: Vec<_> = expected.map(|row| row.to_vec()).collect();
    assert_eq!(shown, expected);
    let count = |filter: &str| tshark(&capture, filter, &["frame.number"]).len();
    // Six messages and three acks, which wait for the next tick, on two wires each.
    assert_eq!(
        (count("gm && !gm.bad"), count("gm.kind == \"ACK\"")),
        (18, 6)
    );
}

#[test]
fn tshark_shows_packets_with_their_routes_and_checks() {
    if !is_installed("tshark", "fields of packets") {
        return;
    }
    let check = |board: &str, long_checks: usize| {
        let capture = file(&format!("gm-{board}.pcapng"));
        if run(board, "", &capture).is_none() {
            return;
        }
        let fields = ["gm.kind", "gm.sequence", "gm.length", "myrinet.route.step"];
        let data = "gm.kind == \"DATA\" && frame.interface_name == \"n0 -> s0\"";
        let expected: Vec<_> = (0..6)
            .map(|number: u32| {
                let words = [
                    "DATA".to_owned(),
                    number.to_string(),
                    BYTES.to_string(),
                    "1".into(),
                ];
                words.to_vec()
            })
            .collect();
        assert_eq!(tshark(&capture, data, &fields), expected, "{board}");
        let count = |filter: &str| tshark(&capture, filter, &["frame.number"]).len();
        let all = count("myrinet");
        // Six messages and at least one ack, on two wires each.
        assert!(all >= 14, "{board}: {all} packets");
        assert_eq!(count("gm && !gm.bad"), all, "{board}");
        assert_eq!(count("myrinet.crc8.good == 1"), all, "{board}");
        assert_eq!(
            count("myrinet.crc32.good == 1"),
            all * long_checks,
            "{board}"
        );
    };
    check("lanai9", 1);
    check("lanai4", 0);
}

#[test]
fn tshark_shows_damage_and_packets_that_are_sent_again() {
    if !is_installed("tshark", "damaged packets") {
        return;
    }
    let capture = file("gm-damaged.pcapng");
    let faults = "[faults]\nloss = 0.1\ncorruption = 0.2\n";
    if run("lanai9", faults, &capture).is_none() {
        return;
    }
    let count = |filter: &str| tshark(&capture, filter, &["frame.number"]).len();
    let damaged = "frame.comment contains \"damaged by a fault\"";
    assert!(count(damaged) > 0 && count("frame.comment contains \"dropped\"") > 0);
    // Behind a crossbar a packet has the same damage.
    let wrong = count("myrinet.crc8.good == 0");
    assert_eq!(
        count(&format!("{damaged} && myrinet.crc8.good == 0")),
        count(damaged)
    );
    assert!(wrong >= count(damaged));
    assert!(count("gm.again == 1") > 0);
}
