//! A timeline against Perfetto's own schema, read by its Python package.
//!
//! Optional, since it needs that package: `make test-independent` (see CONTRIBUTING.md).

use std::env;
use std::path::Path;
use std::process::Command;

use lanigon_timeline::Options;

use super::shown::{LOSSY, run};

#[test]
fn perfettos_schema_knows_every_field() {
    let python = env::var("LANIGON_INDEPENDENT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/timeline/perfetto_check.py"
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("official.pftrace");
    let (bytes, _) = run(LOSSY, 1, Some(Options::default()));
    std::fs::write(&file, bytes).unwrap();
    let output = Command::new(python).arg(script).arg(file).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found = String::from_utf8(output.stdout).unwrap();
    let count = |name: &str| {
        let line = found
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        line.and_then(|count| count.parse::<u64>().ok())
            .unwrap_or(0)
    };
    // Four nodes and a switch; each node sends four messages to three others.
    assert_eq!(count("processes"), 5, "{found}");
    assert_eq!(count("flows"), 48, "{found}");
    assert_eq!(count("flows across processes"), 48, "{found}");
    assert!(
        count("slices") > 1000 && count("counter values") > 100,
        "{found}"
    );
    println!("{found}");
}
