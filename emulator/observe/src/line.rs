//! Formats lines of a trace. A traced run writes millions of numbers; this is several times faster than the
//! standard library's formatting.

/// A line that grows at its end.
pub(super) struct TextLine<'a>(&'a mut Vec<u8>);

/// Digits of the largest number.
const MOST_DIGITS: usize = 20;

impl<'a> TextLine<'a> {
    /// Appends to `text`.
    pub(super) const fn new(text: &'a mut Vec<u8>) -> Self {
        Self(text)
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a left-aligned text.
    pub(super) fn padded(&mut self, text: &str, width: usize) -> &mut Self {
        self.text(text);
        for _ in text.len()..width {
            self.0.push(b' ');
        }
        self
    }

    pub(super) fn decimal(&mut self, value: u64) -> &mut Self {
        self.padded_decimal(value, 0, b' ')
    }

    /// Appends a right-aligned number.
    pub(super) fn padded_decimal(&mut self, value: u64, width: usize, filler: u8) -> &mut Self {
        self.number(value, width, filler, |rest| (rest / 10, (rest % 10) as u8))
    }

    /// Appends a text and a hexadecimal number with its prefix.
    pub(super) fn field(&mut self, name: &str, value: u64) -> &mut Self {
        self.text(name).text("0x").hexadecimal(value, 0)
    }

    /// Appends all eight digits of a word.
    pub(super) fn digits(&mut self, value: u32) -> &mut Self {
        self.hexadecimal(value.into(), 8)
    }

    fn hexadecimal(&mut self, value: u64, width: usize) -> &mut Self {
        self.number(value, width, b'0', |rest| (rest >> 4, (rest & 15) as u8))
    }

    /// Appends digits; `split` returns the remaining number and its last digit.
    #[inline(always)]
    fn number(
        &mut self,
        value: u64,
        width: usize,
        filler: u8,
        split: impl Fn(u64) -> (u64, u8),
    ) -> &mut Self {
        let mut digits = [filler; MOST_DIGITS];
        let (mut rest, mut first) = (value, MOST_DIGITS);
        loop {
            let (left, digit) = split(rest);
            first -= 1;
            digits[first] = b"0123456789abcdef"[usize::from(digit & 15)];
            rest = left;
            if rest == 0 {
                break;
            }
        }
        let first = first.min(MOST_DIGITS.saturating_sub(width));
        self.0.extend_from_slice(&digits[first..]);
        self
    }
}
