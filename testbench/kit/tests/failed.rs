//! The world that a failed test leaves: as a scenario it has the trace hash of the test's run.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use emulator::sim::time::SimTime;
use emulator::wire::fault::FaultRates;
use host_lib::window::{MemoryWatch, PolledWord, System, SystemPort};
use lanigon_kit::faults::Fault;
use lanigon_kit::{
    FrameFault, Kit, KitBuilder, KitError, START, Schedule, Schedules, Search, Step, us,
};
use lanigon_worlds::boards;
use lanigon_worlds::images::image_folder;
use lanigon_worlds::nodes::mac_address;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

fn image(name: &str) -> PathBuf {
    image_folder().join(name)
}

/// The folder of a test's world.
fn folder(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target
        .expect("the target folder")
        .join("lanigon")
        .join(name)
}

/// Runs the world that a test with this name has left.
fn run(name: &str) -> (RunSummary, SimTime) {
    let scenario = Scenario::load(&folder(name).join("world.toml")).expect("a scenario");
    let mut simulation = Simulation::new(&scenario).expect("a world");
    let summary = simulation.run(&RunOptions::default(), |_| {});
    (summary, simulation.world.now())
}

/// A test with this name panics after `work`; its scenario has the same trace.
fn check<F>(name: &'static str, work: F)
where
    F: FnOnce() -> Result<Kit, KitError> + Send + 'static,
{
    let _ = std::fs::remove_dir_all(folder(name));
    let test = thread::Builder::new().name(name.into());
    let test = test.spawn(|| {
        let kit = work().expect("a kit");
        let found = (kit.trace_hash(), kit.now(), kit.events().frames().count());
        let panic = catch_unwind(AssertUnwindSafe(move || {
            let _kit = kit;
            resume_unwind(Box::new("the test fails"));
        }));
        assert!(panic.is_err());
        found
    });
    let (hash, now, events) = test.expect("a thread").join().expect("a run");
    let (summary, end) = run(name);
    // A scenario ends after the start of its programs.
    assert_eq!(end, now.max(START + SimTime::from_ns(1)), "{name}");
    assert_eq!(summary.trace_hash, hash, "{name}: {events} frames");
}

/// Sends a frame back and forth between nodes 0 and 1 for a while; another one comes when time has passed.
fn echoes(world: KitBuilder) -> Result<Kit, KitError> {
    let mut kit = world.firmware(image("frame-echo")).build()?;
    let mut frame = [0; 200];
    frame[..6].copy_from_slice(&mac_address(0).0);
    frame[6..12].copy_from_slice(&mac_address(1).0);
    kit.inject(0, START, &frame)?;
    kit.run_until(START + us(150))?;
    frame[20] = 7;
    kit.inject(0, START, &frame)?;
    kit.run_for(us(151))?;
    Ok(kit)
}

#[test]
fn networks_and_faults_of_all_kinds() {
    check("failed-alone", || echoes(Kit::alone()));
    check("failed-pair", || echoes(Kit::pair()));
    check("failed-star", || echoes(Kit::star(3)));
    check("failed-chance", || {
        let rates = FaultRates {
            loss: 0.02,
            duplication: 0.2,
            delay: 0.3,
            longest_delay: us(9),
            corruption: 0.1,
        };
        let kit = echoes(Kit::star(2).random_faults(rates, 3))?;
        assert!(kit.events().faults().count() > 4);
        Ok(kit)
    });
    check("failed-bytes", || {
        let world = Kit::pair()
            .fault(FrameFault::forge(30).frame(2))
            .fault(FrameFault::duplicate().matching(|frame| frame[30] == 0xFF))
            .fault(FrameFault::corrupt(40).from(1).frame(4).times(2))
            .fault(Fault::drop());
        let kit = echoes(world)?;
        assert_eq!(kit.fault_strikes(), [1, 1, 2, 0]);
        Ok(kit)
    });
    check("failed-schedule", || {
        let steps = [Step::delay(0, 1, 5), Step::drop(1, 3), Step::pause(0, 0, 6)];
        let kit = echoes(Kit::star(2).schedule(&Schedule::of(steps)))?;
        assert_eq!(kit.fault_strikes(), [1, 1]);
        Ok(kit)
    });
}

/// A program that uses memory, translations, timeouts and every kind of wait.
fn busy_hosts(world: KitBuilder) -> Result<Kit, KitError> {
    let schedule = Schedule::of([Step::pause(0, 1, 31)]);
    let mut kit = world.schedule(&schedule).build()?;
    kit.host(0, "asker", |mut host| async move {
        let buffer = host.allocate(10_000)?;
        host.store(buffer.address, b"some bytes")?;
        let machine = host.machine();
        let pages = machine.translate(buffer.address, buffer.length).await;
        assert_eq!(pages.map(|pages| pages.len()), Some(3));
        let other = machine.allocate(5_000).expect("memory");
        machine.sleep(1_234).await;
        let word = PolledWord::Memory(MemoryWatch {
            address: other,
            mask: !0,
            expected: 1,
        });
        let none = machine.poll_words(&[word], Some(2_000), "a word").await;
        assert!(none.is_err());
        assert!(!host.interrupt(us(3)).await);
        for number in 1..=5 {
            host.pause().await;
            host.mailbox(3, number).await;
            host.wait_for(0x20C, "the answer", number + 1).await;
        }
        host.poll(0x20C, "another answer", us(20), |word| word == 0)
            .await?;
        Ok(())
    })?;
    let error = kit.run().expect_err("nothing comes");
    assert!(error.to_string().contains("another answer"), "{error}");
    Ok(kit)
}

#[test]
fn host_programs_are_repeated() {
    let echo = || image("mailbox-echo");
    check("failed-hosts", move || {
        busy_hosts(Kit::pair().firmware(echo()))
    });
    check("failed-bytes-of-image", move || {
        let bytes = std::fs::read(echo()).expect("an image");
        busy_hosts(Kit::alone().firmware_bytes(&bytes).sram(1 << 20))
    });
    check("failed-other-images", move || {
        let profile = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../emulator/profiles/tigon2-88mhz.toml"
        );
        let world = Kit::star(3)
            .firmware(image("timer-tick"))
            .firmware_on(0, echo())
            .profile(profile);
        busy_hosts(world)
    });
}

