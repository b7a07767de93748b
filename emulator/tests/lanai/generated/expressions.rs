//! Expressions.

use super::program::{Function, Generator, TYPES, Type};

impl Generator {
    /// A literal: special or random.
    pub fn literal(&mut self, kind: Type) -> String {
        let value = match self.below(6) {
            0 => self.one_of(&[0, 1, 2, 31, 32, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x1_0000]),
            1 => self.one_of(&[0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, u64::MAX, 1 << 63]),
            _ => self.magnitude(),
        };
        format!("({value:#x}_u64 as {kind})")
    }

    /// A value without an operation.
    fn leaf(&mut self, kind: Type) -> String {
        let count = u64::try_from(self.scope.values.len()).expect("few");
        if count == 0 || self.chance(20) {
            return self.literal(kind);
        }
        let index = usize::try_from(self.below(count)).expect("few");
        let (name, other, _) = self.scope.values[index].clone();
        match other == kind {
            true => name,
            false => format!("({name} as {kind})"),
        }
    }

    /// An expression of type `kind`, with at most `depth` operations in each other.
    pub fn expression(&mut self, kind: Type, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(kind);
        }
        self.charge(1);
        let depth = depth - 1;
        match self.below(20) {
            0..=5 => self.arithmetic(kind, depth),
            6 => self.division(kind, depth),
            7 | 8 => self.shift(kind, depth),
            9 => self.one_operand(kind, depth),
            10 => self.edges(kind, depth),
            11 => {
                let other = self.one_of(&TYPES);
                format!("({} as {kind})", self.expression(other, depth))
            }
            12 => {
                let condition = self.condition(depth);
                let (yes, no) = (self.expression(kind, depth), self.expression(kind, depth));
                format!("(if {condition} {{ {yes} }} else {{ {no} }})")
            }
            13 | 14 => self.element(kind, depth),
            15 => self.slice(kind, depth),
            16 | 17 => self.call(kind, depth),
            18 => self.device(kind),
            _ => self.field(kind, depth),
        }
    }

    /// A comparison, or several.
    pub fn condition(&mut self, depth: u32) -> String {
        let kind = self.any_type();
        let comparison = self.one_of(&["<", ">", "<=", ">=", "==", "!="]);
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        // A cast before `<` would begin arguments of a type.
        let one = format!("(({a}) {comparison} ({b}))");
        match depth > 0 && self.chance(20) {
            true => {
                let both = self.one_of(&["&&", "||", "^"]);
                format!("({one} {both} {})", self.condition(depth - 1))
            }
            false => one,
        }
    }

    fn arithmetic(&mut self, kind: Type, depth: u32) -> String {
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.below(8) {
            0 => format!("({a} & {b})"),
            1 => format!("({a} | {b})"),
            2 | 3 => format!("({a} ^ {b})"),
            4 | 5 => format!("({a}).wrapping_add({b})"),
            6 => format!("({a}).wrapping_sub({b})"),
            _ => {
                self.charge(100);
                format!("({a}).wrapping_mul({b})")
            }
        }
    }

    fn division(&mut self, kind: Type, depth: u32) -> String {
        if !self.affords(600) {
            return self.leaf(kind);
        }
        self.charge(600);
        let a = self.expression(kind, depth);
        let b = match self.chance(40) {
            true => self.literal(kind),
            false => self.expression(kind, depth),
        };
        let operation = self.one_of(&["wrapping_div", "wrapping_rem"]);
        format!("({a}).{operation}(({b}) | 1)")
    }

    fn shift(&mut self, kind: Type, depth: u32) -> String {
        let a = self.expression(kind, depth);
        let by = match self.chance(50) {
            true => self.below(64).to_string(),
            false => self.expression("u32", depth),
        };
        let operation = self.one_of(&[
            "wrapping_shl",
            "wrapping_shr",
            "wrapping_shr",
            "rotate_left",
            "rotate_right",
        ]);
        format!("({a}).{operation}({by})")
    }

    fn one_operand(&mut self, kind: Type, depth: u32) -> String {
        let a = self.expression(kind, depth);
        let operation = self.one_of(&[
            "wrapping_neg()",
            "leading_zeros()",
            "trailing_zeros()",
            "count_ones()",
            "swap_bytes()",
            "reverse_bits()",
            "wrapping_neg()",
            "to_be_bytes()[0]",
            "to_le_bytes()[0]",
        ]);
        match self.chance(20) {
            true => format!("(!({a}))"),
            false => format!("(({a}).{operation} as {kind})"),
        }
    }

    /// Operations that notice an overflow, or compare.
    fn edges(&mut self, kind: Type, depth: u32) -> String {
        let (a, b) = (self.expression(kind, depth), self.expression(kind, depth));
        match self.below(8) {
            0 => format!("({a}).saturating_add({b})"),
            1 => format!("({a}).saturating_sub({b})"),
            2 => {
                let other = self.literal(kind);
                format!("({a}).checked_add({b}).unwrap_or({other})")
            }
            3 => {
                let other = self.literal(kind);
                format!("({a}).checked_sub({b}).map_or({other}, |value| value ^ 1)")
            }
            4 => format!(
                "{{ let (value, over) = ({a}).overflowing_sub({b}); if over {{ !value }} else {{ value }} }}"
            ),
            5 => format!("(({a}).abs_diff({b}) as {kind})"),
            6 => format!("({a}).min({b})"),
            _ => format!("({a}).max({b})"),
        }
    }

    /// An element of an array.
    fn element(&mut self, kind: Type, depth: u32) -> String {
        let arrays = self.scope.arrays.clone();
        if arrays.is_empty() {
            return self.leaf(kind);
        }
        let array = self.one_of(&arrays.iter().collect::<Vec<_>>());
        let (name, length) = (&array.name, array.length);
        let index = self.expression("u32", depth);
        match self.below(3) {
            0 => format!("({name}[(({index}) % {length}) as usize] as {kind})"),
            1 => {
                let (end, other) = (2 * length, self.literal(kind));
                format!(
                    "{name}.get((({index}) % {end}) as usize).map_or({other}, |value| *value as {kind})"
                )
            }
            _ => format!("({name}[{}] as {kind})", self.below(length)),
        }
    }

    /// A value of a part of an array.
    fn slice(&mut self, kind: Type, depth: u32) -> String {
        let arrays = self.scope.arrays.clone();
        let length = arrays.first().map_or(0, |array| array.length);
        if arrays.is_empty() || !self.affords(4 * length) {
            return self.leaf(kind);
        }
        self.charge(4 * length);
        let array = &arrays[0];
        let name = &array.name;
        let from = self.expression("u32", depth);
        let part = format!("{name}[(({from}) % {length}) as usize..]");
        match self.below(4) {
            0 => format!(
                "{part}.iter().fold(0 as {kind}, |sum, value| sum.rotate_left(3) ^ (*value as {kind}))"
            ),
            1 => format!("({part}.iter().max().map_or(0, |value| *value as u64) as {kind})"),
            2 => {
                let value = self.expression(array.element, 1);
                format!(
                    "({{ let value = {value}; {part}.iter().position(|other| *other > value).map_or(77, |place| place as u32) }} as {kind})"
                )
            }
            _ => format!(
                "({part}.chunks(3).map(|chunk| chunk[0] as u32 ^ chunk.len() as u32).fold(1, |a: u32, b| a.wrapping_add(b)) as {kind})"
            ),
        }
    }

    /// A call of a function, by its name or through the table.
    fn call(&mut self, kind: Type, depth: u32) -> String {
        if self.table > 0 && self.affords(self.table_cost) && self.chance(40) {
            self.charge(self.table_cost);
            let index = self.expression("u32", depth);
            let (a, b) = (self.expression("u32", depth), self.expression("u32", depth));
            return format!(
                "(FUNCTIONS[(({index}) % {}) as usize]({a}, {b}) as {kind})",
                self.table
            );
        }
        let affordable = |function: &&Function| self.affords(function.cost);
        let callable: Vec<usize> = (self.functions.iter().enumerate())
            .filter(|(_, function)| affordable(function))
            .map(|(index, _)| index)
            .collect();
        if callable.is_empty() {
            return self.leaf(kind);
        }
        let index = self.one_of(&callable);
        let function = &self.functions[index];
        let (name, cost) = (function.name.clone(), function.cost);
        let parameters = function.parameters.clone();
        self.charge(cost);
        let arguments: Vec<String> = (parameters.iter())
            .map(|parameter| self.expression(parameter, depth.min(1)))
            .collect();
        format!("({name}({}) as {kind})", arguments.join(", "))
    }

    /// Reads of registers, whose order matters.
    fn device(&mut self, kind: Type) -> String {
        let read = match self.is_loose {
            true => "device::read_loosely",
            false => "device::read",
        };
        let (first, second) = (self.below(4), self.below(4));
        let one = self.one_of(&["wrapping_sub", "wrapping_mul"]);
        format!("({read}::<{first}>().{one}({read}::<{second}>().rotate_left(1)) as {kind})")
    }

    /// A field of a structure, which a function makes or which is there.
    fn field(&mut self, kind: Type, depth: u32) -> String {
        let structures = self.scope.structures.clone();
        if structures.is_empty() {
            return self.leaf(kind);
        }
        let (name, number) = self.one_of(&structures.iter().collect::<Vec<_>>()).clone();
        let fields = u64::try_from(self.structures[number].len()).expect("few");
        let field = self.below(fields);
        match self.affords(40) && self.chance(40) {
            true => {
                self.charge(40);
                let a = self.expression("u32", depth);
                format!("(change{number}({name}, {a}).f{field} as {kind})")
            }
            false => format!("({name}.f{field} as {kind})"),
        }
    }
}
