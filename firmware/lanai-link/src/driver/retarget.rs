//! LLVM's text for MIPS to text for the LANai.
//!
//! `rustc` knows no LANai: it makes bitcode for a big-endian MIPS whose types have the same sizes and alignments. What differs
//! is changed here, line by line: header, attributes, calling conventions, fences. What the back end cannot compile is
//! refused with the name of its function.

use thiserror::Error;

use crate::driver::library::is_called_by_llvm;

/// Data layouts of the source. They differ from the LANai's in preferred alignments only.
const SOURCE_LAYOUTS: [&str; 2] = ["E-m:m-p:32:32-i8:8:32-i16:16:32-i64:64-n32-S64", LAYOUT];
/// The LANai's data layout.
const LAYOUT: &str = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64";

/// Reasons for which text cannot be changed into text for the LANai.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RetargetError {
    /// Types may have other sizes or alignments than the LANai's.
    #[error(
        "unknown data layout {0:?}: the target file must have the layout that the driver knows"
    )]
    Layout(String),
    /// No data layout at all.
    #[error("the bitcode has no data layout")]
    NoLayout,
    /// An operation that the back end cannot compile.
    #[error("{function} uses {what}, which the LANai's back end cannot compile")]
    Unsupported {
        /// Function that contains the operation.
        function: String,
        /// The operation.
        what: &'static str,
    },
    /// A pointer to a function that has two calling conventions.
    #[error("{place} takes the address of {name}, which LLVM calls with a convention of its own")]
    AddressTaken {
        /// Function, or line outside of functions.
        place: String,
        /// The run-time function.
        name: String,
    },
    /// Assembly outside of functions, which the compiler reads as that of MIPS.
    #[error("global_asm! is not possible: the compiler takes it for MIPS; use a file of assembly")]
    GlobalAssembly,
}

/// Text for the LANai.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retargeted {
    /// Text for the LANai.
    pub text: String,
    /// Run-time functions that it defines.
    pub library: Vec<String>,
}

/// Words between `define` or `declare` and the convention.
const LINKAGE: [&str; 16] = [
    "private",
    "internal",
    "available_externally",
    "linkonce",
    "weak",
    "common",
    "appending",
    "extern_weak",
    "linkonce_odr",
    "weak_odr",
    "external",
    "dso_local",
    "dso_preemptable",
    "default",
    "hidden",
    "protected",
];
/// Words between `call` and the convention.
const FAST_MATH: [&str; 8] = [
    "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast",
];
/// Conventions that the back end does not have; the usual one does the same.
const DROPPED_CONVENTIONS: [&str; 3] = ["coldcc", "preserve_mostcc", "preserve_allcc"];
/// Attributes that name a processor.
const DROPPED_ATTRIBUTES: [&str; 3] = ["target-cpu", "target-features", "tune-cpu"];
/// Operations that the back end cannot compile.
const UNSUPPORTED: [(&str, &str); 2] = [
    ("atomicrmw", "an atomic operation"),
    ("cmpxchg", "an atomic operation"),
];
/// Types that one instruction loads or stores.
const ONE_ACCESS: [&str; 4] = ["i8 ", "i16 ", "i32 ", "ptr "];
/// Orders of atomic operations.
const ORDERS: [&str; 5] = ["unordered", "monotonic", "acquire", "release", "seq_cst"];
/// Intrinsics that the back end cannot compile.
const UNSUPPORTED_INTRINSICS: [(&str, &str); 2] = [
    ("llvm.experimental.stackmap", "a stack map"),
    ("llvm.experimental.patchpoint", "a patch point"),
];

/// Changes text of LLVM.
pub fn retarget(text: &str) -> Result<Retargeted, RetargetError> {
    let mut changed = Retargeted {
        text: String::with_capacity(text.len()),
        library: Vec::new(),
    };
    let mut function = String::new();
    let mut has_layout = false;
    for line in text.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        let line = match first {
            "target" => {
                has_layout |= line.starts_with("target datalayout");
                target(line)?
            }
            "attributes" => without_attributes(line),
            "module" if line.starts_with("module asm") => {
                return Err(RetargetError::GlobalAssembly);
            }
            "define" | "declare" => {
                let name = callee(line).unwrap_or_default().to_owned();
                if first == "define" && is_called_by_llvm(&name) {
                    changed.library.push(name.clone());
                }
                let line = with_convention(line, first, &LINKAGE, &name);
                function = name;
                line
            }
            // Metadata, comments, labels and the ends of functions.
            _ if line.starts_with(['!', ';', '}']) => line.to_owned(),
            _ => instruction(line, &function)?,
        };
        if first != "define" && first != "declare" {
            refuse_addresses(&line, &function)?;
        }
        changed.text.push_str(&line);
        changed.text.push('\n');
        if line == "}" {
            function.clear();
        }
    }
    match has_layout {
        true => Ok(changed),
        false => Err(RetargetError::NoLayout),
    }
}

