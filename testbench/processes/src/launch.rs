//! Processes that the run of a scenario starts, and ends.

use std::any::Any;
use std::env;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanigon_worlds::scenario::programs::{Program, ProgramSpec};
use lanigon_worlds::scenario::{Scenario, ScenarioError};

use crate::error::StartError;
use crate::group::{PROVIDER_FILE, SOCKETS_FILE, check_program, in_folder, library};
use crate::hub::Hub;
use crate::programs::{Output, ProgramCommand, Programs};
use crate::starter::{Starter, StarterKind};
use crate::workload::{Mode, Processes};

/// Longest text of a command in messages.
const MOST_SHOWN: usize = 60;

/// Network of the processes of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchKind {
    /// MPI.
    Mpi(MpiLaunch),
    /// Sockets. A rank may read standard input.
    Sockets(Option<usize>),
}

/// The start of a program of MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiLaunch {
    /// The starter of the MPI library.
    pub starter: PathBuf,
    /// Collective operations are the boards'.
    pub on_boards: bool,
    /// Most processes at a time: those that `MPI_Comm_spawn` starts beside the ranks.
    pub universe: usize,
}

/// Processes that have one hub. They end with it.
#[derive(Debug)]
pub struct Launch {
    hub: Arc<Hub>,
    commands: Vec<ProgramCommand>,
    reader: Option<usize>,
    output: Output,
    state: Mutex<LaunchState>,
}

/// Part of a program in a launch.
#[derive(Debug, Clone)]
pub(crate) struct LaunchPart {
    pub(crate) launch: Arc<Launch>,
    /// The first rank of the program.
    pub(crate) first: usize,
    /// The nodes of all programs of the launch, by rank.
    pub(crate) nodes: Vec<usize>,
}

#[derive(Debug)]
enum LaunchState {
    Mpi(Starter),
    Sockets(Programs),
    /// Exit codes by rank, with MPI that of the starter.
    Ended(Vec<Option<i32>>),
}

/// Prepares the processes of a scenario's programs: they run in its next run. `interrupt`: the user wants its end.
///
/// # Errors
/// If a program has no command, or cannot be started; with the position in the scenario.
pub fn prepare(
    scenario: &mut Scenario,
    interrupt: impl Fn() -> Arc<AtomicBool>,
    output: Output,
) -> Result<(), ScenarioError> {
    let programs = scenario.programs.iter().enumerate();
    let programs = programs.filter_map(|(at, spec)| Some((at, processes(spec)?)));
    let (sockets, mpi): (Vec<_>, Vec<_>) =
        programs.partition(|(_, processes)| processes.mode != Mode::Messages);
    // Programs with sockets have one network, those of MPI are jobs of their own.
    let mut groups: Vec<_> = mpi.into_iter().map(|one| vec![one]).collect();
    groups.extend((!sockets.is_empty()).then_some(sockets));
    check(scenario)?;
    for group in groups {
        let protocol = |node: usize| scenario.nodes[node].protocol;
        let first = protocol(group[0].1.nodes[0]);
        let differs =
            |(_, own): &&(usize, Processes)| own.nodes.iter().any(|node| protocol(*node) != first);
        if let Some((at, _)) = group.iter().find(differs) {
            let reason = "all programs with sockets need boards with the same protocol";
            return Err(scenario.programs[*at].place.refuse(reason));
        }
        let place = scenario.programs[group[0].0].place.clone();
        let commands = group.iter().map(|(_, own)| command(own, &scenario.folder));
        let kind = match group[0].1.mode {
            Mode::Messages => LaunchKind::Mpi(MpiLaunch {
                starter: group[0].1.starter.clone(),
                on_boards: false,
                universe: group[0].1.universe(),
            }),
            Mode::Sockets { .. } => LaunchKind::Sockets(None),
        };
        let launch = Launch::new(commands.collect(), &kind, output, interrupt());
        let launch = Arc::new(launch.map_err(|error| place.refuse(error.to_string()))?);
        let nodes = group.iter().flat_map(|(_, own)| &own.nodes).copied();
        let nodes: Vec<usize> = nodes.collect();
        let mut first = 0;
        for (at, mut own) in group {
            own.hub = Some(Arc::clone(&launch.hub));
            let ranks = own.universe();
            own.part = Some(LaunchPart {
                launch: Arc::clone(&launch),
                first,
                nodes: nodes.clone(),
            });
            first += ranks;
            if let Program::Workload(_, workload) = &mut scenario.programs[at].program {
                *workload = Arc::new(own);
            }
        }
    }
    Ok(())
}

/// The processes of a program, if it has any.
fn processes(spec: &ProgramSpec) -> Option<Processes> {
    let workload: &dyn Any = spec.workload()?;
    workload.downcast_ref::<Processes>().cloned()
}

/// Checks that the commands of a scenario's programs can be executed.
///
/// # Errors
/// If one cannot be; with the position in the scenario.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    for spec in &scenario.programs {
        let Some(processes) = processes(spec) else {
            continue;
        };
        let Some(place) = &processes.command_place else {
            return Err(spec.place.refuse("`command` names no program"));
        };
        let checked = check_program(&processes.words, &scenario.folder);
        checked.map_err(|reason| place.refuse(reason))?;
    }
    Ok(())
}

