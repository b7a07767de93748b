//! Timeline of a run for Perfetto (docs/timeline.md): a process per node, a track per block, a flow per
//! message.

pub mod drawing;
mod flows;
mod lane;
mod packets;
mod place;
pub mod proto;
mod track;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use emulator::boards::BOARD_NAMES;
use emulator::observe::event::{Details, Place, TraceEvent};
use emulator::observe::file::{Header, NodeInfo};
use emulator::observe::names::NO_BOARD;
use emulator::observe::stream::Observer;

pub use drawing::to_file;
use flows::Flows;
use packets::Packets;
use place::Canvas;

/// Default limit of a timeline's size: Perfetto opens it immediately.
pub const DEFAULT_LIMIT_BYTES: u64 = 50_000_000;
/// First process numbers of nodes and of switches.
const FIRST_PID: [i32; 2] = [1000, 100_000];

/// Decides for each event whether it is drawn.
pub type Filter = Box<dyn FnMut(&TraceEvent) -> bool + Send>;

/// The first write error, after the end of the timeline.
pub type WriteResult = Arc<Mutex<Option<io::Error>>>;

/// Options of a timeline.
pub struct Options {
    /// Limit of the file's size.
    pub limit_bytes: u64,
    /// Filter of events.
    pub filter: Filter,
    /// Description of the run: names of nodes and of handlers.
    pub header: Header,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit_bytes: DEFAULT_LIMIT_BYTES,
            filter: Box::new(|_| true),
            header: Header::default(),
        }
    }
}

/// Observer that writes a timeline.
pub struct Timeline {
    packets: Packets,
    places: BTreeMap<Place, place::PlaceTracks>,
    flows: Flows,
    header: Header,
    filter: Filter,
    limit_bytes: u64,
    now_ns: u64,
    is_drawn: bool,
    is_over: bool,
    is_empty: bool,
    outcome: WriteResult,
}

impl Timeline {
    /// Writes to `out`, which need not be buffered.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, options: Options) -> Self {
        Self {
            packets: Packets::new(out, options.limit_bytes),
            places: BTreeMap::new(),
            flows: Flows::default(),
            header: options.header,
            filter: options.filter,
            limit_bytes: options.limit_bytes,
            now_ns: 0,
            is_drawn: false,
            is_over: false,
            is_empty: true,
            outcome: WriteResult::default(),
        }
    }

    /// Handle of the first error: a world reports errors of all observers without their owner.
    #[must_use]
    pub fn outcome(&self) -> WriteResult {
        Arc::clone(&self.outcome)
    }

    /// Starts or ends the drawn part: open slices begin or end there.
    fn draw(&mut self, is_drawn: bool) {
        if self.is_drawn == is_drawn {
            return;
        }
        self.is_drawn = is_drawn;
        for track in self
            .places
            .values_mut()
            .flat_map(place::PlaceTracks::tracks)
        {
            if is_drawn {
                track.resume(self.now_ns);
            } else {
                track.pause(self.now_ns);
            }
        }
    }

    /// Ends the file when its limit is reached.
    fn stop(&mut self) {
        self.is_over = true;
        for track in self
            .places
            .values_mut()
            .flat_map(place::PlaceTracks::tracks)
        {
            track.abandon(self.now_ns, &mut self.packets);
        }
        let us = self.now_ns / 1000;
        let limit = self.limit_bytes as f64 / 1e6;
        log::warn!("the timeline ends at {us} us: it has its {limit} MB (--timeline-limit)");
        let remark = format!("the timeline ends here: it has its {limit} MB");
        self.packets.remark(self.now_ns, remark);
    }
}

/// Adds the place of an event.
fn add(place: Place, header: &Header, packets: &mut Packets) -> place::PlaceTracks {
    let (node, title, first_pid) = match place {
        Place::Node(node) => (node, format!("node {node}"), FIRST_PID[0]),
        Place::Switch(switch) => (switch, format!("switch {switch}"), FIRST_PID[1]),
    };
    let name = match place {
        Place::Node(node) => header.nodes.get(usize::from(node)),
        Place::Switch(_) => None,
    };
    let title = match name {
        Some(NodeInfo { name, .. }) if *name != node.to_string() && *name != title => {
            format!("{title} ({name})")
        }
        _ => title,
    };
    let names = name.map_or(&NO_BOARD, |node| node.names(BOARD_NAMES));
    let pid = first_pid + i32::from(node);
    place::PlaceTracks::new(node, title, names, pid, packets)
}

impl Observer for Timeline {
    fn details(&self) -> Details {
        Details::all()
    }

    fn event(&mut self, event: &TraceEvent) {
        if self.is_over {
            return;
        }
        self.now_ns = event.time.ps() / 1000;
        let is_drawn = (self.filter)(event);
        self.is_empty &= !is_drawn;
        self.draw(is_drawn);
        let place = self
            .places
            .entry(event.place)
            .or_insert_with(|| add(event.place, &self.header, &mut self.packets));
        let mut canvas = Canvas {
            packets: &mut self.packets,
            flows: &mut self.flows,
            header: &self.header,
            now_ns: self.now_ns,
            is_drawn,
        };
        place.event(event, &mut canvas);
        if self.packets.is_full() {
            self.stop();
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.is_empty {
            log::warn!("the timeline is empty: no event is what it should show");
        }
        if !self.is_over {
            for track in self
                .places
                .values_mut()
                .flat_map(place::PlaceTracks::tracks)
            {
                track.finish(self.now_ns, &mut self.packets);
            }
            if self.packets.is_full() {
                self.stop();
            }
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        *outcome = self.packets.finish().err();
        Ok(())
    }
}
