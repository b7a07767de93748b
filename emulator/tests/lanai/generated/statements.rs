//! Statements.

use std::fmt::Write as _;

use super::program::{Array, Generator, Scope};

impl Generator {
    /// Adds `count` statements. What they declare is visible behind them, until the block ends.
    pub fn statements(&mut self, count: u64, depth: u32) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    /// A block in braces.
    fn block(&mut self, count: u64, depth: u32) {
        let (values, arrays, structures) = (
            self.scope.values.len(),
            self.scope.arrays.len(),
            self.scope.structures.len(),
        );
        self.statements(count, depth);
        self.scope.values.truncate(values);
        self.scope.arrays.truncate(arrays);
        self.scope.structures.truncate(structures);
    }

    fn statement(&mut self, depth: u32) {
        self.charge(2);
        match self.below(if depth == 0 { 12 } else { 18 }) {
            0 | 1 => self.declare(),
            2..=4 => self.assign(),
            5 => self.declare_array(),
            6 | 7 => self.store_element(),
            8 => self.declare_structure(),
            9 => self.assign_field(),
            10 => {
                let value = self.expression("u32", 1);
                self.line(&format!("device::write({value});"));
            }
            11 => self.change_array(),
            12 | 13 => {
                let condition = self.condition(1);
                self.line(&format!("if {condition} {{"));
                self.block(2, depth - 1);
                self.line("} else {");
                self.block(2, depth - 1);
                self.line("}");
            }
            14 | 15 => self.repeat(depth),
            16 => self.repeat_while(depth),
            _ => self.select(),
        }
    }

    fn declare(&mut self) {
        let kind = self.any_type();
        let value = self.expression(kind, 2);
        let name = self.name("v");
        self.line(&format!("let mut {name}: {kind} = {value};"));
        self.scope.values.push((name, kind, true));
    }

    fn assign(&mut self) {
        let Scope { values, .. } = &self.scope;
        let mutable: Vec<_> = values.iter().filter(|value| value.2).cloned().collect();
        if mutable.is_empty() {
            return self.declare();
        }
        let (name, kind, _) = self.one_of(&mutable.iter().collect::<Vec<_>>()).clone();
        let value = self.expression(kind, 2);
        let how = self.one_of(&["=", "=", "^=", "|=", "&="]);
        self.line(&format!("{name} {how} {value};"));
    }

    /// An array on the stack: small, or larger than what loads and stores of bytes reach.
    fn declare_array(&mut self) {
        let element = self.any_type();
        let length = match self.below(20) {
            0 => self.one_of(&[130, 200, 260, 300]),
            1 => self.one_of(&[64, 96, 120]),
            _ => 1 + self.below(24),
        };
        if !self.affords(length) {
            return self.assign();
        }
        self.charge(length);
        let name = self.name("a");
        let value = self.expression(element, 2);
        let start = match self.chance(50) {
            true => format!("[{value}; {length}]"),
            false => {
                let step = self.literal(element);
                format!(
                    "{{ let first = {value}; core::array::from_fn(|place| first.wrapping_add(({step}).wrapping_mul(place as {element}))) }}"
                )
            }
        };
        self.line(&format!("let mut {name}: [{element}; {length}] = {start};"));
        self.scope.arrays.push(Array {
            name,
            element,
            length,
            is_mutable: true,
        });
    }

    fn mutable_array(&mut self) -> Option<Array> {
        let arrays = self.scope.arrays.clone();
        let mutable: Vec<&Array> = arrays.iter().filter(|array| array.is_mutable).collect();
        match mutable.is_empty() {
            true => None,
            false => Some(self.one_of(&mutable).clone()),
        }
    }

    fn store_element(&mut self) {
        let Some(array) = self.mutable_array() else {
            return self.declare_array();
        };
        let Array {
            name,
            element,
            length,
            ..
        } = array;
        let value = self.expression(element, 2);
        let index = match self.chance(30) {
            true => self.below(length).to_string(),
            false => format!("(({}) % {length}) as usize", self.expression("u32", 1)),
        };
        self.line(&format!("{name}[{index}] = {value};"));
    }

