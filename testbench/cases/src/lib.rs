//! Number of random cases that the property tests of all crates try, and whether long tests run.
//!
//! | in the environment | cases | long tests |
//! |--------------------|-------|------------|
//! | nothing (`make test`) | a quarter | left out |
//! | `LANIGON_TESTS=all` (`make test-all`, continuous integration) | all | run |
//! | `PROPTEST_CASES=N` | N | as above |
//!
//! `make` fixes the seed (`PROPTEST_RNG_SEED`), so that a failure belongs to the change that shows it.

use std::env;

use proptest::test_runner::Config;

/// Divisor of the number of cases where the environment asks for no other number.
const SHARE: u32 = 4;

/// Whether the long tests are to run too.
fn all() -> bool {
    env::var_os("LANIGON_TESTS").is_some_and(|which| which == "all")
}

/// Whether a long test runs. Where it does not, one line says so.
#[must_use]
pub fn runs_long(test: &str) -> bool {
    if !all() {
        eprintln!("left out: {test} (a long test: make test-all)");
    }
    all()
}

/// Configuration of a property test with this many cases in all. Failed cases are not kept in files: the seed repeats them.
#[must_use]
pub fn cases(whole: u32) -> Config {
    let asked = env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|number| number.parse().ok());
    let usual = if all() { whole } else { whole.div_ceil(SHARE) };
    Config {
        cases: asked.unwrap_or(usual),
        failure_persistence: None,
        ..Config::default()
    }
}

/// Configuration of a property test as [`cases`] makes it, but with memory: cases that failed before stand in a file of the folder
/// `proptest-regressions`, and are tried first.
#[must_use]
pub fn remembered(whole: u32) -> Config {
    Config {
        failure_persistence: Config::default().failure_persistence,
        ..cases(whole)
    }
}
