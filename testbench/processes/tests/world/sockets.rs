//! Processes with sockets.

use lanigon_processes::Mode;
use lanigon_requests::{CallOutcome, Item, Refusal, SocketAddress, SocketCall, ready};
use proptest::prelude::*;

use super::{EMP, GM, Process, run_in};

const SOCKETS: Mode = Mode::Sockets { apart_ns: 10_000 };

/// Calls of a process in a row.
fn caller(process: &mut Process) -> impl FnMut(Option<u64>, SocketCall) -> CallOutcome {
    let mut ticket = 0;
    move |limit_ns, call| {
        ticket += 1;
        process.call(ticket, limit_ns, call).expect("an outcome")
    }
}

fn refusal(outcome: CallOutcome) -> Refusal {
    outcome.value.expect_err("a refusal")
}

fn serve(mut process: Process) {
    let mut call = caller(&mut process);
    let (socket, name, port) = (7, 8, 80);
    assert_eq!(
        call(Some(0), SocketCall::Bind { socket, port }).value,
        Ok(80)
    );
    call(Some(0), SocketCall::Listen { socket, backlog: 1 });
    let again = call(Some(0), SocketCall::Bind { socket: 9, port });
    assert_eq!(refusal(again), Refusal::InUse);
    let peer = call(None, SocketCall::Accept { socket, name }).peer;
    assert_eq!((peer.rank, peer.port > 1000), (1, true));
    let read = |socket| SocketCall::Read {
        socket,
        most: 10,
        peek: false,
    };
    assert_eq!(call(None, read(name)).bytes, b"hello");
}

fn connect(mut process: Process) {
    let mut call = caller(&mut process);
    let (socket, name) = (7, 8);
    let to = SocketAddress { rank: 0, port: 80 };
    let outcome = call(None, SocketCall::Connect { socket, to });
    outcome.value.expect("a connection");
    let again = call(None, SocketCall::Connect { socket, to });
    assert_eq!(refusal(again), Refusal::IsConnected);
    let bytes = b"hello".to_vec();
    assert_eq!(call(None, SocketCall::Write { socket, bytes }).value, Ok(5));
    let to = SocketAddress { rank: 0, port: 81 };
    let refused = call(None, SocketCall::Connect { socket: name, to });
    assert_eq!(refusal(refused), Refusal::Refused);
    let item = Item {
        socket,
        events: ready::READ,
        ..Item::default()
    };
    let (items, outside) = (vec![item], false);
    let end = call(None, SocketCall::Wait { items, outside });
    assert_eq!(end.items.len(), 1);
    let (most, peek) = (10, false);
    let read = call(None, SocketCall::Read { socket, most, peek });
    assert_eq!(read.bytes, b"");
}

/// Processes that speak the protocol of calls themselves.
#[test]
fn calls_on_sockets_are_answered() {
    for network in [GM, EMP] {
        let run = || {
            run_in((SOCKETS, 1), network, 2, |process, rank| match rank {
                0 => serve(process),
                _ => connect(process),
            })
        };
        let first = run();
        assert!(first.is_good(), "{:?}", first.problems);
        assert_eq!(first.trace_hash, run().trace_hash);
    }
}

proptest! {
    #![proptest_config(cases::cases(24))]

    /// Whatever a process asks for is answered or ends the run.
    #[test]
    fn no_calls_harm_the_world(calls in proptest::collection::vec(
        (0..11_u8, 0..4_u32, 0..4_u32, 0..4_u16, any::<bool>()), 1..60)
    ) {
        let summary = run_in((SOCKETS, 1), GM, 2, move |mut process, rank| {
            for (ticket, (kind, socket, name, port, flag)) in (1..).zip(calls.iter().copied()) {
                let bytes = vec![0; name as usize * 40_000];
                let item = Item { socket, events: 3, edge: flag, ..Item::default() };
                let call = match kind {
                    0 => SocketCall::Bind { socket, port },
                    1 => SocketCall::Listen { socket, backlog: name },
                    2 => SocketCall::Connect { socket, to: SocketAddress { rank: name % 3, port } },
                    3 => SocketCall::Accept { socket, name },
                    4 => SocketCall::Read { socket, most: name * 1000, peek: flag },
                    5 => SocketCall::Write { socket, bytes },
                    6 => SocketCall::Shutdown { socket, read: flag, write: name > 1 },
                    7 => SocketCall::Close { socket },
                    8 => SocketCall::TakeError { socket },
                    9 => SocketCall::Available { socket },
                    _ => SocketCall::Wait { items: vec![item; name as usize], outside: false },
                };
                let limit_ns = Some(u64::from(name) * 3000 * (rank as u64 + 1));
                if process.call(ticket, limit_ns, call).is_none() {
                    return;
                }
            }
        });
        prop_assert!(summary.is_good(), "{:?}", summary.problems);
    }
}
