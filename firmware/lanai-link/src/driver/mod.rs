//! The program that `rustc` calls as its linker for the LANai.
//!
//! `rustc` generates no machine code for the target: its objects and libraries hold bitcode. The driver joins them (`llvm-link`),
//! changes their text into text for the LANai ([`retarget`]), removes what nothing uses (`opt`), generates code (`llc`), assembles
//! start code and run-time functions (`llvm-mc`) and links all of it.

mod arguments;
mod error;
mod library;
pub mod retarget;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::archive::ArchiveFile;

use crate::input::Input;
use crate::link::{Image, Options, link};

pub use arguments::Arguments;
pub use error::DriverError;
pub use library::{C_FUNCTIONS, is_called_by_llvm};
pub use tools::{LLVM, Tools};

/// Options of `llc`. Each of the last three avoids a fault of the back end (docs/lanai-toolchain.md).
pub const CODE_GENERATOR_OPTIONS: [&str; 8] = [
    "-O2",
    "-code-model=small",
    "-function-sections",
    "-data-sections",
    "-filetype=obj",
    "-relocation-model=static",
    "-disable-peephole",
    "-disable-lanai-mem-alu-combiner",
];

/// Name of the variable that keeps the files of all steps.
const KEEP: &str = "LANIGON_LANAI_KEEP";

/// Place of the processor's number in an ELF file.
const MACHINE_FIELD: std::ops::Range<usize> = 18..20;

/// The function that start code calls.
const MAIN: &str = "main";

/// Contents of the input files.
#[derive(Default)]
struct Contents {
    /// Name and bytes of each module of bitcode.
    bitcode: Vec<(String, Vec<u8>)>,
    /// Objects for the LANai.
    objects: Vec<Input>,
}

/// Carries out a command line, without the program's name.
pub fn run(arguments: &[String]) -> Result<Image, DriverError> {
    let arguments = Arguments::parse(&expanded(arguments)?)?;
    let contents = read_inputs(&arguments.inputs)?;
    let assembly = find_assembly(&arguments)?;
    let tools = Tools::from_environment();
    if !contents.bitcode.is_empty() || !assembly.is_empty() {
        tools.check()?;
    }
    let mut name = arguments.output.clone().into_os_string();
    name.push(".steps");
    let folder = PathBuf::from(name);
    remove(&folder)?;
    create(&folder)?;
    let steps = Steps {
        tools: &tools,
        folder: &folder,
    };
    let image = steps.image(&arguments, contents, &assembly);
    let image = image.map_err(|error| DriverError::Step {
        error: Box::new(error),
        folder: folder.clone(),
    })?;
    write_program(&arguments.output, &image.file)?;
    if std::env::var_os(KEEP).is_none() {
        remove(&folder)?;
    }
    Ok(image)
}

/// Replaces each `@FILE` by the lines of that file.
fn expanded(arguments: &[String]) -> Result<Vec<String>, DriverError> {
    let mut all = Vec::new();
    for argument in arguments {
        match argument.strip_prefix('@') {
            Some(file) => {
                let bytes = read(Path::new(file))?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                all.extend(text.lines().map(str::to_owned));
            }
            None => all.push(argument.clone()),
        }
    }
    Ok(all)
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> DriverError {
    let path = path.to_owned();
    move |source| DriverError::File { path, source }
}

fn read(path: &Path) -> Result<Vec<u8>, DriverError> {
    fs::read(path).map_err(file_error(path))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), DriverError> {
    fs::write(path, bytes).map_err(file_error(path))
}

fn create(folder: &Path) -> Result<(), DriverError> {
    fs::create_dir_all(folder).map_err(file_error(folder))
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<(), DriverError> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(file_error(folder)),
        false => Ok(()),
    }
}

/// Writes the image at once, so that an interrupted run leaves no part of one.
fn write_program(path: &Path, bytes: &[u8]) -> Result<(), DriverError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    write(&part, bytes)?;
    fs::rename(&part, path).map_err(file_error(path))
}

/// Whether these are the first bytes of bitcode.
fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(&[0xDE, 0xC0, 0x17, 0x0B])
}

