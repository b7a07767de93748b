//! Tests of the firmware on two emulated boards.

use lanigon_kit::{FrameFault, Kit, KitBuilder, KitError, Times};

fn boards() -> KitBuilder {
    Kit::pair()
        .board("lanai9.1-133")
        .firmware("firmware/target/lanai/release/echo")
}

fn ask(kit: &mut Kit, value: u32) -> Result<u32, KitError> {
    kit.run_host(0, "asker", move |mut host| async move {
        echo_host::next(&mut host, value).await
    })
}

#[test]
fn the_next_value_comes_back() -> Result<(), KitError> {
    let mut kit = boards().build()?;
    assert_eq!(ask(&mut kit, 41)?, 42);
    kit.events().mistakes().never();
    insta::assert_snapshot!(kit.events().probes().snapshot(Times::Hidden)?, @r"
    n0 cpu       request 0x1 0x29
    n1 cpu       served 0x1 0x29
    n0 cpu       answer 0x1 0x2a
    ");
    Ok(())
}

#[test]
fn a_damaged_packet_is_dropped() -> Result<(), KitError> {
    let damage = FrameFault::corrupt(7).from(0);
    let mut kit = boards().fault(damage).build()?;
    let answer = ask(&mut kit, 41);
    assert!(matches!(answer, Err(KitError::Program { .. })));
    kit.events().probe("dropped").on(1).exactly(1);
    kit.events().probe("served").never();
    Ok(())
}
