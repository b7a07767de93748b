//! Stack unwinding: the callers of a core's current function, from its registers and stack and the image's
//! `.debug_frame`.

use emulator_state::value_struct;
use gimli::{
    BaseAddresses, BigEndian, CfaRule, CieOrFde, DebugFrame, EndianArcSlice, FrameDescriptionEntry,
    Register, RegisterRule, Section, UnwindContext, UnwindSection,
};
use thiserror::Error;

use super::{Image, moved};
use emulator_base::initiator::Initiator;
use emulator_cpu::architecture::{Architecture, FramePointer, Transfer};

type Bytes = EndianArcSlice<BigEndian>;
type Entry = FrameDescriptionEntry<Bytes>;

/// Length of a function's epilogue, in instructions, that is searched.
const LAST_STEPS: u32 = 16;
/// Deepest stack that is followed: as many calls as fit into the largest memory.
const DEPTH_LIMIT: usize = 1 << 16;

/// Reason for the end of unwinding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnwindError {
    /// The image was linked without `.debug_frame`, or it was stripped.
    #[error("the image has no .debug_frame: it does not say where functions keep what they save")]
    None,
    /// The section is inconsistent.
    #[error("damaged .debug_frame: {0}")]
    Damaged(String),
    /// Code of both scratchpads has this address, and its owner is unknown.
    #[error("whose code lies at {address:#x} is not known")]
    Ambiguous {
        /// The instruction.
        address: u32,
    },
    /// A saved register cannot be read.
    #[error("the frame of the function at {address:#x} is at {at:#x}, where no memory is")]
    NoMemory {
        /// The instruction.
        address: u32,
        /// Address at which a register should have been saved.
        at: u32,
    },
    /// A rule that compilers for this machine do not use.
    #[error("a rule for the function at {address:#x} that is not understood")]
    Unknown {
        /// The instruction.
        address: u32,
    },
    /// The stack does not end.
    #[error("more than {DEPTH_LIMIT} frames")]
    TooDeep,
}

impl From<gimli::Error> for UnwindError {
    fn from(error: gimli::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// A return address that no function keeps: a function that does not return, or that ends in such a call, has no need of it.
/// The board notes it when the CPU executes the call ([`Image::bare_calls`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LostReturn {
    /// The call.
    pub call: u32,
    /// Stack pointer at the call.
    pub sp: u32,
    /// The return address of the function that makes the call.
    pub to: u32,
}

value_struct!(LostReturn {
    call: call,
    sp: sp,
    to: to
});

/// A CPU whose stack is unwound.
pub struct Standing<'a, W> {
    /// The CPU as an initiator.
    pub who: Initiator,
    /// Next instruction.
    pub pc: u32,
    /// General registers.
    pub registers: &'a [u32],
    /// Return addresses that the stack does not hold.
    pub lost: &'a [LostReturn],
    /// Reads its memory.
    pub word: W,
}

/// An active function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Current instruction: the next one of the innermost function, the call instruction of the others. If
    /// a function returns to an address that is not after a call: that address.
    pub address: u32,
    /// Stack pointer at that instruction.
    pub sp: u32,
}

impl Image {
    /// The active functions of a core (CPU A or CPU B), innermost first, and the reason if the list is
    /// incomplete. A function without an entry, such as the dispatch loop, is the outermost.
    pub fn unwind<W: Fn(u32) -> Option<u32>>(
        &self,
        standing: Standing<'_, W>,
    ) -> (Vec<Frame>, Option<UnwindError>) {
        let mut frames = Vec::new();
        let error = self.unwind_each(standing, |frame, _| frames.push(frame));
        (frames, error)
    }

