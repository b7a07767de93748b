//! Code that has moved out of line.

use defs::software::{FRAME_BYTES, LEFT, RETURN, RIGHT, ROUTINES};

use crate::instruction::{
    AT, JumpKind, NOP, RA, SP, Soft, V0, add, address, branch_by, call, flow, jump, load, rs, rt,
    store, target, upper,
};

/// A branch that is always taken: `beq $zero, $zero`.
const ALWAYS: u32 = 0x1000_0000;

/// Neighbouring instructions that move together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Address at which the instructions were.
    pub address: u32,
    /// The instructions, and what software does for them.
    pub(crate) words: Vec<(u32, Option<Soft>)>,
}

/// Addresses of what the HAL provides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Routines {
    /// The routines, in the order of [`ROUTINES`].
    pub routines: [u32; ROUTINES.len()],
    /// The word that holds HI.
    pub high: u32,
}

impl Chunk {
    /// The instructions at the old place when the new one is `to`.
    #[must_use]
    pub fn replaced(&self, to: u32) -> Vec<(u32, u32)> {
        let rest = (1..self.words.len()).map(|index| (self.at(index), NOP));
        std::iter::once((self.address, jump(to)))
            .chain(rest)
            .collect()
    }

    /// Name of the first instruction that software does.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        let soft = self.words.iter().find_map(|(_, soft)| match soft {
            None | Some(Soft::InPlace(_)) => None,
            Some(Soft::ReadHigh(_)) => Some("mfhi"),
            Some(Soft::WriteHigh(_)) => Some("mthi"),
            Some(soft) => soft.routine().map(|number| ROUTINES[number].0),
        });
        soft.unwrap_or("moved")
    }

    /// The routines that it calls.
    pub fn routines(&self) -> impl Iterator<Item = usize> {
        self.words
            .iter()
            .filter_map(|(_, soft)| soft.as_ref()?.routine())
    }

    /// The code at the new place. Its length does not depend on addresses.
    #[must_use]
    pub fn code(&self, routines: &Routines) -> Vec<u32> {
        let mut code = Vec::new();
        let mut index = 0;
        while let Some(&(word, soft)) = self.words.get(index) {
            match (flow(word), self.words.get(index + 1)) {
                (Some(flow), Some(&slot)) => {
                    self.branch(&mut code, index, flow, slot, routines);
                    index += 2;
                }
                _ => {
                    code.extend(one(word, soft, routines));
                    index += 1;
                }
            }
        }
        code.extend([jump(self.at(self.words.len())), NOP]);
        code
    }

    fn at(&self, index: usize) -> u32 {
        self.address.wrapping_add(4 * index as u32)
    }

    /// A branch or jump that was at `index`, with its slot. A slot that one instruction does remains a slot.
    fn branch(
        &self,
        code: &mut Vec<u32>,
        index: usize,
        flow: JumpKind,
        slot: (u32, Option<Soft>),
        routines: &Routines,
    ) {
        let word = self.words[index].0;
        let behind = self.at(index + 2);
        let body = one(slot.0, slot.1, routines);
        // The slot is executed before the target, and after a call has set its register.
        let (before, in_slot) = match body[..] {
            [only] => (&[][..], only),
            _ => (&body[..], NOP),
        };
        let link = match flow {
            JumpKind::Call | JumpKind::Branch { links: true, .. } => Some(RA),
            JumpKind::CallRegister(register) => Some(register),
            _ => None,
        };
        code.extend(
            link.into_iter()
                .flat_map(|register| address(register, behind)),
        );
        let to = target(word, self.at(index)).unwrap_or_default();
        match flow {
            JumpKind::Jump | JumpKind::Call => {
                code.extend_from_slice(before);
                code.extend([jump(to), in_slot]);
            }
            JumpKind::JumpRegister | JumpKind::CallRegister(_) => {
                let through = match word & 63 {
                    // `jalr` as `jr`: its register is set.
                    0x09 => rs(word) << 21 | 0x08,
                    _ => word,
                };
                code.extend_from_slice(before);
                code.extend([through, in_slot]);
            }
            JumpKind::Branch { likely, .. } => {
                let passed = if likely { &[][..] } else { before };
                // Over its slot and the code for "not taken".
                code.extend([branch_by(word, 3 + passed.len() as u32), in_slot]);
                code.extend_from_slice(passed);
                // What is behind the slot may have moved, too: it follows the code for "taken".
                let on = match self.words.len() > index + 2 {
                    true => branch_by(ALWAYS, 3 + before.len() as u32),
                    false => jump(behind),
                };
                code.extend([on, NOP]);
                code.extend_from_slice(before);
                code.extend([jump(to), NOP]);
            }
        }
    }
}

/// Instructions that are executed in place of `word`.
fn one(word: u32, soft: Option<Soft>, routines: &Routines) -> Vec<u32> {
    let below = |place: u32| place.wrapping_sub(FRAME_BYTES);
    match soft {
        None => vec![word],
        Some(Soft::InPlace(word)) => vec![word],
        // Operands first: the stack pointer may be one.
        Some(Soft::Arithmetic(number)) => vec![
            store(rs(word), SP, below(LEFT)),
            store(rt(word), SP, below(RIGHT)),
            store(RA, SP, below(RETURN)),
            add(SP, SP, below(0)),
            call(routines.routines[number]),
            NOP,
            load(RA, SP, RETURN),
            add(SP, SP, FRAME_BYTES),
        ],
        Some(Soft::Load(number) | Soft::Store(number)) => {
            let mut code = vec![
                store(rt(word), SP, below(RIGHT)),
                store(RA, SP, below(RETURN)),
                add(RA, rs(word), word),
                store(RA, SP, below(LEFT)),
                add(SP, SP, below(0)),
                call(routines.routines[number]),
                NOP,
                load(RA, SP, RETURN),
            ];
            if matches!(soft, Some(Soft::Load(_))) {
                code.push(load(rt(word), SP, RIGHT));
            }
            code.push(add(SP, SP, FRAME_BYTES));
            code
        }
        Some(Soft::ReadHigh(register)) => vec![
            upper(register, routines.high),
            load(register, register, routines.high),
        ],
        Some(Soft::WriteHigh(register)) => {
            let base = if register == AT { V0 } else { AT };
            vec![
                store(base, SP, 4u32.wrapping_neg()),
                upper(base, routines.high),
                store(register, base, routines.high),
                load(base, SP, 4u32.wrapping_neg()),
            ]
        }
    }
}
