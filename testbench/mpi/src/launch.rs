//! Environment that a launcher of MPI gives to the processes that it starts.

use std::env;

/// Variables with the number of a process and the number of processes, by launcher.
const VARIABLES: [(&str, &str); 3] = [
    // mpirun of Open MPI.
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    // mpirun of MPICH and its relatives, srun with PMI.
    ("PMI_RANK", "PMI_SIZE"),
    // srun with PMIx.
    ("PMIX_RANK", "SLURM_NTASKS"),
];

/// A process's place among those that a launcher has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Number of the process, from 0.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
}

/// This process's place, if `mpirun` or another launcher of MPI has started it.
#[must_use]
pub fn launch() -> Option<Launch> {
    found(|name| env::var(name).ok())
}

fn found(value: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let number = |name| value(name)?.parse::<usize>().ok();
    let mut places = VARIABLES.into_iter().filter_map(|(rank, ranks)| {
        let (rank, ranks) = (number(rank)?, number(ranks)?);
        Some(Launch { rank, ranks })
    });
    places.find(|place| place.rank < place.ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_recognised() {
        let read = |variables: &[(&str, &str)]| {
            let place = found(|name| {
                let mut all = variables.iter();
                let (_, value) = all.find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            });
            place.map(|place| (place.rank, place.ranks))
        };
        let openmpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(read(&openmpi), Some((1, 2)));
        assert_eq!(read(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), Some((0, 1)));
        let srun = [("PMIX_RANK", "3"), ("SLURM_NTASKS", "4")];
        assert_eq!(read(&srun), Some((3, 4)));
        // A script of a batch job, which srun has not started.
        assert_eq!(read(&[("SLURM_NTASKS", "4")]), None);
        assert_eq!(read(&[("PMI_RANK", "x"), ("PMI_SIZE", "1")]), None);
        assert_eq!(read(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        assert_eq!(read(&[]), None);
    }
}