    /// Like [`unwind`](Self::unwind), and shows the general registers of each function too, as far as functions have kept them.
    pub fn unwind_each<W: Fn(u32) -> Option<u32>>(
        &self,
        standing: Standing<'_, W>,
        mut show: impl FnMut(Frame, &[u32; 32]),
    ) -> Option<UnwindError> {
        let Standing {
            who,
            pc,
            registers,
            lost,
            word,
        } = standing;
        let architecture = self.architecture;
        let stack_pointer = architecture.stack_pointer() & 31;
        let mut registers: [u32; 32] =
            std::array::from_fn(|index| registers.get(index).copied().unwrap_or_default());
        let mut address = pc;
        let mut was_noted = false;
        for _ in 0..DEPTH_LIMIT {
            let sp = registers[stack_pointer];
            show(Frame { address, sp }, &registers);
            if let Some((behind, resumed)) = moved::back(self, address, &registers, &word) {
                (address, registers) = (behind, resumed);
                continue;
            }
            match self.caller(who, address, &registers, &word) {
                Ok(Some(caller)) => registers = caller,
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
            let to = registers[architecture.return_address() & 31];
            let next = call_before(architecture, to, &word).unwrap_or(to);
            // A call that does not return may be the last of its function: what it would return to is then the beginning of the
            // function that lies behind, which may be this one.
            let is_own = next == address || (to == address && !was_noted);
            if registers[stack_pointer] == sp && is_own {
                // The function would return to itself.
                return None;
            }
            address = next;
            let at = (address, registers[stack_pointer]);
            let kept = lost.iter().rev().find(|kept| (kept.call, kept.sp) == at);
            was_noted = kept.is_some();
            if let Some(kept) = kept {
                registers[architecture.return_address() & 31] = kept.to;
            }
        }
        Some(UnwindError::TooDeep)
    }

    /// The registers after the return of the function at `address`; `None` if the image has no entry for
    /// it.
    fn caller(
        &self,
        who: Initiator,
        address: u32,
        registers: &[u32; 32],
        word: &impl Fn(u32) -> Option<u32>,
    ) -> Result<Option<[u32; 32]>, UnwindError> {
        if let Some(rule) = self.architecture.frame_pointer() {
            return self.caller_by_frame_pointer(rule, who, address, registers, word);
        }
        let section = self.debug.section(DebugFrame::<Bytes>::id());
        if gimli::Reader::is_empty(&section) {
            return Err(UnwindError::None);
        }
        let section = DebugFrame::from(section);
        let Some(entry) = self.frame_entry(&section, who, address)? else {
            let routine = moved::is_routine(self, address);
            return Ok(routine.then_some(*registers));
        };
        if has_left(self.architecture, &entry, address, word) {
            return Ok(Some(*registers));
        }
        let mut context = UnwindContext::new();
        let bases = BaseAddresses::default();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, address.into())?;
        let &CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return Err(UnwindError::Unknown { address });
        };
        let base = registers[usize::from(register.0) & 31];
        let cfa = base.wrapping_add(offset as u32);
        let mut caller = *registers;
        for index in 0..32u16 {
            match row.register(Register(index)) {
                None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => {}
                Some(RegisterRule::Offset(offset)) => {
                    let at = cfa.wrapping_add(offset as u32);
                    let saved = word(at).ok_or(UnwindError::NoMemory { address, at })?;
                    caller[usize::from(index)] = saved;
                }
                Some(_) => return Err(UnwindError::Unknown { address }),
            }
        }
        caller[self.architecture.stack_pointer() & 31] = cfa;
        Ok(Some(caller))
    }

    /// The registers after the return of the function at `address`, whose first instructions push the frame pointer behind the
    /// return address and set it; `None` of the function where the image begins.
    fn caller_by_frame_pointer(
        &self,
        rule: FramePointer,
        who: Initiator,
        address: u32,
        registers: &[u32; 32],
        word: &impl Fn(u32) -> Option<u32>,
    ) -> Result<Option<[u32; 32]>, UnwindError> {
        let symbol = self.symbols.seen_by(who, address).map(|(symbol, _)| symbol);
        let start = symbol.map(|symbol| symbol.address);
        let begins =
            symbol.map(|symbol| self.entry.wrapping_sub(symbol.address) < symbol.size_bytes.max(1));
        if begins == Some(true) || address == self.entry {
            return Ok(None);
        }
        let read = |at| word(at).ok_or(UnwindError::NoMemory { address, at });
        let (sp, fp) = (self.architecture.stack_pointer() & 31, rule.register & 31);
        let has_frame = start.is_none_or(|start| word(start) == Some(rule.push));
        let mut caller = *registers;
        let top = match start.map(|start| address.wrapping_sub(start)) {
            // The frame pointer is the caller's.
            Some(0) => registers[sp].wrapping_add(4),
            _ if !has_frame => registers[sp].wrapping_add(4),
            Some(4) => registers[sp].wrapping_add(8),
            _ => registers[fp],
        };
        if has_frame && start != Some(address) {
            caller[fp] = read(top.wrapping_sub(8))?;
        }
        caller[self.architecture.return_address() & 31] = read(top.wrapping_sub(4))?;
        caller[sp] = top;
        Ok(Some(caller))
    }

    /// The calls at which a function does not keep its own return address: the CPU's register has the only copy, and the call
    /// overwrites it. Sorted.
    #[must_use]
    pub fn bare_calls(&self) -> Vec<u32> {
        let section = DebugFrame::from(self.debug.section(DebugFrame::<Bytes>::id()));
        let mut calls = Vec::new();
        // A damaged section is told when it is used to unwind.
        let _ = self.collect_bare_calls(&section, &mut calls);
        calls.sort_unstable();
        calls
    }

    fn collect_bare_calls(
        &self,
        section: &DebugFrame<Bytes>,
        calls: &mut Vec<u32>,
    ) -> Result<(), gimli::Error> {
        if self.architecture.frame_pointer().is_some() {
            return Ok(());
        }
        let return_address = Register(self.architecture.return_address() as u16);
        let bases = BaseAddresses::default();
        let mut entries = section.entries(&bases);
        while let Some(entry) = entries.next()? {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let entry = partial.parse(DebugFrame::cie_from_offset)?;
            if entry.initial_address() == 0 {
                continue;
            }
            let mut context = UnwindContext::new();
            let mut rows = entry.rows(section, &bases, &mut context)?;
            while let Some(row) = rows.next_row()? {
                if matches!(row.register(return_address), Some(RegisterRule::Offset(_))) {
                    continue;
                }
                let words = (row.start_address()..row.end_address()).step_by(4);
                calls.extend(words.map(|at| at as u32).filter(|&at| {
                    let word = self.instruction(at);
                    word.and_then(|word| self.architecture.transfer(word)) == Some(Transfer::Call)
                }));
            }
        }
        Ok(())
    }

    /// The entry of the function at `address`. The scratchpads have equal addresses: of several entries,
    /// the one whose length is that of the function which this core sees there.
    fn frame_entry(
        &self,
        section: &DebugFrame<Bytes>,
        who: Initiator,
        address: u32,
    ) -> Result<Option<Entry>, UnwindError> {
        let mut found = Vec::new();
        let bases = BaseAddresses::default();
        let mut entries = section.entries(&bases);
        while let Some(entry) = entries.next()? {
            if let CieOrFde::Fde(partial) = entry {
                let entry = partial.parse(DebugFrame::cie_from_offset)?;
                // The linker leaves the entries of removed functions at address 0.
                if entry.initial_address() != 0 && entry.contains(address.into()) {
                    found.push(entry);
                }
            }
        }
        if found.len() > 1 {
            let symbol = self.symbols.seen_by(who, address).map(|(symbol, _)| symbol);
            found.retain(|entry| {
                symbol.is_some_and(|symbol| {
                    let place = (entry.initial_address(), entry.len());
                    place == (symbol.address.into(), symbol.size_bytes.into())
                })
            });
            if found.len() != 1 {
                return Err(UnwindError::Ambiguous { address });
            }
        }
        Ok(found.pop())
    }
}

