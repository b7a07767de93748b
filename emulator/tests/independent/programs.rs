//! Random programs within what the MIPS manuals define: no branch in a delay slot, aligned accesses,
//! no overflow of `add`, `sub` and `addi`.

use emulator::cpu::mips::asm::{Program, Segment};
use emulator::cpu::mips::isa::{self, Flow, Kind, Operand, Row};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Start of the code.
pub const CODE: u32 = 0x1000;
/// Start of the data that loads and stores access.
pub const DATA: u32 = 0x8000;
/// Bytes of data.
pub const DATA_BYTES: usize = 256;

/// Registers that point into the data and are never written.
const DATA_POINTERS: [u32; 4] = [16, 17, 18, 19];
/// Register that points to the first instruction and is never written.
const CODE_POINTER: u32 = 20;
/// Register that holds a target of `jr` and `jalr`.
const TARGET: u32 = 25;
/// Registers with values whose sums do not overflow; never written.
const SMALL: [u32; 2] = [26, 27];

/// A program and its initial state.
#[derive(Debug, Clone)]
pub struct Scene {
    pub code: Vec<u32>,
    pub data: Vec<u8>,
    /// Registers 1 to 31.
    pub registers: Vec<u32>,
}

impl Scene {
    /// The instruction at `pc`; 0 outside.
    pub fn word_at(&self, pc: u32) -> u32 {
        let index = (pc.wrapping_sub(CODE) / 4) as usize;
        self.code.get(index).copied().unwrap_or(0)
    }

    /// Code and data at their addresses.
    pub fn program(&self) -> Program {
        let code = self.code.iter().flat_map(|word| word.to_be_bytes());
        let segment = |address, bytes| Segment { address, bytes };
        let segments = vec![
            segment(CODE, code.collect()),
            segment(DATA, self.data.clone()),
        ];
        Program {
            segments,
            ..Program::default()
        }
    }
}

/// Consecutive instructions.
#[derive(Debug, Clone)]
enum Item {
    Plain(u32),
    /// A branch or jump, its distance in words, and its delay slot.
    Control {
        row: Row,
        bits: u32,
        distance: i32,
        slot: u32,
    },
}

/// The instructions that other MIPS processors have too.
pub fn shared_rows() -> Vec<Row> {
    let own = |row: &&Row| {
        !matches!(row.kind, Kind::Missing | Kind::Pri | Kind::Joff) && !row.kind.is_option()
    };
    isa::ROWS.iter().filter(own).copied().collect()
}

/// Whether the manuals let the instruction trap on overflow.
fn traps(row: &Row) -> bool {
    matches!(row.mnemonic, "add" | "sub" | "addi")
}

fn source() -> impl Strategy<Value = u32> {
    0..32u32
}

/// A register without a fixed value.
fn destination() -> impl Strategy<Value = u32> {
    let free = |register: &u32| {
        !DATA_POINTERS.contains(register)
            && !SMALL.contains(register)
            && ![CODE_POINTER, TARGET].contains(register)
    };
    select((0..32).filter(free).collect::<Vec<u32>>())
}

/// Offsets from a data pointer at which an access of `width` bytes stays within the data.
fn displacement(width: i16) -> impl Strategy<Value = u32> {
    (-96 / width..96 / width).prop_map(move |count| u32::from((count * width).cast_unsigned()))
}

/// The operands of a computation, load or store, in place.
fn plain_word(row: Row) -> BoxedStrategy<u32> {
    let width = match row.kind {
        Kind::Lw | Kind::Sw => 4,
        Kind::Lh | Kind::Lhu | Kind::Sh => 2,
        _ => 1,
    };
    let sources: BoxedStrategy<u32> = if traps(&row) {
        select(SMALL.to_vec()).boxed()
    } else {
        source().boxed()
    };
    let pointer = select(DATA_POINTERS.to_vec());
    let fields = (
        sources.clone(),
        sources,
        destination(),
        any::<u32>(),
        pointer,
        displacement(width),
    );
    fields
        .prop_map(move |(rs, rt, out, any, pointer, offset)| {
            let field = |operand: &Operand| match operand {
                Operand::Rs => rs << 21,
                Operand::Rt => rt << 16,
                Operand::RtOut => out << 16,
                Operand::Rd => out << 11,
                Operand::Memory => pointer << 21 | offset,
                other => any & other.field(),
            };
            row.operands
                .iter()
                .fold(row.bits, |word, operand| word | field(operand))
        })
        .boxed()
}

fn plain() -> impl Strategy<Value = u32> {
    let rows = shared_rows().into_iter();
    let rows = rows.filter(|row| row.kind.flow() == Flow::Next);
    select(rows.collect::<Vec<Row>>()).prop_flat_map(plain_word)
}

