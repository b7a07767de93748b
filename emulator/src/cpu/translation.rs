//! Translated code of a core: when it is made, for whom, and when it is used. The results of a run are equal with and without it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use translator::{Code, Program};

/// Stretches of a core after which its code is translated by default: short runs do without.
const USUAL_STRETCHES: u64 = 20_000;

/// A program, and its translation once it is there. `None` inside: there is none for this host.
#[derive(Debug)]
pub(crate) struct Translation {
    program: Program,
    code: OnceLock<Option<Code>>,
}

impl Translation {
    /// Makes the code.
    fn make(&self) {
        let code = Code::translate(&self.program);
        let code = code.inspect_err(|error| log::warn!("without translated code: {error}"));
        // Only one thread makes it.
        let _ = self.code.set(code.ok());
    }

    /// The instructions.
    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }
}

#[derive(Debug)]
struct Shared {
    /// Stretches of a core before its code is translated.
    after: u64,
    /// Code is made while the cores go on.
    in_background: bool,
    made: Mutex<HashMap<u64, Vec<Arc<Translation>>>>,
}

/// All translations of a world, which its boards share: boards that execute the same code use the same translation.
#[derive(Debug, Clone)]
pub struct Translations(Arc<Shared>);

impl Default for Translations {
    /// Code is translated in the background once a core has executed many stretches.
    fn default() -> Self {
        Self::new(USUAL_STRETCHES, true)
    }
}

impl Translations {
    /// Code is translated once a core has executed `after` stretches, and at its next turn unless that happens in the background.
    #[must_use]
    pub fn new(after: u64, in_background: bool) -> Self {
        Self(Arc::new(Shared {
            after,
            in_background,
            made: Mutex::default(),
        }))
    }

    /// Code is translated as early as possible: for tests.
    #[must_use]
    pub fn at_once() -> Self {
        Self::new(0, false)
    }

    /// What has been made so far.
    #[must_use]
    pub fn made(&self) -> Made {
        let mut sum = Made::default();
        let Ok(made) = self.0.made.lock() else {
            return sum;
        };
        for translation in made.values().flatten() {
            if let Some(Some(code)) = translation.code.get() {
                sum.translations += 1;
                sum.instructions += translation.program.instructions.iter().flatten().count();
                sum.bytes += code.bytes();
            }
        }
        sum
    }

    /// A translation of a program with the same surroundings, for which `serves` holds; else a new one of `program`.
    pub(crate) fn find(
        &self,
        program: Program,
        serves: impl Fn(&Program) -> bool,
    ) -> Option<Arc<Translation>> {
        let key = u64::from(program.layout.own_words);
        let mut made = self.0.made.lock().ok()?;
        let known = made.entry(key).or_default();
        let found = known.iter().find(|other| {
            let other = other.program();
            *other == program
                || other.costs == program.costs && other.layout == program.layout && serves(other)
        });
        if let Some(found) = found {
            return Some(Arc::clone(found));
        }
        let new = Arc::new(Translation {
            program,
            code: OnceLock::new(),
        });
        known.push(Arc::clone(&new));
        drop(made);
        let maker = Arc::clone(&new);
        if !self.0.in_background
            || thread::Builder::new()
                .name("translation".into())
                .spawn(move || maker.make())
                .is_err()
        {
            new.make();
        }
        Some(new)
    }
}

/// What has been translated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// Number of translations.
    pub translations: usize,
    /// Instructions in them.
    pub instructions: usize,
    /// Bytes of their machine code.
    pub bytes: usize,
}

/// What has been executed by translated code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Times at which translated code was entered.
    pub entries: u64,
    /// Cycles that their instructions took, without those of accesses and branches.
    pub cycles: u64,
}

/// The translated code of one core.
#[derive(Debug, Default)]
pub struct CoreTranslation {
    translations: Option<Translations>,
    translation: Option<Arc<Translation>>,
    /// Number of changes of the core's code for which it holds.
    changes: u64,
    /// Stretches without it, or instructions that it lacks, until it is made anew.
    wait: u64,
    waited: u64,
    /// What has been executed by it.
    pub usage: Usage,
}

impl CoreTranslation {
    /// Uses these translations from now on, or none.
    pub(crate) fn share(&mut self, translations: Option<&Translations>) {
        *self = Self {
            translations: translations.cloned(),
            wait: translations.map_or(u64::MAX, |shared| shared.0.after),
            usage: self.usage,
            ..Self::default()
        };
    }

    /// Whether the code should be translated.
    #[inline(always)]
    pub(crate) const fn is_due(&self) -> bool {
        self.waited > self.wait
    }

    /// The shared translations, if a translation is due.
    pub(crate) fn due(&self) -> Option<Translations> {
        self.is_due().then(|| self.translations.clone()).flatten()
    }

    /// Uses this translation, for code after so many changes.
    pub(crate) fn take(&mut self, translation: Option<Arc<Translation>>, changes: u64) {
        self.translation = translation;
        self.changes = changes;
        self.waited = 0;
        // Code that changes again and again is translated ever more rarely.
        self.wait = self.wait.saturating_mul(2);
    }

    /// A stretch was executed without it.
    #[inline(always)]
    pub(crate) const fn note_stretch(&mut self) {
        if self.translation.is_none() {
            self.waited += 1;
        }
    }

    /// The code, if there is some for a memory that has changed so often.
    #[inline(always)]
    pub(crate) fn code(&mut self, changes: u64) -> Option<(&Code, &mut Usage, &mut u64)> {
        self.translations.as_ref()?;
        if self.translation.is_some() && self.changes != changes {
            self.translation = None;
        }
        let Some(translation) = &self.translation else {
            self.waited += 1;
            return None;
        };
        let code = translation.code.get()?.as_ref()?;
        Some((code, &mut self.usage, &mut self.waited))
    }
}