/// The target's description for the LANai.
fn target(line: &str) -> Result<String, RetargetError> {
    let value = line.split('"').nth(1).unwrap_or_default();
    if line.starts_with("target triple") {
        return Ok("target triple = \"lanai\"".to_owned());
    }
    match SOURCE_LAYOUTS.contains(&value) {
        true => Ok(format!("target datalayout = \"{LAYOUT}\"")),
        false => Err(RetargetError::Layout(value.to_owned())),
    }
}

/// A group of attributes without those that name a processor.
fn without_attributes(line: &str) -> String {
    let mut line = line.to_owned();
    for name in DROPPED_ATTRIBUTES {
        let start = format!(" \"{name}\"=\"");
        while let Some(at) = line.find(&start) {
            let rest = at + start.len();
            let end = line[rest..]
                .find('"')
                .map_or(line.len(), |end| rest + end + 1);
            line.replace_range(at..end, "");
        }
    }
    // LLVM refuses a group without attributes.
    line.replace("= { }", "= { \"retargeted\" }")
}

/// An instruction, or a global variable.
fn instruction(line: &str, function: &str) -> Result<String, RetargetError> {
    let operation = match line.split_once(" = ") {
        Some((result, rest)) if result.trim_start().starts_with('%') => rest,
        _ => line.trim_start(),
    };
    let unsupported = |what| RetargetError::Unsupported {
        function: readable(function),
        what,
    };
    let found = UNSUPPORTED.iter();
    if let Some((_, what)) = found.clone().find(|(name, _)| operation.starts_with(name)) {
        return Err(unsupported(what));
    }
    let before = line.len() - operation.len();
    // One processor, which executes in order: only the compiler must keep the order.
    let location = line.find(", !dbg").map_or("", |at| &line[at..]);
    let fence = format!("  call void asm sideeffect \"\", \"~{{memory}}\"(){location}");
    if operation.starts_with("fence ") {
        return Ok(fence);
    }
    for (kind, what) in [("load", "an atomic load"), ("store", "an atomic store")] {
        let atomic = operation.strip_prefix(kind);
        if let Some(rest) = atomic.and_then(|rest| rest.strip_prefix(" atomic ")) {
            let access = one_access(rest).ok_or_else(|| unsupported(what))?;
            let result = &line[..before];
            return Ok(format!(
                "{fence}\n{result}{kind} volatile {access}\n{fence}"
            ));
        }
    }
    let kinds = ["call ", "tail call ", "musttail call ", "notail call "];
    if !kinds.iter().any(|kind| operation.starts_with(kind)) {
        return Ok(line.to_owned());
    }
    let name = callee(operation).unwrap_or_default();
    let mut intrinsics = UNSUPPORTED_INTRINSICS.iter();
    if let Some((_, what)) = intrinsics.find(|(start, _)| name.starts_with(start)) {
        return Err(unsupported(what));
    }
    let changed = with_convention(operation, "call", &FAST_MATH, name);
    Ok(format!("{}{changed}", &line[..before]))
}

/// An atomic access behind its keywords as an access that the compiler neither repeats nor leaves out; none for a type that needs two.
fn one_access(text: &str) -> Option<String> {
    let text = text.strip_prefix("volatile ").unwrap_or(text);
    let mut types = ONE_ACCESS.iter();
    let comma_or_space = text.replacen(',', " ", 1);
    types.find(|name| comma_or_space.starts_with(**name))?;
    let (access, alignment) = text.split_once(", align ")?;
    let (mut access, order) = access.rsplit_once(' ')?;
    if !ORDERS.contains(&order) {
        return None;
    }
    if let Some((pointer, _)) = access.split_once(" syncscope(") {
        access = pointer;
    }
    Some(format!("{access}, align {alignment}"))
}

