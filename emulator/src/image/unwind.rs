//! Stack unwinding: the callers of a core's current function, from its registers and stack and the image's
//! `.debug_frame`.

use gimli::{
    BaseAddresses, BigEndian, CfaRule, CieOrFde, DebugFrame, EndianArcSlice, FrameDescriptionEntry,
    Register, RegisterRule, Section, UnwindContext, UnwindSection,
};
use thiserror::Error;

use super::Image;
use crate::cpu::architecture::{Architecture, Transfer};
use crate::sim::initiator::Initiator;

type Bytes = EndianArcSlice<BigEndian>;
type Entry = FrameDescriptionEntry<Bytes>;

/// Length of a function's epilogue, in instructions, that is searched.
const LAST_STEPS: u32 = 16;
/// Deepest stack that is followed; a deeper one is cyclic.
const DEPTH_LIMIT: usize = 64;

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
    /// incomplete. `word` reads the core's memory. A function without an entry, such as the dispatch loop,
    /// is the outermost.
    pub fn unwind(
        &self,
        who: Initiator,
        pc: u32,
        registers: &[u32],
        word: impl Fn(u32) -> Option<u32>,
    ) -> (Vec<Frame>, Option<UnwindError>) {
        let architecture = self.architecture;
        let stack_pointer = architecture.stack_pointer() & 31;
        let mut frames = Vec::new();
        let mut registers: [u32; 32] =
            std::array::from_fn(|index| registers.get(index).copied().unwrap_or_default());
        let mut address = pc;
        while frames.len() < DEPTH_LIMIT {
            let sp = registers[stack_pointer];
            frames.push(Frame { address, sp });
            match self.caller(who, address, &registers, &word) {
                Ok(Some(caller)) => registers = caller,
                Ok(None) => return (frames, None),
                Err(error) => return (frames, Some(error)),
            }
            let to = registers[architecture.return_address() & 31];
            if registers[stack_pointer] == sp && to == address {
                // The function would return to itself.
                return (frames, None);
            }
            address = call_before(architecture, to, &word).unwrap_or(to);
        }
        (frames, Some(UnwindError::TooDeep))
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
        let section = self.debug.section(DebugFrame::<Bytes>::id());
        if gimli::Reader::is_empty(&section) {
            return Err(UnwindError::None);
        }
        let section = DebugFrame::from(section);
        let Some(entry) = self.frame_entry(&section, who, address)? else {
            return Ok(None);
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
        word(at).is_some_and(|word| {
            let returns = at.wrapping_add(architecture.return_distance(word));
            architecture.transfer(word) == Some(Transfer::Call) && returns == to
        })
    };
    before.into_iter().find(is_call)
}
