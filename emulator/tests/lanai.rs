//! Tests of the LANai core: data files in `lanai/` through one `check` function per kind of file, and
//! random programs against an independent model.

#[path = "lanai/compiled.rs"]
mod compiled;
#[path = "lanai/doubles.rs"]
mod doubles;
#[path = "lanai/emp.rs"]
mod emp;
#[path = "lanai/encodings.rs"]
mod encodings;
#[path = "lanai/flat.rs"]
mod flat;
#[path = "lanai/generated/mod.rs"]
mod generated;
#[path = "lanai/llvm.rs"]
mod llvm;
#[path = "lanai/programs.rs"]
mod programs;
#[path = "lanai/random.rs"]
mod random;
#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::bool_to_int_with_if,
    clippy::manual_is_multiple_of,
    reason = "naive on purpose"
)]
#[path = "lanai/reference.rs"]
mod reference;
#[path = "lanai/rows.rs"]
mod rows;
#[path = "lanai/toolchain.rs"]
mod toolchain;

/// The cases of a data file: title, text above `--`, lines below it.
fn vectors(file: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    file.split("\n== ").map(|case| {
        let (title, body) = case.split_once('\n').expect("a title line");
        let (source, expected) = body.split_once("--\n").expect("a line of two dashes");
        (title.trim_start_matches("== "), source, expected)
    })
}