#[test]
fn what_stops_the_run_stops_its_repetition() {
    check("failed-deadlock", || {
        let mut kit = Kit::alone().firmware(image("mailbox-echo")).build()?;
        kit.host(0, "patient", |mut host| async move {
            host.wait_for(0x200, "a word that nobody writes", 1).await;
            Ok(())
        })?;
        kit.run().expect_err("a deadlock");
        Ok(kit)
    });
    let (summary, _) = run("failed-deadlock");
    let text = format!("{:?}", summary.end);
    assert!(
        text.contains("node 0: patient waits for a word that nobody writes"),
        "{text}"
    );
    check("failed-panic", || {
        let mut kit = Kit::alone().firmware(image("hello")).build()?;
        kit.host(0, "teaser", |mut host| async move {
            host.mailbox(0, 0).await;
            host.wait(us(50)).await;
            Ok(())
        })?;
        kit.run().expect_err("the firmware panics");
        Ok(kit)
    });
    let (summary, _) = run("failed-panic");
    let problem = summary.problems.first().expect("a problem");
    assert!(problem.contains("images/hello/src/main.rs:"), "{problem}");
    assert!(!summary.is_good());
}

#[test]
fn boards_on_myrinet() {
    let Some(board) = boards::board_type("lanai") else {
        return;
    };
    let hello = board.image_folder().join("hello");
    if !hello.exists() {
        // Past the capture of the test's output.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of the image hello for the LANai"
        );
        return;
    }
    let work = |world: KitBuilder, hello: PathBuf| {
        let mut kit = world.firmware(&hello).build()?;
        kit.inject(0, START + us(500), &[0, 8, 1, 2, 3, 4])?;
        kit.inject(0, START + us(500), &[0, 8, 5, 6, 7, 8])?;
        kit.host(0, "reader", |mut host| async move {
            for buffer in [0x5_0000, 0x5_0100] {
                host.write_register(0xE0, buffer).await;
                host.write_register(0xE8, buffer + 0xF8).await;
                host.wait(us(800)).await;
                assert_eq!(host.read(buffer).await >> 16, 8);
            }
            Ok(())
        })?;
        kit.run()?;
        Ok(kit)
    };
    let worlds: [(_, fn() -> KitBuilder); 3] = [
        ("failed-myrinet-alone", || Kit::alone().board("lanai9")),
        ("failed-myrinet-pair", || Kit::pair().board("lanai7")),
        ("failed-myrinet-star", || Kit::star(9).board("lanai9.2-200")),
    ];
    for (name, world) in worlds {
        let hello = hello.clone();
        check(name, move || work(world(), hello));
    }
}

/// A failed search leaves only the world of the smallest schedule.
#[test]
fn a_search_leaves_the_smallest_case() {
    let name = "failed-search";
    let _ = std::fs::remove_dir_all(folder(name));
    let test = thread::Builder::new().name(name.into());
    let test = test.spawn(|| {
        let search = Search::new(Schedules::new(2)).cases(50);
        search.check(|schedule| {
            let kit = echoes(Kit::star(2).schedule(schedule))?;
            // Both frames come back.
            match kit.fault_strikes().iter().any(|strikes| *strikes > 0) {
                true => Err(KitError::Trace(format!("hash {:016x}", kit.trace_hash()))),
                false => Ok(()),
            }
        });
    });
    let panic = test.expect("a thread").join().expect_err("a failure");
    let text = panic.downcast::<String>().expect("a text");
    let (summary, _) = run(name);
    let hash = format!("hash {:016x}", summary.trace_hash);
    assert!(text.contains(&hash), "{text}");
}

#[test]
fn a_test_that_passes_leaves_nothing() -> Result<(), KitError> {
    let name = "a_test_that_passes_leaves_nothing";
    let mut kit = Kit::alone().firmware(image("hello")).build()?;
    kit.run()?;
    drop(kit);
    if thread::current().name() == Some(name) {
        assert!(!folder(name).exists());
    }
    Ok(())
}
