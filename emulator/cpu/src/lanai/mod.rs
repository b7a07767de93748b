//! The LANai core: big-endian, jumps with slots, and by generation exposed loads (docs/lanai-core.md, sections 1 and 2).
//!
//! # Forms
//!
//! Bit 31 is the leftmost; conditions DDDI: docs/lanai-core.md, section 2.
//!
//! | form | word | effect |
//! |--|--|--|
//! | constant | `0 AAA` rd rs1 F H imm16 | rd = rs1 op constant. H puts imm16 into the upper half. The other half is 0; for `and` it is all ones. For shifts imm16 is the signed distance and H means arithmetic |
//! | registers | `1100` rd rs1 F I rs2 BBB J DDD | rd = rs1 op rs2 under condition DDDI. For BBB = 111, J tells `sh` (10000), `sha` (11000), `sel` (00000: rs1 if the condition holds, else rs2); else J is ignored: compilers for real chips set its highest bit in `or` |
//! | nested | `1101` rd rs1 F - rs2 OOO rs3 PPP | rd = rs1 op1 (rs2 op2 rs3); shifts are logical. Bit 16 is ignored (meaning unknown). The inner operation reads the carry and sets no flags (GUESS) |
//! | bit counts | `1101` rd rs1 0... code | 1 `popc`, 2 `leadz`, 3 `trailz`; of 0 the last two give 32 |
//! | memory | `100 S` rd rs1 P Q imm16 | load, or store with S, of a word; docs/lanai-core.md, section 2.2 |
//! | memory, two registers | `101 S` rd rs1 P Q rs2 BBB J Y L E | YL: 01 word, 00 half, 10 byte; E: zero-extend. The displacement is rs1 op rs2. A shifted address (BBB = 111) is that of a word, whatever YL says |
//! | branch | `1110` DDD address 0 I | jump to the 25-bit address if the condition holds |
//! | relative branch | `1110` DDD 1 - rs1 - imm 1 I | jump to rs1 + imm |
//! | condition as a value | `1110` DDD 0 - rs1 - 1 I | rs1 = 1 if the condition holds, else 0 |
//! | direct memory | `1111` rd a 0 S a | load or store of a word at a 21-bit address |
//! | long constant | `1111` rd c 1 0 c | rd = 21-bit constant |
//! | short memory | `1111` rd rs1 1 1 0 Y S E P Q imm10 | byte (Y) or half; E: zero-extend; signed displacement |
//!
//! Operations AAA, BBB, OOO, PPP: 0 `add`, 1 `addc`, 2 `sub`, 3 `subb`, 4 `and`, 5 `or`, 6 `xor`, 7 shift. Words that set reserved
//! bits are no instructions.

pub mod alu;
pub mod architecture;
pub mod asm;
pub mod bus;
mod core;
mod decode;
pub mod disasm;
pub mod exec;
mod fields;
pub mod isa;
mod kind;
mod op;
mod packed;
pub mod pipeline;
mod private;
mod runs;

pub use kind::Kind;
pub use op::Op;
