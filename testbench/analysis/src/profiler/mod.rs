//! CPU profiles: functions, causes of waits, and the call tree.
//!
//! The profiler consumes the instruction logs (`emulator::observe::instructions`) during the run. Calls are
//! followed exactly: `jal` and `jalr` begin one, `jr $ra` ends it, and `JOFF` starts a handler. Every tick
//! of a CPU belongs to one function, to its idle loop, or to halted time.

mod calls;
mod collect;
pub mod flame;
mod functions;
pub mod names;
pub mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emulator::observe::event::{Place, TraceEvent};
use emulator::observe::instructions::InstructionLog;
use emulator::observe::stream::Observer;
use emulator::sim::time::SimTime;
use lanigon_worlds::simulation::Images;

pub use calls::{CallNode, CallTree, Costs, Spending};
pub use collect::CoreProfile;

/// Common settings of all profiles.
#[derive(Debug)]
struct Setting {
    images: Images,
    from: SimTime,
    until: SimTime,
}

/// Profiles of all active CPUs, by node and index of the CPU.
pub type Cores = BTreeMap<(u16, usize), CoreProfile>;

/// Profiler of a running world.
#[derive(Debug, Clone)]
pub struct Profiler {
    setting: Arc<Setting>,
    cores: Arc<Mutex<Cores>>,
}

impl Profiler {
    /// A profiler for nodes that run these images, for the time from `from` to `until`.
    #[must_use]
    pub fn new(images: &Images, from: SimTime, until: SimTime) -> Self {
        let setting = Setting {
            images: images.clone(),
            from,
            until,
        };
        Self {
            setting: Arc::new(setting),
            cores: Arc::default(),
        }
    }

    /// The observer to add to the world.
    #[must_use]
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn cores(&self) -> MutexGuard<'_, Cores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The profiles, after the world has finished observing.
    #[must_use]
    pub fn finish(self) -> Cores {
        let mut cores = std::mem::take(&mut *self.cores());
        cores.values_mut().for_each(CoreProfile::finish);
        cores
    }
}

impl Observer for Profiler {
    fn event(&mut self, _: &TraceEvent) {}

    fn sees_instructions(&self) -> bool {
        true
    }

    fn instructions(&mut self, place: Place, cpu: usize, log: &InstructionLog) {
        let Place::Node(node) = place else {
            return;
        };
        let mut cores = self.cores();
        let core = cores.entry((node, cpu));
        let core = core.or_insert_with(|| {
            let image = self.setting.images.image_of(node.into());
            CoreProfile::new(cpu, image.architecture, &image.symbols, &image.probes)
        });
        core.window(
            self.setting.from,
            self.setting.until,
            log.ticks_per_second(),
        );
        core.add(log.records());
    }
}
