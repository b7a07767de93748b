//! Names of functions in few letters, which still tell them apart.

use std::collections::BTreeMap;

/// The name without types' parameters and without all but the last two parts of its path: `Emp::wait_us` for
/// `<emp::Emp<chip::Chip<A>>>::wait_us`.
#[must_use]
pub fn short(name: &str) -> String {
    let plain = plain(name);
    let parts: Vec<_> = plain.rsplitn(3, "::").take(2).collect();
    match parts[..] {
        [method, owner] => format!("{owner}::{method}"),
        _ => plain,
    }
}

/// The name without types' parameters and implemented traits, with its whole path.
fn plain(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    // A type in brackets at the beginning owns the function; `as` a trait says nothing more.
    if let Some(inside) = rest.strip_prefix('<') {
        let (owner, after) = inside.split_at(closing(inside));
        let owner = outside(owner, " as ").map_or(owner, |at| &owner[..at]);
        let owner = owner.trim_start_matches(['&', '*']);
        out.push_str(&plain(owner.strip_prefix("mut ").unwrap_or(owner)));
        rest = after.get(1..).unwrap_or_default();
    }
    while let Some(at) = rest.find('<') {
        out.push_str(rest[..at].trim_end_matches("::"));
        let inside = &rest[at + 1..];
        rest = inside.get(closing(inside) + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Position of the bracket that closes one opened before `text`; the length of `text` without it.
fn closing(text: &str) -> usize {
    depths(text)
        .find(|(_, depth, _)| *depth < 0)
        .map_or(text.len(), |(at, ..)| at)
}

/// Position of the first `word` outside of brackets.
fn outside(text: &str, word: &str) -> Option<usize> {
    let mut places = depths(text).filter(|(_, depth, _)| *depth == 0);
    places
        .find(|(at, ..)| text[*at..].starts_with(word))
        .map(|(at, ..)| at)
}

/// Letters with their places, and the number of open brackets after each.
fn depths(text: &str) -> impl Iterator<Item = (usize, i32, char)> {
    let mut depth = 0;
    let mut before = ' ';
    text.char_indices().map(move |(at, letter)| {
        match letter {
            '<' => depth += 1,
            // An arrow closes nothing.
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        before = letter;
        (at, depth, letter)
    })
}

/// At most `width` letters: the middle is left out, since a path's end says most.
fn cut(name: &str, width: usize) -> String {
    let count = name.chars().count();
    if count <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(2);
    let before: String = name.chars().take(kept / 3).collect();
    let after: String = name.chars().skip(count - (kept - kept / 3)).collect();
    format!("{before}..{after}")
}

/// Short names of different functions, of at most `width` letters each: with their paths, with their parameters, or with a number where
/// less would not tell them apart.
#[must_use]
pub fn distinct(names: &[&str], width: usize) -> Vec<String> {
    let forms: [fn(&str) -> String; 3] = [short, plain, str::to_owned];
    let mut shown: Vec<String> = names.iter().map(|name| cut(&short(name), width)).collect();
    for form in &forms[1..] {
        for index in repeated(&shown) {
            shown[index] = cut(&form(names[index]), width);
        }
    }
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for index in repeated(&shown) {
        let number = numbers.entry(shown[index].clone()).or_default();
        *number += 1;
        let suffix = format!(" #{number}");
        shown[index] = cut(&shown[index], width.saturating_sub(suffix.len())) + &suffix;
    }
    shown
}

/// Places of texts that occur more than once.
fn repeated(texts: &[String]) -> Vec<usize> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, text) in texts.iter().enumerate() {
        places.entry(text).or_default().push(index);
    }
    let mut repeated: Vec<_> = places
        .into_values()
        .filter(|places| places.len() > 1)
        .flatten()
        .collect();
    repeated.sort_unstable();
    repeated
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn short_names_say_owner_and_function() {
        for (name, expected) in [
            ("main", "main"),
            ("emp_base::cpu_a::take_frame", "cpu_a::take_frame"),
            ("emp_base::cpu_a::start::MAILBOX", "start::MAILBOX"),
            (
                "<emp::Emp<emp_common::chip::Chip<tigon2_hal::cpu::A, emp::roles::Base>>>::wait_us",
                "Emp::wait_us",
            ),
            (
                "<gm_common::chip::Chip<gm_common::Alone> as gm::nic::Nic>::fetch",
                "Chip::fetch",
            ),
            ("<lanai_hal::l9::Dma<448512>>::fetch", "Dma::fetch"),
            ("<&mut a::B<fn(u32) -> u8> as c::D<E>>::f::<G>", "B::f"),
            ("core::ptr::drop_in_place::<a::B<C>>", "ptr::drop_in_place"),
            ("a::run::{closure#0}", "run::{closure#0}"),
            ("<broken::Name<A", "broken::Name"),
            ("(code without a name)", "(code without a name)"),
            ("", ""),
        ] {
            assert_eq!(short(name), expected, "{name}");
        }
    }

    #[test]
    fn rows_can_be_told_apart() {
        let names = [
            "<emp::Emp<chip::Chip<cpu::A, roles::Base>>>::take_frame",
            "<emp::Emp<chip::Chip<cpu::B, roles::Base>>>::take_frame",
            "<emp::Emp<chip::Chip<cpu::A, roles::Base>>>::post",
            "first::queue::take",
            "second::queue::take",
            "x::a_function_with_a_name_that_is_far_too_long_for_a_row_1",
            "x::a_function_with_a_name_that_is_far_too_long_for_a_row_2",
        ];
        let shown = distinct(&names, 31);
        assert_eq!(shown[2], "Emp::post");
        assert_eq!(shown[3..5], ["first::queue::take", "second::queue::take"]);
        let different: BTreeSet<_> = shown.iter().collect();
        assert_eq!(different.len(), names.len(), "{shown:?}");
        assert!(
            shown.iter().all(|name| name.chars().count() <= 31),
            "{shown:?}"
        );
        // Even equal names, of two images' functions, are two rows.
        assert_eq!(distinct(&["f", "f"], 31), ["f #1", "f #2"]);
    }
}
