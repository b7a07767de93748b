//! Test of the firmware on an emulated board.

use lanigon_kit::{Kit, KitError};

#[test]
fn the_next_value_comes_back() -> Result<(), KitError> {
    let mut kit = Kit::alone()
        .firmware("firmware/target/tigon2/release/echo")
        .build()?;
    let answer = kit.run_host(0, "asker", |mut host| async move {
        echo_host::next(&mut host, 41).await
    })?;
    assert_eq!(answer, 42);
    kit.events().log().exactly(1);
    kit.events().probe("answer").argument(1, 41).exactly(1);
    kit.events().mistakes().never();
    Ok(())
}
