//! Text of control programs for the tests, for all three pipelines.

use emulator::cpu::lanai::asm;
use emulator::lanai::chip::Generation;
use emulator::lanai::special;

/// A program that is being written.
///
/// Every load and every branch is followed by enough `nop`s for each pipeline. Register 9 is used by the helpers.
pub struct Assembly {
    pub chip: Generation,
    text: String,
    labels: u32,
}

impl Assembly {
    pub fn new(chip: Generation) -> Self {
        let text = String::new();
        let labels = 0;
        Self { chip, text, labels }
    }

    pub fn line(&mut self, line: &str) -> &mut Self {
        self.text += line;
        self.text.push('\n');
        self
    }

    pub fn lines(&mut self, lines: &str) -> &mut Self {
        self.line(lines)
    }

    /// A new label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    pub fn place(&mut self, label: &str) -> &mut Self {
        self.line(&format!("{label}:"))
    }

    pub fn constant(&mut self, value: u32, register: &str) -> &mut Self {
        self.line(&format!("li {value}, %{register}"))
    }

    /// `branch` is a mnemonic, such as `beq`.
    pub fn branch(&mut self, branch: &str, label: &str) -> &mut Self {
        self.line(&format!("{branch} {label}\n nop\n nop"))
    }

    /// Loads a word of memory.
    pub fn load(&mut self, address: u32, register: &str) -> &mut Self {
        self.constant(address, "r9");
        self.line(&format!("ld 0[%r9], %{register}\n nop\n nop"))
    }

    /// Stores a register into a word of memory.
    pub fn store(&mut self, register: &str, address: u32) -> &mut Self {
        self.constant(address, "r9");
        self.line(&format!("st %{register}, 0[%r9]"))
    }

    /// Stores a constant into a word of memory.
    pub fn store_constant(&mut self, value: u32, address: u32) -> &mut Self {
        self.constant(value, "r10").store("r10", address)
    }

    fn special(&self, name: &str) -> i32 {
        let rows = special::rows(self.chip);
        let row = rows.iter().find(|row| row.name == name).unwrap();
        (self.chip.register_base() + row.offset).cast_signed()
    }

    /// Writes a special register.
    pub fn set(&mut self, name: &str, value: u32) -> &mut Self {
        self.constant(value, "r9").set_from("r9", name)
    }

    /// Writes a special register from a register of the CPU.
    pub fn set_from(&mut self, register: &str, name: &str) -> &mut Self {
        let place = self.special(name);
        self.line(&format!("st %{register}, {place}[%r0]\n nop"))
    }

    /// Reads a special register.
    pub fn get(&mut self, name: &str, register: &str) -> &mut Self {
        let place = self.special(name);
        self.line(&format!("ld {place}[%r0], %{register}\n nop\n nop"))
    }

    /// Reads the interrupt status.
    pub fn status(&mut self, register: &str) -> &mut Self {
        match self.chip {
            Generation::L4 => self.line(&format!("mov %r31, %{register}")),
            _ => self.get("isr", register),
        }
    }

    /// Writes the interrupt status.
    pub fn set_status(&mut self, value: u32) -> &mut Self {
        self.constant(value, "r9");
        match self.chip {
            Generation::L4 => self.line("mov %r9, %r31\n nop"),
            _ => self.set_from("r9", "isr"),
        }
    }

    /// Signals the host. A LANai 7 repeats it until it sees the bit.
    pub fn signal(&mut self) -> &mut Self {
        let again = self.label();
        self.place(&again).set_status(1 << 30);
        if self.chip == Generation::L7 {
            self.status("r10")
                .test("r10", 1 << 30)
                .branch("beq", &again);
        }
        self
    }

    /// Waits until a bit of the interrupt status is set.
    pub fn wait_status(&mut self, bit: u32) -> &mut Self {
        let again = self.label();
        self.place(&again).status("r10").test("r10", bit);
        self.branch("beq", &again)
    }

    /// Waits until a word of memory has a value.
    pub fn wait_word(&mut self, address: u32, value: u32) -> &mut Self {
        let again = self.label();
        self.place(&again)
            .load(address, "r10")
            .constant(value, "r9");
        self.line("sub.f %r10, %r9, %r0").branch("bne", &again)
    }

    /// Goes to `label` if a register has another value.
    pub fn unless(&mut self, register: &str, value: u32, label: &str) -> &mut Self {
        self.constant(value, "r9");
        self.line(&format!("sub.f %{register}, %r9, %r0"));
        self.branch("bne", label)
    }

    /// Keeps some bits of a register; a constant operand of `and` has ones in its other half.
    pub fn mask(&mut self, register: &str, bits: u32) -> &mut Self {
        self.constant(bits, "r9");
        self.line(&format!("and %{register}, %r9, %{register}"))
    }

    /// Sets the flags for some bits of a register.
    pub fn test(&mut self, register: &str, bits: u32) -> &mut Self {
        self.constant(bits, "r9");
        self.line(&format!("and.f %{register}, %r9, %r0"))
    }

    /// The assembled image, from address 0 on.
    pub fn image(&self) -> Vec<u8> {
        let program = asm::assemble(&self.text).unwrap_or_else(|error| {
            let line = self.text.lines().nth(error.line - 1);
            panic!("{error}: {line:?}")
        });
        let mut image = Vec::new();
        for segment in &program.segments {
            let end = segment.address as usize + segment.bytes.len();
            image.resize(end.max(image.len()), 0);
            image[segment.address as usize..end].copy_from_slice(&segment.bytes);
        }
        image
    }
}
