//! `rustc`'s linker for the Alteon Tigon2: `rust-lld`, and software for what the chip does not have.
//!
//!     tigon2-link <arguments of a linker of the GNU flavour>

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match tigon2_link::driver::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tigon2-link: {error}");
            ExitCode::FAILURE
        }
    }
}
