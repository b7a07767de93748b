//! Texts of results.

/// Formats a count: `10_000_000` as "10 000 000".
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        let check = |count, expected: &str| assert_eq!(grouped(count), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1 000");
        check(10_000_000, "10 000 000");
    }
}
