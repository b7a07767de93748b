//! The host's side of the echo protocol, as in a driver.

#[path = "../firmware/src/layout.rs"]
pub mod layout;

use lanigon_kit::{HostError, HostNode, SimTime, us};
use layout::*;

/// Longer than all transmissions of a request.
const PATIENCE: SimTime = us(1_000);

/// Passes the node's number to the firmware, which turns the link on.
pub async fn start(host: &mut HostNode) {
    let node = host.node().into();
    host.mailbox(MAILBOX_NODE, node).await;
}

/// Asks `peer` to echo `value`; returns the answer, or `None` without one. Requests have different numbers.
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