/// Whether a function in its epilogue has already released its frame: no instruction between `address` and
/// its end does so. The section does not describe epilogues.
fn has_left(
    architecture: &dyn Architecture,
    entry: &Entry,
    address: u32,
    word: &impl Fn(u32) -> Option<u32>,
) -> bool {
    let leaves = |at: u32, word: u32| match architecture.transfer(word) {
        Some(Transfer::Return) => true,
        Some(Transfer::Jump) => {
            let target = architecture.target(word, at);
            target.is_some_and(|target| !entry.contains(target.into()))
        }
        _ => false,
    };
    let releases = |word| {
        architecture
            .stack_change(word)
            .is_some_and(|bytes| bytes > 0)
    };
    let jump = address.wrapping_sub(4);
    if word(jump).is_some_and(|before| leaves(jump, before)) {
        return !word(address).is_some_and(releases);
    }
    for at in (0..LAST_STEPS).map(|step| address.wrapping_add(4 * step)) {
        let Some(code) = word(at) else {
            return false;
        };
        if leaves(at, code) {
            return !word(at.wrapping_add(4)).is_some_and(releases);
        }
        if releases(code) || !architecture.falls_through(code) {
            return false;
        }
    }
    false
}

/// The call that returns to an address.
fn call_before(
    architecture: &dyn Architecture,
    to: u32,
    word: &impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    // A call has at most two delay slots.
    let before = (1..=3).map(|words| to.wrapping_sub(4 * words));
    let is_call = |&at: &u32| {
        word(at).is_some_and(|code| {
            let returns = at.wrapping_add(architecture.return_distance(code));
            let before = word(at.wrapping_sub(4)).unwrap_or_default();
            architecture.transfer_behind(before, code) == Some(Transfer::Call) && returns == to
        })
    };
    before.into_iter().find(is_call)
}
