//! The echo protocol on two boards, with and without losses of frames.

use std::path::{Path, PathBuf};

use lanigon_kit::{Details, FrameFault, Kit, KitBuilder, KitError, Times, us};

const FIRMWARE: &str = "firmware/target/tigon2/release/echo";

/// Path of a test's output file, in target/tmp.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Node 0 asks node 1 to echo 7, 14 and 21; returns the answers.
fn three_requests(world: KitBuilder) -> Result<(Kit, Vec<Option<u32>>), KitError> {
    let mut kit = world.firmware(FIRMWARE).build()?;
    kit.host(1, "server", |mut host| async move {
        echo_host::start(&mut host).await;
        Ok(())
    })?;
    let answers = kit.run_host(0, "asker", |mut host| async move {
        echo_host::start(&mut host).await;
        // The server's link must be on.
        host.wait(us(50)).await;
        let mut answers = Vec::new();
        for number in 1..=3 {
            answers.push(echo_host::echo(&mut host, 1, number, 7 * number).await?);
        }
        Ok(answers)
    })?;
    Ok((kit, answers))
}

#[test]
fn values_come_back() -> Result<(), KitError> {
    let (kit, answers) = three_requests(Kit::pair().trace_to(file("good.trace")))?;
    assert_eq!(answers, [Some(7), Some(14), Some(21)]);
    let events = kit.events();
    let (requests, served) = (events.probe("request"), events.probe("served").on(1));
    served.exactly(3);
    requests.happens_before(&served);
    events.probe("answer").within(us(30), &requests);
    events.probe("timeout").never();
    events.mistakes().never();
    Ok(())
}

#[test]
fn one_request_as_it_should_be() -> Result<(), KitError> {
    let (kit, _) = three_requests(Kit::pair())?;
    let first = kit.events().argument(0, 1).snapshot(Times::Relative)?;
    insta::assert_snapshot!(first);
    Ok(())
}

#[test]
fn a_lost_answer_is_asked_for_again() -> Result<(), KitError> {
    let lost = FrameFault::drop().from(1).frame(1);
    let world = Kit::pair()
        .fault(lost)
        .details(Details::HANDLERS)
        .trace_to(file("lost.trace"))
        .pcap_to(file("lost.pcapng"));
    let (kit, answers) = three_requests(world)?;
    assert_eq!(answers, [Some(7), Some(14), Some(21)]);
    let second = kit.events().probes().argument(0, 2);
    insta::assert_snapshot!(second.snapshot(Times::Hidden)?);
    Ok(())
}

#[test]
fn its_repetition_may_be_lost_too() -> Result<(), KitError> {
    let answer = FrameFault::drop().from(1);
    let repetition = FrameFault::drop().from(0).after_probe("timeout", 1);
    let (kit, answers) = three_requests(Kit::pair().fault(answer).fault(repetition))?;
    assert_eq!(kit.fault_strikes(), [1, 1]);
    assert_eq!(answers, [Some(7), Some(14), Some(21)]);
    kit.events().probe("request").argument(0, 1).exactly(3);
    kit.events().probe("timeout").exactly(2);
    Ok(())
}

#[test]
fn nobody_waits_for_ever() -> Result<(), KitError> {
    let silence = FrameFault::drop().from(1).always();
    let (kit, answers) = three_requests(Kit::pair().fault(silence))?;
    assert_eq!(answers, [None, None, None]);
    kit.events().probe("request").exactly(12);
    kit.events().probe("gave up").exactly(3);
    Ok(())
}
