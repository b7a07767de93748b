//! `--profile NAME|FILE`: a built-in timing profile or a file.

use std::path::Path;

use anyhow::{Context, anyhow};
use emulator::profile::{Profile, ProfileError};

use crate::boards;
use crate::files::input::Input;
use crate::files::own;

/// A built-in profile.
///
/// # Errors
/// [`ProfileError::Unknown`].
pub fn built_in(name: &str) -> Result<Profile, ProfileError> {
    boards::profiles().built_in(name)
}

/// The profile with this name, or in this file.
///
/// # Errors
/// If there is neither, or the file is invalid.
pub fn load(name_or_file: &str) -> anyhow::Result<Profile> {
    let profiles = boards::profiles();
    if let Some(path) = own::profile(name_or_file) {
        return read(&path);
    }
    if profiles.names().any(|name| name == name_or_file) {
        return Ok(profiles.built_in(name_or_file)?);
    }
    if !Path::new(name_or_file).exists() {
        let known: Vec<_> = profiles.names().collect();
        let known = known.join(", ");
        return Err(anyhow!(
            "there is no profile and no file \"{name_or_file}\" (built in: {known})"
        ));
    }
    read(Path::new(name_or_file))
}

fn read(path: &Path) -> anyhow::Result<Profile> {
    let name = path.display().to_string();
    let text = Input::Profile.read_text(path).context(name.clone())?;
    boards::profiles()
        .parse(&text)
        .map_err(|error| match error {
            ProfileError::Syntax(syntax) => {
                let before = syntax.span().and_then(|span| text.get(..span.start));
                let line = before.unwrap_or_default().matches('\n').count() + 1;
                anyhow!("{name}, line {line}: {}", syntax.message())
            }
            other => anyhow!("{name}: {other}"),
        })
}
