//! The test kit with built-in images; `examples/echo` uses it as users do.

use std::io::Write;
use std::path::{Path, PathBuf};

use lanigon_kit::{FrameFault, Kit, KitBuilder, KitError, START, Schedule, Step, us};
use lanigon_worlds::boards;
use lanigon_worlds::images::image_folder;
use lanigon_worlds::nodes::mac_address;

fn image(name: &str) -> PathBuf {
    image_folder().join(name)
}

fn refusal(builder: KitBuilder) -> String {
    builder.build().expect_err("it cannot be built").to_string()
}

#[test]
fn what_cannot_be_built_says_why() {
    let missing = refusal(Kit::pair().firmware(image("no-such-image")));
    assert!(missing.ends_with("build the project's firmware first: make firmware"));
    let missing = refusal(Kit::pair().firmware("firmware/target/tigon2/release/mine"));
    assert!(
        missing.contains("release/mine: build it first"),
        "{missing}"
    );
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/echo/firmware");
    let missing = refusal(Kit::pair().firmware(example.join("target/tigon2/release/mine")));
    let script = example.join("build.sh").display().to_string();
    assert!(
        missing.ends_with(&format!("build it first: {script}")),
        "{missing}"
    );
    assert!(
        refusal(Kit::pair().firmware_bytes(b"\x7fELF")).starts_with("the image given as bytes: ")
    );
    assert!(refusal(Kit::pair()).starts_with("no node has firmware"));
    let hello = || Kit::alone().firmware(image("hello"));
    assert!(refusal(hello().profile("none")).contains("no profile and no file \"none\""));
    assert!(refusal(hello().firmware_on(1, image("hello"))).contains("there is no node 1"));
    let nowhere = FrameFault::drop().from(7);
    assert!(refusal(hello().fault(nowhere)).contains("there is no node 7"));
    assert!(refusal(hello().trace_to("no/such/trace")).starts_with("no/such/trace: "));
}

#[test]
fn a_run_that_cannot_end_says_who_waits_for_what() -> Result<(), KitError> {
    let mut kit = Kit::alone().firmware(image("mailbox-echo")).build()?;
    kit.host(0, "patient", |mut host| async move {
        host.wait_for(0x200, "a word that nobody writes", 1).await;
        Ok(())
    })?;
    let second = kit.host(0, "second", |_| async { Ok(()) });
    assert!(matches!(
        second,
        Err(KitError::SecondProgram { node: 0, .. })
    ));
    let Err(KitError::Deadlock { waits, .. }) = kit.run() else {
        panic!("it must be a deadlock");
    };
    assert!(waits[0].contains("patient waits for a word that nobody writes"));

    let builder = Kit::alone()
        .firmware(image("timer-tick"))
        .max_time(us(5_000));
    let mut kit = builder.build()?;
    kit.host(0, "patient", |mut host| async move {
        host.wait_for(0x200, "a word that nobody writes", 1).await;
        Ok(())
    })?;
    assert!(matches!(kit.run(), Err(KitError::TimeLimit { .. })));
    assert_eq!(kit.now(), START + us(5_000));
    Ok(())
}

/// A wait that reaches its limit and a time limit say where a CPU stands that works.
#[test]
fn a_cpu_that_works_for_ever_is_told() -> Result<(), KitError> {
    let infinite = || Kit::alone().firmware(image("../cases/infinite"));
    let place = "CPU A still runs after ";
    let mut kit = infinite().max_time(us(500)).build()?;
    kit.host(0, "patient", |mut host| async move {
        host.wait_for(0x200, "a word that nobody writes", 1).await;
        Ok(())
    })?;
    let text = kit.run().expect_err("the time limit").to_string();
    assert!(text.contains(place) && text.contains("main at "), "{text}");
    let mut kit = infinite().build()?;
    let failed = kit.run_host(0, "impatient", |mut host| async move {
        host.poll(0x200, "an answer", us(100), |word| word == 1)
            .await
    });
    let text = failed.expect_err("a wait that times out").to_string();
    assert!(text.contains(place) && text.contains("main at "), "{text}");
    Ok(())
}

