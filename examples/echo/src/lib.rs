//! The host's side of the echo protocol: what a driver would do.

#[path = "../firmware/src/layout.rs"]
pub mod layout;

use layout::*;
use lanigon_kit::{HostError, HostNode, SimTime, us};

/// All tries of a request take less.
const PATIENCE: SimTime = us(1_000);

/// Tells the firmware which node it is on, and turns the link on.
pub async fn start(host: &mut HostNode) {
    let node = host.node().into();
    host.mailbox(MAILBOX_NODE, node).await;
}

/// Asks `peer` to echo `value`; gives what came back, `None` if nobody answered. Requests have different numbers.
pub async fn echo(
    host: &mut HostNode,
    peer: u32,
    number: u32,
    value: u32,
) -> Result<Option<u32>, HostError> {
    host.write_burst(PEER, &[peer, value, 0, 0]).await;
    host.mailbox(MAILBOX_REQUEST, number).await;
    let status = host.poll(STATUS, "an answer", PATIENCE, |status| status != 0);
    match status.await? {
        DONE => Ok(Some(host.read(ANSWER).await)),
        _ => Ok(None),
    }
}
