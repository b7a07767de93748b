//! Runs that the processes of `mpirun` share.

use anyhow::{Context, bail, ensure};
use lanigon_mpi::{Launch, MpiError, Session, launch};
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::ranks::{MOST_RANKS, MeetingError, agree};

use super::super::Status;
use super::{Prepared, execute, prepare, save_at};
use crate::cli::run::RunArgs;

/// Whether processes of `mpirun` are to share the run: always if they are several, since each would run it for itself else.
pub(super) fn is_wanted(args: &RunArgs) -> bool {
    args.shared.mpi || launch().is_some_and(|launch| launch.ranks > 1)
}

/// Runs the command as one of the processes of `mpirun`.
///
/// # Errors
/// If the request or the scenario is invalid at one of them, they do not fit, or one of them ends early. What all processes know, rank 0 says.
pub(super) fn run(args: &RunArgs, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let place = launch().context(
        "--mpi: no launcher of MPI has started this process: mpirun -n N lanigon run SCENARIO",
    )?;
    let session = match Session::begin() {
        Ok(session) => session,
        Err(_) if place.rank > 0 => return Ok(Status::Refused),
        Err(MpiError::NotBuilt) if !args.shared.mpi => {
            let ranks = place.ranks;
            bail!(
                "mpirun has started {ranks} processes, and {}; `lanigon run SCENARIO --processes {ranks}` shares a run without it",
                MpiError::NotBuilt
            );
        }
        Err(error) => return Err(error.into()),
    };
    let save_at = save_at(args);
    let prepared = check(args, place).and_then(|()| match &save_at {
        Ok(save_at) => prepare(args, interrupt, save_at.as_ref(), place.rank == 0),
        Err(error) => bail!("{error:#}"),
    });
    let mut transport = session.transport(interrupt.flag());
    let first = transport.rank() == 0;
    let own = prepared.as_ref().map(|prepared| &prepared.identity);
    let agreed = agree(&mut *transport, own.map_err(|error| format!("{error:#}")));
    let prepared = match (agreed, prepared) {
        (Ok(()), Ok(prepared)) => prepared,
        (Err(MeetingError::Rank(_)), _) if interrupt.requested() => return Ok(Status::Interrupted),
        (Err(MeetingError::Rank(error)), _) => return Err(error.into()),
        (agreed, prepared) => {
            drop(transport);
            session.finish();
            return refused(first, agreed, prepared);
        }
    };
    let done = execute(args, interrupt, prepared, transport)?;
    // Before the others end: the launcher ends all processes when one has failed.
    let status = done.end(args);
    session.finish();
    status
}

/// Result of a run that all ranks have refused: rank 0 reports the reason, the others report nothing.
fn refused(
    first: bool,
    agreed: Result<(), MeetingError>,
    prepared: anyhow::Result<Prepared<'_>>,
) -> anyhow::Result<Status> {
    if !first {
        return Ok(Status::Refused);
    }
    prepared?;
    agreed?;
    Ok(Status::Refused)
}

/// Refuses what does not fit `mpirun`.
fn check(args: &RunArgs, place: Launch) -> anyhow::Result<()> {
    for (option, is_given) in [
        ("--processes", args.shared.processes.is_some()),
        ("--rank", args.shared.rank.is_some()),
    ] {
        ensure!(
            !is_given,
            "{option} is for processes without MPI: mpirun has started {} processes, which share the run",
            place.ranks
        );
    }
    ensure!(
        place.ranks <= MOST_RANKS,
        "mpirun has started {} processes; at most {MOST_RANKS} can share a run",
        place.ranks
    );
    Ok(())
}
