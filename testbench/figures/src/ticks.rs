//! Ranges of axes, and their ticks.

use crate::model::Scale;

/// Values beyond this, or nearer to zero than its inverse, are not drawn as they are.
const LARGEST: f64 = 1e250;

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// The range of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Evenly spaced on the axis, within the range, ascending.
    pub(crate) ticks: Vec<Tick>,
}

/// Whether a value has a place on an axis.
pub(crate) fn drawable(scale: Scale, value: f64) -> bool {
    let finite = value.is_finite() && value.abs() <= LARGEST;
    finite && (scale == Scale::Linear || value >= 1.0 / LARGEST)
}

impl Range {
    /// The range of these values, with at most `most` intervals between ticks.
    pub(crate) fn for_values(scale: Scale, values: impl Iterator<Item = f64>, most: u32) -> Self {
        let values = values.filter(|&value| drawable(scale, value));
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let most = i64::from(most.clamp(2, 1 << 13));
        match scale {
            Scale::Linear => linear(ends.unwrap_or((0.0, 1.0)), most),
            Scale::Log2 => logarithmic(scale, ends.unwrap_or((1.0, 16.0)), most),
            Scale::Log10 => logarithmic(scale, ends.unwrap_or((1.0, 100.0)), most),
        }
    }

    /// Position of a value: 0 at the low end, 1 at the high one; values outside are moved to the ends. `None` for a value without a place.
    pub(crate) fn part(&self, value: f64) -> Option<f64> {
        // Ends and ticks were rounded outwards.
        if !drawable(self.scale, value) && !(self.low..=self.high).contains(&value) {
            return None;
        }
        let on_axis = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log2 | Scale::Log10 => value.log2(),
        };
        let (low, high) = (on_axis(self.low), on_axis(self.high));
        Some(((on_axis(value) - low) / (high - low)).clamp(0.0, 1.0))
    }
}

/// A step of ticks: a digit times a power of ten.
#[derive(Debug, Clone, Copy)]
struct Nice {
    digit: i64,
    exponent: i32,
}

impl Nice {
    /// The largest step that is not above `size`.
    fn below(size: f64) -> Self {
        let exponent = size.log10().floor() as i32;
        let digit = match size / power_of_ten(exponent) {
            digit if digit >= 5.0 => 5,
            digit if digit >= 2.0 => 2,
            _ => 1,
        };
        Self { digit, exponent }
    }

    fn next(self) -> Self {
        let (digit, exponent) = match self.digit {
            1 => (2, self.exponent),
            2 => (5, self.exponent),
            _ => (1, self.exponent + 1),
        };
        Self { digit, exponent }
    }

    /// This many steps. Division by a power of ten gives the nearest number, 0.3 and not 0.30000000000000004.
    fn times(self, count: i64) -> f64 {
        let digits = (count * self.digit) as f64;
        match self.exponent < 0 {
            true => digits / power_of_ten(-self.exponent),
            false => digits * power_of_ten(self.exponent),
        }
    }
}

fn power_of_ten(exponent: i32) -> f64 {
    10_f64.powi(exponent)
}

fn linear((mut low, mut high): (f64, f64), most: i64) -> Range {
    if low == high {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    // Zero belongs to the picture, unless that would leave more than half of it empty.
    if low > 0.0 && low <= high / 2.0 {
        low = 0.0;
    } else if high < 0.0 && high >= low / 2.0 {
        high = 0.0;
    }
    let size = low.abs().max(high.abs());
    if size < 1.0 / LARGEST {
        (low, high) = (0.0, 1.0);
    }
    // Digits beyond the precision of a number would not differ.
    let least = size * 1e-9;
    if high - low < least {
        (low, high) = (low - least / 2.0, high + least / 2.0);
    }
    let mut step = Nice::below((high - low) / most as f64);
    loop {
        let one = step.times(1);
        let (first, last) = ((low / one).floor() as i64, (high / one).ceil() as i64);
        if last - first > most {
            step = step.next();
            continue;
        }
        let tick = |count| Tick {
            at: step.times(count),
            label: decimal(step, count, first.abs().max(last.abs())),
        };
        return Range {
            scale: Scale::Linear,
            low: step.times(first),
            high: step.times(last),
            ticks: (first..=last).map(tick).collect(),
        };
    }
}

/// Label of a tick, with as many digits as the step needs; `largest` is the largest number of steps on the axis.
fn decimal(step: Nice, count: i64, largest: i64) -> String {
    let value = step.times(count);
    if count == 0 {
        return String::from("0");
    }
    if step.times(largest) < 1e7 && step.exponent >= -5 {
        let decimals = usize::try_from(-step.exponent).unwrap_or(0);
        return format!("{value:.decimals$}");
    }
    let before = value.abs().log10().floor() as i32;
    let digits = usize::try_from(before - step.exponent).unwrap_or(0);
    format!("{value:.digits$e}")
}

fn logarithmic(scale: Scale, (low, high): (f64, f64), most: i64) -> Range {
    let base: f64 = if scale == Scale::Log2 { 2.0 } else { 10.0 };
    // Logarithms of powers of ten are not exact.
    let exponent = |value: f64| {
        let exact = value.log2() / base.log2();
        let near = exact.round();
        if (exact - near).abs() < 1e-9 {
            near
        } else {
            exact
        }
    };
    let (mut first, mut last) = (exponent(low).floor() as i64, exponent(high).ceil() as i64);
    if first == last {
        (first, last) = (first - 1, last + 1);
    }
    let length = last - first;
    let stride = match (length + most - 1) / most {
        // 1, 16, 256, 4K, 64K rather than 1, 8, 64, 512, 4K.
        3 if length >= 8 => 4,
        stride => stride,
    };
    let exponents = (first..=last).filter(|exponent| exponent.rem_euclid(stride) == 0);
    let at = |exponent: i64| base.powi(exponent as i32);
    let ticks = exponents.map(|exponent| Tick {
        at: at(exponent),
        label: match scale {
            Scale::Log2 => power_of_two(exponent),
            _ => power(exponent),
        },
    });
    Range {
        scale,
        low: at(first),
        high: at(last),
        ticks: ticks.collect(),
    }
}

/// "1", "512", "1K", "64K", "2^-5".
fn power_of_two(exponent: i64) -> String {
    let unit = match exponent {
        -4..=9 => "",
        10..=19 => "K",
        20..=29 => "M",
        30..=39 => "G",
        40..=49 => "T",
        _ => return format!("2^{exponent}"),
    };
    match exponent < 0 {
        true => (1.0 / f64::from(1 << -exponent)).to_string(),
        false => format!("{}{unit}", 1 << (exponent % 10)),
    }
}

/// "1000", "0.01", "1e6".
fn power(exponent: i64) -> String {
    match exponent {
        0..=4 => format!("1{}", "0".repeat(exponent as usize)),
        -3..=-1 => format!("0.{}1", "0".repeat((-exponent - 1) as usize)),
        _ => format!("1e{exponent}"),
    }
}