/// A file's name without its folders.
fn short_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Reads all input files.
fn read_inputs(paths: &[PathBuf]) -> Result<Contents, DriverError> {
    let mut contents = Contents::default();
    for path in paths {
        let bytes = read(path)?;
        let unknown = || DriverError::Input(path.clone());
        if is_bitcode(&bytes) {
            contents.bitcode.push((short_name(path), bytes));
        } else if bytes.starts_with(b"\x7fELF") {
            if bytes.get(MACHINE_FIELD) == Some(&elf::EM_MIPS.to_be_bytes()) {
                return Err(DriverError::NotJoined(path.clone()));
            }
            let input = Input::new(&short_name(path), &bytes, true)?;
            contents.objects.push(input);
        } else {
            let archive = ArchiveFile::parse(&*bytes).map_err(|_| unknown())?;
            for member in archive.members() {
                let member = member.map_err(|_| unknown())?;
                let bytes = member.data(&*bytes).map_err(|_| unknown())?;
                // The compiler's own description of the library is there too.
                if is_bitcode(bytes) {
                    let name = String::from_utf8_lossy(member.name()).into_owned();
                    contents.bitcode.push((name, bytes.to_vec()));
                }
            }
        }
    }
    Ok(contents)
}

/// Files of assembly, searched for in the folders of the command line.
fn find_assembly(arguments: &Arguments) -> Result<Vec<PathBuf>, DriverError> {
    let find = |name: &String| {
        let here = std::iter::once(PathBuf::from(name));
        let folders = arguments.folders.iter().map(|folder| folder.join(name));
        let mut files = here.chain(folders);
        let file = files.find(|file| file.is_file());
        file.ok_or_else(|| DriverError::NoAssembly(name.clone()))
    };
    arguments.assembly.iter().map(find).collect()
}

/// The way from bitcode to an image, with its files in one folder.
struct Steps<'a> {
    tools: &'a Tools,
    folder: &'a Path,
}

impl Steps<'_> {
    fn image(
        &self,
        arguments: &Arguments,
        contents: Contents,
        assembly: &[PathBuf],
    ) -> Result<Image, DriverError> {
        let mut inputs = contents.objects;
        if !contents.bitcode.is_empty() {
            inputs.insert(0, self.compile(&contents.bitcode)?);
        }
        for file in assembly {
            inputs.push(self.assemble(file)?);
        }
        let options = Options {
            entry: arguments.entry.clone(),
            memory: arguments.memory,
        };
        Ok(link(&inputs, &options)?)
    }

    /// Modules of bitcode to one object.
    fn compile(&self, modules: &[(String, Vec<u8>)]) -> Result<Input, DriverError> {
        let mut files: Vec<PathBuf> = Vec::new();
        for (number, (name, bytes)) in modules.iter().enumerate() {
            let file = self.folder.join(format!("{number}-{name}.bc"));
            write(&file, bytes)?;
            files.push(file);
        }
        let [joined, text, used, object] = ["1-joined.ll", "2-lanai.ll", "3-used.ll", "4-code.o"]
            .map(|name| self.folder.join(name));
        let mut command: Vec<OsString> = vec!["-S".into(), "-o".into(), joined.clone().into()];
        command.extend(files.iter().map(OsString::from));
        self.tools.run("llvm-link", command)?;
        let source = read(&joined)?;
        let retargeted = retarget::retarget(&String::from_utf8_lossy(&source))?;
        write(&text, retargeted.text.as_bytes())?;
        let library = retargeted.library.iter().map(String::as_str);
        let names: Vec<&str> = [MAIN]
            .into_iter()
            .chain(library)
            .chain(C_FUNCTIONS)
            .collect();
        let visible = format!("-internalize-public-api-list={}", names.join(","));
        let opt = ["-S", "-passes=internalize,globaldce", &visible, "-o"];
        let mut command: Vec<OsString> = opt.map(OsString::from).to_vec();
        command.extend([used.clone().into(), text.into()]);
        self.tools.run("opt", command)?;
        let mut command: Vec<OsString> = CODE_GENERATOR_OPTIONS.map(OsString::from).to_vec();
        command.extend(["-o".into(), object.clone().into(), used.into()]);
        self.tools.run("llc", command)?;
        let name = modules.first().map_or("", |(name, _)| name);
        Ok(Input::new(name, &read(&object)?, true)?)
    }

    /// A file of assembly to an object.
    fn assemble(&self, file: &Path) -> Result<Input, DriverError> {
        let name = short_name(file);
        let object = self.folder.join(format!("{name}.o"));
        let arguments = ["-triple=lanai", "-filetype=obj", "-o"];
        let mut command: Vec<OsString> = arguments.map(OsString::from).to_vec();
        command.extend([object.clone().into(), file.into()]);
        self.tools.run("llvm-mc", command)?;
        Ok(Input::new(&name, &read(&object)?, false)?)
    }
}
