//! Schemes of EMP: division of work between the two CPUs of a NIC.

/// A division of the stages between CPU A and CPU B (docs/emp-stages.md, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// All roles on CPU A.
    Base,
    /// The send path is split.
    So,
    /// The receive path is split.
    Ro,
    /// One CPU per direction.
    Dsr,
    /// Both paths are split.
    Sr,
}

impl Scheme {
    /// All schemes, in the order of the thesis.
    pub const ALL: [Self; 5] = [Self::Base, Self::So, Self::Ro, Self::Dsr, Self::Sr];

    /// Images, titles and descriptions, in that order.
    const WORDS: [[&'static str; 3]; 5] = [
        ["emp-base", "base", "everything on CPU A"],
        ["emp-so", "SO", "the send path split between the CPUs"],
        ["emp-ro", "RO", "the receive path split between the CPUs"],
        ["emp-dsr", "DSR", "CPU A sends, CPU B receives"],
        ["emp-sr", "SR", "both paths split between the CPUs"],
    ];

    /// Name in rows, options and `data/published-emp.csv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        &self.image()["emp-".len()..]
    }

    /// Name in tables and plots.
    #[must_use]
    pub const fn title(self) -> &'static str {
        Self::WORDS[self as usize][1]
    }

    /// Short description.
    #[must_use]
    pub const fn description(self) -> &'static str {
        Self::WORDS[self as usize][2]
    }

    /// Firmware image of the scheme.
    #[must_use]
    pub const fn image(self) -> &'static str {
        Self::WORDS[self as usize][0]
    }

    /// Finds a scheme by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}
