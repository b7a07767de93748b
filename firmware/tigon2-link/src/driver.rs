//! The program that `rustc` calls as its linker for the Tigon2.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use defs::software::{HI, ROUTINES, SITES};

use crate::elf::{Image, space};
use crate::emit::Routines;
use crate::error::LinkError;
use crate::plan::{Plan, plan};

/// The linker that comes with `rustc`, which puts its folder into `PATH` for the linker it calls.
const LINKER: &str = "rust-lld";
/// The size of the moved code depends on nothing but the moved instructions; a second link with space for it is enough
/// unless a table holds a number that becomes an instruction's address by chance.
const MOST_LINKS: usize = 4;

/// Links, with arguments for a linker of the GNU flavour.
///
/// # Errors
/// If `rust-lld` fails, or instructions of the image cannot be done in software.
pub fn run(arguments: &[OsString]) -> Result<(), LinkError> {
    link(arguments, &[])?;
    let Some(output) = output(arguments) else {
        return Ok(());
    };
    let mut object = output.clone().into_os_string();
    object.push(".software.o");
    let object = PathBuf::from(object);
    let mut before = Vec::new();
    for _ in 0..MOST_LINKS {
        let file = fs::read(&output).map_err(file_error(&output))?;
        let image = Image::read(&file).map_err(image_error(&output))?;
        let plan = planned(&image)?;
        let functions = functions(&image, &plan);
        if functions == before {
            return write(&output, file, &image, &plan);
        }
        let bytes = space(image.flags, &functions).map_err(image_error(&output))?;
        fs::write(&object, bytes).map_err(file_error(&object))?;
        let linked = link(arguments, &more(&object, &plan));
        fs::remove_file(&object).map_err(file_error(&object))?;
        linked?;
        before = functions;
    }
    Err(LinkError::Restless)
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> LinkError {
    let path = path.to_owned();
    move |source| LinkError::File { path, source }
}

fn image_error<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> LinkError {
    let path = path.to_owned();
    move |error| LinkError::Image {
        path,
        reason: error.to_string(),
    }
}

/// The file that the command line makes.
fn output(arguments: &[OsString]) -> Option<PathBuf> {
    let mut arguments = arguments.iter();
    arguments.find(|argument| *argument == "-o")?;
    arguments.next().map(PathBuf::from)
}

fn link(arguments: &[OsString], more: &[OsString]) -> Result<(), LinkError> {
    let mut command = Command::new(LINKER);
    // rustc gives the flavour first, where the target names a linker of LLVM.
    if arguments.first().is_none_or(|first| first != "-flavor") {
        command.args(["-flavor", "gnu"]);
    }
    command.args(arguments).args(more);
    let status = command.status().map_err(LinkError::NoLinker)?;
    match status.success() {
        true => Ok(()),
        false => Err(LinkError::Linker),
    }
}

/// Further arguments of the second link: the object with space, and the routines, which nothing names yet.
fn more(object: &Path, plan: &Plan) -> Vec<OsString> {
    let used: BTreeSet<usize> = plan
        .chunks
        .iter()
        .flat_map(|chunk| chunk.routines())
        .collect();
    let used = used.into_iter().map(|number| ROUTINES[number].1);
    let names = used.chain([SITES, HI]);
    let keep = names.map(|name| format!("--undefined={name}").into());
    std::iter::once(object.into()).chain(keep).collect()
}

fn planned(image: &Image) -> Result<Plan, LinkError> {
    plan(&image.program).map_err(|mut places| {
        for place in &mut places {
            let name = rustc_demangle::demangle(image.function(place.address));
            place.function = format!("{name:#}");
        }
        LinkError::Places(places)
    })
}

/// Name and size of each function of the moved code.
fn functions(image: &Image, plan: &Plan) -> Vec<(String, u32)> {
    let function = |(number, chunk): (usize, &crate::Chunk)| {
        let owner = image.function(chunk.address);
        let name = format!("{owner}.{}.{number}", chunk.mnemonic());
        (name, 4 * chunk.code(&Routines::default()).len() as u32)
    };
    plan.chunks.iter().enumerate().map(function).collect()
}

/// Writes the changed image.
fn write(output: &Path, mut file: Vec<u8>, image: &Image, plan: &Plan) -> Result<(), LinkError> {
    let mut changes = plan.in_place.clone();
    if !plan.chunks.is_empty() {
        let symbol = |name: &str| {
            let symbol = image.symbol(name);
            symbol.ok_or_else(|| LinkError::NoRoutine(name.to_owned()))
        };
        let mut routines = Routines {
            high: symbol(HI)?,
            ..Routines::default()
        };
        for number in plan.chunks.iter().flat_map(|chunk| chunk.routines()) {
            routines.routines[number] = symbol(ROUTINES[number].1)?;
        }
        let mut at = symbol(SITES)?;
        for chunk in &plan.chunks {
            changes.extend(chunk.replaced(at));
            for word in chunk.code(&routines) {
                changes.push((at, word));
                at = at.wrapping_add(4);
            }
        }
    }
    for (address, word) in &changes {
        let place = image.place(*address);
        let bytes = place.and_then(|place| file.get_mut(place..place.checked_add(4)?));
        let outside = || format!("no code at {address:#x}");
        let bytes = bytes.ok_or_else(|| image_error(output)(outside()))?;
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    match changes.is_empty() {
        true => Ok(()),
        false => fs::write(output, file).map_err(file_error(output)),
    }
}
