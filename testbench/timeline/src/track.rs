//! A track: slices within slices. What a slice is about is often known only after it has begun, so what is
//! drawn is held back for a while, and its name can be amended until it is written.

use std::collections::VecDeque;
use std::sync::Arc;

use super::packets::{Packets, Slice, What};

/// For so long things are held back: longer than a frame needs from the post to its completion, as a rule.
const HELD_NS: u64 = 100_000;

/// How the end of a slice finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// There is only one kind of slice.
    Only,
    /// A handler of an event.
    Handler,
    /// A stage of the protocol.
    Stage(Arc<str>),
    /// A wait within one.
    Wait(Arc<str>),
    /// A call of a host program.
    Call(Arc<str>),
}

/// A slice that has begun.
#[derive(Debug)]
struct Open {
    label: Label,
    /// When it ends, if that is known.
    until_ns: Option<u64>,
    slice: Slice,
    /// Its place among all that was ever drawn, if it was.
    drawn: Option<u64>,
}

/// Names something drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn(u64);

/// A track.
#[derive(Debug)]
pub struct Track {
    uuid: u64,
    open: Vec<Open>,
    held: VecDeque<(u64, What)>,
    /// How much was drawn before what is held.
    gone: u64,
    last_ns: u64,
    /// Of the slices that are open in the file: whether their begin was written.
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

    /// Whether the innermost slice is this one.
    pub fn is_within(&self, label: &Label) -> bool {
        self.open.last().is_some_and(|open| open.label == *label)
    }

    /// A slice begins; it is only noted if it is not drawn.
    pub fn begin(
        &mut self,
        time_ns: u64,
        label: Label,
        slice: Slice,
        is_drawn: bool,
    ) -> Option<Drawn> {
        self.settle(time_ns);
        let drawn = is_drawn.then(|| self.draw(time_ns, What::Begin(slice.clone())));
        self.open.push(Open {
            label,
            until_ns: None,
            slice,
            drawn,
        });
        drawn.map(Drawn)
    }

    /// The innermost slice will end at a time that is known.
    pub fn until(&mut self, time_ns: u64) {
        if let Some(open) = self.open.last_mut() {
            open.until_ns = Some(time_ns);
        }
    }

    /// The innermost slice with this label ends, and what is within it. There is none if it began before
    /// anybody looked.
    pub fn end(&mut self, time_ns: u64, label: &Label) {
        self.settle(time_ns);
        if let Some(depth) = self.open.iter().rposition(|open| open.label == *label) {
            self.close(time_ns, depth);
        }
    }

    /// Everything ends.
    pub fn end_all(&mut self, time_ns: u64) {
        self.settle(time_ns);
        self.close(time_ns, 0);
    }

    /// Something without duration.
    pub fn instant(&mut self, time_ns: u64, slice: Slice, is_drawn: bool) -> Option<Drawn> {
        self.settle(time_ns);
        is_drawn.then(|| Drawn(self.draw(time_ns, What::Instant(slice))))
    }

    /// Changes what was drawn, if it is not written yet.
    pub fn amend(&mut self, drawn: Drawn, change: impl FnOnce(&mut Slice)) {
        let place = drawn.0.checked_sub(self.gone);
        let place = place.and_then(|place| usize::try_from(place).ok());
        let held = place.and_then(|place| self.held.get_mut(place));
        if let Some((_, What::Begin(slice) | What::Instant(slice))) = held {
            change(slice);
        }
    }

    /// The innermost slice.
    pub fn innermost(&self) -> Option<Drawn> {
        self.open.last().and_then(|open| open.drawn.map(Drawn))
    }

    /// From now on things are drawn: slices that are open begin here.
    pub fn resume(&mut self, time_ns: u64) {
        self.settle(time_ns);
        for index in 0..self.open.len() {
            let slice = self.open[index].slice.clone();
            self.open[index].drawn = Some(self.draw(time_ns, What::Begin(slice)));
        }
    }

    /// From now on nothing is drawn: slices that are open end here.
    pub fn pause(&mut self, time_ns: u64) {
        self.settle(time_ns);
        for index in (0..self.open.len()).rev() {
            if self.open[index].drawn.take().is_some() {
                self.draw(time_ns, What::End);
            }
        }
    }

    /// Slices end whose time is over.
    fn settle(&mut self, time_ns: u64) {
        let over = |open: &Open| open.until_ns.filter(|&until| until <= time_ns);
        while let Some(until) = self.open.last().and_then(over) {
            self.close(until, self.open.len() - 1);
        }
    }

    fn close(&mut self, time_ns: u64, depth: usize) {
        while self.open.len() > depth {
            if self.open.pop().is_some_and(|open| open.drawn.is_some()) {
                self.draw(time_ns, What::End);
            }
        }
    }

    /// Times of a track never go back, whatever they are reckoned from.
    fn draw(&mut self, time_ns: u64, what: What) -> u64 {
        self.last_ns = self.last_ns.max(time_ns);
        self.held.push_back((self.last_ns, what));
        self.gone + self.held.len() as u64 - 1
    }

    /// Writes what has been held back long enough.
    pub fn write(&mut self, now_ns: u64, packets: &mut Packets) {
        while let Some((time_ns, _)) = self.held.front()
            && time_ns.saturating_add(HELD_NS) <= now_ns
        {
            self.write_front(packets);
        }
    }

    /// Writes everything, and closes what is still open.
    pub fn finish(&mut self, now_ns: u64, packets: &mut Packets) {
        self.end_all(now_ns);
        while !self.held.is_empty() {
            self.write_front(packets);
        }
    }

    /// Forgets what is not written, and ends in the file what has begun there.
    pub fn abandon(&mut self, now_ns: u64, packets: &mut Packets) {
        self.held.clear();
        for _ in self.written.drain(..).filter(|written| *written) {
            packets.event(self.uuid, now_ns, &What::End);
        }
    }

    fn write_front(&mut self, packets: &mut Packets) {
        let Some((time_ns, what)) = self.held.pop_front() else {
            return;
        };
        self.gone += 1;
        match what {
            What::End if self.written.pop() != Some(true) => {}
            what => {
                let written = packets.event(self.uuid, time_ns, &what);
                if matches!(what, What::Begin(_)) {
                    self.written.push(written);
                }
            }
        }
    }
}
