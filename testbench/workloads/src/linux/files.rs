//! The files of a guest.

use std::path::{Path, PathBuf};
use std::{fs, io};

use host_lib::firmware::Firmware;
use host_lib::firmware::linux::{LinuxFirmware, Version};
use lanigon_guests::GuestError;
use lanigon_guests::initramfs::Archive;
use lanigon_worlds::files::own;

/// Files that a guest needs besides its script.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) kernel: PathBuf,
    /// Folder of the guest's programs and their libraries.
    root: PathBuf,
    /// Files that the scenario puts into `/root`.
    pub(super) own: Vec<PathBuf>,
}

/// Environment variable that names the folder of the kernel and the programs.
const FOLDER: &str = "LANIGON_LINUX";
/// The program without which nothing runs.
const BUSYBOX: &str = "bin/busybox";

/// Folder of what `make linux` makes.
pub(super) fn built() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(|| own::project().join("target/linux"), PathBuf::from)
}

/// Path of a program of guests.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    built().join("root").join(name)
}

/// The first thing that is missing for guests, and what to do; `None` if nothing is.
#[must_use]
pub fn missing() -> Option<String> {
    Files::find(None, &[], Path::new("")).check().err()
}

impl Files {
    /// Files of a program: those of the scenario are relative to its folder.
    pub(super) fn find(kernel: Option<&Path>, own: &[PathBuf], folder: &Path) -> Self {
        let built = built();
        Self {
            kernel: kernel.map_or_else(|| built.join("linux"), |kernel| folder.join(kernel)),
            root: built.join("root"),
            own: own.iter().map(|path| folder.join(path)).collect(),
        }
    }

    /// Checks that they are there.
    ///
    /// # Errors
    /// The first one that is not, and what to do.
    pub(super) fn check(&self) -> Result<(), String> {
        let busybox = self.root.join(BUSYBOX);
        for path in [&self.kernel, &busybox].into_iter().chain(&self.own) {
            if let Err(error) = fs::File::open(path) {
                let hint = match self.own.contains(path) {
                    true => "",
                    false => {
                        " (`make linux` builds the kernel of guests and fetches their programs)"
                    }
                };
                return Err(format!("{}: {error}{hint}", path.display()));
            }
        }
        Ok(())
    }

    /// The archive that a guest's kernel unpacks.
    ///
    /// # Errors
    /// If a file cannot be read, or the driver cannot load the firmware.
    pub(super) fn archive(
        &self,
        script: &str,
        firmware: &Firmware,
        sram_bytes: u32,
    ) -> Result<Vec<u8>, String> {
        let read = |what, path: &Path| {
            fs::read(path).map_err(|error| {
                let path = path.to_owned();
                GuestError::File { what, path, error }.to_string()
            })
        };
        let version = Version {
            major: 12,
            minor: 4,
            fix: 11,
        };
        let firmware = LinuxFirmware {
            version,
            firmware: firmware.clone(),
        };
        let firmware = firmware
            .to_file(sram_bytes)
            .map_err(|error| error.to_string())?;
        let mut archive = Archive::default();
        for folder in [
            "dev",
            "proc",
            "sys",
            "root",
            "lib",
            "lib/firmware",
            "lib/firmware/acenic",
        ] {
            archive.folder(folder);
        }
        archive.device("dev/console", 5, 1);
        archive.device("dev/null", 1, 3);
        let unreadable = |error: io::Error| format!("{}: {error}", self.root.display());
        for path in files_below(&self.root).map_err(unreadable)? {
            let name = path.strip_prefix(&self.root).unwrap_or(&path);
            let folders: Vec<_> = name.ancestors().skip(1).collect();
            for folder in folders.iter().rev().skip(1) {
                archive.folder(&folder.to_string_lossy());
            }
            archive.file(
                &name.to_string_lossy(),
                &read("the guest's program", &path)?,
            );
        }
        archive.file("lib/firmware/acenic/tg2.bin", &firmware);
        archive.file("init", include_bytes!("init"));
        archive.file("script", script.as_bytes());
        for path in &self.own {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            archive.file(&format!("root/{name}"), &read("the guest's file", path)?);
        }
        Ok(archive.finish())
    }
}

/// The files in a folder and the folders in it, in the order of their names.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => files.extend(files_below(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}
