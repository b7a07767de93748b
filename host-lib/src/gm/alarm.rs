//! Alarms: events after a time. The board has one for each port; the library keeps the others.

use std::collections::BTreeSet;

use defs::gm::map::TICK_HALF_US;
use defs::gm::port::ALARM;

use super::{Gm, PortError};

/// Picoseconds of a tick of the board's timer.
const TICK_PS: u64 = TICK_HALF_US as u64 * 500_000;

/// Names an alarm of a [`Gm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AlarmId(pub u64);

/// The alarms of a port, with their times in picoseconds.
#[derive(Debug, Default)]
pub(super) struct Alarms(BTreeSet<(u64, AlarmId)>);

impl Alarms {
    /// Takes the alarms whose time has come.
    fn due(&mut self, now_ps: u64) -> Vec<AlarmId> {
        let later = self.0.split_off(&(now_ps + 1, AlarmId(0)));
        let due = std::mem::replace(&mut self.0, later);
        due.into_iter().map(|(_, id)| id).collect()
    }
}

impl Gm {
    /// Sets an alarm: after `delay_us` or at most two ticks of 0.1 ms more there is an [`Event::Alarm`](super::Event::Alarm).
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_set_alarm")]
    pub async fn set_alarm(&mut self, port: u8, delay_us: u64) -> Result<AlarmId, PortError> {
        let at = self
            .system
            .now_ps()
            .saturating_add(delay_us.saturating_mul(1_000_000));
        let id = AlarmId(self.next_alarm);
        let alarms = &mut self.port(port)?.alarms.0;
        alarms.insert((at, id));
        let is_first = alarms.first() == Some(&(at, id));
        self.next_alarm += 1;
        if is_first {
            self.post_alarm(port).await?;
        }
        Ok(id)
    }

    /// Cancels an alarm. Returns whether its time had not come.
    ///
    /// # Errors
    /// [`PortError`].
    #[doc(alias = "gm_cancel_alarm")]
    pub async fn cancel_alarm(&mut self, port: u8, id: AlarmId) -> Result<bool, PortError> {
        let alarms = &mut self.port(port)?.alarms.0;
        let found = alarms.iter().copied().find(|(_, other)| *other == id);
        let Some(alarm) = found else {
            return Ok(false);
        };
        let was_first = alarms.first() == Some(&alarm);
        alarms.remove(&alarm);
        if was_first {
            self.post_alarm(port).await?;
        }
        Ok(true)
    }

    /// The board's alarm has come: takes those that are due, and sets the board's alarm for the next one.
    pub(super) async fn alarms_due(&mut self, port: u8) -> Result<Vec<AlarmId>, PortError> {
        let now = self.system.now_ps();
        let due = self.port(port)?.alarms.due(now);
        self.post_alarm(port).await?;
        Ok(due)
    }

    /// Sets the board's alarm for the first alarm of a port, or cancels it.
    async fn post_alarm(&mut self, port: u8) -> Result<(), PortError> {
        let now = self.system.now_ps();
        let first = self.port(port)?.alarms.0.first().copied();
        // A part of the current tick has passed.
        let ticks = match first {
            Some((at, _)) => (at.saturating_sub(now).div_ceil(TICK_PS) + 1).min(1 << 30) as u32,
            None => 0,
        };
        self.post_control(port, ALARM, 0, ticks).await
    }
}
