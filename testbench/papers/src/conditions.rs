//! Conditions of a run, for its report.

use emulator::image::Identity;

/// What the results of a run depend on, beside the profiles.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    /// Version of the program.
    pub version: String,
    /// Names and identities of the firmware's images.
    pub images: Vec<(String, Identity)>,
    /// How many repeats there are.
    pub repeats: String,
    /// Lengths of messages, in bytes; empty: they are those of the points.
    pub sizes: Vec<u32>,
}

impl Conditions {
    /// The conditions as names and values, with those of these profiles: names and descriptions.
    pub(crate) fn facts<'a>(
        &self,
        profiles: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(String, String)> {
        let sizes: Vec<_> = self.sizes.iter().map(u32::to_string).collect();
        let mut facts = vec![("version".to_owned(), format!("lanigon {}", self.version))];
        let profiles = profiles.map(|(name, about)| (format!("profile {name}"), about.to_owned()));
        facts.extend(profiles);
        let images = self.images.iter();
        facts
            .extend(images.map(|(name, identity)| (format!("image {name}"), identity.to_string())));
        facts.push(("repeats".into(), self.repeats.clone()));
        if !sizes.is_empty() {
            facts.push(("message sizes, bytes".into(), sizes.join(", ")));
        }
        facts
    }
}

/// What error bars and the columns "±" are.
pub(crate) const INTERVALS: &str = "Error bars and the columns ± are half of the 95 % confidence interval of a mean (batch means). \
     Runs are deterministic: the same images, profiles and sizes give the same numbers.";
