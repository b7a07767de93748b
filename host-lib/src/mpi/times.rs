//! Times of a process by activity.

use super::transport::Transport;

/// Times of a process by activity, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// The program's own computations.
    pub compute_ps: u64,
    /// Handlers of signals, with what their delivery costs.
    pub handlers_ps: u64,
    /// Waits for arrivals.
    pub waiting_ps: u64,
    /// Copies between buffers and the program's memory.
    pub copies_ps: u64,
    /// The rest: the library's own work, and its accesses to the board.
    pub library_ps: u64,
    /// Number of handlers that have run.
    pub signals: u64,
}

/// Measurements of the library so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    start_ps: u64,
    compute_ps: u64,
    handlers_ps: u64,
    waiting_ps: u64,
    /// Copies of the library; those of the transport are counted there.
    copies_ps: u64,
    /// Copies of the transport that were made in handlers or waits.
    elsewhere_ps: u64,
    signals: u64,
    handling: bool,
}

/// Begin of a part of the time: the time, and the transport's copies until then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin(u64, u64);

impl Clocks {
    pub(super) const fn new() -> Self {
        Self {
            start_ps: 0,
            compute_ps: 0,
            handlers_ps: 0,
            waiting_ps: 0,
            copies_ps: 0,
            elsewhere_ps: 0,
            signals: 0,
            handling: false,
        }
    }

    /// The time counts from now on.
    pub(super) fn start(&mut self, transport: &impl Transport) {
        *self = Self::new();
        self.start_ps = transport.now_ps();
        self.elsewhere_ps = transport.copied_ps();
    }

    pub(super) fn begin(&self, transport: &impl Transport) -> Begin {
        Begin(transport.now_ps(), transport.copied_ps())
    }

    /// The transport was waited for.
    pub(super) fn waited(&mut self, begin: Begin, transport: &impl Transport) {
        if !self.handling {
            let copied = transport.copied_ps() - begin.1;
            self.waiting_ps += transport.now_ps() - begin.0 - copied;
        }
    }

    /// The library has copied something.
    pub(super) fn copied(&mut self, begin: Begin, transport: &impl Transport) {
        if !self.handling {
            self.copies_ps += transport.now_ps() - begin.0;
        }
    }

    /// Notes the begin of a handler.
    pub(super) fn handler_begins(&mut self) {
        self.signals += 1;
        self.handling = true;
    }

    /// The handler ends that began then. Its time is that of the computation that it interrupts.
    pub(super) fn handler_ends(&mut self, begin: Begin, transport: &impl Transport) {
        self.handling = false;
        self.elsewhere_ps += transport.copied_ps() - begin.1;
    }

    /// A computation of so many picoseconds has ended, with the handlers in it.
    pub(super) fn computed(&mut self, begin: Begin, transport: &impl Transport, own_ps: u64) {
        let all_ps = transport.now_ps() - begin.0;
        self.compute_ps += own_ps;
        self.handlers_ps += all_ps.saturating_sub(own_ps);
    }

    /// Times so far.
    pub(super) fn times(&self, transport: &impl Transport) -> Times {
        let all_ps = transport.now_ps() - self.start_ps;
        let copies_ps = self.copies_ps + transport.copied_ps() - self.elsewhere_ps;
        let (compute_ps, handlers_ps) = (self.compute_ps, self.handlers_ps);
        let waiting_ps = self.waiting_ps;
        let others_ps = compute_ps + handlers_ps + waiting_ps + copies_ps;
        Times {
            compute_ps,
            handlers_ps,
            waiting_ps,
            copies_ps,
            library_ps: all_ps.saturating_sub(others_ps),
            signals: self.signals,
        }
    }
}
