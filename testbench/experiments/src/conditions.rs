//! Conditions of a run.

use emulator::image::Identity;
use emulator::profile::Profile;
use serde::{Serialize, Serializer};

/// Everything on which the results of a run depend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conditions {
    /// Version of the program.
    pub version: &'static str,
    /// Names and descriptions of the profiles.
    pub profiles: Vec<(String, String)>,
    /// Names and identities of the firmware's images.
    #[serde(serialize_with = "as_text")]
    pub images: Vec<(String, Identity)>,
    /// Number of repeats, as a sentence.
    pub repeats: String,
    /// Lengths of messages, in bytes; empty: they are those of the points.
    pub sizes: Vec<u32>,
}

fn as_text<S: Serializer>(images: &[(String, Identity)], serializer: S) -> Result<S::Ok, S::Error> {
    let images = images.iter();
    serializer.collect_seq(images.map(|(name, identity)| (name, identity.to_string())))
}

/// Names and descriptions of profiles.
pub fn about<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Vec<(String, String)> {
    let profiles = profiles.into_iter();
    profiles
        .map(|profile| (profile.name.clone(), profile.description.clone()))
        .collect()
}

impl Conditions {
    /// Conditions without message sizes.
    #[must_use]
    pub fn new(
        profiles: Vec<(String, String)>,
        images: Vec<(String, Identity)>,
        repeats: String,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            profiles,
            images,
            repeats,
            sizes: Vec::new(),
        }
    }

    /// The conditions as names and values.
    #[must_use]
    pub fn facts(&self) -> Vec<(String, String)> {
        let sizes: Vec<_> = self.sizes.iter().map(u32::to_string).collect();
        let mut facts = vec![("version".to_owned(), format!("lanigon {}", self.version))];
        let profiles = self.profiles.iter();
        facts.extend(profiles.map(|(name, about)| (format!("profile {name}"), about.to_owned())));
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
