//! `lanigon doctor`: which optional parts are on this machine, what they are for, and how to get those that are not.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Status;
use crate::cli::DoctorArgs;
use crate::output;

/// A part that Lanigon can use and does not need.
struct OptionalTool {
    name: &'static str,
    /// Programs of which one must be there.
    programs: &'static [&'static str],
    purpose: &'static str,
    /// Command that brings it on Debian and Ubuntu.
    remedy: &'static str,
}

/// LLVM's code generator for the LANai.
const LLVM: &str = "LLVM for the LANai";

/// All parts, those for firmware first.
const PARTS: [OptionalTool; 10] = [
    OptionalTool {
        name: "Rust",
        programs: &["cargo"],
        purpose: "firmware and tests of your own (lanigon new)",
        remedy: "apt-get install rustup && rustup default stable",
    },
    OptionalTool {
        name: LLVM,
        programs: &["llc-22"],
        purpose: "firmware of your own for the LANai",
        remedy: "apt-get install llvm-22 (in a clone: make setup)",
    },
    OptionalTool {
        name: "gdb",
        programs: &["gdb-multiarch"],
        purpose: "the NIC's CPUs in gdb (lanigon gdb)",
        remedy: "apt-get install gdb-multiarch",
    },
    OptionalTool {
        name: "tshark",
        programs: &["tshark", "wireshark"],
        purpose: "captures of the wires (--pcap)",
        remedy: "apt-get install tshark",
    },
    OptionalTool {
        name: "Chromium",
        programs: &["chromium", "google-chrome"],
        purpose: "tests of reports and flame graphs",
        remedy: "apt-get install chromium",
    },
    OptionalTool {
        name: "pdftoppm",
        programs: &["pdftoppm"],
        purpose: "tests of figures",
        remedy: "apt-get install poppler-utils",
    },
    OptionalTool {
        name: "Valgrind",
        programs: &["valgrind"],
        purpose: "host instructions of fixed work (make instructions)",
        remedy: "apt-get install valgrind",
    },
    OptionalTool {
        name: "MPI starter",
        programs: &["mpiexec"],
        purpose: "MPI programs on emulated hosts (lanigon launch)",
        remedy: "apt-get install openmpi-bin libopenmpi-dev",
    },
    OptionalTool {
        name: "Open MPI",
        programs: &["mpirun"],
        purpose: "runs shared among machines over MPI (feature mpi)",
        remedy: "apt-get install libopenmpi-dev openmpi-bin libclang-dev",
    },
    OptionalTool {
        name: "Python",
        programs: &["python3"],
        purpose: "comparisons with independent tools (make test-independent)",
        remedy: "apt-get install python3-venv",
    },
];

/// Result of the search for a part.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    purpose: &'static str,
    /// Path of the part's program; absent if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// Command that brings it, if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
}

/// Runs the command.
///
/// # Errors
/// If the result cannot be written.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Status> {
    let findings = PARTS.map(|part| {
        let path = find(&part);
        Finding {
            name: part.name,
            purpose: part.purpose,
            remedy: path.is_none().then_some(part.remedy),
            path,
        }
    });
    if args.json {
        output::print_json(&findings)?;
    } else {
        output::print(&text(&findings))?;
    }
    Ok(Status::Done)
}

/// Searches the program of a part. LLVM may be in a folder of its own, which a variable names or `make setup` has made.
fn find(part: &OptionalTool) -> Option<PathBuf> {
    let in_folder = (part.name == LLVM).then(|| {
        let named = env::var_os("LANIGON_LLVM").filter(|folder| !folder.is_empty());
        let folder = named.map_or_else(|| "target/llvm/bin".into(), PathBuf::from);
        program_in(&folder, "llc")
    });
    in_folder.flatten().or_else(|| {
        let folders = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<_> = env::split_paths(&folders).collect();
        let mut programs = part.programs.iter();
        programs.find_map(|program| {
            folders
                .iter()
                .find_map(|folder| program_in(folder, program))
        })
    })
}

fn program_in(folder: &Path, program: &str) -> Option<PathBuf> {
    let path = folder.join(program);
    path.is_file().then_some(path)
}

fn text(findings: &[Finding]) -> String {
    let (mut there, mut missing) = (Vec::new(), String::new());
    for finding in findings {
        match finding.remedy {
            None => there.push((finding.name, finding.purpose)),
            // Writing to a string cannot fail.
            Some(remedy) => {
                let Finding { name, purpose, .. } = finding;
                let _ = writeln!(missing, "  {name:<22}  {purpose}\n  {:<22}  {remedy}", "");
            }
        }
    }
    let mut text = String::from("Everything that `lanigon run` needs is in this program.\n");
    if !there.is_empty() {
        let _ = write!(text, "\noptional, and here\n{}", output::aligned(there));
    }
    match missing.is_empty() {
        true => text += "\nNothing is missing.\n",
        false => {
            let _ = write!(text, "\noptional, and missing\n{missing}");
        }
    }
    text
}