    /// An operation on a part of an array.
    fn change_array(&mut self) {
        let Some(Array {
            name,
            element,
            length,
            ..
        }) = self.mutable_array()
        else {
            return self.declare_array();
        };
        let sorts = length <= 24 && self.affords(length * length * 2);
        if !self.affords(6 * length) {
            return self.assign();
        }
        self.charge(6 * length);
        let from = self.expression("u32", 1);
        let place = self.name("p");
        self.line(&format!("let {place} = (({from}) % {length}) as usize;"));
        let part = format!("{name}[{place}..]");
        let text = match self.below(7) {
            0 => {
                let value = self.expression(element, 2);
                format!("{{ let value = {value}; {part}.fill(value); }}")
            }
            1 => format!("{part}.reverse();"),
            2 => {
                let value = self.expression(element, 2);
                format!(
                    "{{ let value = {value}; for one in &mut {part} {{ *one = one.rotate_right(1) ^ value; }} }}"
                )
            }
            3 => {
                let to = self.below(length);
                let count = length - to;
                format!("{name}.copy_within(..{count}, {to});")
            }
            4 => format!("{name}.swap(0, {place});"),
            5 if sorts => {
                self.charge(length * length * 2);
                format!(
                    "for end in 1..{length}_usize {{ let mut at = end; while at > 0 && {name}[at - 1] > {name}[at] {{ {name}.swap(at - 1, at); at -= 1; }} }}"
                )
            }
            _ => format!(
                "{{ let (low, high) = {name}.split_at_mut({place}); for (a, b) in low.iter_mut().zip(high) {{ core::mem::swap(a, b); }} }}"
            ),
        };
        self.line(&text);
    }

    fn declare_structure(&mut self) {
        let numbers: Vec<usize> = (0..self.structures.len()).collect();
        if numbers.is_empty() {
            return self.declare();
        }
        let number = self.one_of(&numbers);
        let a = self.expression("u32", 1);
        let name = self.name("s");
        self.charge(30);
        self.line(&format!("let mut {name}: S{number} = make{number}({a});"));
        self.scope.structures.push((name, number));
    }

    fn assign_field(&mut self) {
        let structures = self.scope.structures.clone();
        if structures.is_empty() {
            return self.declare_structure();
        }
        let (name, number) = self.one_of(&structures.iter().collect::<Vec<_>>()).clone();
        if self.affords(40) && self.chance(30) {
            self.charge(40);
            let a = self.expression("u32", 1);
            return self.line(&format!("{name} = change{number}({name}, {a});"));
        }
        let fields = self.structures[number].clone();
        let field = self.below(u64::try_from(fields.len()).expect("few"));
        let kind = fields[usize::try_from(field).expect("few")];
        let value = self.expression(kind, 2);
        self.line(&format!("{name}.f{field} = {value};"));
    }

    fn repeat(&mut self, depth: u32) {
        let most = self.one_of(&[3, 5, 9, 17]);
        if !self.affords(20 * most) {
            return self.assign();
        }
        let end = self.expression("u32", 1);
        let name = self.name("i");
        self.line(&format!("for {name} in 0..(({end}) % {most}) as u32 {{"));
        let rounds = self.rounds;
        self.rounds *= most;
        self.scope.values.push((name, "u32", false));
        self.block(3, depth - 1);
        if self.chance(20) {
            let condition = self.condition(1);
            let way = self.one_of(&["break", "continue"]);
            self.line(&format!("if {condition} {{ {way}; }}"));
        }
        self.scope.values.pop();
        self.rounds = rounds;
        self.line("}");
    }

    fn repeat_while(&mut self, depth: u32) {
        let most = self.one_of(&[4, 12]);
        if !self.affords(20 * most) {
            return self.assign();
        }
        let name = self.name("w");
        let condition = self.condition(1);
        self.line(&format!(
            "let mut {name} = {most}_i32;\nwhile {name} > 0 && {condition} {{"
        ));
        let rounds = self.rounds;
        self.rounds *= most;
        self.scope.values.push((name.clone(), "i32", false));
        let step = 1 + self.below(2);
        self.line(&format!("{name} -= {step};"));
        self.block(2, depth - 1);
        self.scope.values.pop();
        self.rounds = rounds;
        self.line("}");
    }

    /// A choice between few or many cases, as a table of values or of places.
    fn select(&mut self) {
        let cases = match self.below(6) {
            0 if self.chance(25) => 128,
            1 => 10 + self.below(20),
            _ => 2 + self.below(10),
        };
        let on = self.expression("u32", 1);
        let mut values = self.scope.values.iter().filter(|value| value.2);
        let Some((name, kind, _)) = values.next_back().cloned() else {
            return self.declare();
        };
        let is_simple = self.chance(25);
        let first = self.below(3);
        let mut text = format!("match ({on}) % {} {{\n", cases + first + 2);
        for case in first..first + cases {
            let literal = self.literal(kind);
            let action = match self.below(if is_simple { 1 } else { 5 }) {
                0 => format!("{name} = {literal}"),
                1 => format!("{name} = {name}.wrapping_add({literal})"),
                2 => format!("{name} ^= {literal}"),
                3 => format!("device::write({case})"),
                _ => format!("{name} = {name}.rotate_left({case})"),
            };
            let _ = writeln!(text, "{case} => {action},");
        }
        let other = self.expression(kind, 2);
        let _ = writeln!(text, "_ => {name} = {other},\n}}");
        self.line(text.trim_end());
    }
}
