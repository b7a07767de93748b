//! The further cores of a board with more than two, beside the two of a turn.

use crate::cores::{CorePrivate, CoreUnit};
use crate::run::pair::{Rest, divide};
use emulator_cpu::mips::exec::Core;
use emulator_observe::instructions::Record;

/// Work of the board for the further cores behind a turn.
#[derive(Debug, Default)]
pub(crate) struct LeftForRest {
    /// Cores that are ahead must go back, and execute in turn up to this tick; 0 if they need not.
    pub(crate) recalled_until: u64,
    /// Words of SRAM that were decoded, for their logs.
    pub(crate) decoded: Vec<Record>,
}

/// The further cores, which stand.
#[derive(Debug)]
pub(crate) struct RestOfCores<'a> {
    /// The cores.
    pub(crate) cores: Rest<'a, CoreUnit>,
    /// Work that is left to do for them.
    pub(crate) left: &'a mut LeftForRest,
}

/// The two cores of a turn, and the further ones if there are any.
#[inline(always)]
pub(crate) fn part<'a>(
    units: &'a mut [CoreUnit],
    first: usize,
    other: usize,
    left: &'a mut LeftForRest,
) -> (&'a mut CoreUnit, &'a mut CoreUnit, Option<RestOfCores<'a>>) {
    match units {
        [a, b] => match first {
            0 => (a, b, None),
            _ => (b, a, None),
        },
        units => {
            let (first, other, cores) = divide(units, first, other);
            (first, other, Some(RestOfCores { cores, left }))
        }
    }
}

impl RestOfCores<'_> {
    fn each(&mut self) -> impl Iterator<Item = &mut CorePrivate> {
        self.cores.iter_mut().map(|unit| &mut unit.private)
    }

    /// Acts on each core.
    pub(crate) fn for_each(&mut self, mut act: impl FnMut(&mut Core, &mut CorePrivate)) {
        let units = self.cores.iter_mut();
        units.for_each(|unit| act(&mut unit.core, &mut unit.private));
    }

    /// Whether any of the cores is so.
    pub(crate) fn any(&self, mut is_so: impl FnMut(&CorePrivate) -> bool) -> bool {
        self.cores.iter().any(|unit| is_so(&unit.private))
    }

    /// The core with this index, if it is among them.
    pub(crate) fn find(&self, cpu: usize) -> Option<&CoreUnit> {
        let mut units = self.cores.iter();
        units.find(|unit| unit.private.index() == cpu)
    }

    /// The core with this index, if it is among them.
    pub(crate) fn find_mut(&mut self, cpu: usize) -> Option<&mut CoreUnit> {
        let mut units = self.cores.iter_mut();
        units.find(|unit| unit.private.index() == cpu)
    }

    /// Whether one is ahead.
    #[cold]
    pub(crate) fn is_ahead(&self) -> bool {
        self.any(|private| private.ahead.is_active())
    }

    /// Ends their idle loops.
    #[cold]
    pub(crate) fn wake(&mut self) {
        self.each().for_each(|private| private.idle.wake());
    }

    /// The board has handled an event.
    #[cold]
    pub(crate) fn handled(&mut self, changed: bool) {
        for private in self.each() {
            if changed || private.idle.watches() {
                private.idle.wake();
            }
            private.idle.end_period();
        }
    }
}
