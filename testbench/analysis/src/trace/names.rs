//! Names that a user may say, and what he may have meant by one that does not exist.

/// A name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} \"{name}\" ({hint})")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    hint: String,
}

/// More names than this are not listed.
const MOST_LISTED: usize = 40;
/// So alike must two names be for one to be meant by the other.
const ALIKE: f64 = 0.75;
/// Suggestions.
const MOST_NEAREST: usize = 3;

/// The error for a name of a thing of which there are these.
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

/// The names most like `name`, the nearest first.
fn nearest<'a>(name: &str, there_are: &[&'a str]) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let likeness = |other: &str| {
        let other = other.to_lowercase();
        // Of a path the last part is what people type.
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
