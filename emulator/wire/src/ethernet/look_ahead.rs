//! Look-ahead of an Ethernet segment: the shortest times from one event to another, within which nodes may run apart.

use super::line::Line;
use super::owners::Owners;
use super::places::Places;
use super::segment::ANNOUNCED_AHEAD;
use super::switch::{Forwarding, Switch};
use crate::port::Port;
use emulator_base::time::SimTime;

/// Spans in which nothing can happen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LookAhead {
    /// Span from the first bit that leaves a node to the first moment at which it can matter to another one.
    pub(super) path: SimTime,
    /// Span from any event of the segment to the first moment at which it can reach a node to which it is not announced yet.
    pub(super) inside: SimTime,
    /// Span from the first bit that leaves a node to the first event of the segment. Zero when a line of a
    /// node has fault layers.
    pub(super) first_link: SimTime,
    /// Span from any event of the segment to the first event at a switch of another process that follows from it.
    pub(super) crossing: SimTime,
}

impl LookAhead {
    /// The spans in a segment.
    pub(super) fn measure(
        lines: &[&mut Line],
        switches: &[&mut Switch],
        places: &Places,
        owners: Option<&Owners>,
    ) -> Self {
        let to_node = from_switches(lines, switches, places);
        let spans = lines.iter().map(|line| {
            let (first, rest) = span(line, switches, places, &to_node);
            (line, first, first.saturating_add(rest))
        });
        let spans: Vec<_> = spans.collect();
        let of_nodes = || {
            let from_node = |line: &Line| matches!(line.lane.from(), Port::Node(_));
            spans.iter().filter(move |(line, ..)| from_node(line))
        };
        let least = |spans: &mut dyn Iterator<Item = SimTime>| spans.min().unwrap_or(SimTime::MAX);
        let layered = spans.iter().filter(|(line, ..)| line.lane.layers() > 0);
        let in_layers = layered.map(|&(.., whole)| whole);
        let crosses = |line: &Line| {
            let ends = [line.lane.from(), line.lane.to()];
            let [from, to] = ends.map(|port| owners.map(|owners| owners.owner(port)));
            from != to && matches!(line.lane.to(), Port::Switch { .. })
        };
        let crossing = spans.iter().filter(|(line, ..)| crosses(line));
        let crossing = crossing.filter_map(|&(line, first, _)| match line.lane.from() {
            _ if line.lane.layers() > 0 => Some(first),
            // The node's process puts the frame on the wire as soon as it has left.
            Port::Node(_) => None,
            Port::Switch { switch, .. } => {
                let switch = &switches[places.switches[switch].index];
                Some(switch.latency.saturating_add(first))
            }
        });
        Self {
            path: least(&mut of_nodes().map(|&(.., whole)| whole)),
            inside: least(&mut in_layers.chain(to_node.iter().copied())).min(ANNOUNCED_AHEAD),
            first_link: least(
                &mut of_nodes().map(|&(line, first, _)| match line.lane.layers() {
                    0 => first,
                    _ => SimTime::ZERO,
                }),
            ),
            crossing: least(&mut crossing.into_iter()),
        }
    }

    /// The earliest time at which a frame that no node knows of yet can matter to any node, if no further frame leaves a node before
    /// `unit`, and the next event of the segment is at `event`.
    pub(super) fn horizon(&self, unit: SimTime, event: SimTime) -> SimTime {
        let sent = unit.saturating_add(self.path);
        sent.min(event.saturating_add(self.inside))
    }
}

/// The span from the first bit on a line to the first event at its end, and the one from there to a node.
fn span(
    line: &Line,
    switches: &[&mut Switch],
    places: &Places,
    to_node: &[SimTime],
) -> (SimTime, SimTime) {
    match line.lane.to() {
        // The event is the departure itself.
        Port::Node(_) => (SimTime::ZERO, line.link.look_ahead()),
        Port::Switch { switch, .. } => {
            let switch = places.switches[switch].index;
            let held = match switches[switch].forwarding {
                Forwarding::CutThrough => line.link.header_span(),
                Forwarding::StoreAndForward => line.link.shortest_frame(),
            };
            (line.link.propagation + held, to_node[switch])
        }
    }
}

/// For each switch, from the moment at which it may forward a frame to the first one at which that can
/// matter to a node.
fn from_switches(lines: &[&mut Line], switches: &[&mut Switch], places: &Places) -> Vec<SimTime> {
    let mut to_node = vec![SimTime::MAX; switches.len()];
    // One link further in each round.
    for _ in 0..switches.len() {
        let mut changed = false;
        for line in lines {
            let Port::Switch { switch, .. } = line.lane.from() else {
                continue;
            };
            let switch = places.switches[switch].index;
            let (first, rest) = span(line, switches, places, &to_node);
            let latency = switches[switch].latency;
            let found = rest.saturating_add(first + latency);
            changed |= found < to_node[switch];
            to_node[switch] = found.min(to_node[switch]);
        }
        if !changed {
            break;
        }
    }
    to_node
}
