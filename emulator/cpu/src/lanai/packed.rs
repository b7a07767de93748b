//! Constants of pre-decoded instructions that hold several fields.

use super::fields::Update;
use super::isa::Operator;
use super::op::Op;
use crate::bus::Width;

/// The constant of [`Kind::Conditional`](super::Kind::Conditional) and [`Kind::Select`](super::Kind::Select).
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditional {
    pub operator: Operator,
    pub flags: bool,
    pub condition: u32,
}

impl Conditional {
    pub(super) const fn pack(self) -> u32 {
        self.operator as u32 | (self.flags as u32) << 4 | self.condition << 8
    }

    pub(super) const fn of(op: Op) -> Self {
        let imm = op.imm();
        Self {
            operator: Operator::from_number(imm),
            flags: imm & 16 != 0,
            condition: imm >> 8 & 15,
        }
    }
}

/// The constant of [`Kind::Nested`](super::Kind::Nested).
#[derive(Debug, Clone, Copy)]
pub(super) struct Nested {
    pub outer: Operator,
    pub inner: Operator,
    pub flags: bool,
    /// Index of the third source register.
    pub third: u8,
}

impl Nested {
    pub(super) const fn pack(self) -> u32 {
        self.outer as u32
            | (self.inner as u32) << 4
            | (self.flags as u32) << 8
            | (self.third as u32) << 16
    }

    pub(super) const fn of(op: Op) -> Self {
        let imm = op.imm();
        Self {
            outer: Operator::from_number(imm),
            inner: Operator::from_number(imm >> 4),
            flags: imm & 0x100 != 0,
            third: (imm >> 16) as u8,
        }
    }
}

/// The constant of [`Kind::Combined`](super::Kind::Combined).
#[derive(Debug, Clone, Copy)]
pub(super) struct Combined {
    pub operator: Operator,
    pub width: Width,
    pub signed: bool,
    pub stores: bool,
    pub update: Update,
    /// Index of the register that is loaded (`NOWHERE` for a constant one) or stored.
    pub register: u8,
}

impl Combined {
    pub(super) const fn pack(self) -> u32 {
        let width = match self.width {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 3,
        };
        self.operator as u32
            | width << 4
            | (self.signed as u32) << 6
            | (self.stores as u32) << 7
            | (self.update as u32) << 8
            | (self.register as u32) << 16
    }

    pub(super) const fn of(op: Op) -> Self {
        let imm = op.imm();
        Self {
            operator: Operator::from_number(imm),
            width: match imm >> 4 & 3 {
                1 => Width::Byte,
                2 => Width::Half,
                _ => Width::Word,
            },
            signed: imm & 0x40 != 0,
            stores: imm & 0x80 != 0,
            update: Update::from_number(imm >> 8),
            register: (imm >> 16) as u8,
        }
    }

    pub(super) const fn updates(self) -> bool {
        matches!(self.update, Update::After | Update::Before)
    }
}