#[test]
fn a_program_that_fails_and_a_cpu_that_stops_are_named() -> Result<(), KitError> {
    let mut kit = Kit::alone().firmware(image("mailbox-echo")).build()?;
    let failed = kit.run_host(0, "impatient", |mut host| async move {
        host.poll(0x200, "a word", us(20), |word| word == 1).await
    });
    let text = failed.expect_err("nobody writes it").to_string();
    assert!(text.contains("node 0: impatient failed at"), "{text}");
    assert!(text.contains("a word did not come within 20"), "{text}");

    let mut kit = Kit::alone().firmware(image("hello")).build()?;
    kit.host(0, "teaser", |mut host| async move {
        host.mailbox(0, 0).await;
        host.wait(us(50)).await;
        Ok(())
    })?;
    let text = kit.run().expect_err("the firmware panics").to_string();
    assert!(
        text.starts_with("node 0: cpu_a stopped: panic at "),
        "{text}"
    );
    assert!(text.contains("images/hello/src/main.rs:"), "{text}");
    Ok(())
}

/// Sends three frames to a node that echoes them; returns the first bytes of the echoes.
fn sent_back(fault: FrameFault) -> Result<Vec<u8>, KitError> {
    let mut kit = Kit::alone()
        .firmware(image("frame-echo"))
        .fault(fault)
        .build()?;
    for number in 1..=3 {
        let mut frame = [0; 60];
        frame[6] = number;
        kit.inject(0, START + us(100 * u64::from(number)), &frame)?;
    }
    kit.run_until(START + us(1_000))?;
    assert!(kit.fault_strikes()[0] > 0);
    let frames = kit.frames_from(0).into_iter();
    Ok(frames.map(|frame| frame.bytes[0]).collect())
}

#[test]
fn faults_strike_by_number_by_bytes_and_by_time() -> Result<(), KitError> {
    let check = |fault, expected: &[u8]| -> Result<(), KitError> {
        assert_eq!(sent_back(fault)?, expected);
        Ok(())
    };
    check(FrameFault::drop(), &[2, 3])?;
    check(FrameFault::drop().from(0).frame(1), &[1, 3])?;
    check(FrameFault::drop().frame(1).always(), &[1])?;
    check(
        FrameFault::duplicate().matching(|frame| frame[0] == 3),
        &[1, 2, 3, 3],
    )?;
    check(
        FrameFault::drop().matching(|frame| frame[0] != 2).times(2),
        &[2],
    )?;
    check(FrameFault::drop().after(START + us(150)), &[1, 3])?;
    check(FrameFault::forge(0).frame(2), &[1, 2, !3])
}

#[test]
fn a_fault_may_need_a_probe() -> Result<(), KitError> {
    // The probe does not exist.
    let fault = FrameFault::drop().after_probe("never", 1);
    let mut kit = Kit::alone()
        .firmware(image("frame-echo"))
        .fault(fault)
        .build()?;
    kit.inject(0, START, &[1; 60])?;
    kit.run_until(START + us(100))?;
    assert_eq!(kit.fault_strikes(), [0]);
    assert_eq!(kit.frames_from(0).len(), 1);
    Ok(())
}

/// A frame travels back and forth between two nodes of a star; returns the number of hops, and the trace
/// hash.
fn to_and_fro(schedule: &Schedule) -> Result<(usize, u64), KitError> {
    let mut kit = Kit::star(3)
        .firmware(image("frame-echo"))
        .schedule(schedule)
        .build()?;
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&mac_address(0).0);
    frame[6..12].copy_from_slice(&mac_address(1).0);
    kit.inject(0, START, &frame)?;
    kit.run_until(START + us(300))?;
    kit.events().frames().on(2).never();
    Ok((kit.frames_from(1).len(), kit.trace_hash()))
}

#[test]
fn a_run_is_the_same_each_time() -> Result<(), KitError> {
    let quiet = to_and_fro(&Schedule::default())?;
    assert!(quiet.0 > 3, "{quiet:?}");
    assert_eq!(to_and_fro(&Schedule::default())?, quiet);
    let lost = to_and_fro(&Schedule::of([Step::drop(1, 1)]))?;
    assert_eq!(lost.0, 1);
    assert_ne!(lost.1, quiet.1);
    Ok(())
}

/// The text of a schedule is the code that creates it.
#[test]
fn a_schedule_is_printed_as_code() {
    let schedule = Schedule::of([
        Step::drop(0, 0),
        Step::duplicate(1, 1),
        Step::delay(0, 2, 40),
        Step::corrupt(1, 3, 5),
        Step::pause(0, 0, 60),
    ]);
    let source = include_str!("kit.rs").replace("\n    ", "\n");
    assert!(source.contains(&format!("let schedule = {schedule};")));
}

