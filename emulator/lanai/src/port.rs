//! The network port: STOP and GO both ways, and which of the board's packets the network has (docs/lanai.md, section 3.14).

use super::timing::Timing;
use emulator_base::time::SimTime;
use emulator_state::{state, value_struct};
use emulator_wire::medium::Outbox;
use emulator_wire::myrinet::{Control, Direction, Link, Myrinet};

/// The span in which the port's own STOP keeps bytes away, as seen at the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// No more bytes come from then on.
    pub from: SimTime,
    /// Bytes come again; [`SimTime::MAX`] before GO.
    pub until: SimTime,
}

value_struct!(Hold {
    from: from,
    until: until
});

/// The network port.
#[derive(Debug)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Port {
    /// The port has said STOP.
    stopping: bool,
    /// The far end has stopped what the board sends.
    sender_stopped: bool,
    /// The packet whose head came last is absorbed.
    absorbing: bool,
    /// Bytes wait in the port; STOP follows if they still do at the end of a span. The number of the span.
    filling: Option<u32>,
    spans: u32,
    /// The time for which bytes must wait in the port before it decides about STOP.
    fill_span: SimTime,
    /// Span from a decision about STOP, GO or NRES to that symbol on the link.
    delay: SimTime,
    /// Packets that were given to the network.
    given: u64,
    /// Packets of which the network said that the board is done with them.
    answered: u64,
    /// The cable, if one is plugged in.
    link: Option<Link>,
    /// Bytes that may wait in the port before it says STOP.
    mark_bytes: u32,
    /// Time of a byte of the chip's own link, without a cable.
    own_byte_time: SimTime,
    hold: Option<Hold>,
}

state!(Port {
    sender_stopped,
    given,
    answered,
    filling,
    spans,
    stopping,
    hold,
    absorbing
} fixed {
    link,
    delay,
    fill_span,
    mark_bytes,
    own_byte_time
});

impl Port {
    /// Without a cable.
    #[must_use]
    pub fn new(timing: &Timing) -> Self {
        let mut port = Self {
            fill_span: SimTime::ZERO,
            link: None,
            delay: timing.port_delay,
            mark_bytes: timing.port_stop,
            own_byte_time: timing.byte_time,
            sender_stopped: false,
            given: 0,
            answered: 0,
            filling: None,
            spans: 0,
            stopping: false,
            hold: None,
            absorbing: false,
        };
        port.fill_span = port.find_fill_span();
        port
    }

    /// Plugs in a cable.
    pub fn plug_in(&mut self, link: Link) {
        self.link = Some(link);
        self.fill_span = self.find_fill_span();
    }

    /// Whether a cable is plugged in.
    #[must_use]
    pub const fn has_cable(&self) -> bool {
        self.link.is_some()
    }

    /// Time of a byte on the link.
    #[must_use]
    pub fn byte_time(&self) -> SimTime {
        self.link.map_or(self.own_byte_time, |link| link.byte_time)
    }

    /// Span from a symbol that leaves to the first byte that it concerns: both ways of the cable.
    fn round_trip(&self) -> SimTime {
        let way = self.link.map_or(SimTime::ZERO, |link| link.propagation);
        way.saturating_add(way)
    }

    /// A packet is given to the network. Returns its number.
    pub const fn count_sent(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    /// The network is done with a packet. Returns its number.
    pub const fn answer(&mut self) -> u64 {
        self.answered += 1;
        self.answered
    }

    /// Whether the far end has stopped what the board sends.
    #[must_use]
    pub const fn is_sender_stopped(&self) -> bool {
        self.sender_stopped
    }

    /// Whether the network has a packet of the board.
    #[must_use]
    pub const fn is_sending(&self) -> bool {
        self.given > self.answered
    }

    /// NRES: the packet that goes out, or the one that comes in, is taken out of the network.
    pub fn take_out(&self, direction: Direction, now: SimTime, outbox: &mut Outbox<Myrinet>) {
        let leaves = now.saturating_add(self.delay);
        outbox.control(leaves, Control::Reset(direction));
    }

    /// Stops what the board sends, or lets it go on, as the far end says.
    pub const fn stop_sender(&mut self, stop: bool) {
        self.sender_stopped = stop;
    }

    /// Notes that a head came. `absorb`: its packet is absorbed.
    pub const fn head_came(&mut self, absorb: bool) {
        self.absorbing = absorb;
    }

    /// Whether the packet whose head came last is absorbed.
    #[must_use]
    pub const fn is_absorbing(&self) -> bool {
        self.absorbing
    }

    /// The span of the last STOP, which may concern a packet whose head comes behind it.
    #[must_use]
    pub const fn hold(&self) -> Option<Hold> {
        self.hold
    }

    fn find_fill_span(&self) -> SimTime {
        let mark = self.byte_time().ps().saturating_mul(self.mark_bytes.into());
        SimTime::from_ps(mark).saturating_sub(self.delay)
    }

    /// For this span the CPU cannot make the port say STOP or GO: it has not said STOP, and would do so at the end of a span.
    #[must_use]
    pub const fn control_pause(&self) -> SimTime {
        match self.stopping {
            true => SimTime::ZERO,
            false => self.fill_span,
        }
    }

    /// Bytes wait in the port from `now` on. Returns a span and its number, if STOP follows at the end of it.
    pub fn fill(&mut self) -> Option<(SimTime, u32)> {
        if self.stopping || self.filling.is_some() {
            return None;
        }
        self.spans = self.spans.wrapping_add(1);
        self.filling = Some(self.spans);
        Some((self.fill_span, self.spans))
    }

    /// The span with this number is over: says STOP if bytes still wait. Returns when no more bytes come.
    pub fn full(
        &mut self,
        span: u32,
        now: SimTime,
        outbox: &mut Outbox<Myrinet>,
    ) -> Option<SimTime> {
        if self.filling != Some(span) {
            return None;
        }
        self.filling = None;
        self.stopping = true;
        let leaves = now.saturating_add(self.delay);
        outbox.control(leaves, Control::Stop);
        let from = leaves.saturating_add(self.round_trip());
        let until = SimTime::MAX;
        self.hold = Some(Hold { from, until });
        Some(from)
    }

    /// The port takes bytes: says GO if it has said STOP. Returns when they come again.
    pub fn accept_bytes(&mut self, now: SimTime, outbox: &mut Outbox<Myrinet>) -> Option<SimTime> {
        self.filling = None;
        if !std::mem::take(&mut self.stopping) {
            return None;
        }
        let leaves = now.saturating_add(self.delay);
        outbox.control(leaves, Control::Go);
        let until = leaves.saturating_add(self.round_trip());
        if let Some(hold) = &mut self.hold {
            hold.until = until;
        }
        Some(until)
    }

    /// Resets the port with the chip: what it sends is taken out of the network, what comes in is absorbed.
    pub fn reset(&mut self, now: SimTime, outbox: &mut Outbox<Myrinet>) {
        self.accept_bytes(now, outbox);
        self.absorbing = true;
        if self.has_cable() && self.is_sending() {
            self.take_out(Direction::Send, now, outbox);
        }
    }
}
