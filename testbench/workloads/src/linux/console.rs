//! A guest's console for a person: once the guest's script is over, its shell runs lines that the person types, one by one.
//!
//! The shell says that it is ready for a line. The run stands still at that moment, whatever time the person takes, and goes on with the
//! line. So the same lines give the same run, and a line takes as much simulated time as what it runs.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanigon_guests::{Guest, GuestError};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::scenario::programs::Program;

use super::workload::Linux;

/// Character that a terminal sends for Ctrl-C.
const CTRL_C: &str = "\x03";

/// Line of the console with which the shell asks for a line.
const READY: &str = "lanigon: ready";

/// Commands behind the guest's script: the shell for what is typed. It looks for a line again and again, since a kernel that waits for
/// nothing but its console takes no notice of it.
const SHELL: &str = "
set +e
exec 3</dev/tty1
stty -echo <&3
trap : INT
status=0
while echo 'lanigon: ready'; do
    until read -r -t 1 line <&3; do :; done
    (exit $status)
    eval \"$line\" </dev/null
    status=$?
done
";

/// Place where a person sees what a guest says, and types.
pub trait Terminal: Send {
    /// Shows a line of the guest.
    fn show(&mut self, line: &str);

    /// Waits for a line to run; `None` if there will be none.
    fn ask(&mut self) -> Option<String>;

    /// Whether the command that runs is to end. Told once for each wish.
    fn breaks(&mut self) -> bool {
        false
    }
}

/// A terminal that the command and the thread of the guest's node share.
#[derive(Clone)]
pub(super) struct SharedTerminal(Arc<Mutex<dyn Terminal>>);

impl fmt::Debug for SharedTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedTerminal")
    }
}

impl SharedTerminal {
    fn terminal(&self) -> MutexGuard<'_, dyn Terminal + 'static> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guest's script with the shell behind it.
    pub(super) fn script(script: &str) -> String {
        format!("{script}{SHELL}")
    }

    /// Has the guest's command end, if the person wants that.
    ///
    /// # Errors
    /// If the guest takes no input.
    pub(super) fn look(&self, guest: &mut Guest) -> Result<(), GuestError> {
        match self.terminal().breaks() {
            true => guest.input(CTRL_C),
            false => Ok(()),
        }
    }

    /// Shows what the guest has said, and gives it a line if it has asked for one. Returns the lines of the guest itself.
    ///
    /// # Errors
    /// If the guest takes no input.
    pub(super) fn serve(
        &self,
        guest: &mut Guest,
        lines: Vec<String>,
    ) -> Result<Vec<String>, GuestError> {
        let (ready, own): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line == READY);
        let mut terminal = self.terminal();
        for line in &own {
            terminal.show(line);
        }
        for _ in ready {
            let line = terminal.ask().unwrap_or_else(|| "exit".into());
            guest.input(&format!("{line}\n"))?;
        }
        Ok(own)
    }
}

/// Opens the console of the guest at `node` on a terminal; the run ends with it.
///
/// # Errors
/// If no guest runs on that node.
pub fn open_console(
    scenario: &mut Scenario,
    node: usize,
    terminal: Arc<Mutex<dyn Terminal>>,
) -> Result<(), String> {
    for spec in &mut scenario.programs {
        let Program::Workload(_, workload) = &mut spec.program else {
            continue;
        };
        let any: &dyn Any = &**workload;
        if let Some(linux) = any.downcast_ref::<Linux>()
            && linux.nodes.contains(&node)
        {
            let mut linux = linux.clone();
            linux.console = Some((node, SharedTerminal(terminal)));
            *workload = Arc::new(linux);
            return Ok(());
        }
    }
    let name = &scenario.nodes[node].name;
    Err(format!("node {name} does not run Linux"))
}
