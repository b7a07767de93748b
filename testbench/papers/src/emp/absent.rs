//! Systems with which the thesis compares EMP and which this project does not contain. A test looks whether that is still so.

use host_lib::emp::OpenError;

/// Reason for which two processes on a host are not measured: the error of the second one.
#[must_use]
pub fn second_process() -> String {
    let told = OpenError::Busy;
    format!(
        "not modelled: EMP's library lets one process of a host use a board; a second one is told \"{told}\""
    )
}

#[cfg(test)]
mod tests {

    #[test]
    fn no_scenario_runs_what_is_absent() {
        let network = "[network]\ntopology = \"pair\"\n[[program]]\nrun = ";
        let refused = |name: &str| {
            let found = lanigon_workloads::parse(
                "test",
                &format!("{network}\"{name}\"\nnodes = \"all\"\n"),
            );
            found.err().map(|error| error.to_string())
        };
        for name in ["sockets", "socket"] {
            let why = refused(name).unwrap_or_default();
            let unknown = format!("no program \"{name}\"");
            assert!(
                why.contains(&unknown),
                "{name} exists: mend its text. {why}"
            );
        }
        let known = refused("mpi").unwrap_or_default();
        assert!(!known.contains("no program"), "{known}");
    }
}