/// `text` with the convention that the function `name` needs, behind `keyword` and any of `words`.
fn with_convention(text: &str, keyword: &str, words: &[&str], name: &str) -> String {
    let Some(mut at) = text.find(&format!("{keyword} ")) else {
        return text.to_owned();
    };
    at += keyword.len() + 1;
    loop {
        let word = text[at..].split(' ').next().unwrap_or_default();
        if words.contains(&word) {
            at += word.len() + 1;
            continue;
        }
        let (before, rest) = text.split_at(at);
        let rest = match DROPPED_CONVENTIONS.contains(&word) {
            true => &rest[word.len() + 1..],
            false => rest,
        };
        let is_fast = !is_called_by_llvm(name) || rest.starts_with("fastcc ");
        return format!("{before}{}{rest}", if is_fast { "" } else { "fastcc " });
    }
}

/// Names of global symbols in `text`, outside of strings: with what follows each.
fn symbols(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(['@', '"'])?;
            let is_string = rest[at..].starts_with('"');
            let after = &rest[at + 1..];
            if is_string {
                let end = after.find('"').map_or(after.len(), |end| end + 1);
                rest = &after[end..];
                continue;
            }
            if let Some(quoted) = after.strip_prefix('"') {
                let end = quoted.find('"').unwrap_or(quoted.len());
                rest = quoted.get(end + 1..).unwrap_or_default();
                return Some((&quoted[..end], rest));
            }
            let inside = |c: char| c.is_ascii_alphanumeric() || "_.$-".contains(c);
            let end = after.find(|c| !inside(c)).unwrap_or(after.len());
            rest = &after[end..];
            return Some((&after[..end], rest));
        }
    })
}

/// The function that `text` defines, declares or calls.
fn callee(text: &str) -> Option<&str> {
    let (name, after) = symbols(text).next()?;
    after.starts_with('(').then_some(name)
}

/// Refuses uses of run-time functions other than calls.
fn refuse_addresses(line: &str, function: &str) -> Result<(), RetargetError> {
    if line.starts_with(['!', ';']) {
        return Ok(());
    }
    for (name, after) in symbols(line) {
        if is_called_by_llvm(name) && !after.starts_with('(') {
            let place = match function {
                "" => line.split(' ').next().unwrap_or_default().to_owned(),
                function => readable(function),
            };
            let name = name.to_owned();
            return Err(RetargetError::AddressTaken { place, name });
        }
    }
    Ok(())
}

