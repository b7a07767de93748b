//! The crate `test` that `rustc --test` expects, on the LANai: it runs the tests one after the other. Words above the image's
//! memory tell how far it is: 0 the number of tests, 1 the number of those that have passed, 2 and 3 address and length of the
//! name of the one that runs. A test that fails panics, which stops the CPU. The host writes how the names of the tests begin that
//! it wants: 4 the length, one byte in each word from 5 on.
#![no_std]

use lanai_rt::Register;

/// Function of a test.
pub struct StaticTestFn(pub fn() -> Result<(), ()>);

/// A name.
pub struct StaticTestName(pub &'static str);

/// Whether a test must panic, which cannot be told here.
#[derive(PartialEq, Eq)]
pub enum ShouldPanic {
    /// The test must not panic.
    No,
    /// The test must panic.
    Yes,
    /// The test must panic with this message.
    YesWithMessage(&'static str),
}

/// Place of a test's source.
pub enum TestType {
    /// In the tested crate.
    UnitTest,
    /// In a crate of its own.
    IntegrationTest,
    /// In documentation.
    DocTest,
    /// Elsewhere.
    Unknown,
}

/// A test as the compiler describes it.
pub struct TestDesc {
    pub name: StaticTestName,
    pub ignore: bool,
    pub ignore_message: Option<&'static str>,
    pub source_file: &'static str,
    pub start_line: usize,
    pub start_col: usize,
    pub end_line: usize,
    pub end_col: usize,
    pub should_panic: ShouldPanic,
    pub compile_fail: bool,
    pub no_run: bool,
    pub test_type: TestType,
}

/// A test with its function.
pub struct TestDescAndFn {
    pub desc: TestDesc,
    pub testfn: StaticTestFn,
}

/// The result of a test's function.
pub fn assert_test_result(_: ()) -> Result<(), ()> {
    Ok(())
}

/// Whether the host wants this test.
fn is_wanted(test: &&&TestDescAndFn) -> bool {
    let StaticTestName(name) = test.desc.name;
    let length = Register::shared(4).read();
    let mut bytes = name.bytes();
    (0..length).all(|index| bytes.next().map(u32::from) == Some(Register::shared(5 + index).read()))
}

/// Runs all tests that the host wants.
pub fn test_main_static(tests: &[&TestDescAndFn]) {
    Register::shared(1).write(0);
    Register::shared(0).write(tests.iter().filter(is_wanted).count() as u32);
    for (passed, test) in (1..).zip(tests.iter().filter(is_wanted)) {
        let StaticTestName(name) = test.desc.name;
        Register::shared(2).write(name.as_ptr().addr() as u32);
        Register::shared(3).write(name.len() as u32);
        let runs = !test.desc.ignore && test.desc.should_panic == ShouldPanic::No;
        assert!(runs, "{name} is no test that can run here");
        let StaticTestFn(run) = test.testfn;
        if run().is_err() {
            panic!("{name} has failed");
        }
        Register::shared(1).write(passed);
    }
}
