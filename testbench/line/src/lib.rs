//! Common part of the libraries in processes of emulated hosts: the [`Line`] to the world, the [`clock`], the time of computation ([`compute`]), and waits ([`pause`]).
//!
//! `liblanigon-fi.so` (MPI) and `liblanigon-sockets.so` are preloaded, so functions of C may be theirs. Nothing here calls one of those: reads and
//! writes of the line are system calls.

#![allow(unsafe_code)]

pub mod clock;
pub mod compute;
pub mod pause;
pub mod real;

use std::fmt;

use lanigon_requests::{Answer, Decoder};
use libc::{c_int, c_long, c_void};

/// A process's end of the line to its world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    descriptor: c_int,
    /// Name of the library, for messages.
    library: &'static str,
}

/// The number of the last error of a system call.
fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Writes a line to standard error.
pub fn say(library: &str, text: &dyn fmt::Display) {
    let line = format!("lanigon {library}: {text}\n");
    // SAFETY: the call reads the bytes of the line.
    unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), line.len()) };
}

impl Line {
    /// The line over a connected socket, which has no other user.
    #[must_use]
    pub const fn new(descriptor: c_int, library: &'static str) -> Self {
        Self {
            descriptor,
            library,
        }
    }

    /// File descriptor of the line.
    #[must_use]
    pub const fn descriptor(&self) -> c_int {
        self.descriptor
    }

    /// The world has ended, or says what is no answer: so does the process.
    pub fn give_up(&self, reason: &str) -> ! {
        clock::stop();
        say(self.library, &reason);
        // SAFETY: ends the process at once; handlers of its end would call this library again.
        unsafe { libc::_exit(1) }
    }

    /// Writes all bytes.
    pub fn send(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (start, length) = (bytes.as_ptr(), bytes.len());
            // A process whose world is gone ends; it is not killed by a signal.
            let flags = libc::MSG_NOSIGNAL;
            let none = std::ptr::null::<c_void>();
            let number = libc::SYS_sendto;
            // SAFETY: the call reads the bytes.
            let sent = unsafe {
                libc::syscall(
                    number,
                    self.descriptor,
                    start,
                    length,
                    flags,
                    none,
                    0 as c_long,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(_) if errno() == libc::EINTR => {}
                Err(_) => self.give_up("the world has ended"),
            }
        }
    }

    /// The next answer of the world.
    pub fn next(&self, decoder: &mut Decoder) -> Answer {
        loop {
            match Answer::next(decoder) {
                Ok(Some(answer)) => return answer,
                Ok(None) => {}
                Err(error) => self.give_up(&error.to_string()),
            }
            let mut bytes = vec![0_u8; decoder.lacks().clamp(4 << 10, 1 << 20)];
            let (start, length) = (bytes.as_mut_ptr(), bytes.len());
            // SAFETY: the call writes into these bytes.
            let came = unsafe { libc::syscall(libc::SYS_read, self.descriptor, start, length) };
            let error = errno();
            match usize::try_from(came) {
                Ok(0) => self.give_up("the world has ended"),
                Ok(count) => decoder.extend(&bytes[..count]),
                Err(_) if error == libc::EINTR => {}
                Err(_) => self.give_up("the world is out of reach"),
            }
        }
    }

    /// Closes it, in a child of the process.
    pub fn close(&self) {
        // SAFETY: the descriptor has no other user.
        unsafe { libc::syscall(libc::SYS_close, self.descriptor) };
    }
}
