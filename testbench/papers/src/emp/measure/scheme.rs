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
    /// Schemes that use both CPUs.
    pub const SPLIT: [Self; 4] = [Self::So, Self::Ro, Self::Dsr, Self::Sr];

    /// Name in rows, options and `data/published-emp.csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::So => "so",
            Self::Ro => "ro",
            Self::Dsr => "dsr",
            Self::Sr => "sr",
        }
    }

    /// Name in tables and plots.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::So => "SO",
            Self::Ro => "RO",
            Self::Dsr => "DSR",
            Self::Sr => "SR",
        }
    }

    /// Short description.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Base => "everything on CPU A",
            Self::So => "the send path split between the CPUs",
            Self::Ro => "the receive path split between the CPUs",
            Self::Dsr => "CPU A sends, CPU B receives",
            Self::Sr => "both paths split between the CPUs",
        }
    }

    /// Firmware image of the scheme.
    #[must_use]
    pub const fn image(self) -> &'static str {
        match self {
            Self::Base => "emp-base",
            Self::So => "emp-so",
            Self::Ro => "emp-ro",
            Self::Dsr => "emp-dsr",
            Self::Sr => "emp-sr",
        }
    }

    /// Finds a scheme by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}
