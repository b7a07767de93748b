//! The `lanigon` command.

mod embedded;

use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use lanigon_command::cli::{Cli, START};
use lanigon_command::{commands, interrupt, logging, output};
use lanigon_worlds::files::own;
use lanigon_worlds::interrupt::Interrupt;

fn main() -> ExitCode {
    own::provide(embedded::EMBEDDED);
    let status = match Cli::try_parse() {
        _ if env::args_os().len() == 1 => start(),
        Ok(cli) => run(&cli),
        Err(message) => explain(&message),
    };
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

fn run(cli: &Cli) -> anyhow::Result<commands::Status> {
    logging::init(cli.verbose);
    commands::use_data_folder(cli.data.as_deref())?;
    let interrupt = Interrupt::default();
    // Commands without anything to finish end at once.
    if !commands::ends_at_once(&cli.command) {
        interrupt::on_ctrl_c(&interrupt)?;
    }
    commands::run(&cli.command, &interrupt)
}

/// Shows what to try first.
fn start() -> anyhow::Result<commands::Status> {
    output::print(START)?;
    Ok(commands::Status::Done)
}

/// Shows a message of the parser: a wrong request, or a help text, which may go to a full disk.
fn explain(message: &clap::Error) -> anyhow::Result<commands::Status> {
    if message.use_stderr() {
        message.exit();
    }
    let text = message.render();
    let text = match console::colors_enabled() {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    output::print(&text)?;
    Ok(commands::Status::Done)
}