/// The command of a program, whose path is in a folder.
fn command(own: &Processes, folder: &Path) -> ProgramCommand {
    let mut words = own.words.clone();
    words[0] = in_folder(&words[0], folder).into();
    ProgramCommand {
        ranks: own.ranks.unwrap_or(own.universe()),
        words,
        folder: Some(match folder.as_os_str().is_empty() {
            true => ".".into(),
            false => folder.into(),
        }),
        compute: own.compute,
    }
}

impl Launch {
    /// Prepares the processes of these commands: one of MPI, or several with sockets. `interrupt`: the user wants their end.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn new(
        commands: Vec<ProgramCommand>,
        kind: &LaunchKind,
        output: Output,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, StartError> {
        let ranks = commands.iter().map(|command| command.ranks).sum();
        let own = env::current_exe().map_err(StartError::Socket)?;
        let listen = |path: &Path| Hub::listen(path, ranks, interrupt);
        let (state, hub, reader) = match kind {
            LaunchKind::Mpi(mpi) => {
                let kind = StarterKind::ask(&mpi.starter)?;
                let mut starter = Starter::new(kind, &library(&own, PROVIDER_FILE)?)?;
                starter.use_boards(mpi.on_boards);
                let hub = listen(&starter.socket());
                let hub = hub.map(|hub| hub.with_universe(mpi.universe));
                (LaunchState::Mpi(starter), hub, None)
            }
            LaunchKind::Sockets(reader) => {
                let programs = Programs::new(&library(&own, SOCKETS_FILE)?, output)?;
                let hub = listen(&programs.socket()).map(Hub::of_sockets);
                (LaunchState::Sockets(programs), hub, *reader)
            }
        };
        Ok(Self {
            hub: Arc::new(hub.map_err(StartError::Socket)?),
            commands,
            reader,
            output,
            state: Mutex::new(state),
        })
    }

    /// Sockets to which the processes connect.
    #[must_use]
    pub const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    fn state(&self) -> MutexGuard<'_, LaunchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the processes, if none runs.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(&self) -> Result<(), StartError> {
        let ended = self.hub.ended();
        match &mut *self.state() {
            LaunchState::Mpi(starter) if !starter.has_started() => {
                let command = &self.commands[0];
                let started = starter.start(command, self.hub.universe(), ended, self.output);
                started.map(|process| self.hub.set_starter(process))
            }
            LaunchState::Sockets(programs) if !programs.have_started() => {
                programs.start(&self.commands, self.reader, &ended)
            }
            _ => Ok(()),
        }
    }

    /// Ends the processes, if they run. Gives the exit codes by rank, with MPI that of the starter: of those that have ended by themselves.
    pub fn end(&self) -> Vec<Option<i32>> {
        let by_force = !self.hub.is_over();
        let state = &mut *self.state();
        // What is replaced here is not needed again.
        let codes = match std::mem::replace(state, LaunchState::Ended(Vec::new())) {
            LaunchState::Mpi(starter) => vec![starter.finish(by_force)],
            LaunchState::Sockets(programs) => programs.finish(by_force, &self.hub),
            LaunchState::Ended(codes) => codes,
        };
        *state = LaunchState::Ended(codes.clone());
        codes
    }

    /// Ends the processes, if they run. Gives the exit codes of these ranks, and the failures among them.
    pub(crate) fn finish(&self, ranks: Range<usize>) -> (Vec<Option<i32>>, Vec<String>) {
        let is_mpi = !self.hub.is_of_sockets();
        let mut codes = self.end();
        if !is_mpi {
            codes = codes.get(ranks.clone()).unwrap_or_default().to_vec();
        }
        let failed = codes.iter().zip(ranks).filter_map(|(code, rank)| {
            let code = code.filter(|code| *code != 0)?;
            let command = self.shown(rank);
            let who = match is_mpi {
                true => command,
                false => format!("rank {rank}, {command},"),
            };
            Some(format!("{who} has ended with {}", exit_text(code)))
        });
        let failed = failed.collect();
        (codes, failed)
    }

    /// The command of a rank, for messages.
    fn shown(&self, rank: usize) -> String {
        let mut all = self
            .commands
            .iter()
            .flat_map(|command| std::iter::repeat_n(command, command.ranks));
        let words = all.nth(rank).map_or(&[][..], |command| &command.words);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let text = words.join(" ");
        let shown: String = text
            .chars()
            .take_while(|c| *c != '\n')
            .take(MOST_SHOWN)
            .collect();
        match shown.len() < text.len() {
            true => shown + "...",
            false => shown,
        }
    }
}

/// An exit code, with the signal that it means, as a shell tells it.
#[must_use]
pub fn exit_text(code: i32) -> String {
    match code {
        129..160 => format!("exit code {code} (128 + signal {})", code - 128),
        _ => format!("exit code {code}"),
    }
}
