//! The `lanigon` command.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use lanigon_command::cli::Cli;
use lanigon_command::{commands, interrupt, logging};
use lanigon_worlds::interrupt::Interrupt;

fn main() -> ExitCode {
    let cli = Cli::parse();
    logging::init(cli.verbose);
    let interrupt = Interrupt::default();
    // Commands without anything to finish end at once.
    let handled = match commands::ends_at_once(&cli.command) {
        true => Ok(()),
        false => interrupt::on_ctrl_c(&interrupt),
    };
    let status = handled.and_then(|()| commands::run(&cli.command, &interrupt));
    match status {
        Ok(status) => status.into(),
        Err(error) => {
            // One line, whatever a file's name or a parser's message contains.
            let text = format!("{error:#}");
            let line: Vec<_> = text.split_whitespace().collect();
            // Standard error may be closed.
            let _ = writeln!(io::stderr(), "error: {}", line.join(" "));
            commands::Status::of_error(&error).into()
        }
    }
}
