//! Settings that may change while EMP runs.

use std::ops::RangeInclusive;

use defs::emp::control::{
    ACK_GROUP, COMMAND_SET, FLOW_CONTROL, MAILBOX_COMMAND, RECEIVE_TIMEOUT_LIMIT_US,
    RECEIVE_TIMEOUT_US, RETRY_LIMIT, RETRY_LIMIT_MOST, TIMEOUT_LIMIT_US, TIMEOUT_US,
    receive_timeout_us,
};
use defs::emp::frame::GROUP_LIMIT;

use super::Emp;
use super::config::Config;
use super::error::ConfigError;
use crate::window::{System, Window};

/// First retransmission timeouts that the firmware takes, in microseconds.
pub const TIMEOUT_US_RANGE: RangeInclusive<u32> = 1..=TIMEOUT_LIMIT_US;
/// The highest retry limit.
pub const MAXIMUM_RETRY_LIMIT: u32 = RETRY_LIMIT_MOST;
/// The longest receive timeout, in microseconds.
pub const MAXIMUM_RECEIVE_TIMEOUT_US: u32 = RECEIVE_TIMEOUT_LIMIT_US;

/// The part of a [`Config`] that may change while EMP runs ([`Emp::set`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Frames that one acknowledgment covers: 1 to 16.
    pub ack_group: u32,
    /// First retransmission timeout, in microseconds ([`TIMEOUT_US_RANGE`]).
    pub timeout_us: u32,
    /// Retransmissions of a group before its message fails: [`MAXIMUM_RETRY_LIMIT`] at most.
    pub retry_limit: u32,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// When a receive fails that a message has begun to fill.
    pub receive_timeout: ReceiveTimeout,
}

/// When a receive that a message has begun to fill, and for which nothing more comes, ends with
/// [`Failure::Timeout`](super::Failure::Timeout).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReceiveTimeout {
    /// After the longest time for which a living sender with the same timeout and retry limit can keep
    /// silent: all its timeouts, and the wait in a full send queue (seconds).
    #[default]
    SenderGone,
    /// After so many microseconds: at least 1, [`MAXIMUM_RECEIVE_TIMEOUT_US`] at most. If that is less
    /// than a sender may keep silent, a receive may fail whose sender would still have gone on.
    AfterUs(u32),
    /// Never: it waits until its sender lets it know that the message was given up.
    Never,
}

impl ReceiveTimeout {
    const fn word(self, timeout_us: u32, retry_limit: u32) -> u32 {
        match self {
            Self::SenderGone => receive_timeout_us(timeout_us, retry_limit),
            Self::AfterUs(us) => us,
            Self::Never => 0,
        }
    }
}

impl Settings {
    /// Says which of them the firmware would replace by its default.
    ///
    /// # Errors
    /// The first one.
    pub const fn check(&self) -> Result<(), ConfigError> {
        let &Self {
            ack_group,
            timeout_us,
            retry_limit,
            ..
        } = self;
        if ack_group == 0 || ack_group > GROUP_LIMIT {
            return Err(ConfigError::AckGroup { ack_group });
        }
        if timeout_us == 0 || timeout_us > TIMEOUT_LIMIT_US {
            return Err(ConfigError::Timeout { timeout_us });
        }
        if retry_limit > MAXIMUM_RETRY_LIMIT {
            return Err(ConfigError::RetryLimit { retry_limit });
        }
        match self.receive_timeout {
            ReceiveTimeout::AfterUs(us) if us == 0 || us > MAXIMUM_RECEIVE_TIMEOUT_US => {
                Err(ConfigError::ReceiveTimeout {
                    receive_timeout_us: us,
                })
            }
            _ => Ok(()),
        }
    }

    /// The words of the control block, and where they are.
    pub(super) const fn words(&self) -> [(u32, u32); 5] {
        let receive_timeout = self.receive_timeout;
        [
            (ACK_GROUP, self.ack_group),
            (TIMEOUT_US, self.timeout_us),
            (RETRY_LIMIT, self.retry_limit),
            (FLOW_CONTROL, self.flow_control as u32),
            (
                RECEIVE_TIMEOUT_US,
                receive_timeout.word(self.timeout_us, self.retry_limit),
            ),
        ]
    }
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        Self {
            ack_group: config.ack_group,
            timeout_us: config.timeout_us,
            retry_limit: config.retry_limit,
            flow_control: config.flow_control,
            receive_timeout: config.receive_timeout,
        }
    }
}

impl<W: Window, S: System> Emp<W, S> {
    /// The settings that hold now.
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// Changes settings while EMP runs; returns when the firmware has taken them. A message that was
    /// posted before keeps its ack group; a new timeout holds from the next time that one begins.
    ///
    /// # Errors
    /// [`ConfigError`]; then everything stays as it is.
    pub async fn set(&mut self, settings: Settings) -> Result<(), ConfigError> {
        settings.check()?;
        for (address, value) in settings.words() {
            self.board.write_sram(address, value).await;
        }
        let why = "the NIC to take settings";
        self.tell(MAILBOX_COMMAND, COMMAND_SET, why).await;
        self.settings = settings;
        Ok(())
    }
}
