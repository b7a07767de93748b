//! Single packets, without gdb.

use lanigon_worlds::boards::KB;
use std::os::unix::net::UnixStream;
use std::thread;

use defs::tigon2::regs::RX_BUFFER_BASE;
use lanigon_debugger::gdb::connection::GdbStream;
use lanigon_debugger::gdb::server::{Parting, attend};
use lanigon_worlds::images::{image_folder, own_image};
use lanigon_worlds::interrupt::Interrupt;

use super::client::{Client, PAIR, framed, text};
use super::support::{changing, cpus, harmless};

/// Start of a function of the image.
fn function(name: &str) -> u32 {
    let image = own_image("emp-so", 1024 * KB).unwrap();
    let symbol = |symbol: &&emulator::image::Symbol| symbol.name.ends_with(name);
    image.symbols.iter().find(symbol).unwrap().address
}

#[test]
fn the_cpus_are_threads() {
    let parting = harmless(|client| {
        let features = client.ask("qSupported:multiprocess+;swbreak+;hwbreak+");
        for feature in [
            "ReverseStep+",
            "ReverseContinue+",
            "qXfer:features:read+",
            "hwbreak+",
        ] {
            assert!(features.contains(feature), "{features}");
        }
        client.check("QStartNoAckMode", "OK");
        client.check("?", "T05thread:p01.01;");
        client.check("qfThreadInfo", "mp01.01,p01.02");
        client.check("qsThreadInfo", "l");
        let info = |client: &mut Client, thread| {
            text(&client.ask(&format!("qThreadExtraInfo,p1.{thread}")))
        };
        assert_eq!(info(client, 1), "CPU A of 0, halted");
        client.go_to("20010us");
        assert_eq!(info(client, 2), "CPU B of 0, idle");
        let description = client.ask("qXfer:features:read:target.xml:0,fff");
        assert!(description.contains("<architecture>mips"), "{description}");
        let file = client.ask("qXfer:exec-file:read::0,fff");
        assert_eq!(
            file,
            format!("m{}", image_folder().join("emp-so").display())
        );
        client.check("T3", "E01");
        client.check("Hgp1.3", "OK");
        client.check("g", "E79");
        client.check("D;1", "OK");
    });
    assert_eq!(parting, Parting::Detached);
}

#[test]
fn a_damaged_packet_is_asked_for_again() {
    let parting = harmless(|client| {
        assert!(client.ask("?").starts_with("T05"));
        client.send(b"$m404c,10#00");
        assert_eq!(client.next_byte(), Some(b'-'));
        assert_eq!(client.ask("m404c,10").len(), 32);
        client.check("D;1", "OK");
    });
    assert_eq!(parting, Parting::Detached);
}

#[test]
fn memory_is_each_cpus_own_and_reads_change_nothing() {
    harmless(|client| {
        client.go_to("20030us");
        // Start code of the image, in SRAM and in its mirror.
        let code = client.ask("m404c,10");
        assert_eq!(code.len(), 32);
        client.check("m20404c,10", &code);
        let scratchpad = client.ask("mc00110,4");
        client.check("Hg2", "OK");
        assert_ne!(client.ask("mc00110,4"), scratchpad);
        // CPU B's scratchpad is shorter; the memory after it is unmapped.
        assert_eq!(client.ask("mc01ff8,10").len(), 16);
        client.check("mc02000,4", "E0e");
        client.check("mffffffff,4", "E0e");
        client.check("mfffffff0,ffff", "E0e");
        // All registers, one by one, and a byte within one.
        for offset in (0..0x400).step_by(4) {
            assert_eq!(client.ask(&format!("mc0000{offset:03x},4")).len(), 8);
        }
        client.check("mc0000040,1", "60");
        client.check("M1000000,4:01020304", "E0e");
    });
}

#[test]
fn what_gdb_changes_is_changed() {
    changing(|client| {
        client.go_to("20030us");
        client.check("Mffff1,3:010203", "OK");
        client.check("mffff0,4", "00010203");
        client.check("Mc03ff1,1:aa", "OK");
        client.check("mc03ff0,4", "00aa0000");
        client.check("P8=12345678", "OK");
        assert_eq!(client.register(8), 0x1234_5678);
        client.check("P0=1", "E79");
        client.check("P0=00000001", "OK");
        assert_eq!(client.register(0), 0);
        // A write of all registers changes only those that differ.
        let all = client.ask("g");
        let changed = format!("{}{}{}", &all[..64], "87654321", &all[72..]).replace('x', "0");
        client.check(&format!("G{changed}"), "OK");
        assert_eq!(client.register(8), 0x8765_4321);
        // After going back and forth: the change is part of its time.
        client.go_to("20029us");
        client.check("mffff0,4", "00000000");
        client.go_to("20031us");
        client.check("mffff0,4", "00010203");
        // Changing a CPU's program counter affects the trace.
        client.check("P25=0000404c", "OK");
        assert_eq!(client.pc(), 0x404c);
    });
}

#[test]
fn breakpoints_stop_forwards_and_back() {
    let place = function("post_receive");
    harmless(|client| {
        client.check(&format!("Z0,{place:x},4"), "OK");
        client.check("vCont;c:p1.-1", "T05thread:01;swbreak:;");
        assert_eq!(client.pc(), place);
        let first = client.monitor("where");
        client.check("c", "T05thread:01;swbreak:;");
        assert_ne!(client.monitor("where"), first);
        client.check("bc", "T05thread:01;swbreak:;");
        assert_eq!(client.monitor("where"), first);
        client.check("bc", "T05thread:01;replaylog:begin;");
        client.check(&format!("z0,{place:x},4"), "OK");
        client.check(&format!("Z1,{place:x},4"), "OK");
        client.check("c", "T05thread:01;hwbreak:;");
        assert_eq!(client.monitor("where"), first);
        client.check(&format!("z1,{place:x},4"), "OK");
        client.shown.clear();
        client.check("c", "T05thread:01;replaylog:end;");
        assert!(client.shown.contains("the run is over"), "{}", client.shown);
        client.go_to("20010us");
    });
}

