//! The host's part, as in a driver.

use lanigon_kit::{HostError, HostNode, us};

/// Address of the answer (as in firmware/src/main.rs).
const ANSWER: u32 = 0x200;

/// Requests the successor of a value from the firmware.
pub async fn next(host: &mut HostNode, value: u32) -> Result<u32, HostError> {
    host.write(ANSWER, 0).await;
    host.mailbox(1, value).await;
    let answer = host.poll(ANSWER, "an answer", us(100), |word| word != 0);
    answer.await
}
