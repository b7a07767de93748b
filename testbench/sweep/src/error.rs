//! Errors of sweeps.

use std::io;
use std::path::{Path, PathBuf};

use lanigon_worlds::scenario::ScenarioError;

/// Reasons for which a sweep cannot be run or merged.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The sweep's file or its scenario is invalid; with the position.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// The sweep's file cannot be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// A file of results cannot be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// The folder for results cannot be used: nothing was run.
    #[error("{}: no results can be written: {error}", .path.display())]
    Folder {
        /// The folder, or a file in it.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// Another process runs the same part of the sweep in this folder.
    #[error("{}: another sweep writes to this file", .0.display())]
    Locked(PathBuf),
    /// A folder has no plan of a sweep.
    #[error("{}: {reason}", .path.display())]
    SweepPlan {
        /// The plan's file.
        path: PathBuf,
        /// Defect of the plan.
        reason: String,
    },
    /// Two folders are of different sweeps.
    #[error("{} and {} are of different sweeps: {reason}", .first.display(), .second.display())]
    Mismatch {
        /// The first folder.
        first: PathBuf,
        /// The folder that differs.
        second: PathBuf,
        /// Difference between the plans.
        reason: String,
    },
    /// A measure was found in no run.
    #[error("{place}: {reason} (the results are kept: correct the path and run the sweep again)")]
    Measure {
        /// File, line and key.
        place: String,
        /// Reason for which the measure was not found.
        reason: String,
    },
}

impl SweepError {
    /// The error, if it happens before the first run: no result is lost.
    #[must_use]
    pub fn before_runs(self) -> Self {
        match self {
            Self::Io { path, error } => Self::Folder { path, error },
            other => other,
        }
    }

    /// An error of a file operation.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |error| Self::Io {
            path: path.into(),
            error,
        }
    }
}
