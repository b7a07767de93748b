//! The interrupt handler: processes everything that the firmware has reported.
//!
//! While the handler runs it sets mailbox 0, and the firmware raises no interrupt. So after clearing
//! mailbox 0 the handler checks once more: reports in between would raise no interrupt (docs/tigon2-driver.md,
//! section 8).

use defs::acenic::info::STATISTICS;
use defs::acenic::message::EVENT_BYTES;
use defs::acenic::{EVENT_CONSUMER, EVENT_ENTRIES, MAILBOX_INTERRUPT};
use defs::tigon2::map::mailbox_low;
use defs::tigon2::regs::{HOST_CONTROL, HostControl};

use super::error::{MemoryError, Mistake, WaitError};
use super::event::{Event, Reported};
use super::receive::ReceivedFrame;
use super::statistics::Statistics;
use super::{
    AceNic, EVENT_PRODUCER, MOST_FIRST_MISTAKES, MOST_HISTORY, RETURN_PRODUCER, SEND_CONSUMER,
};
use crate::window::System;

/// Results of an interrupt handler or a check of the rings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceResults {
    /// The board had asserted its interrupt, or the last handler had left reports.
    pub interrupted: bool,
    /// Received frames.
    pub received: Vec<ReceivedFrame>,
    /// Number of send descriptors that the firmware has taken.
    pub sent: u32,
    /// Events in order.
    pub events: Vec<Reported>,
    /// Invalid data from the firmware.
    pub mistakes: Vec<Mistake>,
}

impl ServiceResults {
    /// Whether there was nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
            && self.sent == 0
            && self.events.is_empty()
            && self.mistakes.is_empty()
    }

    /// Whether the events contain `event`.
    #[must_use]
    pub fn has(&self, event: Event) -> bool {
        self.events.iter().any(|reported| reported.event == event)
    }

    /// Appends later results. Against a firmware that never stops, at most [`MOST_KEPT`] of each kind are
    /// kept.
    fn append(&mut self, more: Self) {
        self.interrupted |= more.interrupted;
        self.sent = self.sent.saturating_add(more.sent);
        extend(&mut self.received, more.received);
        extend(&mut self.events, more.events);
        extend(&mut self.mistakes, more.mistakes);
    }
}

/// Largest number of frames, events or mistakes returned by one wait.
const MOST_KEPT: usize = 1 << 14;
/// Largest number of checks per call of the handler.
const MOST_LOOKS: u32 = 4;
/// Interval of checks, in longer waits, that CPU A still runs.
const LOOK_AT_CPU_NS: u64 = 10_000_000;

/// Age up to which a report may have been started before the wait.
const REPORT_TRANSFER_NS: u64 = 500_000;
/// Upper bound for the delay of a report by the firmware's timer and other work.
const REPORT_MARGIN_NS: u64 = 1_000_000_000;

fn extend<T>(kept: &mut Vec<T>, more: Vec<T>) {
    let room = MOST_KEPT.saturating_sub(kept.len());
    kept.extend(more.into_iter().take(room));
}

