//! `rustc`'s linker for the Myricom LANai: bitcode, libraries and objects to an image.
//!
//!     lanai-link -o IMAGE [-L FOLDER]... [--assemble=FILE]... [--memory=ADDRESS] [-e SYMBOL] FILE...

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match lanai_link::driver::run(&arguments) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lanai-link: {error}");
            ExitCode::FAILURE
        }
    }
}
