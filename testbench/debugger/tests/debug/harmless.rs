//! Displays change nothing, and always return text or an error.

use emulator::board::{CpuId, Inspect};
use emulator::tigon2::board::Tigon2;
use std::cell::RefCell;

use cases::cases;
use emulator::observe::event::Details;
use emulator::sim::time::SimTime;
use lanigon_debugger::debug::Session;
use lanigon_debugger::debug::show::{
    address, calls, chip, code, event, memory, past, registers, standing, symbols, world,
};
use proptest::prelude::*;

use super::{PAIR, session};

/// All commands that display the present. Missing things are errors.
fn show_all(session: &Session, at: u32, length: u32) -> usize {
    let always = [
        standing::where_(session),
        registers::registers(session),
        calls::backtrace(session),
        event::event_register(session).unwrap(),
        chip::rings(session).unwrap(),
        chip::semaphore(session).unwrap(),
        world::hosts(session),
        world::nodes(session),
        address::describe(session, at),
    ];
    assert!(always.iter().all(|shown| !shown.is_empty()));
    let possible = [
        code::disassembly(session, at, length as usize % 50),
        code::source(session, length as usize),
        memory::memory(session, at, length),
        chip::chip(session, "mac_rx"),
        chip::chip(session, "cpu_b"),
        symbols::symbols(session, "emp"),
    ];
    possible.iter().filter(|shown| shown.is_ok()).count()
}

fn state(session: &Session) -> (u64, Vec<u8>) {
    let world = session.history.world();
    (world.trace_hash(), world.save().unwrap())
}

#[test]
fn to_look_changes_nothing() {
    let mut session = session(PAIR);
    for us in [0, 20_010, 20_060, 20_200] {
        session.go_to(SimTime::from_us(us)).unwrap();
        let before = state(&session);
        for focus in 0..4 {
            (session.focus.node, session.focus.cpu) = (focus / 2, CpuId::new(focus % 2));
            let pc = session.cpu().pc;
            assert!(show_all(&session, pc, 64) >= 4);
            show_all(&session, 0xC000_0000, 0x400);
        }
        assert!(state(&session) == before, "{us} us");
        let (now, hash) = (session.now(), before.0);
        past::events(&mut session, 20, Details::all()).unwrap();
        past::frames(&mut session, 3).unwrap();
        assert_eq!((session.now(), state(&session).0), (now, hash), "{us} us");
    }
}

#[test]
fn nothing_makes_it_panic() {
    let session = RefCell::new(session(PAIR));
    let times = prop_oneof![0..20_000_000u64, 20_000_000..21_000_000u64];
    let addresses = prop_oneof![
        any::<u32>(),
        0..0x20_0000u32,
        0xC0_0000..0xC0_4100u32,
        0xC000_0000..0xC000_0500u32,
        u32::MAX - 64..=u32::MAX
    ];
    let lengths = prop_oneof![0..100u32, any::<u32>()];
    let moment = (times, 0..4usize, addresses, lengths, any::<[u32; 4]>());
    let mut runner = proptest::test_runner::TestRunner::new(cases(30));
    runner
        .run(&moment, |(ns, focus, at, length, wild)| {
            let session = &mut *session.borrow_mut();
            session.go_to(SimTime::from_ns(ns)).unwrap();
            (session.focus.node, session.focus.cpu) = (focus / 2, CpuId::new(focus % 2));
            show_all(session, at, length);
            // A core with an arbitrary program counter, rings and stack.
            let node = session.focus.node;
            let cpu = session.focus.cpu;
            session
                .history
                .change(|world| {
                    world.nodes[node].with_board::<Tigon2, _>(|board, _| {
                        board.set_pc(cpu, wild[0]);
                        board.set_register(cpu, 29, wild[1]);
                        board.set_register(cpu, 31, wild[2]);
                        board.fabric.mac.tx_buffer.base = wild[3];
                        board.fabric.mac.rx_buffer.producer = wild[1];
                        board.fabric.mac.rx.producer = wild[2] & 511;
                        board.fabric.assist.read.producer = wild[0] & 63;
                    });
                })
                .unwrap();
            show_all(session, wild[0], length);
            session.go_to(SimTime::ZERO).unwrap();
            session.history.change(|_| ()).unwrap();
            Ok(())
        })
        .unwrap();
}
