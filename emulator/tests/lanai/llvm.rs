//! Random words against LLVM's disassembler, if there is one that knows the Lanai.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use emulator::cpu::lanai::disasm::{disassemble, is_canonical};
use emulator::cpu::lanai::isa;
use emulator::cpu::lanai::pipeline::Pipeline;

use super::encodings::encode;

/// Runs `llvm-mc` over lines of text.
fn llvm_mc(tool: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut child = Command::new(tool)
        .arg("-triple=lanai")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    String::from_utf8(output.stdout).ok()
}

/// LLVM's texts of words, by word; none for a word that it does not know.
fn texts(tool: &str, words: &[u32]) -> Option<Vec<Option<String>>> {
    // A word without text is passed over, so each one is followed by a mark.
    const MARK: u32 = 6;
    let mut input = String::new();
    for word in words {
        for word in [*word, MARK] {
            let [a, b, c, d] = word.to_be_bytes();
            input += &format!("{a:#x} {b:#x} {c:#x} {d:#x}\n");
        }
    }
    let output = llvm_mc(tool, &["-disassemble"], &input)?;
    let lines = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('.'));
    let mut texts = Vec::new();
    let mut text = None;
    for line in lines {
        if line == "log_4" {
            texts.push(text.take());
        } else {
            text = Some(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    (texts.len() == words.len()).then_some(texts)
}

/// Our text of a word in LLVM's spelling, where that has one text for several words.
fn spelled(text: &str) -> String {
    let text = text.replace("sli ", "mov ").replace(".never", ".f");
    match text.split_once(" [") {
        Some((mnemonic, rest)) if rest.starts_with('%') && !rest.starts_with("%r0x") => {
            let (address, after) = rest.split_once(']').unwrap_or((rest, ""));
            if address.contains([' ', '+', '-']) {
                return text;
            }
            format!("{mnemonic} 0[{address}]{after}")
        }
        _ => text,
    }
}

/// The name of an `llvm-mc` that knows the Lanai.
fn tool() -> Option<&'static str> {
    let knows =
        |tool: &&str| texts(tool, &[1]).is_some_and(|texts| texts == [Some("nop".to_owned())]);
    let tool = ["llvm-mc-22", "llvm-mc"].into_iter().find(knows);
    if tool.is_none() {
        // Past the capture of the test harness, which hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED for lack of llvm-mc with the target lanai (Debian's llvm-22): LANai encodings"
        );
    }
    tool
}

#[test]
fn llvm_gives_words_the_same_text() {
    let Some(tool) = tool() else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let words: Vec<u32> = isa::ROWS
        .iter()
        .flat_map(|row| {
            (0..400)
                .map(|_| encode(row, random.next_u32()))
                .collect::<Vec<_>>()
        })
        .filter(|&word| {
            is_canonical(word, &Pipeline::LLVM)
                && isa::is_executable(word, &Pipeline::LLVM)
                && word != 6
        })
        .collect();
    let expected = texts(tool, &words).expect("a text or none for each word");
    let mut compared = 0;
    let mut unknown = 0;
    for (&word, expected) in words.iter().zip(&expected) {
        let text = spelled(&disassemble(word, &Pipeline::LLVM));
        // A relative branch with a base is not among LLVM's instructions.
        let based = word >> 28 == 0xe && word & 0x0100_0002 == 0x0100_0002;
        match expected {
            _ if based => {}
            Some(expected) => {
                compared += 1;
                assert_eq!(&text, expected, "{word:#010x}");
            }
            None => {
                unknown += 1;
                println!("LLVM does not know {word:#010x}: {text}");
            }
        }
    }
    println!("{compared} words compared, {unknown} unknown to LLVM");
    assert!(unknown == 0, "{unknown} words");
}

/// Comparison of this core's text of a word with LLVM's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Comparison {
    /// Neither knows it.
    Unknown,
    Same,
    /// LLVM has one text for several words, of which its assembler makes another one.
    NotCanonical,
    /// A relative branch, whose distance LLVM shows without its sign.
    RelativeBranch,
    /// LLVM does not know it.
    OursAlone,
    /// This core does not know it.
    TheirsAlone,
    Other,
}

fn comparison(word: u32, theirs: Option<&String>) -> Comparison {
    let knows = isa::is_executable(word, &Pipeline::LLVM);
    match theirs {
        None if knows => Comparison::OursAlone,
        None => Comparison::Unknown,
        Some(_) if !knows => Comparison::TheirsAlone,
        Some(text) if *text == spelled(&disassemble(word, &Pipeline::LLVM)) => Comparison::Same,
        Some(_) if !is_canonical(word, &Pipeline::LLVM) => Comparison::NotCanonical,
        Some(_) if word >> 28 == 0xe && word & 0x0100_0002 == 0x0100_0002 => {
            Comparison::RelativeBranch
        }
        Some(_) => Comparison::Other,
    }
}

/// Counts comparisons of entirely random words. docs/lanai-core.md explains each kind of difference.
#[test]
fn random_words_differ_in_known_ways_only() {
    let Some(tool) = tool() else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(3);
    // LLVM crashes at accesses whose operator is an unknown kind of shift.
    let crashes = |word: u32| matches!(word >> 28, 10 | 11) && word >> 8 & 7 == 7;
    let words: Vec<u32> = (0..50_000)
        .map(|_| random.next_u32())
        .filter(|&word| !crashes(word))
        .collect();
    let expected = texts(tool, &words).expect("a text or none for each word");
    let mut counts: BTreeMap<(Comparison, String), u32> = BTreeMap::new();
    for (&word, theirs) in words.iter().zip(&expected) {
        let found = comparison(word, theirs.as_ref());
        let ours = disassemble(word, &Pipeline::LLVM);
        assert!(
            !matches!(found, Comparison::TheirsAlone | Comparison::Other),
            "{word:#010x}: {ours}, LLVM: {theirs:?}"
        );
        let form = match found {
            Comparison::OursAlone | Comparison::NotCanonical => format!("format {:x}", word >> 28),
            _ => String::new(),
        };
        *counts.entry((found, form)).or_default() += 1;
    }
    for ((found, form), count) in &counts {
        println!("{count:>6} {found:?} {form}");
    }
    let same = counts.get(&(Comparison::Same, String::new()));
    assert!(same.is_some_and(|same| *same > 20_000), "{counts:?}");
}

/// Any word that LLVM knows as an instruction, this core knows too.
#[test]
fn no_word_that_llvm_knows_is_missing() {
    let Some(tool) = tool() else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(2);
    // LLVM crashes at accesses whose operator is an unknown kind of shift.
    let crashes = |word: u32| matches!(word >> 28, 10 | 11) && word >> 8 & 7 == 7;
    let words = (0..20_000).map(|_| random.next_u32());
    let words: Vec<u32> = words.filter(|&word| !crashes(word)).collect();
    let expected = texts(tool, &words).expect("a text or none for each word");
    for (&word, expected) in words.iter().zip(&expected) {
        if let Some(text) = expected {
            assert!(
                isa::is_executable(word, &Pipeline::LLVM),
                "{word:#010x}: {text}"
            );
        }
    }
}
