//! Functions of an image whose multiplications, divisions and unaligned accesses software does (`defs::software`).

use std::collections::BTreeMap;

use defs::software::{ROUTINES, SITES, SITES_END};

use super::Image;
use super::symbols::SymbolKind;
use emulator_cpu::architecture::Transfer;

/// Instructions by name, and how often a function has each.
pub type Counts = BTreeMap<&'static str, u32>;

/// The functions by name, each with the instructions that cost it a call.
#[must_use]
pub fn users(image: &Image) -> BTreeMap<String, Counts> {
    let mut users: BTreeMap<String, Counts> = BTreeMap::new();
    let address = |name| Some(image.symbols.named(name)?.address);
    let (Some(start), Some(end)) = (address(SITES), address(SITES_END)) else {
        return users;
    };
    let routines = ROUTINES.map(|(mnemonic, symbol)| (mnemonic, address(symbol)));
    let moved = image.symbols.iter().filter(|symbol| {
        symbol.kind == SymbolKind::Function && (start..end).contains(&symbol.address)
    });
    for symbol in moved {
        // The name ends in an instruction and a number.
        let Some(owner) = symbol.name.rsplitn(3, '.').nth(2) else {
            continue;
        };
        let own = symbol.address..symbol.address.saturating_add(symbol.size_bytes);
        for at in own.step_by(4) {
            let Some(word) = image.instruction(at) else {
                break;
            };
            let called = match image.architecture.transfer(word) {
                Some(Transfer::Call) => image.architecture.target(word, at),
                _ => None,
            };
            let routine = routines
                .iter()
                .find(|(_, at)| called.is_some() && *at == called);
            if let Some((mnemonic, _)) = routine {
                let counts = users.entry(owner.to_owned()).or_default();
                *counts.entry(mnemonic).or_default() += 1;
            }
        }
    }
    users
}
