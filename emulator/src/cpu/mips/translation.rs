//! Instructions as the translator knows them.

use translator::{Instruction, Operation};

use super::isa::{Kind, Op};

/// The instruction as the translator knows it; `None` if it is not to be translated.
pub(crate) fn instruction(op: Op) -> Option<Instruction> {
    if op.has_probe() {
        return None;
    }
    Some(Instruction {
        operation: operation(op.kind())?,
        dst: op.dst(),
        rs: op.rs(),
        rt: op.rt(),
        imm: op.imm(),
    })
}

/// The translator's name of each kind, which is the same.
macro_rules! operations {
    ($($kind:ident)*) => {
        const fn operation(kind: Kind) -> Option<Operation> {
            match kind {
                $(Kind::$kind => Some(Operation::$kind),)*
                Kind::Break | Kind::Missing | Kind::Illegal => None,
            }
        }
    };
}

operations! {
    Sll Srl Sra Sllv Srlv Srav Addu Subu And Or Xor Nor Slt Sltu Addiu Slti Sltiu Andi Ori Xori Lui Pri
    Lb Lbu Lh Lhu Lw Sb Sh Sw
    Beq Bne Blez Bgtz Bltz Bgez Bltzal Bgezal Beql Bnel Blezl Bgtzl Bltzl Bgezl Bltzall Bgezall
    J Jal Jr Jalr Joff
}
