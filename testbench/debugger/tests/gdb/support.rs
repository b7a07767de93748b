//! A gdb server for tests.

use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::thread;

use emulator::sim::time::SimTime;
use lanigon_debugger::debug::Session;
use lanigon_debugger::gdb::connection::GdbStream;
use lanigon_debugger::gdb::server::{Parting, attend};
use lanigon_debugger::gdb::target::Cpus;
use lanigon_worlds::files::own::DataLocation;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::scenario::Scenario;

use super::client::{Client, PAIR};

/// A time before the end of the run.
const LATE: SimTime = SimTime::from_us(20_600);

/// The CPUs of node 0 of a scenario.
pub fn cpus(text: &str) -> Cpus {
    let scenario = Scenario::parse("pair.toml", text).unwrap();
    let session = Session::new("pair.toml", text, &scenario, &Interrupt::default()).unwrap();
    let Some(DataLocation::File(image)) = session.symbols_file(0) else {
        panic!("tests have the project's files");
    };
    Cpus::new(session, 0, Some(image))
}

/// Trace hash of the run at a late time.
fn hash(cpus: &mut Cpus) -> u64 {
    cpus.session.history.go_to(LATE).unwrap();
    cpus.session.history.world().trace_hash()
}

/// Trace hash of the run without a debugger.
fn plain_hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| hash(&mut cpus(PAIR)))
}

/// Connects a client to a server. Returns the end of the connection, and the trace hash.
fn speak(client: impl FnOnce(&mut Client)) -> (Parting, u64) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut cpus = cpus(PAIR);
        let parting = attend(GdbStream::Unix(theirs), &mut cpus, &Interrupt::default()).unwrap();
        (parting, hash(&mut cpus))
    });
    let mut speaker = Client::new(ours);
    client(&mut speaker);
    drop(speaker);
    server.join().unwrap()
}

/// A conversation without changes.
#[track_caller]
pub fn harmless(client: impl FnOnce(&mut Client)) -> Parting {
    let (parting, hash) = speak(client);
    assert_eq!(hash, plain_hash(), "the debugger has left a trace");
    parting
}

/// A conversation that changes memory or registers.
#[track_caller]
pub fn changing(client: impl FnOnce(&mut Client)) -> Parting {
    let (parting, hash) = speak(client);
    assert_ne!(hash, plain_hash(), "the change has no effect");
    parting
}
