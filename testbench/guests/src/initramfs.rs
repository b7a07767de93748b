//! The files of a guest, as an archive that its kernel unpacks (cpio, "newc").

use std::fmt::Write;

/// Types of files, among the bits of their modes.
const DIRECTORY: u32 = 0o040_000;
const CHARACTERS: u32 = 0o020_000;
const REGULAR: u32 = 0o100_000;
/// Name of the last entry.
const END: &str = "TRAILER!!!";

/// An archive under construction.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    files: u32,
}

impl Archive {
    /// Adds a folder.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a device of characters with these numbers.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTERS | 0o600, (major, minor), &[]);
    }

    /// Adds a file, which may be executed.
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.entry(path, REGULAR | 0o755, (0, 0), bytes);
    }

    /// The archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, (major, minor): (u32, u32), bytes: &[u8]) {
        self.files += 1;
        // Number, mode, user, group, links, time, bytes, device, numbers of a device, bytes of the name with its end, checksum.
        let (length, name) = (bytes.len() as u32, path.len() as u32 + 1);
        let fields = [
            self.files, mode, 0, 0, 1, 0, length, 0, 0, major, minor, name, 0,
        ];
        let mut head = String::from("070701");
        for field in fields {
            // A string takes everything.
            let _ = write!(head, "{field:08x}");
        }
        self.bytes.extend(head.as_bytes());
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_at_multiples_of_4() {
        let mut archive = Archive::default();
        archive.folder("bin");
        archive.file("bin/sh", b"#!");
        let bytes = archive.finish();
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let places: Vec<_> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(places, [0, 116, 240]);
        assert!(text[116..].starts_with("07070100000002000081ed"));
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"));
    }
}
