//! Symbols and identities of images.

use super::*;
use emulator_base::initiator::Initiator;

fn symbol(name: &str, address: u32, size_bytes: u32, memory: Memory) -> Symbol {
    Symbol {
        name: name.into(),
        address,
        size_bytes,
        kind: SymbolKind::Function,
        memory: Some(memory),
    }
}

#[test]
fn nested_symbols_give_the_inner_one() {
    let inner = symbol("inner", 16, 8, Memory::Sram);
    let symbols = Symbols::new(vec![inner, symbol("outer", 0, 64, Memory::Sram)]);
    let name = |address| {
        symbols
            .at(address)
            .map(|(symbol, offset)| (symbol.name.as_str(), offset))
    };
    assert_eq!(name(20), Some(("inner", 4)));
    assert_eq!(name(24), Some(("outer", 24)));
    assert_eq!(name(64), None);
}

#[test]
fn each_cpu_sees_its_own_scratchpad() {
    let at = 0xC0_0010;
    let symbols = Symbols::new(vec![
        symbol("of_a", at, 16, Memory::ScratchpadA),
        symbol("of_b", at - 8, 16, Memory::ScratchpadB),
        symbol("of_both", 0x4000, 16, Memory::Sram),
    ]);
    let check = |who, address, expected: &str| {
        assert_eq!(symbols.describe_for(who, address), expected);
    };
    check(Initiator::Cpu(0), at, "of_a");
    check(Initiator::Cpu(1), at, "of_b+0x8");
    check(Initiator::Host, at, "of_a");
    check(Initiator::Cpu(0), at - 8, "0xc00008");
    check(Initiator::Cpu(0), 0x4004, "of_both+0x4");
    check(Initiator::Cpu(1), 0x4004, "of_both+0x4");
}

#[test]
fn what_is_loaded_tells_images_apart() {
    let image = image();
    let mut renamed = image.clone();
    renamed.symbols = Symbols::default();
    renamed.probes.clear();
    assert_eq!(renamed.identity(), image.identity());
    assert_eq!(image.symbol_table().symbols, image.symbols);
    let check = |change: fn(&mut Image)| {
        let mut other = image.clone();
        change(&mut other);
        assert_ne!(other.identity(), image.identity());
    };
    check(|image| image.entry += 4);
    check(|image| image.segments[0].bytes[0] ^= 1);
    check(|image| image.segments[0].load_address += 4);
    check(|image| image.segments[0].bytes.push(0));
}