/// A function's name as its author knows it.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "target datalayout = \"E-m:m-p:32:32-i8:8:32-i16:16:32-i64:64-n32-S64\"\n";

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let changed = retarget(&format!("{HEAD}{line}\n")).expect("known text");
        let changed = changed.text.lines().nth(1).map(str::to_owned);
        assert_eq!(changed.as_deref(), Some(expected));
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = retarget(&format!("{HEAD}{text}\n")).expect_err(text);
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn headers_and_attributes() {
        let changed = retarget(&format!("{HEAD}target triple = \"mips\"\n")).expect("known text");
        let expected = "target datalayout = \"E-m:e-p:32:32-i64:64-a:0:32-n32-S64\"\ntarget triple = \"lanai\"\n";
        assert_eq!(changed.text, expected);
        check(
            "attributes #0 = { nounwind \"target-cpu\"=\"generic\" \"probe\"=\"x\" \"target-features\"=\"+a,+b\" }",
            "attributes #0 = { nounwind \"probe\"=\"x\" }",
        );
        check(
            "attributes #0 = { \"target-cpu\"=\"generic\" }",
            "attributes #0 = { \"retargeted\" }",
        );
    }

    #[test]
    fn conventions() {
        check(
            "define weak hidden i32 @__udivsi3(i32 %0) #1 {",
            "define weak hidden fastcc i32 @__udivsi3(i32 %0) #1 {",
        );
        check(
            "declare ptr @memcpy(ptr, ptr, i32)",
            "declare fastcc ptr @memcpy(ptr, ptr, i32)",
        );
        check(
            "declare i32 @memcmp(ptr, ptr, i32)",
            "declare i32 @memcmp(ptr, ptr, i32)",
        );
        check(
            "define internal coldcc void @slow() {",
            "define internal void @slow() {",
        );
        check(
            "  tail call coldcc void @\"a b\"(i32 1) #2",
            "  tail call void @\"a b\"(i32 1) #2",
        );
        check(
            "  %3 = tail call noundef i64 @__muldi3(i64 %1, i64 %2), !dbg !4",
            "  %3 = tail call fastcc noundef i64 @__muldi3(i64 %1, i64 %2), !dbg !4",
        );
        check(
            "  %3 = call fastcc i32 @__mulsi3(i32 1)",
            "  %3 = call fastcc i32 @__mulsi3(i32 1)",
        );
        check(
            "  %3 = call nnan float @__addsf3(float 1.0)",
            "  %3 = call nnan fastcc float @__addsf3(float 1.0)",
        );
        // Others keep theirs: intrinsics, pointers, a text.
        for line in [
            "  call void @llvm.memcpy.p0.p0.i32(ptr %a, ptr %b, i32 8, i1 false)",
            "  call void %5(ptr @table)",
            "  call void asm sideeffect \"call @memcpy\", \"\"()",
            "@text = constant [7 x i8] c\"@memset\"",
            "!3 = !DISubprogram(linkageName: \"memcpy\")",
        ] {
            check(line, line);
        }
    }

    #[test]
    fn defined_library_functions_are_listed() {
        let text = format!(
            "{HEAD}define ptr @memset() {{\n}}\ndeclare ptr @memcpy()\ndefine void @main() {{\n}}\n"
        );
        let changed = retarget(&text).expect("known text");
        assert_eq!(changed.library, ["memset"]);
    }

    #[test]
    fn fences_bind_the_compiler() {
        check(
            "  fence seq_cst",
            "  call void asm sideeffect \"\", \"~{memory}\"()",
        );
        check(
            "  fence syncscope(\"singlethread\") acquire, !dbg !7",
            "  call void asm sideeffect \"\", \"~{memory}\"(), !dbg !7",
        );
    }

    #[test]
    fn atomic_accesses_of_a_word_are_plain_ones() {
        let check_access = |line: &str, expected: &str| {
            let fence = "  call void asm sideeffect \"\", \"~{memory}\"()";
            let changed = retarget(&format!("{HEAD}{line}\n")).expect("known text");
            let expected = [fence, expected, fence];
            let changed: Vec<&str> = changed.text.lines().skip(1).collect();
            assert_eq!(changed, expected, "{line}");
        };
        check_access(
            "  %2 = load atomic i32, ptr %1 seq_cst, align 4",
            "  %2 = load volatile i32, ptr %1, align 4",
        );
        check_access(
            "  %2 = load atomic volatile i8, ptr %1 syncscope(\"singlethread\") acquire, align 1",
            "  %2 = load volatile i8, ptr %1, align 1",
        );
        check_access(
            "  store atomic ptr @a, ptr getelementptr (i8, ptr @b, i32 4) monotonic, align 4",
            "  store volatile ptr @a, ptr getelementptr (i8, ptr @b, i32 4), align 4",
        );
    }

    #[test]
    fn what_cannot_be_compiled_is_refused() {
        let f = "define void @_ZN3nic4poll17h0123456789abcdefE() {\n";
        check_error(
            &format!("{f}  %2 = atomicrmw add ptr %1, i32 1 seq_cst"),
            "nic::poll uses an atomic operation, which the LANai's back end cannot compile",
        );
        check_error(
            &format!("{f}  store atomic i64 0, ptr %1 release, align 8"),
            "nic::poll uses an atomic store, which the LANai's back end cannot compile",
        );
        check_error(
            &format!("{f}  store ptr @memcpy, ptr %1"),
            "nic::poll takes the address of memcpy, which LLVM calls with a convention of its own",
        );
        check_error(
            "@table = constant [1 x ptr] [ptr @__mulsi3]",
            "@table takes the address of __mulsi3, which LLVM calls with a convention of its own",
        );
        check_error(
            "module asm \"nop\"",
            "global_asm! is not possible: the compiler takes it for MIPS; use a file of assembly",
        );
        let error = retarget("target datalayout = \"e-p:64:64\"\n").expect_err("another layout");
        assert!(
            error
                .to_string()
                .starts_with("unknown data layout \"e-p:64:64\"")
        );
        assert_eq!(
            retarget("define void @main() {\n}\n"),
            Err(RetargetError::NoLayout)
        );
    }
}
