//! Unwinding, with sections built byte by byte.

use super::*;
use crate::{Frame, LostReturn, Standing, UnwindError};
use emulator_base::initiator::Initiator;

const LEAF: u32 = 0x4000;
const MIDDLE: u32 = 0x4100;
const START: u32 = 0x4200;
const STACK: u32 = 0x8000;
const SP: usize = 29;
const RA: usize = 31;

/// The compiler's common entry: the frame of a function begins at the stack pointer.
fn common() -> Vec<u8> {
    let mut bytes = words(&[16, u32::MAX]);
    // Version 4, no augmentation, addresses of 4 bytes, factors 1 and -4, register 31 returns; the frame is at $sp.
    bytes.extend([4, 0, 4, 0, 1, 0x7C, 31, 0x0D, 29, 0, 0, 0]);
    bytes
}

/// The entry of a function whose first instruction takes `bytes` off the stack and whose second one saves
/// $ra at their end.
fn function(address: u32, size: u32, bytes: u8) -> Vec<u8> {
    let mut entry = words(&[20, 0, address, size]);
    entry.extend([0x44, 0x0E, bytes, 0x44, 0x9F, 1, 0, 0]);
    entry
}

/// The entry of a function without a frame.
fn leaf(address: u32, size: u32) -> Vec<u8> {
    words(&[12, 0, address, size])
}

fn image_with(debug_frame: Vec<u8>, names: &[Name]) -> Image {
    let code = part(".text", CODE, LEAF, Some(LEAF), vec![0; 0x300]);
    let section = part(".debug_frame", UNLOADED, 0, None, debug_frame);
    let file = elf(LEAF, vec![code, section], names);
    Image::parse(&file, &LIMITS).expect("it is sound")
}

fn frames() -> Vec<u8> {
    [common(), leaf(LEAF, 0x20), function(MIDDLE, 0x20, 24)].concat()
}

/// The stack of MIDDLE, called by START, while LEAF runs.
fn word(at: u32) -> Option<u32> {
    match at {
        0x410C | 0x4208 => Some(call(LEAF)),
        _ if at == STACK + 20 => Some(0x4210),
        STACK..=0x80FF | 0x4000..0x4300 => Some(0),
        _ => None,
    }
}

fn standing<W>(pc: u32, registers: &[u32], word: W) -> Standing<'_, W> {
    Standing {
        who: Initiator::Cpu(0),
        pc,
        registers,
        lost: &[],
        word,
    }
}

fn unwind(image: &Image, pc: u32, ra: u32, sp: u32) -> (Vec<Frame>, Option<UnwindError>) {
    let mut registers = [0; 32];
    (registers[SP], registers[RA]) = (sp, ra);
    image.unwind(standing(pc, &registers, word))
}

fn frame(address: u32, sp: u32) -> Frame {
    Frame { address, sp }
}

#[test]
fn from_a_leaf_to_what_nothing_is_said_of() {
    let image = image_with(frames(), &[]);
    let (found, error) = unwind(&image, LEAF + 8, 0x4114, STACK);
    assert_eq!(error, None);
    let expected = [
        frame(LEAF + 8, STACK),
        frame(0x410C, STACK),
        frame(0x4208, STACK + 24),
    ];
    assert_eq!(found, expected);
    // Before its first instruction MIDDLE has no frame, and before its second one $ra is valid.
    let (found, _) = unwind(&image, MIDDLE, 0x4210, STACK);
    assert_eq!(found, [frame(MIDDLE, STACK), frame(0x4208, STACK)]);
    let (found, _) = unwind(&image, MIDDLE + 4, 0x4210, STACK);
    assert_eq!(found, [frame(MIDDLE + 4, STACK), frame(0x4208, STACK + 24)]);
}

#[test]
fn a_return_address_that_follows_no_call_stands_for_itself() {
    let image = image_with(frames(), &[]);
    let (found, error) = unwind(&image, LEAF, START, STACK);
    assert_eq!(
        (found, error),
        (vec![frame(LEAF, STACK), frame(START, STACK)], None)
    );
}

/// LEAF calls START without a copy of its return address. What START would return to is what the board noted at the call.
#[test]
fn a_return_address_that_is_not_kept_is_what_the_board_noted() {
    let mut code = vec![0; 0x300];
    code[0x10..0x14].copy_from_slice(&call(START).to_be_bytes());
    let debug_frame = [common(), leaf(LEAF, 0x20), leaf(START, 0x20)].concat();
    let parts = vec![
        part(".text", CODE, LEAF, Some(LEAF), code),
        part(".debug_frame", UNLOADED, 0, None, debug_frame),
    ];
    let image = Image::parse(&elf(LEAF, parts, &[]), &LIMITS).expect("it is sound");
    let call_at = LEAF + 0x10;
    assert_eq!(image.bare_calls(), [call_at]);
    let mut registers = [0; 32];
    (registers[SP], registers[RA]) = (STACK, call_at + 8);
    let word = |at| image.instruction(at);
    let check = |lost: &[LostReturn], expected: &[Frame]| {
        let standing = Standing {
            lost,
            ..standing(START + 4, &registers, word)
        };
        assert_eq!(image.unwind(standing), (expected.to_vec(), None));
    };
    let [inner, outer] = [frame(START + 4, STACK), frame(call_at, STACK)];
    check(&[], &[inner, outer]);
    let noted = LostReturn {
        call: call_at,
        sp: STACK,
        to: 0x4800,
    };
    check(&[noted], &[inner, outer, frame(0x4800, STACK)]);
    let deeper = LostReturn {
        sp: STACK - 8,
        ..noted
    };
    check(&[deeper], &[inner, outer]);
}