#[test]
fn steps_of_both_cpus() {
    harmless(|client| {
        client.go_to("20030us");
        for thread in [1, 2] {
            client.check(&format!("Hg{thread}"), "OK");
            client.check(&format!("Hc{thread}"), "OK");
            let stopped = format!("T05thread:{thread:02x};");
            let mut places = Vec::new();
            for _ in 0..30 {
                client.check(&format!("vCont;s:{thread}"), &stopped);
                places.push((client.pc(), client.monitor("where")));
            }
            for place in places.iter().rev().skip(1) {
                client.check("bs", &stopped);
                assert_eq!((client.pc(), client.monitor("where")), *place);
            }
        }
        let pc = client.pc();
        let range = format!("vCont;r{pc:x},{:x}:2", pc + 4);
        client.check(&range, "T05thread:02;");
        assert_ne!(client.pc(), pc);
    });
}

#[test]
fn a_step_meets_the_other_cpus_breakpoint() {
    harmless(|client| {
        client.go_to("20030us");
        // CPU B's loop: it gets there while CPU A executes a hundred instructions.
        client.check("Z0,c00104,4", "OK");
        let stop = (0..100).map(|_| client.ask("vCont;s:1"));
        let stops: Vec<_> = stop
            .filter(|stop| stop == "T05thread:02;swbreak:;")
            .collect();
        assert!(!stops.is_empty());
        client.check("Hg2", "OK");
    });
}

#[test]
fn watchpoints() {
    harmless(|client| {
        client.go_to("20000us");
        // CPU A's event register is read by CPU A.
        client.check("Z3,c0000060,4", "OK");
        client.check("c", "T05thread:01;rwatch:c0000060;");
        client.check("z3,c0000060,4", "OK");
        // CPU A's stack is written by CPU A.
        client.check("Z2,c000c8,4", "OK");
        client.check("c", "T05thread:01;watch:c000c8;");
        let value = client.ask("mc000c8,4");
        client.check("vCont;s:1", "T05thread:01;");
        assert_ne!(
            client.ask("mc000c8,4"),
            value,
            "it stopped before the write"
        );
        client.check("z2,c000c8,4", "OK");
        // Reads of memory cannot be watched.
        client.check("Z3,20000,4", "E16");
        client.check("Z4,20000,4", "E16");
        client.check("Z2,1000000,4", "E16");
        client.check("Z2,20000,0", "E16");
        client.check("Z2,c0000000,400", "E16");
        client.check("Z4,c00000b0,4", "OK");
        // The MAC writes received frames; a running CPU represents it.
        client.check("z4,c00000b0,4", "OK");
        client.shown.clear();
        let buffer = client.ask(&format!("mc0000{RX_BUFFER_BASE:03x},4"));
        client.check(&format!("Z2,{buffer},1000"), "OK");
        let stop = client.ask("c");
        assert!(stop.contains(";watch:"), "{stop}");
        assert!(client.shown.contains("mac_rx"), "{}", client.shown);
    });
}

#[test]
fn an_interrupt_ends_a_run() {
    harmless(|client| {
        client.go_to("20000us");
        // Both at once: the interrupt precedes the run.
        let mut bytes = framed("c");
        bytes.push(3);
        client.send(&bytes);
        assert_eq!(client.receive().unwrap(), "T02thread:01;");
        // An interrupt while nothing runs does not affect the next run.
        client.send(&[3]);
        client.check("Z0,c00104,4", "OK");
        client.check("c", "T05thread:02;swbreak:;");
    });
}

#[test]
fn a_long_run_is_interrupted_on_its_way() {
    // It would take hours.
    let text = PAIR.replace("messages = 8", "messages = 4000000");
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut cpus = cpus(&text);
        let end = Interrupt::default();
        let parting = attend(GdbStream::Unix(theirs), &mut cpus, &end).unwrap();
        let nodes = cpus.session.history.world().nodes.iter();
        let times: Vec<_> = nodes.map(|node| node.now()).collect();
        (parting, times)
    });
    let mut client = Client::new(ours);
    for run in ["c", "vCont;c:1"] {
        client.send(&framed(run));
        client.send(&[3]);
        assert_eq!(client.receive().unwrap(), "T02thread:01;", "{run}");
        client.check("vCont;s:1", "T05thread:01;");
    }
    // A disconnect during a run interrupts it too.
    client.send(&framed("c"));
    drop(client);
    let (parting, times) = server.join().unwrap();
    assert_eq!(parting, Parting::Gone);
    assert_eq!(times[0], times[1], "all nodes stand at the same time");
}

#[test]
fn monitor_speaks_the_consoles_words() {
    harmless(|client| {
        let shown = client.monitor("goto +30us");
        assert!(shown.contains("20030.000000 us"), "{shown}");
        assert!(
            shown.contains("maintenance flush register-cache"),
            "{shown}"
        );
        client.check("c", "T02thread:01;");
        let shown = client.monitor("bogus");
        assert!(shown.contains("there is no command \"bogus\""), "{shown}");
        assert!(client.monitor("quit").contains("detach"));
        client.go_to("20000us");
        client.monitor("break post_receive");
        client.check("c", "T05thread:01;");
        assert!(client.shown.contains("stop 1"), "{}", client.shown);
    });
}
