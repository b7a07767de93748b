//! Choice of the board that a command is about: named, or found by the image.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow};
use emulator::image::Image;
use emulator::profile::Profile;
use lanigon_worlds::boards::{self, BOARDS, BoardType, DEFAULT, KB};
use lanigon_worlds::files::own::DataLocation;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::profile;
use lanigon_worlds::scenario::nearest;

use crate::cli::BoardArgs;

/// A board and its costs.
pub struct BoardChoice {
    /// Type of the board.
    pub board: &'static BoardType,
    /// Costs.
    pub profile: Profile,
    /// Local memory.
    pub sram_bytes: u32,
}

/// The board that options name; else the one whose CPUs execute the image's code; else the usual one.
///
/// # Errors
/// If the options name none, or do not fit each other.
pub fn choose(
    args: &BoardArgs,
    own_profile: Option<&str>,
    image: Option<&Path>,
) -> anyhow::Result<BoardChoice> {
    let named = args.board.as_deref().map(named).transpose()?;
    let profile = own_profile.map(profile::load).transpose()?;
    let board = match (named, &profile, image) {
        (Some((board, _)), ..) => board,
        (None, Some(profile), _) => boards::for_profile(profile),
        (None, None, Some(image)) => machine(image)
            .and_then(boards::for_machine)
            .or_else(|| built_in_for(image))
            .unwrap_or(DEFAULT),
        (None, None, None) => DEFAULT,
    };
    let profile = match (profile, named) {
        (Some(profile), _) => profile,
        (None, Some((_, name))) => profile::load(name)?,
        (None, None) => profile::load(board.profile)?,
    };
    profile.for_board(board.name)?;
    let sram_bytes = match args.sram_kilobytes {
        Some(kilobytes) => board
            .check_sram(kilobytes.saturating_mul(KB))
            .with_context(|| format!("--sram {kilobytes}"))?,
        None => board.usual_sram_bytes,
    };
    Ok(BoardChoice {
        board,
        profile,
        sram_bytes,
    })
}

/// An image for a board, with the symbols of another file if one is given.
///
/// # Errors
/// If a file is invalid, or the symbols are for other code.
pub fn read_image(
    board: &BoardType,
    image: &Path,
    symbols: Option<&Path>,
    sram_bytes: u32,
) -> Result<Image, FirmwareError> {
    let found = board.find(image);
    match symbols {
        Some(symbols) => {
            let image = board.read_alone(&found, sram_bytes)?;
            board.with_symbols(image, &board.find(symbols), sram_bytes)
        }
        None => board.read(&found, sram_bytes),
    }
}

/// The type of board with this name or profile, and the profile.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> anyhow::Result<(&'static BoardType, &'static str)> {
    boards::named(name).ok_or_else(|| {
        let known: Vec<_> = boards::names().collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"? There are"),
            None => "there are".to_owned(),
        };
        anyhow!("--board: no board \"{name}\"; {hint} {}", known.join(", "))
    })
}

/// The first type of board that a built-in image fits.
fn built_in_for(image: &Path) -> Option<&'static BoardType> {
    let fits = |board: &&BoardType| {
        board.find(image) != DataLocation::File(image.into())
            && board.find_image(image, board.usual_sram_bytes).is_ok()
    };
    BOARDS.iter().find(fits)
}

/// The machine in the head of an ELF file; `None` if it is none or cannot be read.
fn machine(path: &Path) -> Option<u16> {
    const MAGIC: &[u8] = b"\x7fELF";
    const BIG_ENDIAN: u8 = 2;
    let mut head = [0; 20];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    let bytes = [head[18], head[19]];
    let machine = match head[5] {
        BIG_ENDIAN => u16::from_be_bytes(bytes),
        _ => u16::from_le_bytes(bytes),
    };
    head.starts_with(MAGIC).then_some(machine)
}
