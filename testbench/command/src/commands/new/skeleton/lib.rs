//! What the host does: what a driver would do.

use lanigon_kit::{HostError, HostNode, us};

/// Where the answer stands (as in firmware/src/main.rs).
const ANSWER: u32 = 0x200;

/// Asks the firmware for the value that follows.
pub async fn next(host: &mut HostNode, value: u32) -> Result<u32, HostError> {
    host.write(ANSWER, 0).await;
    host.mailbox(1, value).await;
    let answer = host.poll(ANSWER, "an answer", us(100), |word| word != 0);
    answer.await
}