#[test]
fn a_trace_is_written_even_where_a_test_ends_early() -> Result<(), KitError> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kit.txt");
    let capture = path.with_extension("pcapng");
    let mut kit = Kit::alone()
        .firmware(image("hello"))
        .trace_to(&path)
        .pcap_to(&capture)
        .build()?;
    kit.run()?;
    drop(kit);
    let trace = std::fs::read_to_string(&path).expect("a trace");
    assert!(trace.contains("n0 cpu_a     log: hello at "), "{trace}");
    assert!(std::fs::metadata(capture).expect("a file").len() > 0);
    Ok(())
}

/// The image `hello` for the LANai, which is built where LLVM's tools are.
fn lanai_hello() -> Option<PathBuf> {
    let path = boards::board_type("lanai")?.image_folder().join("hello");
    if path.exists() {
        return Some(path);
    }
    // Past the capture of the test's output.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED for lack of the image hello for the LANai"
    );
    None
}

#[test]
fn boards_with_a_lanai_run_in_pairs_and_stars() -> Result<(), KitError> {
    /// Word that the image writes last, and its value.
    const DONE: (u32, u32) = (0x3_F008, 0x600D_600D);
    let Some(hello) = lanai_hello() else {
        return Ok(());
    };
    for board in ["lanai4", "lanai7", "lanai9.2-200"] {
        for kit in [Kit::pair(), Kit::star(9)] {
            let mut kit = kit.board(board).firmware(&hello).build()?;
            let read = kit.run_host(1, "reader", |mut host| async move {
                host.wait_for(DONE.0, "the results", DONE.1).await;
                host.write_burst(0x4_0000, &[1, 2]).await;
                Ok((host.read(DONE.0).await, host.read(0x4_0004).await))
            })?;
            assert_eq!(read, (DONE.1, 2), "{board}");
            kit.events().mistakes().never();
        }
    }
    let large = Kit::star(33).board("lanai").firmware(&hello);
    assert!(refusal(large).contains("33 nodes do not fit on a crossbar"));
    let fault = lanigon_kit::faults::Fault::drop();
    let emp = Kit::pair().board("lanai").firmware(&hello).fault(fault);
    assert!(refusal(emp).contains("a fault of EMP frames needs Ethernet"));
    Ok(())
}

#[test]
fn packets_come_out_of_the_other_end() -> Result<(), KitError> {
    /// Registers of the receiver, and a buffer.
    const POINTER: u32 = 0xE0;
    const LIMIT: u32 = 0xE8;
    const BUFFER: u32 = 0x5_0000;
    let Some(hello) = lanai_hello() else {
        return Ok(());
    };
    for kit in [Kit::alone(), Kit::pair(), Kit::star(2)] {
        let mut kit = kit.board("lanai9").firmware(&hello).build()?;
        let at = START + us(500);
        // The second one waits until the host has armed the receiver again.
        kit.inject(0, at, &[0, 8, 1, 2, 3, 4])?;
        kit.inject(0, at, &[0, 8, 5, 6, 7, 8])?;
        let read = kit.run_host(0, "reader", |mut host| async move {
            let mut words = Vec::new();
            for buffer in [BUFFER, BUFFER + 0x100] {
                host.write_register(POINTER, buffer).await;
                host.write_register(LIMIT, buffer + 0xF8).await;
                host.wait(us(800)).await;
                words.push(host.read(buffer).await);
            }
            Ok(words)
        })?;
        assert_eq!(read, [0x0008_0102, 0x0008_0506]);
        kit.events().mistakes().never();
    }
    Ok(())
}

#[test]
fn a_board_and_its_profile_must_fit() {
    let unknown = refusal(Kit::pair().board("lanai8"));
    assert!(
        unknown.starts_with("there is no board \"lanai8\"; there are tigon2, "),
        "{unknown}"
    );
    let other = refusal(Kit::pair().board("lanai").profile("tigon2-88mhz"));
    assert!(other.contains("tigon2-88mhz"), "{other}");
}

#[test]
fn races_are_found_if_they_are_looked_for() -> Result<(), KitError> {
    for (name, races) in [("race-two-cpus", true), ("race-two-cpus-fixed", false)] {
        let mut kit = Kit::alone()
            .firmware(image(name))
            .look_for_races()
            .build()?;
        kit.run_for(us(200))?;
        let found = kit.races();
        assert_eq!(!found.is_empty(), races, "{}", found.text());
        assert_eq!(found.text().contains("give_back at "), races);
    }
    let mut kit = Kit::alone().firmware(image("race-two-cpus")).build()?;
    kit.run_for(us(200))?;
    assert!(kit.races().is_empty());
    Ok(())
}
