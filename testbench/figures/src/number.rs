//! Numbers as text.

/// A number with up to five significant digits, without trailing zeros: "9.1563", "65536", "1.2e9".
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return String::from("-");
    }
    if size == 0.0 {
        return String::from("0");
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.4e}");
        return match text.split_once('e') {
            Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
            None => text,
        };
    }
    // The logarithm of a number in that range is small.
    let before_point = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(5 - before_point).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// Without zeros at the end of the decimals.
fn trimmed(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

/// A coordinate with two decimals at most.
pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    match trimmed(&text) {
        "-0" => String::from("0"),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_are_enough() {
        for (value, text) in [
            (0.0, "0"),
            (65536.0, "65536"),
            (9.156_32, "9.1563"),
            (26.77, "26.77"),
            (-0.5, "-0.5"),
            (1_234_567.0, "1234567"),
            (1.2e9, "1.2e9"),
            (2e-7, "2e-7"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(100.0), "100");
    }
}
