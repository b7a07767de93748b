//! The core against an independent MIPS implementation: Unicorn, which is QEMU's core as a library.
//!
//! Optional, since it needs a Python package: `make test-independent` (see CONTRIBUTING.md).

#[path = "mips/flat.rs"]
mod flat;
#[path = "independent/programs.rs"]
mod programs;

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use emulator::cpu::mips::bus::Width;
use emulator::cpu::mips::disasm::disassemble;
use emulator::cpu::mips::exec::{Core, Exit, run};
use emulator::cpu::mips::isa::{self, Flow};
use flat::FlatBus;
use programs::{CODE, DATA, DATA_BYTES, Scene, scene, shared_rows};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Number of compared programs.
const PROGRAMS: usize = 10_000;
/// Instruction limit, for programs that do not end.
const MOST_STEPS: usize = 500;
/// Smallest number of executions of each instruction.
const LEAST_EXECUTIONS: u64 = 1000;
const MEMORY_BYTES: usize = 0x9000;

/// Program counter and registers 1 to 31 before an instruction.
type State = [u32; 32];

/// Trace of a program.
struct Outcome {
    states: Vec<State>,
    data: Vec<u8>,
}

/// Executes a program with our core; `None` if it does not reach its `break`.
fn execute(scene: &Scene) -> Option<Outcome> {
    let mut bus = FlatBus::new(MEMORY_BYTES);
    bus.place(&scene.program());
    let mut core = Core::default();
    for (index, value) in (1..).zip(&scene.registers) {
        core.set_register(index, *value);
    }
    core.start_at(CODE);
    let mut states = Vec::new();
    while states.len() < MOST_STEPS {
        let mut state = *core.registers();
        state[0] = core.pc();
        states.push(state);
        match run(&mut core, &mut bus, u64::MAX, 1) {
            Exit::Limit => {}
            Exit::Break { .. } => {
                let read = |address| bus.read(address, Width::Byte) as u8;
                let data = (DATA..).take(DATA_BYTES).map(read).collect();
                return Some(Outcome { states, data });
            }
            exit => panic!("{exit:?} at {:#x} of {scene:x?}", core.pc()),
        }
    }
    None
}

/// The other implementation, in its own process.
struct Independent {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Independent {
    fn start() -> Self {
        let python = env::var("LANIGON_UNICORN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/independent/unicorn_runner.py"
        );
        let mut process = Command::new(&python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{python}: {error}"));
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut independent = Self {
            process,
            input,
            output,
        };
        let greeting = independent.line();
        assert!(greeting.starts_with("Unicorn "), "{greeting:?}");
        println!("{greeting}");
        independent
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("readable output");
        assert!(
            line.ends_with('\n'),
            "the other implementation ended: is the Python package `unicorn` installed?"
        );
        line.trim_end().to_owned()
    }

    fn execute(&mut self, scene: &Scene) -> Outcome {
        let words = |words: &[u32]| -> String {
            let digits = words.iter().map(|word| format!("{word:08x}"));
            digits.collect()
        };
        let data: String = scene
            .data
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (code, registers) = (words(&scene.code), words(&scene.registers));
        writeln!(self.input, "{CODE:x} {DATA:x} {code} {data} {registers}").expect("a listener");
        let mut states = Vec::new();
        let end = loop {
            let line = self.line();
            match line.strip_prefix("end ") {
                Some(end) => break end.to_owned(),
                None => states.push(state(&line)),
            }
        };
        assert_eq!(end, "break", "of {scene:x?}");
        let data = bytes(&self.line());
        Outcome { states, data }
    }

    /// Closes its input and checks its exit status.
    fn end(mut self) {
        drop(self.input);
        assert!(self.process.wait().expect("a process").success());
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| {
        digits
            .get(at..at + 2)
            .and_then(|b| u8::from_str_radix(b, 16).ok())
    };
    let byte = |at| byte(at).unwrap_or_else(|| panic!("{digits:?} is not hexadecimal"));
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn state(line: &str) -> State {
    let bytes = bytes(line);
    let mut state = [0; 32];
    assert_eq!(bytes.len(), 4 * state.len(), "{line:?}");
    for (place, word) in state.iter_mut().zip(bytes.chunks_exact(4)) {
        *place = word
            .iter()
            .fold(0, |value, byte| value << 8 | u32::from(*byte));
    }
    state
}

fn check(scene: &Scene, ours: &Outcome, theirs: &Outcome) {
    let mut last = CODE;
    let mut their_states = theirs.states.iter();
    for our in &ours.states {
        let word = scene.word_at(last);
        let mut their = their_states.next();
        // Unicorn reports an annulled delay slot too, and then skips it.
        let likely = isa::lookup(word).is_some_and(|row| row.kind.flow() == Flow::Likely);
        if likely && our[0] == last + 8 && their.is_some_and(|state| state[0] == last + 4) {
            their = their_states.next();
        }
        let after = disassemble(word, last);
        assert_eq!(Some(our), their, "after `{after}` of {scene:x?}");
        last = our[0];
    }
    assert_eq!(their_states.next(), None, "{scene:x?}");
    assert_eq!(ours.data, theirs.data, "{scene:x?}");
}

#[test]
fn agrees_with_unicorn() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut independent = Independent::start();
    let mut executions: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut programs, mut states) = (0, 0);
    while programs < PROGRAMS {
        let scene = scene().new_tree(&mut runner).expect("a program").current();
        let Some(ours) = execute(&scene) else {
            continue;
        };
        let theirs = independent.execute(&scene);
        check(&scene, &ours, &theirs);
        for state in &ours.states {
            let row = isa::lookup(scene.word_at(state[0])).expect("an instruction");
            *executions.entry(row.mnemonic).or_default() += 1;
        }
        programs += 1;
        states += ours.states.len();
    }
    independent.end();
    for row in shared_rows() {
        let count = executions.get(row.mnemonic).copied().unwrap_or(0);
        assert!(count >= LEAST_EXECUTIONS, "{}: {count}", row.mnemonic);
    }
    println!("{programs} programs, {states} states compared");
    println!("executions: {executions:?}");
}
