//! The decoder: from a word and its row to the pre-decoded form.

use super::fields::{self, Update};
use super::isa::{Action, Operand, Operator, Row};
use super::kind::Kind;
use super::op::{NOWHERE, Op};
use super::packed::{Combined, Conditional, Nested};
use super::pipeline::{ONES, PC, PcValue, Pipeline, ZERO};
use crate::bus::Width;

/// The place that a result for `register` goes to.
const fn destination(register: u8) -> u8 {
    match register {
        ZERO | ONES => NOWHERE,
        _ => register,
    }
}

pub(super) fn decode_row(row: &Row, word: u32, pipeline: &Pipeline) -> Op {
    let rd = fields::register_at(word, 23);
    let dst = destination(rd);
    let (rs, rt) = (fields::register_at(word, 18), fields::register_at(word, 11));
    match row.action {
        Action::Alu(operator) => decode_operation(row, operator, word, pipeline),
        Action::Select => {
            let condition = fields::short_condition(word);
            let select = Conditional {
                operator: Operator::Sh,
                flags: false,
                condition,
            };
            Op::new(Kind::Select, dst, rs, rt, select.pack())
        }
        Action::Nested(outer) => {
            let nested = Nested {
                outer,
                inner: Operator::from_number(word & 7),
                flags: fields::sets_flags(word),
                third: fields::register_at(word, 3),
            };
            Op::new(Kind::Nested, dst, rs, rt, nested.pack())
        }
        Action::Count(code) => {
            let kind = match code {
                1 => Kind::PopulationCount,
                2 => Kind::LeadingZeros,
                _ => Kind::TrailingZeros,
            };
            Op::new(kind, dst, rs, 0, 0)
        }
        Action::Load(..) | Action::Store(_) => decode_access(row, word),
        Action::Constant => Op::new(Kind::Or, dst, 0, 0, fields::long(word)),
        Action::Branch => {
            let target = fields::target(word);
            match fields::branch_condition(word) as u8 {
                0 => Op::new(Kind::Jump, NOWHERE, 0, 0, target),
                condition => Op::new(Kind::Branch, condition, 0, 0, target),
            }
        }
        Action::BranchRelative => {
            let distance = fields::signed(word & 0xfffc, 16).cast_unsigned();
            let condition = fields::branch_condition(word) as u8;
            Op::new(Kind::BranchRelative, condition, rs, 0, distance)
        }
        Action::SetCondition => {
            let condition = fields::branch_condition(word);
            Op::new(Kind::SetCondition, destination(rs), 0, 0, condition)
        }
    }
}

/// An operation on a register and a constant or another register.
fn decode_operation(row: &Row, operator: Operator, word: u32, pipeline: &Pipeline) -> Op {
    let dst = destination(fields::register_at(word, 23));
    let rs = fields::register_at(word, 18);
    let flags = fields::sets_flags(word);
    let mut rt = 0;
    let mut imm = 0;
    for operand in row.operands {
        match operand {
            Operand::Rs2 => rt = fields::register_at(word, 11),
            Operand::Const => imm = fields::constant(word, 0),
            Operand::ConstOnes => imm = fields::constant(word, u32::MAX),
            Operand::Shift => imm = fields::signed(word, 16).cast_unsigned(),
            _ => {}
        }
    }
    let by_register = row.operands.contains(&Operand::Rs2);
    if by_register && fields::short_condition(word) != 0 {
        let conditional = Conditional {
            operator,
            flags,
            condition: fields::short_condition(word),
        };
        return Op::new(Kind::Conditional, dst, rs, rt, conditional.pack());
    }
    let plain = !flags && !by_register;
    let kind = match operator {
        Operator::Add if plain && rs == PC && !pipeline.is_special(dst) => {
            match pipeline.pc_value {
                PcValue::Own => Kind::OwnAddress,
                PcValue::Next => Kind::NextAddress,
            }
        }
        Operator::Sh | Operator::Sha if plain && imm < 32 => Kind::ShiftLeft,
        Operator::Sh | Operator::Sha if plain && imm > 32_u32.wrapping_neg() => {
            imm = imm.wrapping_neg();
            if operator == Operator::Sha {
                Kind::ShiftRightSigned
            } else {
                Kind::ShiftRight
            }
        }
        _ => Kind::from_number(operator as u8 + if flags { Kind::AddFlags as u8 } else { 0 }),
    };
    let rs = if matches!(kind, Kind::OwnAddress | Kind::NextAddress) {
        0
    } else {
        rs
    };
    Op::new(kind, dst, rs, rt, imm)
}

/// A load or a store.
fn decode_access(row: &Row, word: u32) -> Op {
    let (width, signed, stores) = match row.action {
        Action::Store(width) => (width, false, true),
        Action::Load(width, signed) => (width, signed, false),
        _ => (Width::Word, false, false),
    };
    let rd = fields::register_at(word, 23);
    let register = if stores { rd } else { destination(rd) };
    let mut rs = fields::register_at(word, 18);
    let (mut rt, mut imm, mut update) = (0, 0, Update::None);
    for operand in row.operands {
        match operand {
            Operand::Displaced => {
                imm = fields::signed(word, 16).cast_unsigned();
                update = Update::from_number(word >> 16);
            }
            Operand::DisplacedNarrow => {
                imm = fields::signed(word, 10).cast_unsigned();
                update = Update::from_number(word >> 10);
            }
            Operand::Op2 => {
                rt = fields::register_at(word, 11);
                update = Update::from_number(word >> 16);
            }
            Operand::Direct => {
                rs = 0;
                imm = fields::long(word);
            }
            _ => {}
        }
    }
    if update == Update::Ignored {
        (rt, imm, update) = (0, 0, Update::None);
    } else if row.operands.contains(&Operand::Op2) && word >> 8 & 7 != 0 {
        let operator = fields::address_operator(word);
        let shifts = matches!(operator, Operator::Sh | Operator::Sha);
        let access = Combined {
            operator,
            // Shifted addresses are those of words (docs/lanai-core.md, section 2).
            width: if shifts { Width::Word } else { width },
            signed: signed && !shifts,
            stores,
            update,
            register,
        };
        return Op::new(Kind::Combined, NOWHERE, rs, rt, access.pack());
    }
    let kind = Kind::of_access(width, signed, stores, update);
    Op::new(kind, register, rs, rt, imm)
}
