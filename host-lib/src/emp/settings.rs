//! Settings that may change at run time.

use std::ops::RangeInclusive;

use defs::emp::control::{
    ACK_GROUP, COMMAND_SET, FLOW_CONTROL, MAILBOX_COMMAND, RECEIVE_TIMEOUT_LIMIT_US,
    RECEIVE_TIMEOUT_US, RETRY_LIMIT, RETRY_LIMIT_MOST, TIMEOUT_LEAST_US, TIMEOUT_LIMIT_US,
    TIMEOUT_US, receive_timeout_us,
};
use defs::emp::frame::GROUP_LIMIT;

use super::Emp;
use super::config::Config;
use super::error::ConfigError;

/// Valid first retransmission timeouts, in microseconds.
pub const TIMEOUT_US_RANGE: RangeInclusive<u32> = TIMEOUT_LEAST_US..=TIMEOUT_LIMIT_US;
/// The highest retry limit.
pub const MAXIMUM_RETRY_LIMIT: u32 = RETRY_LIMIT_MOST;
/// The longest receive timeout, in microseconds.
pub const MAXIMUM_RECEIVE_TIMEOUT_US: u32 = RECEIVE_TIMEOUT_LIMIT_US;

/// The part of a [`Config`] that may change at run time ([`Emp::set`]).
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
    /// Timeout of a partly filled receive.
    pub receive_timeout: ReceiveTimeout,
}

/// Timeout of a partly filled receive for which no more frames arrive. It ends with
/// [`Failure::Timeout`](super::Failure::Timeout).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReceiveTimeout {
    /// After the longest silence of a live sender with equal timeout and retry limit: all its timeouts, and
    /// the wait in a full send queue (seconds).
    #[default]
    SenderGone,
    /// After this many microseconds: 1 to [`MAXIMUM_RECEIVE_TIMEOUT_US`]. If this is shorter than a
    /// sender's longest silence, a receive may fail although its sender would continue.
    AfterUs(u32),
    /// Never: the receive ends only when its sender reports that it has abandoned the message.
    Never,
}

impl ReceiveTimeout {
    /// The word for the firmware: microseconds, 0 for never.
    const fn word(self, timeout_us: u32, retry_limit: u32) -> u32 {
        match self {
            Self::SenderGone => receive_timeout_us(timeout_us, retry_limit),
            Self::AfterUs(us) => us,
            Self::Never => 0,
        }
    }
}

impl Settings {
    /// Checks the settings against the limits of the firmware.
    ///
    /// # Errors
    /// The first invalid setting.
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
        if timeout_us < TIMEOUT_LEAST_US || timeout_us > TIMEOUT_LIMIT_US {
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

    /// Addresses and values of the control block's words.
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

impl Emp {
    /// The current settings.
    pub const fn settings(&self) -> Settings {
        self.settings
    }

    /// Changes settings at run time; returns when the firmware has applied them. Messages posted before
    /// keep their ack group; a running timeout is not changed.
    ///
    /// # Errors
    /// [`ConfigError`]; then nothing changes.
    pub async fn set(&mut self, settings: Settings) -> Result<(), ConfigError> {
        settings.check()?;
        for (address, value) in settings.words() {
            self.board.write_sram(address, value).await;
        }
        let why = "the NIC to take settings";
        self.ring_mailbox(MAILBOX_COMMAND, COMMAND_SET, why).await;
        self.settings = settings;
        Ok(())
    }
}