/// LEAF ends in a call of START, which lies behind it and begins with a call too: what START would return to is its own first
/// instruction, which the board noted.
#[test]
fn a_function_behind_a_call_that_does_not_return_has_a_caller() {
    let mut code = vec![0; 0x300];
    code[0x18..0x1C].copy_from_slice(&call(START).to_be_bytes());
    let behind = (START - LEAF) as usize;
    assert_eq!(behind, 0x200);
    code[behind - 8..behind - 4].copy_from_slice(&call(START).to_be_bytes());
    code[behind..behind + 4].copy_from_slice(&call(MIDDLE).to_be_bytes());
    let debug_frame = [common(), leaf(LEAF, 0x200), leaf(START, 0x20)].concat();
    let parts = vec![
        part(".text", CODE, LEAF, Some(LEAF), code),
        part(".debug_frame", UNLOADED, 0, None, debug_frame),
    ];
    let image = Image::parse(&elf(LEAF, parts, &[]), &LIMITS).expect("it is sound");
    let mut registers = [0; 32];
    (registers[SP], registers[RA]) = (STACK, START + 8);
    let noted = |call, to| LostReturn {
        call,
        sp: STACK,
        to,
    };
    let lost = [noted(START - 8, 0x4800), noted(START, START)];
    let word = |at| image.instruction(at);
    let standing = Standing {
        lost: &lost,
        ..standing(MIDDLE, &registers, word)
    };
    let (found, error) = image.unwind(standing);
    let places: Vec<u32> = found.iter().map(|frame| frame.address).collect();
    assert_eq!(
        (places, error),
        (vec![MIDDLE, START, START - 8, 0x4800], None)
    );
}

#[test]
fn on_its_way_out_a_function_has_no_frame() {
    let image = image_with(frames(), &[]);
    let check = |code: [u32; 4], at: u32, sp| {
        let read = |address: u32| match address {
            0x4110..0x4120 => Some(code[(address as usize - 0x4110) / 4]),
            _ => word(address),
        };
        let mut registers = [0; 32];
        (registers[SP], registers[RA]) = (sp, 0x4210);
        let (found, error) = image.unwind(standing(at, &registers, read));
        assert_eq!(error, None);
        assert_eq!(found, [frame(at, sp), frame(0x4208, STACK + 24)], "{at:#x}");
    };
    let give_back = push(24) & 0xFFFF_0000 | 24;
    let returns = [NOP, give_back, JR_RA, NOP];
    check(returns, 0x4110, STACK);
    check(returns, 0x4114, STACK);
    check(returns, 0x4118, STACK + 24);
    check(returns, 0x411C, STACK + 24);
    let jumps_on = [NOP, give_back, jump(LEAF), NOP];
    check(jumps_on, 0x4118, STACK + 24);
    let in_the_slot = [NOP, NOP, JR_RA, give_back];
    check(in_the_slot, 0x4118, STACK);
    check(in_the_slot, 0x411C, STACK);
    let goes_on = [NOP, NOP, jump(MIDDLE), NOP];
    check(goes_on, 0x4114, STACK);
}

#[test]
fn what_is_wrong_is_told() {
    let check = |image: &Image, pc, ra, sp, count, expected| {
        let (found, error) = unwind(image, pc, ra, sp);
        assert_eq!((found.len(), error), (count, Some(expected)));
    };
    let plain = elf(
        LEAF,
        vec![part(".text", CODE, LEAF, Some(LEAF), vec![0; 4])],
        &[],
    );
    let plain = Image::parse(&plain, &LIMITS).unwrap();
    check(&plain, LEAF, 0, STACK, 1, UnwindError::None);
    let image = image_with(frames(), &[]);
    let (address, at) = (MIDDLE + 8, 0x10_0014);
    check(
        &image,
        address,
        0,
        0x10_0000,
        1,
        UnwindError::NoMemory { address, at },
    );
    // Unbounded recursion: $ra is never saved.
    check(
        &image,
        MIDDLE + 4,
        MIDDLE + 4,
        STACK,
        1 << 16,
        UnwindError::TooDeep,
    );
    let cut = frames()[..30].to_vec();
    let (_, error) = unwind(&image_with(cut, &[]), LEAF, 0, STACK);
    assert!(matches!(error, Some(UnwindError::Damaged(_))), "{error:?}");
}

#[test]
fn of_several_it_is_the_one_that_the_core_sees() {
    let twice = [common(), leaf(MIDDLE, 0x10), function(MIDDLE, 0x20, 24)].concat();
    let address = MIDDLE + 8;
    let (_, error) = unwind(&image_with(twice.clone(), &[]), address, 0x4210, STACK);
    assert_eq!(error, Some(UnwindError::Ambiguous { address }));
    let names = [("middle", MIDDLE, 0x20, FUNC, ".text")];
    let (found, _) = unwind(&image_with(twice, &names), address, 0, STACK);
    assert_eq!(found.last(), Some(&frame(0x4208, STACK + 24)));
}

proptest! {
    #[test]
    fn nonsense_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0..0x40u32, sp: u32) {
        let mut section = frames();
        let image = image_with([section.clone(), bytes.clone()].concat(), &[]);
        unwind(&image, MIDDLE + at, LEAF, sp);
        for (place, byte) in section.iter_mut().skip(at as usize).zip(&bytes) {
            *place = *byte;
        }
        unwind(&image_with(section, &[]), MIDDLE + 8, LEAF, sp);
    }
}
