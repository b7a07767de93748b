//! Pipelines: the differences between generations of the core, as data (docs/lanai-core.md, section 1).

/// Value of the program counter as an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcValue {
    /// The address of the instruction that reads it.
    Own,
    /// The address of the instruction that is executed after it: `A + 4`, or the target of a branch in whose last slot it stands.
    Next,
}

/// A group of instructions that not every generation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// All generations.
    Base,
    /// Two operations in one instruction (`sub %r0, [%r1 addc %r0], %r14`).
    Nested,
    /// `popc`, `leadz`, `trailz`.
    BitCounts,
    /// A condition as a value (`seq %r5`).
    SetCondition,
    /// `sel`, and operations under a condition (`add.ne`).
    Predicates,
}

/// Properties of a generation of the core. Slots are instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// Name of the instruction set: `lanai`.
    pub name: &'static str,
    /// Instructions behind a load that still read the old value of its register. 0: the core waits for the value.
    pub load_slots: u8,
    /// Instructions behind a taken branch that are executed before its target.
    pub branch_slots: u8,
    /// Instructions that are executed behind one that computes a value for the program counter.
    pub pc_write_slots: u8,
    /// Instructions that are executed behind a load of the program counter.
    pub pc_load_slots: u8,
    /// Value of the program counter as an operand.
    pub pc_value: PcValue,
    /// Whether register 3 is the processor status: flags in bits 3 to 0. Otherwise it is a general register.
    pub status_register: bool,
    /// Whether register 31 is the board's interrupt status. Otherwise it is a general register.
    pub interrupt_register: bool,
    /// Whether there are instructions of two operations. They share their opcode with the bit counts.
    pub nested: bool,
    /// Whether there are bit counts.
    pub bit_counts: bool,
    /// Whether a condition can be a value.
    pub set_condition: bool,
    /// Whether operations can depend on a condition.
    pub predicates: bool,
}

impl Pipeline {
    /// The pipeline for which LLVM's Lanai back end generates code.
    pub const LLVM: Self = Self {
        name: "lanai",
        load_slots: 0,
        branch_slots: 1,
        pc_write_slots: 1,
        pc_load_slots: 2,
        pc_value: PcValue::Own,
        status_register: false,
        interrupt_register: false,
        nested: false,
        bit_counts: true,
        set_condition: true,
        predicates: true,
    };

    /// LANai 3 and 4.
    pub const L4: Self = Self {
        name: "lanai4",
        load_slots: 1,
        branch_slots: 1,
        pc_write_slots: 1,
        pc_load_slots: 2,
        pc_value: PcValue::Next,
        status_register: true,
        interrupt_register: true,
        nested: true,
        bit_counts: false,
        set_condition: false,
        predicates: false,
    };

    /// LANai 7.
    pub const L7: Self = Self {
        name: "lanai7",
        load_slots: 2,
        branch_slots: 2,
        pc_write_slots: 2,
        pc_load_slots: 3,
        pc_value: PcValue::Next,
        status_register: false,
        interrupt_register: false,
        nested: false,
        bit_counts: false,
        set_condition: false,
        predicates: false,
    };

    /// LANai 9.
    pub const L9: Self = Self {
        name: "lanai9",
        load_slots: 0,
        branch_slots: 1,
        pc_write_slots: 1,
        pc_load_slots: 2,
        pc_value: PcValue::Next,
        status_register: false,
        interrupt_register: false,
        nested: false,
        bit_counts: false,
        set_condition: true,
        predicates: false,
    };

    /// All generations.
    pub const ALL: [Self; 4] = [Self::LLVM, Self::L4, Self::L7, Self::L9];

    /// Largest number of slots that a pipeline can have behind an instruction.
    pub const MAX_SLOTS: u8 = 3;

    /// Whether this generation has the instructions of a group.
    #[must_use]
    pub const fn has(&self, feature: Feature) -> bool {
        match feature {
            Feature::Base => true,
            Feature::Nested => self.nested,
            Feature::BitCounts => self.bit_counts,
            Feature::SetCondition => self.set_condition,
            Feature::Predicates => self.predicates,
        }
    }

    /// Whether the core waits for a loaded value.
    #[must_use]
    pub const fn is_interlocked(&self) -> bool {
        self.load_slots == 0
    }

    /// Whether a register is no plain storage.
    #[must_use]
    pub const fn is_special(&self, register: u8) -> bool {
        match register {
            PC => true,
            PS => self.status_register,
            ISR => self.interrupt_register,
            _ => false,
        }
    }
}

/// The register that always reads 0.
pub const ZERO: u8 = 0;
/// The register that always reads 0xffff_ffff.
pub const ONES: u8 = 1;
/// The program counter.
pub const PC: u8 = 2;
/// The processor status, where a pipeline has it as a register.
pub const PS: u8 = 3;
/// The stack pointer of compilers.
pub const SP: u8 = 4;
/// The frame pointer of compilers.
pub const FP: u8 = 5;
/// The return address of compilers.
pub const RCA: u8 = 15;
/// The interrupt status, where a pipeline has it as a register.
pub const ISR: u8 = 31;
