//! Functions, types and statics.

use super::program::{Array, COST, Function, Generator, Scope, Type};

impl Generator {
    /// Structures with functions that make and change them, and constant tables.
    pub fn globals(&mut self) {
        let count = 1 + self.below(2);
        for number in 0..count {
            let fields = match self.chance(15) {
                true => 20 + self.below(20),
                false => 1 + self.below(6),
            };
            let fields: Vec<Type> = (0..fields).map(|_| self.any_type()).collect();
            self.structure(number, &fields);
            self.structures.push(fields);
        }
        if self.chance(60) {
            let (element, length) = (self.any_type(), 2 + self.below(40));
            let values: Vec<String> = (0..length).map(|_| self.literal(element)).collect();
            let values = values.join(", ");
            self.line(&format!(
                "static TABLE: [{element}; {length}] = [{values}];"
            ));
        }
    }

    /// A structure, with functions that take and return it by value.
    fn structure(&mut self, number: u64, fields: &[Type]) {
        let list = |text: &dyn Fn(usize, Type) -> String| {
            let texts = fields.iter().enumerate().map(|(at, kind)| text(at, kind));
            texts.collect::<Vec<_>>().join(", ")
        };
        let types = list(&|at, kind| format!("pub f{at}: {kind}"));
        let values = list(&|at, kind| {
            format!(
                "f{at}: a.wrapping_mul({}).rotate_left({at}) as {kind}",
                2 * at + 3
            )
        });
        let changed = list(&|at, kind| match at % 3 {
            0 => format!("f{at}: s.f{at} ^ a as {kind}"),
            1 => format!("f{at}: s.f{at}.wrapping_add(s.f{} as {kind})", at - 1),
            _ => format!("f{at}: s.f{at}"),
        });
        let attribute = self.one_of(&["#[inline(never)]\n", ""]);
        self.line(&format!(
            "#[derive(Clone, Copy)]\npub struct S{number} {{ {types} }}\n\
             {attribute}fn make{number}(a: u32) -> S{number} {{ S{number} {{ {values} }} }}\n\
             {attribute}fn change{number}(s: S{number}, a: u32) -> S{number} {{ S{number} {{ {changed} }} }}"
        ));
    }

    /// Empties the scope but for the constant table.
    fn new_scope(&mut self) {
        self.scope = Scope::default();
        self.rounds = 1;
        self.cost = 10;
        let table = self.text.lines().find_map(|line| {
            let (element, rest) = line.strip_prefix("static TABLE: [")?.split_once("; ")?;
            let (length, _) = rest.split_once(']')?;
            let element = super::program::TYPES
                .into_iter()
                .find(|kind| *kind == element)?;
            Some((element, length.parse().ok()?))
        });
        if let Some((element, length)) = table {
            self.scope.arrays.push(Array {
                name: "TABLE".to_owned(),
                element,
                length,
                is_mutable: false,
            });
        }
    }

    /// Functions that call earlier ones, a table of some, a recursive one, and `run`.
    pub fn all_functions(&mut self) {
        let entries = 2 + self.below(2);
        for number in 0..entries {
            self.function(&format!("t{number}"), &["u32", "u32"], "u32", COST / 40);
        }
        let names: Vec<String> = (0..entries).map(|number| format!("t{number}")).collect();
        self.line(&format!(
            "static FUNCTIONS: [fn(u32, u32) -> u32; {entries}] = [{}];",
            names.join(", ")
        ));
        let costs = self.functions.iter().map(|function| function.cost);
        self.table_cost = costs.max().unwrap_or(0);
        self.table = entries;
        if self.chance(60) {
            self.recursion();
        }
        for number in 0..1 + self.below(2) {
            let parameters: Vec<Type> = (0..self.below(7)).map(|_| self.any_type()).collect();
            let result = self.any_type();
            self.function(&format!("f{number}"), &parameters, result, COST / 4);
        }
        self.function("run", &["u32", "u32"], "u64", COST);
    }

    /// A function whose cost begins at `COST - most`.
    fn function(&mut self, name: &str, parameters: &[Type], result: Type, most: u64) {
        self.new_scope();
        self.cost = COST - most;
        let is_public = name == "run";
        let attribute = match is_public || self.chance(60) {
            true => "#[inline(never)]\n",
            false => "",
        };
        let mut list = Vec::new();
        for (number, kind) in parameters.iter().enumerate() {
            let name = format!("x{number}");
            list.push(format!("mut {name}: {kind}"));
            self.scope.values.push((name, kind, true));
        }
        self.line(&format!(
            "{attribute}pub fn {name}({}) -> {result} {{",
            list.join(", ")
        ));
        let count = 2 + self.below(if is_public { 6 } else { 4 });
        self.statements(count, 2);
        self.ending(result);
        self.line("}");
        if !is_public {
            self.functions.push(Function {
                name: name.to_owned(),
                parameters: parameters.to_vec(),
                cost: self.cost.saturating_sub(COST - most) + 10,
            });
        }
    }

    /// The result: all that the function computed.
    fn ending(&mut self, result: Type) {
        self.line("let mut all: u64 = 1;");
        for (name, ..) in self.scope.values.clone() {
            self.line(&format!(
                "all = all.rotate_left(7).wrapping_mul(31) ^ ({name} as u64);"
            ));
        }
        for array in self.scope.arrays.clone() {
            self.charge(20 * array.length);
            self.line(&format!(
                "for one in &{} {{ all = all.rotate_left(5).wrapping_sub(*one as u64); }}",
                array.name
            ));
        }
        for (name, number) in self.scope.structures.clone() {
            for field in 0..self.structures[number].len() {
                self.line(&format!(
                    "all = all.rotate_left(9) ^ ({name}.f{field} as u64);"
                ));
            }
        }
        match result {
            "u64" => self.line("all"),
            other => self.line(&format!("(all ^ all >> 32) as {other}")),
        }
    }

    /// A recursive function with values that live across its calls.
    fn recursion(&mut self) {
        self.new_scope();
        let depth = self.one_of(&[3, 6, 9]);
        let twice = depth <= 6 && self.chance(50);
        self.line("#[inline(never)]\npub fn again(n: u32, x0: u64, x1: u32) -> u64 {");
        for (name, kind) in [("n", "u32"), ("x0", "u64"), ("x1", "u32")] {
            self.scope.values.push((name.to_owned(), kind, false));
        }
        let end = self.expression("u64", 2);
        self.line(&format!("if n == 0 {{ return {end}; }}"));
        // Nothing expensive: it is done at each level.
        self.cost = COST - 100;
        self.statements(3, 1);
        let (first, second) = (self.expression("u64", 2), self.expression("u32", 2));
        self.line(&format!("let deeper = again(n - 1, {first}, {second});"));
        self.scope.values.push(("deeper".to_owned(), "u64", false));
        if twice {
            let first = self.expression("u64", 2);
            self.line(&format!("let other = again(n / 2, {first}, x1);"));
            self.scope.values.push(("other".to_owned(), "u64", false));
        }
        self.ending("u64");
        let cost = self.cost.saturating_sub(COST - 100) + 20;
        self.line(&format!(
            "}}\npub fn recursive(x0: u64, x1: u32) -> u64 {{ again(x1 % {}, x0, x1) }}",
            depth + 1
        ));
        self.functions.push(Function {
            name: "recursive".to_owned(),
            parameters: vec!["u64", "u32"],
            cost: cost * if twice { 4 * depth } else { depth },
        });
    }
}
