//! Writes a trace of many events, to measure how fast `lanigon trace` reads one:
//! `cargo run --release -p lanigon-analysis --example many_events -- FILE 10000000`

use emulator::boards::BOARD_NAMES;
use lanigon_worlds::boards::DEFAULT;
use std::fs::File;
use std::sync::Arc;

use anyhow::Context;
use emulator::observe::event::{Details, Place, TraceEvent, TraceKind};
use emulator::observe::file::BinaryTrace;
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_analysis::trace::record;

/// Events that a node repeats: about those of one message.
fn round(stage: &Arc<str>, probe: &Arc<str>, number: u32) -> [(Initiator, TraceKind); 8] {
    let (address, length) = (0x2000 + 0x40 * (number % 512), 64 + number % 1400);
    let (host, local) = (0x10_0000 + u64::from(number % 4096) * 4096, address + 36);
    let probe = TraceKind::Probe {
        name: Arc::clone(probe),
        arguments: vec![number & 1, number & 0xFFFF, 0],
    };
    let enter = TraceKind::StageEnter {
        stage: Arc::clone(stage),
    };
    let exit = TraceKind::StageExit {
        stage: Arc::clone(stage),
    };
    let dma = TraceKind::DmaStarted {
        host,
        local,
        length,
    };
    let done = TraceKind::DmaDone {
        local_end: local + length,
    };
    let mailbox = TraceKind::MailboxWrite {
        index: 3,
        value: address,
    };
    [
        (Initiator::Host, mailbox),
        (Initiator::Cpu(0), enter),
        (Initiator::DmaRead, dma),
        (Initiator::Cpu(0), probe),
        (Initiator::DmaRead, done),
        (Initiator::Cpu(0), exit),
        (
            Initiator::Transmitter,
            TraceKind::FrameSent { address, length },
        ),
        (Initiator::Receiver, TraceKind::InterruptTaken),
    ]
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("FILE COUNT")?;
    let count: u64 = arguments.next().context("FILE COUNT")?.parse()?;
    let mut header = record::header(
        &"many events",
        0,
        ["a", "b"].map(|node| (node.into(), DEFAULT)),
    );
    header.program = "many_events".into();
    let mut trace = BinaryTrace::new(Box::new(File::create(path)?), &header, Details::empty())?;
    let stages = ["send bookkeeping", "receive frame"].map(Arc::<str>::from);
    let probes = ["frame sent", "retransmit"].map(Arc::<str>::from);
    let mut written = 0;
    for number in 0_u32.. {
        let probe = &probes[usize::from(number % 10_000 == 9_999)];
        let events = round(&stages[number as usize % 2], probe, number);
        for (step, (initiator, kind)) in events.into_iter().enumerate() {
            if written == count {
                trace.finish()?;
                return Ok(());
            }
            let ns = u64::from(number) * 2_000 + step as u64 * 137 + u64::from(number % 89);
            let pc = (initiator == Initiator::Cpu(0)).then_some(0x4000 + 4 * (number % 64));
            trace.event(&TraceEvent {
                names: BOARD_NAMES[0],
                time: SimTime::from_ns(ns),
                place: Place::Node((number % 2) as u16),
                initiator,
                pc,
                kind,
            });
            written += 1;
        }
    }
    Ok(())
}
