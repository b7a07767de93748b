//! Buffers of Ethernet switches: each must hold the longest frame that comes to it, or no such frame gets through.

use defs::emp::frame::header_frame_capacity;
use defs::gm::{mac, packet};
use emulator::wire::ethernet::frame::FCS_BYTES;

use super::acenic::TAG_BYTES;
use super::error::ScenarioError;
use super::network::{Network, SwitchSpec};
use super::nodes::Node;
use super::programs::ProgramSpec;
use crate::boards::{Medium, Protocol};

/// Bytes of addresses and Ethertype.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Checks that the frames of a program fit the switches that its nodes can reach.
pub(super) fn check(
    spec: &ProgramSpec,
    nodes: &[Node],
    network: &Network,
) -> Result<(), ScenarioError> {
    if network.medium != Medium::Ethernet || !(spec.exchanges_messages() || spec.exchanges_frames())
    {
        return Ok(());
    }
    for index in spec.nodes() {
        let node = &nodes[index];
        let Some((payload, from)) = longest(spec, node) else {
            continue;
        };
        let bytes = u64::from(payload) + FCS_BYTES;
        let reached = |switch: &&SwitchSpec| switch.routes.get(index).is_some_and(Option::is_some);
        let too_small = |switch: &&SwitchSpec| u64::from(switch.buffer_bytes) < bytes;
        let mut switches = network.switches.iter().filter(reached);
        if let Some(switch) = switches.find(too_small) {
            let reason = format!(
                "frames of {bytes} bytes ({from}) of node {} never pass switch {}, whose buffer_bytes is {}",
                node.name, switch.name, switch.buffer_bytes
            );
            return Err(spec.place.refuse(reason));
        }
    }
    Ok(())
}

/// Length of the longest frame that a node sends for a program, without its check sequence, and what decides it.
fn longest(spec: &ProgramSpec, node: &Node) -> Option<(u32, String)> {
    // Workloads choose the lengths of their messages.
    let message = match spec.workload() {
        Some(_) => u32::MAX,
        None => spec.longest(),
    };
    match node.protocol? {
        Protocol::Emp => {
            let most = node.settings.emp.frame_bytes;
            let headers = most - header_frame_capacity(most);
            let payload = message.saturating_add(headers).min(most);
            let from = format!("[emp] frame_bytes = {most}");
            Some((payload + ETHERNET_HEADER_BYTES, from))
        }
        Protocol::Gm => {
            let headers = mac::FRAME_HEADER_BYTES + packet::HEADER_BYTES;
            let from = format!("GM's packets have up to {} bytes", packet::MTU);
            Some((headers + message.min(packet::MTU), from))
        }
        // A driver of its own chooses the lengths of its frames.
        Protocol::Acenic if spec.workload().is_some() => None,
        Protocol::Acenic => {
            let tag = spec.frames.vlan.map_or(0, |_| TAG_BYTES);
            Some((message.saturating_add(tag), format!("bytes = {message}")))
        }
        Protocol::Fm => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    /// Checks whether switches of this size are refused at the program, whose `run` is at line 8.
    #[track_caller]
    fn check(buffer_bytes: u32, settings: &str, program: &str, expected: Result<(), &str>) {
        let text = format!(
            "{settings}\n[network]\ntopology = \"tree\"\nnodes = 4\nports = 3\n\
             switch = {{ buffer_bytes = {buffer_bytes} }}\n[[program]]\n{program}\n"
        );
        let found = Scenario::parse("file.toml", &text).map(|_| ());
        let found = found.map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{text}"),
            Err(reason) => {
                let expected = format!("file.toml:8: program.run: {reason}");
                assert_eq!(found, Err(expected), "{text}");
            }
        }
    }

    #[test]
    fn frames_that_no_buffer_holds_are_refused() {
        let stream = |bytes: u32| format!("run = \"stream\"\nfrom = 0\nto = 1\nbytes = {bytes}");
        let emp = "emp = { frame_bytes = 9000 }";
        let long = "frames of 9018 bytes ([emp] frame_bytes = 9000) of node 0 never pass switch switch0, whose buffer_bytes is 9017";
        check(9017, emp, &stream(20_000), Err(long));
        check(9018, emp, &stream(20_000), Ok(()));
        check(2048, emp, &stream(1000), Ok(()));
        check(2048, "", &stream(20_000), Ok(()));
        let gm = "protocol = \"gm\"";
        let packet = "frames of 4140 bytes (GM's packets have up to 4096 bytes) of node 0 never pass switch switch0, whose buffer_bytes is 4139";
        check(4139, gm, &stream(20_000), Err(packet));
        check(4140, gm, &stream(20_000), Ok(()));
        check(2048, gm, &stream(1000), Ok(()));
        let jumbo = "acenic = { mtu = 9018 }";
        let frames = "run = \"frames\"\nfrom = 0\nto = 1\nbytes = [60, 9014]";
        let frame = "frames of 9018 bytes (bytes = 9014) of node 0 never pass switch switch0, whose buffer_bytes is 4096";
        check(4096, jumbo, frames, Err(frame));
        check(9018, jumbo, frames, Ok(()));
    }
}
