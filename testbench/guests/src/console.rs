//! A guest's console: a file in memory that it writes and the emulator reads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

/// The console of a guest.
#[derive(Debug)]
pub struct GuestConsole {
    file: File,
    /// Bytes read.
    read: u64,
    /// The begin of a line that has not ended.
    line: Vec<u8>,
}

impl GuestConsole {
    /// A console to which the guest has written nothing.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> io::Result<Self> {
        let file = File::from(memfd_create("lanigon-console", MemfdFlags::CLOEXEC)?);
        Ok(Self {
            file,
            read: 0,
            line: Vec::new(),
        })
    }

    /// The end that the guest writes.
    ///
    /// # Errors
    /// If there are too many files.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The lines that have come to an end since this was last asked, without control characters.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn lines(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut bytes = [0; 4096];
        loop {
            let count = self.file.read_at(&mut bytes, self.read)?;
            if count == 0 {
                return Ok(lines);
            }
            self.read += count as u64;
            for &byte in &bytes[..count] {
                match byte {
                    b'\n' => lines.push(self.take_line()),
                    _ => self.line.push(byte),
                }
            }
        }
    }

    /// The begin of a line that has not ended.
    pub fn take_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        // The level of a kernel's message.
        let line = match line[..] {
            [b'<', b'0'..=b'7', b'>', ref text @ ..] => text,
            ref text => text,
        };
        let line = String::from_utf8_lossy(line);
        line.chars()
            .filter(|letter| !letter.is_control() || *letter == '\t')
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_when_they_end() {
        let mut console = GuestConsole::new().unwrap();
        let mut guest = console.writer().unwrap();
        guest.write_all(b"<6>one\r\ntw").unwrap();
        assert_eq!(console.lines().unwrap(), ["one"]);
        guest.write_all(b"o\nthree\x1b\xff").unwrap();
        assert_eq!(console.lines().unwrap(), ["two"]);
        assert_eq!(console.take_line(), "three\u{fffd}");
        assert!(console.lines().unwrap().is_empty());
    }
}
