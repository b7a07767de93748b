//! What is translated.

/// What an instruction does. The names are those of the MIPS manuals.
#[allow(
    missing_docs,
    reason = "the variants are the mnemonics of the MIPS manuals"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Sll,
    Srl,
    Sra,
    Sllv,
    Srlv,
    Srav,
    Addu,
    Subu,
    And,
    Or,
    Xor,
    Nor,
    Slt,
    Sltu,
    Addiu,
    Slti,
    Sltiu,
    Andi,
    Ori,
    Xori,
    Lui,
    /// Highest set bit of `rs & rt`, counted from 1; 0 if there is none.
    Pri,
    Lb,
    Lbu,
    Lh,
    Lhu,
    Lw,
    Sb,
    Sh,
    Sw,
    Beq,
    Bne,
    Blez,
    Bgtz,
    Bltz,
    Bgez,
    Bltzal,
    Bgezal,
    Beql,
    Bnel,
    Blezl,
    Bgtzl,
    Bltzl,
    Bgezl,
    Bltzall,
    Bgezall,
    J,
    Jal,
    Jr,
    Jalr,
    /// Jump to `rs + 8 * rt`.
    Joff,
}

impl Operation {
    /// Whether a delay slot follows.
    #[must_use]
    pub const fn has_delay_slot(self) -> bool {
        self as u8 >= Self::Beq as u8
    }

    /// Whether the delay slot is executed only if the branch is taken.
    #[must_use]
    pub(crate) const fn is_likely(self) -> bool {
        self as u8 >= Self::Beql as u8 && self as u8 <= Self::Bgezall as u8
    }

    /// Whether the target stands in a register.
    pub(crate) const fn is_indirect(self) -> bool {
        matches!(self, Self::Jr | Self::Jalr | Self::Joff)
    }

    /// Whether it leaves the address behind its slot in `dst`.
    pub(crate) const fn links(self) -> bool {
        matches!(
            self,
            Self::Bltzal | Self::Bgezal | Self::Bltzall | Self::Bgezall | Self::Jal | Self::Jalr
        )
    }

    /// Bytes of the access to memory; 0 if there is none.
    #[must_use]
    pub const fn access_bytes(self) -> u32 {
        match self {
            Self::Lb | Self::Lbu | Self::Sb => 1,
            Self::Lh | Self::Lhu | Self::Sh => 2,
            Self::Lw | Self::Sw => 4,
            _ => 0,
        }
    }

    /// Whether it writes memory.
    #[must_use]
    pub const fn stores(self) -> bool {
        matches!(self, Self::Sb | Self::Sh | Self::Sw)
    }
}

/// A pre-decoded instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it does.
    pub operation: Operation,
    /// The register that is written; 32 and more for none.
    pub dst: u8,
    /// The first source register, below 32.
    pub rs: u8,
    /// The second source register, below 32.
    pub rt: u8,
    /// The immediate, extended; of a branch the distance of the target from the branch; of a jump the target's low 28 bits.
    pub imm: u32,
}

/// Cycles of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Costs {
    /// Each instruction: 1 at least.
    pub instruction: u32,
    /// Additional cycles of a taken branch or jump.
    pub taken_branch: u32,
    /// Additional cycles of a likely branch that is not taken.
    pub annulled_slot: u32,
    /// Additional cycles of a load from the core's own memory.
    pub own_load: u32,
    /// Additional cycles of a store to the core's own memory.
    pub own_store: u32,
    /// Additional cycles of a load from shared memory.
    pub shared_load: u32,
    /// Additional cycles of a store to shared memory.
    pub shared_store: u32,
    /// Ticks for which an access takes the bus of the shared memory.
    pub bus_ticks: u32,
    /// Ticks of a cycle in code of two cores that take turns. Other code may be executed with others.
    pub ticks_per_cycle: u32,
}

/// The address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Address of the core's own memory, which holds the instructions.
    pub own_base: u32,
    /// Words of that memory.
    pub own_words: u32,
    /// Shared memory lies from address 0 up to here.
    pub shared_limit: u32,
    /// Bytes of shared memory, a power of two: it repeats below the limit.
    pub shared_bytes: u32,
    /// Bytes of shared memory, a power of two, for each of which one byte of [`Memory::lines`](crate::Memory::lines) says whether it holds code.
    pub line_bytes: u32,
    /// What stands beside a word that is data ([`Memory::decoded`](crate::Memory::decoded)).
    pub data: u64,
}

/// Instructions and their surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// The words of the core's own memory; those that are not to be translated are `None`.
    pub instructions: Vec<Option<Instruction>>,
    /// What they cost.
    pub costs: Costs,
    /// Where they stand.
    pub layout: Layout,
}

impl Program {
    /// Address of the word at `index`.
    pub(crate) const fn address(&self, index: usize) -> u32 {
        self.layout.own_base.wrapping_add(4 * index as u32)
    }

    /// Index of the word at `address`, if that is a word of the core's own memory.
    pub(crate) fn index(&self, address: u32) -> Option<usize> {
        let index = address.wrapping_sub(self.layout.own_base).rotate_right(2) as usize;
        (index < self.instructions.len()).then_some(index)
    }

    /// The instruction at `index`, if it is translated: a branch whose slot cannot be translated is not.
    pub(crate) fn at(&self, index: usize) -> Option<Instruction> {
        let instruction = (*self.instructions.get(index)?)?;
        if instruction.operation.has_delay_slot() {
            self.slot(index)?;
        }
        Some(instruction)
    }

    /// The delay slot of the branch at `index`; `None` if it is no plain instruction.
    pub(crate) fn slot(&self, index: usize) -> Option<Instruction> {
        let slot = (*self.instructions.get(index + 1)?)?;
        (!slot.operation.has_delay_slot()).then_some(slot)
    }

    /// The target of the branch or jump at `index`, unless a register holds it.
    pub(crate) fn target(&self, index: usize) -> Option<u32> {
        let instruction = self.at(index)?;
        let pc = self.address(index);
        match instruction.operation {
            operation if !operation.has_delay_slot() || operation.is_indirect() => None,
            Operation::J | Operation::Jal => {
                Some(pc.wrapping_add(4) & 0xf000_0000 | instruction.imm)
            }
            _ => Some(pc.wrapping_add(instruction.imm)),
        }
    }

    /// The largest number of cycles of a plain instruction.
    pub(crate) fn most_cycles(&self, instruction: Instruction) -> u32 {
        let costs = &self.costs;
        let access = match instruction.operation {
            operation if operation.access_bytes() == 0 => 0,
            operation if operation.stores() => costs.own_store.max(costs.shared_store),
            _ => costs.own_load.max(costs.shared_load),
        };
        costs.instruction.saturating_add(access)
    }
}
