//! Display of all nodes.

use super::{address, count, standing, text};
use crate::debug::session::Session;
use emulator::wire::port::Port;

/// The waiting condition of each host program, by node. Ended programs are omitted.
#[must_use]
pub fn hosts(session: &Session) -> String {
    let mut lines = Vec::new();
    for (index, node) in session.history.world().nodes.iter().enumerate() {
        let name = standing::node(session, index);
        let programs = node.programs.describe();
        if programs.is_empty() {
            lines.push(format!("{name}: no program is under way"));
        }
        for program in programs {
            lines.push(format!("{name}: {program}"));
        }
    }
    text(lines)
}

/// The races before the current time, with their calls.
///
/// # Errors
/// The scenario cannot run twice, no board can look for races, or the operation is interrupted.
pub fn races(session: &Session) -> anyhow::Result<String> {
    Ok(session.races()?.text_or_none())
}

/// One line per node, with its CPUs, and per switch or crossbar.
#[must_use]
pub fn nodes(session: &Session) -> String {
    let world = session.history.world();
    let mut lines = Vec::new();
    for node in 0..world.nodes.len() {
        let cpus = session.cpus(node).map(|focus| {
            let state = standing::state(session, focus);
            let place = address::describe_for(session, focus, session.cpu_of(focus).pc);
            let place = address::short_name(&place);
            let letter = session.info(focus).letter.to_uppercase();
            format!("{letter} {state} at {place}")
        });
        let cpus: Vec<_> = cpus.collect();
        let mark = if node == session.focus.node { "->" } else { "" };
        let name = standing::node(session, node);
        lines.push(format!("{mark:2} {name:10} {}", cpus.join(", ")));
    }
    for switch in world.switches() {
        let (mut received, mut dropped) = (0, 0);
        let mut ports = 0;
        for counts in switch.counts() {
            ports += 1;
            received += counts.received;
            dropped += counts.dropped.total();
        }
        let ports = count(ports, "port");
        let index = switch.index();
        lines.push(format!(
            "   switch {index} with {ports}: {received} frames came, {dropped} dropped"
        ));
    }
    lines.extend(crossbars(session));
    text(lines)
}

/// One line per crossbar of Myrinet.
fn crossbars(session: &Session) -> impl Iterator<Item = String> {
    let world = session.history.world();
    world
        .crossbar_ports()
        .enumerate()
        .map(move |(switch, ports)| {
            let left = (0..ports).filter_map(|port| {
                let counts = world.myrinet_counts(Port::Switch { switch, port });
                counts.ok()
            });
            let (mut sent, mut lost) = (0, 0);
            for counts in left {
                sent += counts.units;
                lost += counts.lost.total();
            }
            let ports = count(ports, "port");
            format!("   crossbar {switch} with {ports}: {sent} packets left, {lost} lost")
        })
}
