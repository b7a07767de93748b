//! A line of text that firmware formats where it has no heap.

use core::fmt;

/// A text of up to `BYTES` bytes; what follows is dropped.
#[derive(Debug)]
pub struct Line<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Line<BYTES> {
    /// The formatted text.
    #[must_use]
    #[inline(always)]
    pub fn of(text: fmt::Arguments<'_>) -> Self {
        let mut line = Self {
            bytes: [0; BYTES],
            length: 0,
        };
        // A value that cannot be formatted ends the text.
        let _ = fmt::write(&mut line, text);
        line
    }

    /// Bytes of the text so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl<const BYTES: usize> fmt::Write for Line<BYTES> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(text.bytes()) {
            *place = byte;
            self.length += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_line_keeps_what_fits() {
        let check = |value: u32, expected: &str| {
            let line = Line::<8>::of(format_args!("ring {value}"));
            assert_eq!(line.bytes(), expected.as_bytes());
        };
        check(7, "ring 7");
        check(12345, "ring 123");
    }
}