fn control() -> impl Strategy<Value = Item> {
    let rows = shared_rows().into_iter();
    let rows = rows.filter(|row| row.kind.flow().has_delay_slot());
    let distance = prop_oneof![8 => 1..8i32, 1 => -6..1i32];
    let registers = (source(), source(), destination(), any::<bool>());
    (
        select(rows.collect::<Vec<Row>>()),
        registers,
        distance,
        plain(),
    )
        .prop_map(|(row, (rs, rt, rd, equal), distance, slot)| {
            let links = matches!(
                row.kind,
                Kind::Bltzal | Kind::Bgezal | Kind::Bltzall | Kind::Bgezall
            );
            let rs = match row.operands {
                [Operand::Rs] | [Operand::Rd, Operand::Rs] => TARGET,
                // The manuals do not define a branch that reads its own link register.
                _ if links && rs == 31 => 30,
                _ => rs,
            };
            let rt = if equal { rs } else { rt };
            let bits = row.operands.iter().fold(row.bits, |word, operand| {
                word | match operand {
                    Operand::Rs => rs << 21,
                    Operand::Rt => rt << 16,
                    Operand::Rd => rd << 11,
                    _ => 0,
                }
            });
            Item::Control {
                row,
                bits,
                distance,
                slot,
            }
        })
}

impl Item {
    fn words(&self) -> u32 {
        match self {
            Self::Plain(_) => 1,
            Self::Control { row, .. } if uses_target(row) => 3,
            Self::Control { .. } => 2,
        }
    }

    /// Appends the item's words to the code; a target outside of the code becomes its `end`.
    fn emit(self, code: &mut Vec<u32>, end: u32) {
        let (row, bits, distance, slot) = match self {
            Self::Plain(word) => return code.push(word),
            Self::Control {
                row,
                bits,
                distance,
                slot,
            } => (row, bits, distance, slot),
        };
        let here = code.len() as u32 + u32::from(uses_target(&row));
        let to = here.saturating_add_signed(1 + distance).min(end);
        let field = match row.operands.last() {
            Some(Operand::Branch) => to.wrapping_sub(here + 1) & 0xFFFF,
            Some(Operand::Jump) => (CODE >> 2) + to,
            _ => {
                let addiu = 9 << 26 | CODE_POINTER << 21 | TARGET << 16;
                code.push(addiu | (to << 2));
                0
            }
        };
        code.extend([bits | field, slot]);
    }
}

/// Concatenates the items and a final `break`.
fn lay_out(items: Vec<Item>) -> Vec<u32> {
    let end = items.iter().map(Item::words).sum();
    let mut code = Vec::new();
    for item in items {
        item.emit(&mut code, end);
    }
    code.push(0x0000_000D);
    code
}

fn uses_target(row: &Row) -> bool {
    matches!(row.kind, Kind::Jr | Kind::Jalr)
}

/// A value near an edge of the number range, or any.
fn value() -> impl Strategy<Value = u32> {
    let edges = vec![
        0,
        1,
        2,
        31,
        32,
        33,
        0x7FFF,
        0x8000,
        0xFFFF,
        0x10000,
        0x7FFF_FFFE,
        0x7FFF_FFFF,
        0x8000_0000,
        0x8000_0001,
        0xFFFF_7FFF,
        0xFFFF_8000,
        0xFFFF_FFFE,
        0xFFFF_FFFF,
    ];
    prop_oneof![select(edges), any::<u32>()]
}

fn registers() -> impl Strategy<Value = Vec<u32>> {
    let pointer = (12..20u32).prop_map(|count| DATA + 8 * count);
    let small = -0x2000_0000..0x2000_0000i32;
    (vec(value(), 31), vec(pointer, 4), vec(small, 2)).prop_map(
        |(mut registers, pointers, small)| {
            for (register, value) in DATA_POINTERS.iter().zip(pointers) {
                registers[*register as usize - 1] = value;
            }
            for (register, value) in SMALL.iter().zip(small) {
                registers[*register as usize - 1] = value.cast_unsigned();
            }
            registers[CODE_POINTER as usize - 1] = CODE;
            registers
        },
    )
}

/// Any program, in any state. It may not terminate.
pub fn scene() -> impl Strategy<Value = Scene> {
    let item = prop_oneof![3 => plain().prop_map(Item::Plain), 2 => control()];
    let code = vec(item, 1..40).prop_map(lay_out);
    (code, vec(any::<u8>(), DATA_BYTES), registers()).prop_map(|(code, data, mut registers)| {
        let end = CODE + 4 * (code.len() as u32 - 1);
        registers[TARGET as usize - 1] = end;
        Scene {
            code,
            data,
            registers,
        }
    })
}
