//! The files of new projects, for each architecture of boards.

use lanigon_worlds::boards::BoardType;

/// A file of a new project.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
}

/// A kind of new projects.
pub(super) struct Skeleton {
    pub(super) files: &'static [File],
    /// The script that builds the firmware.
    pub(super) script: &'static str,
    /// Command that runs the tests.
    pub(super) test: &'static str,
    /// Whether a test names the board.
    pub(super) names_board: bool,
}

/// The skeleton of projects for boards of this type.
pub(super) const fn for_board(board: &BoardType) -> &'static Skeleton {
    match board.host_view.lanai() {
        None => &USUAL,
        Some(_) => &LANAI,
    }
}

/// The build script in all projects.
const SCRIPT: &str = "firmware/build.sh";

/// A file, and its template in the folder `skeleton`.
macro_rules! file {
    ($path:literal, $template:literal) => {
        File {
            path: $path,
            text: include_str!(concat!("skeleton/", $template)),
        }
    };
}

/// For boards of the default type. Those files that `examples/echo` has too are taken from there: it extends this project.
static USUAL: Skeleton = Skeleton {
    files: &[
        file!(".gitignore", "gitignore"),
        file!("Cargo.toml", "manifest.toml"),
        // Known working versions.
        file!("Cargo.lock", "lock.toml"),
        file!("rust-toolchain.toml", "toolchain.toml"),
        file!("firmware/.cargo/config.toml", "firmware-config.toml"),
        file!("firmware/Cargo.toml", "firmware-manifest.toml"),
        file!("firmware/Cargo.lock", "firmware-lock.toml"),
        file!("firmware/build.sh", "build.sh"),
        file!("firmware/src/main.rs", "main.rs"),
        file!("src/lib.rs", "lib.rs"),
        file!("tests/echo.rs", "test.rs"),
    ],
    script: SCRIPT,
    test: "cargo test",
    names_board: false,
};

static LANAI: Skeleton = Skeleton {
    files: &[
        file!(".gitignore", "gitignore"),
        file!("Makefile", "lanai/Makefile"),
        file!("Cargo.toml", "manifest.toml"),
        file!("Cargo.lock", "lock.toml"),
        file!("rust-toolchain.toml", "toolchain.toml"),
        file!("firmware/.cargo/config.toml", "lanai/firmware-config.toml"),
        file!("firmware/Cargo.toml", "lanai/firmware-manifest.toml"),
        file!("firmware/Cargo.lock", "lanai/firmware-lock.toml"),
        file!("firmware/build.sh", "lanai/build.sh"),
        file!("firmware/src/main.rs", "lanai/main.rs"),
        file!("src/lib.rs", "lanai/lib.rs"),
        file!("tests/echo.rs", "lanai/test.rs"),
    ],
    script: SCRIPT,
    test: "make test",
    names_board: true,
};
