//! Times in options: `120us`, `1.5ms`, `+30us`.

use emulator::sim::time::SimTime;

/// A time in a trace, absolute or relative to the start of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeArg {
    /// The number.
    span: SimTime,
    /// Whether it is relative to the start of the host programs.
    since_start: bool,
}

impl TimeArg {
    /// The time in a trace whose host programs start at `start`.
    #[must_use]
    pub const fn resolve(self, start: SimTime) -> SimTime {
        match self.since_start {
            true => self.span.saturating_add(start),
            false => self.span,
        }
    }
}

/// Units with their picoseconds, longest names first.
const UNITS: [(&str, f64); 5] = [
    ("ps", 1.0),
    ("ns", 1e3),
    ("us", 1e6),
    ("ms", 1e9),
    ("s", 1e12),
];
/// Default unit, that of the first column of a trace.
const PLAIN: f64 = 1e6;
/// Longest run: eleven days.
const MOST_PS: f64 = 1e18;

/// Parses a duration: a number with a unit (ps, ns, us, ms, s); without a unit, in microseconds.
///
/// # Errors
/// If it is invalid.
pub fn span(text: &str) -> Result<SimTime, String> {
    let unit = UNITS
        .iter()
        .find_map(|(unit, ps)| Some((text.strip_suffix(unit)?, *ps)));
    let (number, ps) = unit.unwrap_or((text, PLAIN));
    let plain = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = number.parse::<f64>().ok().filter(|_| plain);
    let value = value.map(|value| value * ps).filter(|ps| *ps <= MOST_PS);
    let value =
        value.ok_or_else(|| format!("\"{text}\" is no time: expected 120us, 1.5ms, 800ns"))?;
    Ok(SimTime::from_ps(value.round() as u64))
}

/// Parses a time: since power-on, or after `+` since the start of the host programs.
///
/// # Errors
/// If it is invalid.
pub fn time(text: &str) -> Result<TimeArg, String> {
    let (number, since_start) = match text.strip_prefix('+') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let span = span(number)?;
    Ok(TimeArg { span, since_start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let check = |text, ps: Option<u64>| {
            let start = SimTime::from_us(20_000);
            let read = time(text).ok().map(|time| time.resolve(start).ps());
            assert_eq!(read, ps, "{text}");
        };
        check("120us", Some(120_000_000));
        check("1.5ms", Some(1_500_000_000));
        check("20123.456789", Some(20_123_456_789));
        check("7ps", Some(7));
        check("2s", Some(2_000_000_000_000));
        check("+30us", Some(20_030_000_000));
        check("0", Some(0));
        for wrong in [
            "", "us", "-1us", "1 us", "1e3us", "nan", "inf", "1m", "++1us", "9999999s",
        ] {
            check(wrong, None);
        }
    }
}
