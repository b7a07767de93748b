//! The calendar: messages about time between a guest and the emulator (`time-travel=ext` of User-Mode Linux).
//!
//! Messages have 16 bytes: operation, number, time in ns. Each is acknowledged with its number. A guest *requests* a time, the earliest at which
//! it has something to do, and *waits*; the calendar lets it *run*. A guest that may run *free until* some time moves its clock itself up to
//! there.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use crate::{GuestError, Violation};

/// Bytes of a message.
pub const BYTES: usize = 16;

/// Operation of a message. The numbers are those of the kernel's `um_timetravel.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TimeOperation {
    /// Acknowledges the message with the same number.
    Acknowledge = 0,
    /// The guest is there.
    Start = 1,
    /// The guest has something to do at a time; the last request counts.
    Request = 2,
    /// The guest waits.
    Wait = 3,
    /// The guest asks for the time.
    Get = 4,
    /// The guest has moved its clock to a time.
    Update = 5,
    /// Lets it run at a time.
    Run = 6,
    /// Lets it move its clock itself before a time, until it next waits.
    FreeUntil = 7,
    /// The guest asks for the time of day at the start of its clock.
    TimeOfDay = 8,
}

impl TimeOperation {
    fn from_number(number: u32) -> Result<Self, Violation> {
        Ok(match number {
            0 => Self::Acknowledge,
            1 => Self::Start,
            2 => Self::Request,
            3 => Self::Wait,
            4 => Self::Get,
            5 => Self::Update,
            6 => Self::Run,
            7 => Self::FreeUntil,
            8 => Self::TimeOfDay,
            other => return Err(Violation::Time(other)),
        })
    }
}

/// A message between guest and calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeMessage {
    /// Operation that the message is about.
    pub operation: TimeOperation,
    /// Number that the acknowledgment repeats.
    pub number: u32,
    /// A time, in ns.
    pub time_ns: u64,
}

impl TimeMessage {
    /// Reads one.
    ///
    /// # Errors
    /// If there is no such operation.
    pub fn parse(bytes: [u8; BYTES]) -> Result<Self, Violation> {
        let (operation, rest) = halves::<4>(&bytes);
        let (number, time) = halves::<4>(rest);
        let (time, _) = halves::<8>(time);
        Ok(Self {
            operation: TimeOperation::from_number(u32::from_le_bytes(operation))?,
            number: u32::from_le_bytes(number),
            time_ns: u64::from_le_bytes(time),
        })
    }

    /// Writes it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&(self.operation as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes
    }
}

/// The first bytes, of which there are enough, and the rest.
fn halves<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes
        .split_first_chunk()
        .map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

/// The calendar's end of a guest's socket.
#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    /// Number of the last message from here.
    number: u32,
}

impl Link {
    /// The socket of a guest that has connected.
    #[must_use]
    pub const fn new(socket: UnixStream) -> Self {
        Self { socket, number: 0 }
    }

    /// The socket, to wait for messages.
    #[must_use]
    pub const fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The next message; `None` if the guest has closed its end.
    ///
    /// # Errors
    /// If it is none.
    pub fn receive(&mut self) -> Result<Option<TimeMessage>, GuestError> {
        let mut bytes = [0; BYTES];
        match self.socket.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(TimeMessage::parse(bytes)?)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Acknowledges a message, with a time if it asks for one.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn acknowledge(&mut self, message: TimeMessage, time_ns: u64) -> io::Result<()> {
        let operation = TimeOperation::Acknowledge;
        self.send(TimeMessage {
            operation,
            time_ns,
            ..message
        })
    }

    /// Sends a guest that waits messages of the calendar, and takes their acknowledgments; false if the guest has ended.
    ///
    /// # Errors
    /// If something else comes.
    pub fn command(&mut self, commands: &[(TimeOperation, u64)]) -> Result<bool, GuestError> {
        let first = self.number.wrapping_add(1);
        for &(operation, time_ns) in commands {
            self.number = self.number.wrapping_add(1);
            let number = self.number;
            self.send(TimeMessage {
                operation,
                number,
                time_ns,
            })?;
        }
        for (index, _) in (0..).zip(commands) {
            let Some(answer) = self.receive()? else {
                return Ok(false);
            };
            let number = first.wrapping_add(index);
            if (answer.operation, answer.number) != (TimeOperation::Acknowledge, number) {
                let found = format!("{:?} {}", answer.operation, answer.number);
                return Err(Violation::Acknowledgment(found).into());
            }
        }
        Ok(true)
    }

    fn send(&mut self, message: TimeMessage) -> io::Result<()> {
        match self.socket.write_all(&message.to_bytes()) {
            // Its process will be found to have ended.
            Err(error) if is_gone(&error) => Ok(()),
            sent => sent,
        }
    }
}

/// Whether the other end of a socket is closed.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_contents() {
        let message = TimeMessage {
            operation: TimeOperation::FreeUntil,
            number: 0x0102_0304,
            time_ns: 0x1122_3344_5566_7788,
        };
        let bytes = message.to_bytes();
        assert_eq!(bytes[..8], [7, 0, 0, 0, 4, 3, 2, 1]);
        assert_eq!(TimeMessage::parse(bytes), Ok(message));
        let mut other = bytes;
        other[1] = 1;
        assert_eq!(TimeMessage::parse(other), Err(Violation::Time(263)));
    }
}
