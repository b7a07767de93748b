//! Timelines of worlds under test.

use std::path::Path;

use lanigon_kit::{Kit, KitError, image_folder};
use lanigon_timeline::to_file;

use super::decoded;

#[test]
fn a_test_draws_a_timeline() -> Result<(), KitError> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kit.pftrace");
    let image = image_folder().join("hello");
    let mut kit = Kit::alone()
        .firmware(image)
        .observe(to_file(&*path))
        .build()?;
    kit.run()?;
    kit.finish()?;
    let timeline = decoded::read(&std::fs::read(path).unwrap());
    assert!(!timeline.slices.is_empty());
    Ok(())
}

#[test]
fn a_timeline_that_cannot_be_written_is_told_of() {
    let image = image_folder().join("hello");
    let build = |path: &str| {
        let kit = Kit::alone().firmware(&image).observe(to_file(path));
        kit.build()
    };
    let error = build("/nowhere/x").unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
    if Path::new("/dev/full").exists() {
        let mut kit = build("/dev/full").unwrap();
        kit.run().unwrap();
        let error = kit.finish().unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
    }
}