impl AceNic {
    /// Waits up to `timeout_ns` for an interrupt and handles it. After a timeout the result is empty.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub async fn wait(&mut self, timeout_ns: u64) -> Result<ServiceResults, MemoryError> {
        if self.news_left {
            self.take_news().await
        } else if self.system.wait_interrupt(Some(timeout_ns)).await.is_ok() {
            self.handle_interrupt().await
        } else {
            Ok(ServiceResults::default())
        }
    }

    /// Handles interrupts until `event` is reported; returns everything reported meanwhile.
    ///
    /// # Errors
    /// [`WaitError`]: timeout, CPU A has halted, or the firmware reports an error.
    pub async fn wait_for(
        &mut self,
        event: Event,
        what: &'static str,
        timeout_ns: u64,
    ) -> Result<ServiceResults, WaitError> {
        let deadline_ps = self.deadline_ps(timeout_ns);
        let mut all = ServiceResults::default();
        loop {
            let left_ns = self.left_ns(deadline_ps);
            if left_ns == 0 {
                return Err(self.timed_out(what, timeout_ns).await);
            }
            let work = self.wait(left_ns.min(LOOK_AT_CPU_NS)).await?;
            let idle = !work.interrupted;
            let found = work.has(event);
            let mut events = work.events.iter().map(|reported| reported.event);
            let error = events.find(|event| event.is_error());
            all.append(work);
            if found {
                return Ok(all);
            }
            if let Some(event) = error {
                return Err(WaitError::Reported { what, event });
            }
            if idle && let Some(program_counter) = self.board.halted_at().await {
                return Err(WaitError::Halted {
                    what,
                    program_counter,
                });
            }
        }
    }

    /// The time `timeout_ns` from now.
    #[must_use]
    pub fn deadline_ps(&self, timeout_ns: u64) -> u64 {
        let span_ps = timeout_ns.saturating_mul(1000);
        self.system.now_ps().saturating_add(span_ps)
    }

    /// Nanoseconds until `deadline_ps`.
    #[must_use]
    pub fn left_ns(&self, deadline_ps: u64) -> u64 {
        deadline_ps
            .saturating_sub(self.system.now_ps())
            .div_ceil(1000)
    }

    pub(super) async fn timed_out(&mut self, what: &'static str, timeout_ns: u64) -> WaitError {
        if let Some(program_counter) = self.board.halted_at().await {
            return WaitError::Halted {
                what,
                program_counter,
            };
        }
        WaitError::Timeout {
            what,
            timeout_ns,
            pending: self.has_news().unwrap_or(false),
        }
    }

    /// Handles an interrupt, if the board asserts one.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub async fn handle_interrupt(&mut self) -> Result<ServiceResults, MemoryError> {
        let control = self.board.read_register(HOST_CONTROL).await;
        if !HostControl::from_bits_retain(control).contains(HostControl::INTERRUPT) {
            return Ok(ServiceResults::default());
        }
        self.take_news().await
    }

    /// Processes the rings until they are empty, within limits.
    async fn take_news(&mut self) -> Result<ServiceResults, MemoryError> {
        let mut all = ServiceResults {
            interrupted: true,
            ..ServiceResults::default()
        };
        let mailbox = mailbox_low(MAILBOX_INTERRUPT);
        for _ in 0..MOST_LOOKS {
            self.board.write_sram(mailbox, 1).await;
            let work = self.collect().await?;
            all.append(work);
            self.board.write_sram(mailbox, 0).await;
            // Reading back ensures that the posted write has reached the board.
            self.board.read_sram(mailbox).await;
            self.news_left = self.has_news()?;
            if !self.news_left {
                break;
            }
        }
        Ok(all)
    }

    /// Processes the rings, with or without an interrupt.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub async fn collect(&mut self) -> Result<ServiceResults, MemoryError> {
        let mut work = ServiceResults::default();
        self.collect_received(&mut work)?;
        self.collect_sent(&mut work)?;
        self.collect_events(&mut work).await?;
        self.tell_receive_rings().await;
        self.note(&work.mistakes);
        Ok(work)
    }

    /// Counts mistakes, because a wait that fails returns no work.
    fn note(&mut self, mistakes: &[Mistake]) {
        self.mistakes += mistakes.len() as u64;
        let room = MOST_FIRST_MISTAKES.saturating_sub(self.first_mistakes.len());
        let first = mistakes.iter().take(room);
        self.first_mistakes.extend(first.cloned());
    }

    fn collect_received(&mut self, work: &mut ServiceResults) -> Result<(), MemoryError> {
        let producer = self.indices.read_word(&self.system, RETURN_PRODUCER)?;
        if !self.is_new(RETURN_PRODUCER, producer) {
            return Ok(());
        }
        for outcome in self.receiver.take_frames(&mut self.system, producer)? {
            match outcome {
                Ok(received) => work.received.push(received),
                Err(mistake) => work.mistakes.push(mistake),
            }
        }
        Ok(())
    }

    fn collect_sent(&mut self, work: &mut ServiceResults) -> Result<(), MemoryError> {
        let consumer = self.indices.read_word(&self.system, SEND_CONSUMER)?;
        if self.is_new(SEND_CONSUMER, consumer) {
            match self.sender.taken(consumer) {
                Ok(taken) => work.sent += taken,
                Err(mistake) => work.mistakes.push(mistake),
            }
        }
        Ok(())
    }

    async fn collect_events(&mut self, work: &mut ServiceResults) -> Result<(), MemoryError> {
        let producer = self.indices.read_word(&self.system, EVENT_PRODUCER)?;
        if !self.is_new(EVENT_PRODUCER, producer) {
            return Ok(());
        }
        if producer >= EVENT_ENTRIES {
            work.mistakes.push(Mistake::Index {
                index: "the event producer",
                value: producer,
            });
            return Ok(());
        }
        while self.event_consumer != producer {
            let at = self.event_consumer * EVENT_BYTES;
            let word = self.events.read_word(&self.system, at)?;
            let event = Event::decode(word);
            if event == Event::JumboReset {
                self.receiver.reset_jumbo();
            }
            let reported = Reported {
                event,
                word,
                time_ps: self.system.now_ps(),
            };
            if self.history.len() < MOST_HISTORY {
                self.history.push(reported);
            }
            work.events.push(reported);
            self.event_consumer = (self.event_consumer + 1) % EVENT_ENTRIES;
        }
        self.board
            .write_sram(EVENT_CONSUMER, self.event_consumer)
            .await;
        Ok(())
    }

    /// Writes changed producer indices of the receive rings.
    pub(super) async fn tell_receive_rings(&mut self) {
        for pool in self.receiver.pools() {
            if std::mem::take(&mut pool.changed) {
                let mailbox = mailbox_low(pool.mailbox());
                self.board.write_sram(mailbox, pool.producer()).await;
            }
        }
    }

    /// Whether an index has changed since the last check. A wrong index is reported once.
    fn is_new(&mut self, index: u32, value: u32) -> bool {
        self.seen.insert(index, value) != Some(value)
    }

    /// Whether the firmware has reported anything since the last check.
    fn has_news(&self) -> Result<bool, MemoryError> {
        for index in [RETURN_PRODUCER, SEND_CONSUMER, EVENT_PRODUCER] {
            let value = self.indices.read_word(&self.system, index)?;
            if self.seen.get(&index).copied().unwrap_or(0) != value {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits for statistics that the firmware reports after this call. The firmware reports every
    /// [`Config::statistics_ticks`](super::Config::statistics_ticks) us; no command makes it report
    /// earlier.
    ///
    /// # Errors
    /// [`WaitError`]: reports are disabled, none arrives within two periods and a second, CPU A has halted,
    /// or the firmware reports an error.
    pub async fn next_statistics(&mut self) -> Result<Statistics, WaitError> {
        const WHAT: &str = "the firmware to report its statistics";
        let period_ns = u64::from(self.config().statistics_ticks) * 1000;
        if period_ns == 0 {
            return Err(WaitError::NoReports);
        }
        let started_ps = self.system.now_ps();
        let timeout_ns = 2 * period_ns + REPORT_MARGIN_NS;
        let deadline_ps = self.deadline_ps(timeout_ns);
        loop {
            let left_ns = self.left_ns(deadline_ps);
            if left_ns == 0 {
                return Err(self.timed_out(WHAT, timeout_ns).await);
            }
            self.wait_for(Event::StatisticsUpdated, WHAT, left_ns)
                .await?;
            let waited_ps = self.system.now_ps() - started_ps;
            if waited_ps >= REPORT_TRANSFER_NS.min(period_ns) * 1000 {
                return Ok(self.statistics()?);
            }
        }
    }

    /// The statistics of the last report.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub fn statistics(&self) -> Result<Statistics, MemoryError> {
        let words = self.info.read_words(&self.system, STATISTICS)?;
        Ok(Statistics::new(words))
    }
}
