//! A track with nested slices. The subject of a slice is often known only after its begin, so entries are
//! held for a while, and their names can be changed until they are written.

use std::collections::VecDeque;
use std::sync::Arc;

use super::packets::{Packets, Slice, TrackEventKind};

/// Time for which entries are held: usually longer than a frame needs from post to completion.
const HELD_NS: u64 = 100_000;

/// Identification of a slice by its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceLabel {
    /// The track has one kind of slice only.
    Only,
    /// A handler of an event.
    Handler,
    /// A stage of the protocol.
    Stage(Arc<str>),
    /// A wait within a stage.
    Wait(Arc<str>),
    /// A call of a host program.
    Call(Arc<str>),
}

/// A slice that has begun and not ended.
#[derive(Debug)]
struct OpenSlice {
    label: SliceLabel,
    /// End of the slice, if known.
    until_ns: Option<u64>,
    slice: Slice,
    /// Number of its entry among all drawn ones, if it was drawn.
    drawn: Option<u64>,
}

/// Handle of a drawn entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn(u64);

/// A track under construction.
#[derive(Debug)]
pub struct Track {
    uuid: u64,
    open: Vec<OpenSlice>,
    held: VecDeque<(u64, TrackEventKind)>,
    /// Number of entries that were drawn before the held ones.
    gone: u64,
    last_ns: u64,
    /// For each slice open in the file: whether its begin was written.
    written: Vec<bool>,
}

impl Track {
    /// An empty track with this number.
    pub const fn new(uuid: u64) -> Self {
        Self {
            uuid,
            open: Vec::new(),
            held: VecDeque::new(),
            gone: 0,
            last_ns: 0,
            written: Vec::new(),
        }
    }

    /// Whether a slice is open.
    pub fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the innermost slice has this label.
    pub fn is_within(&self, label: &SliceLabel) -> bool {
        self.open.last().is_some_and(|open| open.label == *label)
    }

    /// Begins a slice; if it is not drawn, it is only tracked.
    pub fn begin(
        &mut self,
        time_ns: u64,
        label: SliceLabel,
        slice: Slice,
        is_drawn: bool,
    ) -> Option<Drawn> {
        self.settle(time_ns);
        let drawn = is_drawn.then(|| self.draw(time_ns, TrackEventKind::Begin(slice.clone())));
        self.open.push(OpenSlice {
            label,
            until_ns: None,
            slice,
            drawn,
        });
        drawn.map(Drawn)
    }

    /// Sets the end of the innermost slice.
    pub fn until(&mut self, time_ns: u64) {
        if let Some(open) = self.open.last_mut() {
            open.until_ns = Some(time_ns);
        }
    }

    /// Ends the innermost slice with this label, and the slices in it. There is none if it began before the
    /// recording.
    pub fn end(&mut self, time_ns: u64, label: &SliceLabel) {
        self.settle(time_ns);
        if let Some(depth) = self.open.iter().rposition(|open| open.label == *label) {
            self.close(time_ns, depth);
        }
    }

    /// Ends all slices.
    pub fn end_all(&mut self, time_ns: u64) {
        self.settle(time_ns);
        self.close(time_ns, 0);
    }

    /// Adds an entry without duration.
    pub fn instant(&mut self, time_ns: u64, slice: Slice, is_drawn: bool) -> Option<Drawn> {
        self.settle(time_ns);
        is_drawn.then(|| Drawn(self.draw(time_ns, TrackEventKind::Instant(slice))))
    }

    /// Changes a drawn entry, if it is not written yet.
    pub fn amend(&mut self, drawn: Drawn, change: impl FnOnce(&mut Slice)) {
        let place = drawn.0.checked_sub(self.gone);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let held = place.and_then(|place| self.held.get_mut(place));
        if let Some((_, TrackEventKind::Begin(slice) | TrackEventKind::Instant(slice))) = held {
            change(slice);
        }
    }

    /// The innermost slice.
    pub fn innermost(&self) -> Option<Drawn> {
        self.open.last().and_then(|open| open.drawn.map(Drawn))
    }

    /// Starts drawing: open slices begin here.
    pub fn resume(&mut self, time_ns: u64) {
        self.settle(time_ns);
        for index in 0..self.open.len() {
            let slice = self.open[index].slice.clone();
            self.open[index].drawn = Some(self.draw(time_ns, TrackEventKind::Begin(slice)));
        }
    }

    /// Stops drawing: open slices end here.
    pub fn pause(&mut self, time_ns: u64) {
        self.settle(time_ns);
        for index in (0..self.open.len()).rev() {
            if self.open[index].drawn.take().is_some() {
                self.draw(time_ns, TrackEventKind::End);
            }
        }
    }

    /// Ends slices whose end time has passed.
    fn settle(&mut self, time_ns: u64) {
        let over = |open: &OpenSlice| open.until_ns.filter(|&until| until <= time_ns);
        while let Some(until) = self.open.last().and_then(over) {
            self.close(until, self.open.len() - 1);
        }
    }

    fn close(&mut self, time_ns: u64, depth: usize) {
        while self.open.len() > depth {
            if self.open.pop().is_some_and(|open| open.drawn.is_some()) {
                self.draw(time_ns, TrackEventKind::End);
            }
        }
    }

    /// Adds an entry. Times of a track are monotonic.
    fn draw(&mut self, time_ns: u64, what: TrackEventKind) -> u64 {
        self.last_ns = self.last_ns.max(time_ns);
        self.held.push_back((self.last_ns, what));
        self.gone + self.held.len() as u64 - 1
    }

    /// Writes entries that were held long enough.
    pub fn write(&mut self, now_ns: u64, packets: &mut Packets) {
        while let Some((time_ns, _)) = self.held.front()
            && time_ns.saturating_add(HELD_NS) <= now_ns
        {
            self.write_front(packets);
        }
    }

    /// Writes all entries, and closes open slices.
    pub fn finish(&mut self, now_ns: u64, packets: &mut Packets) {
        self.end_all(now_ns);
        while !self.held.is_empty() {
            self.write_front(packets);
        }
    }

    /// Discards unwritten entries, and ends slices open in the file.
    pub fn abandon(&mut self, now_ns: u64, packets: &mut Packets) {
        self.held.clear();
        for _ in self.written.drain(..).filter(|written| *written) {
            packets.event(self.uuid, now_ns, &TrackEventKind::End);
        }
    }

    fn write_front(&mut self, packets: &mut Packets) {
        let Some((time_ns, what)) = self.held.pop_front() else {
            return;
        };
        self.gone += 1;
        match what {
            TrackEventKind::End if self.written.pop() != Some(true) => {}
            what => {
                let written = packets.event(self.uuid, time_ns, &what);
                if matches!(what, TrackEventKind::Begin(_)) {
                    self.written.push(written);
                }
            }
        }
    }
}
