//! Invalid input and disconnects do no harm.

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use lanigon_debugger::gdb::connection::GdbStream;
use lanigon_debugger::gdb::server::{Parting, attend};
use lanigon_worlds::interrupt::Interrupt;

use super::client::{Client, PAIR, framed};
use super::support::{cpus, harmless};

/// A client.
type Visitor = Box<dyn FnOnce(&mut Client)>;

/// Serves one client after another; returns the ends of their connections.
fn serve(visitors: Vec<Visitor>) -> Vec<Parting> {
    let (streams, arrivals) = mpsc::channel();
    let server = thread::spawn(move || {
        let mut cpus = cpus(PAIR);
        let attend = |stream| attend(GdbStream::Unix(stream), &mut cpus, &Interrupt::default());
        let partings = arrivals.into_iter().map(attend);
        partings.map(Result::unwrap).collect()
    });
    for visitor in visitors {
        let (ours, theirs) = UnixStream::pair().unwrap();
        streams.send(theirs).unwrap();
        visitor(&mut Client::new(ours));
    }
    drop(streams);
    server.join().unwrap()
}

fn confused(partings: &[Parting]) -> usize {
    let confused = |parting: &&Parting| matches!(parting, Parting::Confused(_));
    partings.iter().filter(confused).count()
}

#[test]
fn random_bytes() {
    let visitor = |seed| -> Visitor {
        Box::new(move |client| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut bytes = vec![0; 1 + random.next_u32() as usize % 6000];
            random.fill_bytes(&mut bytes);
            if seed % 2 == 0 {
                bytes[0] = b'$';
            }
            client.send(&bytes);
        })
    };
    let partings = serve((0..60).map(visitor).collect());
    let gone = |parting: &Parting| matches!(parting, Parting::Gone | Parting::Confused(_));
    assert!(partings.iter().all(gone), "{partings:?}");
}

/// Prefixes of packets that do not resume the world.
const BEGINNINGS: &[&str] = &[
    "m",
    "M",
    "p",
    "P",
    "g",
    "G",
    "Hg",
    "Hc",
    "T",
    "Z0,",
    "Z1,",
    "Z2,",
    "Z3,",
    "Z4,",
    "z0,",
    "z2,",
    "X",
    "qSupported:",
    "qXfer:features:read:target.xml:",
    "qXfer:exec-file:read:",
    "qThreadExtraInfo,",
    "qRcmd,",
    "vCont?",
    "vFile:open:",
    "vAttach;",
    "R",
    "!",
    "?",
    "qC",
    "qRegisterInfo",
    "F",
];

const PARTS: &[&str] = &[
    "0",
    "ffffffff",
    "c0000000",
    "c00000",
    "7ffffc",
    ",",
    ":",
    ";",
    "=",
    "4",
    "ffff",
    "-1",
    "p1.1",
    "p0.0",
    "zz",
    "#",
    "1",
    "00",
    "*",
    "fffffffffffffffffff",
    "676f746f203175730a",
];

#[test]
fn random_packets() {
    let visitor = |seed| -> Visitor {
        Box::new(move |client| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut pick = |from: &[&'static str]| from[random.next_u32() as usize % from.len()];
            for count in 0..40 {
                let mut packet = pick(BEGINNINGS).to_owned();
                (0..count % 7).for_each(|_| packet += pick(PARTS));
                client.send(&framed(&packet));
            }
        })
    };
    let partings = serve((0..150).map(visitor).collect());
    assert!(confused(&partings) < 150, "{partings:?}");
}

#[test]
fn packets_that_are_too_long() {
    let parting = harmless(|client| {
        let mut bytes = vec![b'$'];
        bytes.resize(100_000, b'a');
        client.send(&bytes);
        assert_eq!(client.receive(), None);
    });
    let Parting::Confused(why) = parting else {
        panic!("{parting:?}");
    };
    assert!(why.contains("oversized"), "{why}");
}

#[test]
fn who_goes_away_leaves_nothing_behind() {
    let visitors: Vec<Visitor> = vec![
        // During a run, and within a packet.
        Box::new(|client| {
            client.check("Z0,c00104,4", "OK");
            client.send(&framed("bc"));
        }),
        Box::new(|client| client.send(b"$m40")),
        // The next client finds no breakpoints of theirs, and may end it.
        Box::new(|client| {
            client.check("c", "T05thread:01;replaylog:end;");
            client.send(&framed("k"));
        }),
    ];
    let partings = serve(visitors);
    assert_eq!(partings, [Parting::Gone, Parting::Gone, Parting::Killed]);
}
