//! Choice of the instructions that software carries out, and of the neighbours that move with them.

use std::collections::BTreeSet;

use defs::software::LO_REGISTER;

use crate::emit::Chunk;
use crate::error::{Reason, UnmovableInstruction};
use crate::instruction::{JumpKind, Soft, divides, flow, names, rs, rt, soft, target};

/// A division and the `teq` that looks at its divisor are at most so many instructions apart.
const CHECK_DISTANCE: usize = 8;

/// Consecutive instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRun {
    /// Address of the first.
    pub address: u32,
    /// The instructions.
    pub words: Vec<u32>,
}

/// A linked program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkedProgram {
    /// Functions of the program.
    pub code: Vec<CodeRun>,
    /// Addresses to which the program may jump although no jump names them: symbols, values in tables.
    pub targets: BTreeSet<u32>,
    /// Addresses of instructions that must stay where they are: probes mark them.
    pub fixed: BTreeSet<u32>,
}

/// Changes of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Instructions replaced in their place: address and new instruction.
    pub in_place: Vec<(u32, u32)>,
    /// Instructions that move out of line, by address.
    pub chunks: Vec<Chunk>,
}

/// The plan for a program.
///
/// # Errors
/// All instructions that cannot be done in software, without the names of their functions.
pub fn plan(program: &LinkedProgram) -> Result<Plan, Vec<UnmovableInstruction>> {
    let mut targets = program.targets.clone();
    for code in &program.code {
        let places = (code.address..).step_by(4).zip(&code.words);
        targets.extend(places.filter_map(|(address, &word)| target(word, address)));
    }
    let mut plan = Plan::default();
    let mut refused = Vec::new();
    for code in &program.code {
        let planner = Planner {
            code,
            targets: &targets,
            fixed: &program.fixed,
        };
        planner.scan(&mut plan, &mut refused);
    }
    if refused.is_empty() && plan == Plan::default() {
        return Ok(plan);
    }
    for code in &program.code {
        for (address, &word) in (code.address..).step_by(4).zip(&code.words) {
            if names(word, LO_REGISTER) {
                refused.push(place(address, Reason::UsesLow));
            }
        }
    }
    match refused.is_empty() {
        true => Ok(plan),
        false => Err(refused),
    }
}

fn place(address: u32, reason: Reason) -> UnmovableInstruction {
    UnmovableInstruction {
        address,
        function: String::new(),
        reason,
    }
}

/// Software for the instruction at an index; `None` if the instruction stays.
pub(crate) fn soft_at(words: &[u32], index: usize) -> Option<Soft> {
    let before = &words[index.saturating_sub(CHECK_DISTANCE)..index];
    soft(words[index], |register| {
        before.iter().any(|&word| divides(word, register))
    })
}

/// Input of a plan: the code, the targets of jumps, and the instructions that may not move.
struct Planner<'a> {
    code: &'a CodeRun,
    targets: &'a BTreeSet<u32>,
    fixed: &'a BTreeSet<u32>,
}

impl Planner<'_> {
    fn address(&self, index: usize) -> u32 {
        self.code.address.wrapping_add(4 * index as u32)
    }

    fn scan(&self, plan: &mut Plan, refused: &mut Vec<UnmovableInstruction>) {
        // The first instruction that has not moved.
        let mut free = 0;
        for index in 0..self.code.words.len() {
            match soft_at(&self.code.words, index) {
                None => {}
                Some(Soft::InPlace(word)) => plan.in_place.push((self.address(index), word)),
                Some(_) if index < free => {}
                Some(_) => match self.chunk(index, free) {
                    Ok((start, end)) => {
                        free = end;
                        plan.chunks.push(self.moved(start, end));
                    }
                    Err(reason) => refused.push(place(self.address(index), reason)),
                },
            }
        }
    }

    /// The instructions that move with the one at `index`; those before `free` have moved.
    fn chunk(&self, index: usize, free: usize) -> Result<(usize, usize), Reason> {
        let words = &self.code.words;
        let is_slot = |index: usize| index > 0 && flow(words[index - 1]).is_some();
        if is_slot(index) {
            if self.is_bound(index) {
                return Err(Reason::TargetInSlot);
            }
            return match self.changes_jump(index) {
                true => Err(Reason::ChangesJump),
                false => Ok((index - 1, index + 1)),
            };
        }
        let next = words.get(index + 1).copied();
        let jumps = next.and_then(flow).is_some();
        let mut end = index + 2 + usize::from(jumps);
        let moves = |start: usize, end: usize| {
            let inner = start + 1..end;
            end <= words.len() && !inner.clone().any(|index| self.is_bound(index))
        };
        if moves(index, end) && !(jumps && self.changes_jump(index + 2)) {
            // What follows at once moves too: that saves jumps.
            while !jumps && end < words.len() && !self.is_bound(end) && self.moves_alone(end) {
                end += 1;
            }
            return Ok((index, end));
        }
        let before = index.wrapping_sub(1);
        let is_free = index > free && !is_slot(before) && !self.is_fixed(before);
        if is_free && moves(before, index + 1) {
            return Ok((before, index + 1));
        }
        // Behind a slot: its branch moves too.
        let branch = index.wrapping_sub(2);
        let is_free = index >= free + 2 && is_slot(before) && !self.is_fixed(branch);
        match is_free && self.is_plain_branch(branch) && moves(branch, index + 1) {
            true => Ok((branch, index + 1)),
            false => Err(Reason::Targets),
        }
    }

    /// Whether software does the instruction out of line, and it is in no slot.
    fn moves_alone(&self, index: usize) -> bool {
        let soft = soft_at(&self.code.words, index);
        !matches!(soft, None | Some(Soft::InPlace(_))) && flow(self.code.words[index - 1]).is_none()
    }

    fn is_plain_branch(&self, index: usize) -> bool {
        let flow = flow(self.code.words[index]);
        matches!(flow, Some(JumpKind::Branch { links: false, .. }))
    }

    fn is_fixed(&self, index: usize) -> bool {
        self.fixed.contains(&self.address(index))
    }

    /// Whether the instruction must stay where it is.
    fn is_bound(&self, index: usize) -> bool {
        self.is_fixed(index) || self.targets.contains(&self.address(index))
    }

    /// Whether the slot at `index` is done in software and changes a register through which its branch jumps.
    fn changes_jump(&self, index: usize) -> bool {
        let before = self.code.words[index - 1];
        let registers = [rs(before), rt(before)];
        let through = match flow(before) {
            Some(JumpKind::JumpRegister | JumpKind::CallRegister(_)) => registers,
            // It sets $ra before the comparison is moved.
            Some(JumpKind::Branch { links: true, .. }) => return registers[0] == 31,
            _ => return false,
        };
        match soft_at(&self.code.words, index) {
            Some(Soft::ReadHigh(register)) => through.contains(&register),
            Some(Soft::Load(_)) => through.contains(&rt(self.code.words[index])),
            _ => false,
        }
    }

    fn moved(&self, start: usize, end: usize) -> Chunk {
        let soft = (start..end).map(|index| soft_at(&self.code.words, index));
        Chunk {
            address: self.address(start),
            words: self.code.words[start..end]
                .iter()
                .copied()
                .zip(soft)
                .collect(),
        }
    }
}
