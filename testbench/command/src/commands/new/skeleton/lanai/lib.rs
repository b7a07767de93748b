//! The host's part, as in a driver.

use lanigon_kit::{HostError, HostNode, us};

// Words and states as in firmware/src/main.rs.

const STATUS: u32 = 0x4_0000;
const VALUE: u32 = 0x4_0004;
const ANSWER: u32 = 0x4_0008;

const ASKED: u32 = 1;
const DONE: u32 = 3;

/// Requests the successor of a value from the other node's firmware.
pub async fn next(host: &mut HostNode, value: u32) -> Result<u32, HostError> {
    host.write(VALUE, value).await;
    host.write(STATUS, ASKED).await;
    let done = host.poll(STATUS, "an answer", us(100), |word| word == DONE);
    done.await?;
    Ok(host.read(ANSWER).await)
}
