//! Errors for unknown names, with suggestions.

/// Error for an unknown name, with the most similar known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} \"{name}\" ({hint})")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    hint: String,
}

/// Largest number of names in a list.
const MOST_LISTED: usize = 40;
/// Smallest similarity of a suggestion.
const ALIKE: f64 = 0.75;
/// Largest number of suggestions.
const MOST_NEAREST: usize = 3;

/// The error for an unknown name of a thing, given the known names.
#[must_use]
pub fn unknown(what: &'static str, name: &str, there_are: &[&str]) -> UnknownName {
    let near = nearest(name, there_are);
    let hint = if !near.is_empty() {
        format!("did you mean {}?", near.join(", "))
    } else if there_are.is_empty() {
        "there are none".into()
    } else if there_are.len() <= MOST_LISTED {
        format!("there are: {}", there_are.join(", "))
    } else {
        format!("none of {} is like it", there_are.len())
    };
    let name = name.into();
    UnknownName { what, name, hint }
}

/// The known names most similar to `name`, best first.
fn nearest<'a>(name: &str, there_are: &[&'a str]) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let likeness = |other: &str| {
        let other = other.to_lowercase();
        // Users usually type the last part of a path.
        let last = other.rsplit(['/', ':']).next().unwrap_or(&other);
        let whole = strsim::jaro_winkler(&name, &other);
        whole.max(strsim::jaro_winkler(&name, last))
    };
    let mut near: Vec<_> = there_are
        .iter()
        .map(|&other| (likeness(other), other))
        .collect();
    near.retain(|(likeness, _)| *likeness >= ALIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup();
    near.into_iter()
        .map(|(_, name)| name)
        .take(MOST_NEAREST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_suggested() {
        let there_are = ["retransmit", "frame sent", "ack sent"];
        let check = |name, hint: &str| {
            let error = unknown("probe", name, &there_are).to_string();
            let expected = format!("there is no probe \"{name}\" ({hint})");
            assert_eq!(error, expected);
        };
        check("retransmt", "did you mean retransmit?");
        check("frame", "did you mean frame sent?");
        check("xyz", "there are: retransmit, frame sent, ack sent");
        let none = unknown("node", "n9", &[]).to_string();
        assert_eq!(none, "there is no node \"n9\" (there are none)");
    }
}
