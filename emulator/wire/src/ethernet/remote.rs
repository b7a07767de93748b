//! Frames that pass from one process of a run to another: [`Switched`] as a [`Part`].

use super::event::{Event, Step};
use super::frame::Frame;
use super::segment::Switched;
use crate::network::Segment;
use crate::part::Part;
use crate::port::Port;
use emulator_base::time::SimTime;
use emulator_state::value_enum;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// A frame on a line that ends at another process.
#[derive(Debug)]
pub(super) enum RemoteFrame {
    /// The frame has reached a switch of the other process.
    Arrives(Event),
    /// The frame leaves for a node of the other process.
    Leaves {
        line: usize,
        first_bit: SimTime,
        frame: Frame,
    },
}

value_enum!(RemoteFrame {
    Arrives { 0: event },
    Leaves {
        line: line,
        first_bit: first_bit,
        frame: frame
    }
});

/// Frames that wait to be sent to other processes.
#[derive(Debug, Default)]
pub(super) struct OutgoingFrames {
    /// Each with its process.
    frames: Vec<(usize, RemoteFrame)>,
    /// The other processes at the ends of lines from this one.
    neighbours: Vec<usize>,
}

impl OutgoingFrames {
    /// The lines of a segment, each with the process at its start and the one at its end.
    pub(super) fn new(me: usize, lines: impl Iterator<Item = [usize; 2]>) -> Self {
        let mut neighbours: Vec<usize> = lines
            .filter(|&[from, to]| from == me && to != me)
            .map(|[_, to]| to)
            .collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        Self {
            frames: Vec::new(),
            neighbours,
        }
    }

    pub(super) fn push(&mut self, rank: usize, frame: RemoteFrame) {
        self.frames.push((rank, frame));
    }
}

impl Part for Switched<'_> {
    fn neighbours(&self) -> &[usize] {
        &self.outgoing.neighbours
    }

    fn events_until(&self, unit: SimTime, event: SimTime) -> SimTime {
        // A frame of which a node hears now may make it send.
        let unit = unit.min(event.saturating_add(self.look_ahead.inside));
        let sent = unit.saturating_add(self.look_ahead.first_link);
        sent.min(event.saturating_add(self.look_ahead.crossing))
    }

    fn nodes_until(&self, unit: SimTime, event: SimTime) -> SimTime {
        self.look_ahead.horizon(unit, event)
    }

    fn run_events(&mut self, until: SimTime) {
        self.run_before(until);
    }

    fn next_event(&self) -> SimTime {
        let times = self
            .outgoing
            .frames
            .iter()
            .filter_map(|(_, frame)| match frame {
                RemoteFrame::Arrives(event) => Some(event.time),
                RemoteFrame::Leaves { .. } => None,
            });
        times.fold(self.next_time(), SimTime::min)
    }

    fn outgoing_arrivals(&self) -> Vec<(usize, SimTime)> {
        let announced = self
            .outgoing
            .frames
            .iter()
            .filter_map(|(_, frame)| match *frame {
                RemoteFrame::Arrives(_) => None,
                RemoteFrame::Leaves {
                    line, first_bit, ..
                } => self.receiver(line, first_bit),
            });
        announced.collect()
    }

    fn write_outgoing(&mut self, rank: usize, out: &mut Writer) {
        let passes = self.outgoing.frames.extract_if(.., |(to, _)| *to == rank);
        let passes: Vec<RemoteFrame> = passes.map(|(_, frame)| frame).collect();
        passes.write(out);
    }

    fn read_incoming(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        for frame in Vec::<RemoteFrame>::read(from)? {
            let (line, at_switch) = match &frame {
                RemoteFrame::Arrives(event) => (event.line, true),
                RemoteFrame::Leaves { line, .. } => (*line, false),
            };
            let end = self.end_here(line);
            let end = end.ok_or(StateError::Value("a line that ends at this process"))?;
            if matches!(end, Port::Switch { .. }) != at_switch {
                return Err(StateError::Value("the end of a line"));
            }
            match frame {
                RemoteFrame::Arrives(event) => match event.step {
                    Step::Header | Step::Whole(None) => self.queue.push(event),
                    _ => return Err(StateError::Value("a step of a frame")),
                },
                RemoteFrame::Leaves {
                    line,
                    first_bit,
                    frame,
                } => self.announce(line, first_bit, frame),
            }
        }
        Ok(())
    }

    fn save_part(&self, out: &mut Writer) {
        let me = self.owners.map_or(0, |owners| owners.me);
        let owner = |port| self.owners.map_or(0, |owners| owners.owner(port));
        for line in &self.lines {
            if owner(line.lane.from()) == me {
                line.save(out);
            }
        }
        for switch in &self.switches {
            if owner((switch.index(), 0).into()) == me {
                switch.save(out);
            }
        }
        self.queue.len().write(out);
        self.queue.iter().for_each(|event| event.write(out));
    }

    fn load_part(&mut self, rank: usize, from: &mut Reader<'_>) -> Result<(), StateError> {
        let owner = |port| self.owners.map_or(0, |owners| owners.owner(port));
        for line in &mut self.lines {
            if owner(line.lane.from()) == rank {
                line.load(from)?;
            }
        }
        for switch in &mut self.switches {
            if owner((switch.index(), 0).into()) == rank {
                switch.load(from)?;
            }
        }
        for event in Vec::<Event>::read(from)? {
            self.here(event.line).ok_or(StateError::Value("a line"))?;
            self.queue.push(event);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ethernet::EthernetNetwork;
    use crate::ethernet::link::Link;
    use crate::ethernet::switch::{Forwarding, SwitchConfig};
    use crate::medium::Outbox;
    use crate::network::Network;
    use lanigon_window::address::MacAddress;

    const fn address(node: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, node])
    }

    /// Two switches, each with a node: the first ones are of rank 0, the others of rank 1.
    fn network(me: usize) -> EthernetNetwork {
        let mut network = EthernetNetwork::default();
        network.set_nodes(2);
        let link = Link {
            byte_time: SimTime::from_ns(8),
            propagation: SimTime::from_ns(50),
        };
        let config = SwitchConfig {
            ports: 2,
            forwarding: Forwarding::CutThrough,
            latency: SimTime::from_ns(500),
            buffer_bytes: 10_000,
            routes: vec![(address(0), 0), (address(1), 1)],
        };
        for _ in 0..2 {
            network.add_switch(&config).expect("a possible switch");
        }
        let ends: [(Port, Port); 3] = [
            (0.into(), (0, 0).into()),
            ((0, 1).into(), (1, 0).into()),
            ((1, 1).into(), 1.into()),
        ];
        for (a, b) in ends {
            network.connect(a, b, link).expect("free ports");
        }
        network.divide(me, &[0, 1]);
        network
    }

    /// The message to rank 1 with a frame from node 0 to node 1.
    fn message_to_rank_1() -> Vec<u8> {
        let mut network = network(0);
        let mut segments = network.segments();
        let part = segments[0].1.part().expect("a part");
        assert_eq!(part.neighbours(), [1]);
        let mut outbox = Outbox::<crate::ethernet::Ethernet>::default();
        let mut bytes = vec![7; 100];
        bytes[..6].copy_from_slice(&address(1).0);
        outbox.send(SimTime::from_ns(10), Frame::new(bytes));
        part.take_outbox(0, &mut outbox);
        part.run_events(SimTime::from_us(5));
        let mut out = Writer::default();
        part.write_outgoing(1, &mut out);
        out.into_bytes()
    }

    /// Reads a message at rank 1 and carries out what follows; returns how many frames reach its node.
    fn arrive(message: &[u8]) -> Result<usize, StateError> {
        let mut network = network(1);
        let mut segments = network.segments();
        let part = segments[0].1.part().expect("a part");
        part.read_incoming(&mut Reader::new(message))?;
        part.run_events(SimTime::MAX);
        let mut announced = 0;
        part.deliver(&mut |_, _, _| announced += 1);
        Ok(announced)
    }

    #[test]
    fn a_frame_passes_from_rank_to_rank() {
        assert_eq!(arrive(&message_to_rank_1()), Ok(1));
    }

    proptest! {
        /// No bytes of another process cause a panic.
        #[test]
        fn damaged_messages_are_read_or_refused(
            at in any::<prop::sample::Index>(),
            with in any::<u8>(),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut message = message_to_rank_1();
            let _ = arrive(&message[..cut.index(message.len())]);
            let at = at.index(message.len());
            message[at] = with;
            let _ = arrive(&message);
            let _ = arrive(&noise);
        }
    }
}
