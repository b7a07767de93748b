//! The program that `rustc` calls as its linker: from bitcode to an image, its errors, and what it leaves behind.

#[path = "../llvm/mod.rs"]
mod llvm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bitcode as `rustc` makes it: a program that divides, which needs a run-time function.
const PROGRAM: &str = r#"
target datalayout = "E-m:m-p:32:32-i8:8:32-i16:16:32-i64:64-n32-S64"
target triple = "mips"
@results = global [2 x i32] zeroinitializer
declare void @llvm.memcpy.p0.p0.i32(ptr, ptr, i32, i1)
define void @main(i32 %a, i32 %b) #0 {
  %q = udiv i32 %a, %b
  store i32 %q, ptr @results
  fence seq_cst
  call coldcc void @unlikely()
  ret void
}
define internal coldcc void @unlikely() noinline #0 {
  store volatile i32 1, ptr @results
  ret void
}
define void @unused() {
  ret void
}
attributes #0 = { "target-cpu"="generic" }
"#;

/// One test's folder, with LLVM's tools.
struct Place {
    folder: PathBuf,
    tools: String,
}

impl Place {
    /// None, with a line that says so, where the tools are missing.
    fn new(name: &str) -> Option<Place> {
        let tools = llvm::find(&format!("driver, {name}"))?;
        let folder = llvm::folder(&format!("driver-{name}"));
        fs::remove_dir_all(&folder).expect("the old folder");
        fs::create_dir_all(&folder).expect("a folder");
        Some(Place { folder, tools })
    }

    /// Writes bitcode of `text`.
    fn bitcode(&self, name: &str, text: &str) -> PathBuf {
        let source = self.folder.join(format!("{name}.ll"));
        let file = self.folder.join(format!("{name}.bc"));
        fs::write(&source, text).expect("a file");
        let tools = llvm::tools("bitcode").expect("tools");
        let arguments = [source.as_os_str(), "-o".as_ref(), file.as_os_str()];
        let verify = "-passes=verify".as_ref();
        let arguments = arguments.into_iter().chain([verify]);
        tools.run("opt", arguments).expect("opt runs");
        file
    }

    /// Runs the driver; its message if it fails.
    fn link(&self, inputs: &[&Path]) -> Result<Vec<u8>, String> {
        let output = self.folder.join("image");
        let _ = fs::remove_file(&output);
        let assembly = llvm::root().join("firmware/lanai/rt");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanai-link"));
        command.env("LANIGON_LLVM", &self.tools).args(inputs);
        command.arg("-L").arg(assembly).arg("-o").arg(&output);
        command.args(["--assemble=crt0.s", "--assemble=runtime.s"]);
        let run = command.output().expect("the driver runs");
        let message = String::from_utf8(run.stderr).expect("a text");
        assert_eq!(run.status.success(), output.exists(), "{message}");
        match run.status.success() {
            true => Ok(fs::read(&output).expect("an image")),
            false => Err(message),
        }
    }

    /// Whether the files of the steps are there.
    fn has_steps(&self) -> bool {
        self.folder.join("image.steps").exists()
    }

    #[track_caller]
    fn check_error(&self, inputs: &[&Path], expected: &[&str]) {
        let message = self.link(inputs).expect_err("a refusal");
        for expected in expected {
            assert!(message.contains(expected), "{expected:?} in {message:?}");
        }
    }
}

/// Symbols of an image.
fn symbols(image: &[u8]) -> Vec<String> {
    use object::{Object as _, ObjectSymbol as _};
    let file = object::read::elf::ElfFile32::<object::BigEndian>::parse(image);
    let file = file.expect("an ELF file");
    let symbols = file.symbols().filter_map(|symbol| symbol.name().ok());
    symbols.map(str::to_owned).collect()
}

/// An archive in the format of `ar`.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let name = format!("{name}/");
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            644,
            content.len()
        );
        bytes.extend(header.as_bytes());
        bytes.extend(*content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[test]
fn bitcode_becomes_an_image() {
    let Some(place) = Place::new("image") else {
        return;
    };
    let program = place.bitcode("program", PROGRAM);
    let image = place.link(&[&program]).expect("an image");
    let names = symbols(&image);
    for expected in ["_start", "main", "__udivsi3", "results"] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected} in {names:?}"
        );
    }
    for removed in ["unused", "__mulsi3"] {
        assert!(
            names.iter().all(|name| name != removed),
            "{removed} in {names:?}"
        );
    }
    assert!(!place.has_steps());
    assert_eq!(place.link(&[&program]), Ok(image));
}

#[test]
fn libraries_hold_bitcode_and_other_files() {
    let Some(place) = Place::new("library") else {
        return;
    };
    let library = place.bitcode(
        "library",
        "target datalayout = \"E-m:m-p:32:32-i8:8:32-i16:16:32-i64:64-n32-S64\"\n\
         define weak i32 @__udivsi3(i32 %a, i32 %b) {\n  ret i32 77\n}\n\
         define i32 @helper() {\n  ret i32 3\n}\n",
    );
    let helper = "declare i32 @helper()\ndefine i32 @twice() {\n  %a = call i32 @helper()\n  ret i32 %a\n}\n";
    let text = format!("{PROGRAM}{helper}").replace(
        "call coldcc void @unlikely()",
        "call coldcc void @unlikely()\n  %h = call i32 @twice()\n  store volatile i32 %h, ptr @results",
    );
    let program = place.bitcode("program", &text);
    let members = [
        ("lib.rmeta", b"odd".as_slice()),
        ("a.o", &fs::read(library).expect("bitcode")),
    ];
    let file = place.folder.join("library.rlib");
    fs::write(&file, archive(&members)).expect("a library");
    let image = place.link(&[&program, &file]).expect("an image");
    assert!(symbols(&image).iter().any(|name| name == "helper"));
}

#[test]
fn errors_name_what_is_wrong() {
    let Some(place) = Place::new("errors") else {
        return;
    };
    let other = place.bitcode("other", &PROGRAM.replace("E-m:m-p:32:32", "e-m:m-p:32:32"));
    place.check_error(
        &[&other],
        &["unknown data layout \"e-m:m-p:32:32", "image.steps"],
    );
    assert!(place.has_steps());
    let far = "  %far = alloca [900 x i8]\n  %near = alloca i8\n  store volatile i8 5, ptr %near\n  store volatile i8 5, ptr %far\n  ret void";
    let far = place.bitcode("far", &PROGRAM.replacen("  ret void", far, 1));
    place.check_error(
        &[&far],
        &["main+0x", "make its buffers static", "image.steps"],
    );
    let undefined = PROGRAM.replace("define internal coldcc void @unlikely() noinline #0 {\n  store volatile i32 1, ptr @results\n  ret void\n}", "declare coldcc void @unlikely()");
    let undefined = place.bitcode("undefined", &undefined);
    place.check_error(
        &[&undefined],
        &["undefined: unlikely (in undefined.bc, .text.main)"],
    );
    let text = place.folder.join("program.ll");
    fs::write(&text, PROGRAM).expect("a file");
    place.check_error(&[&text], &["program.ll is neither bitcode, nor"]);
    // What rustc adds without LTO.
    let symbols = place.folder.join("symbols.o");
    fs::write(
        &symbols,
        b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0\0\x01\0\x08",
    )
    .expect("a file");
    place.check_error(
        &[&symbols],
        &[
            "symbols.o is for MIPS",
            "lto = \"fat\"",
            "codegen-units = 1",
        ],
    );
    place.check_error(&[Path::new("absent.o")], &["absent.o: No such file"]);
    // A good image removes what a bad one left.
    let program = place.bitcode("program", PROGRAM);
    place.link(&[&program]).expect("an image");
    assert!(!place.has_steps());
}

#[test]
fn missing_tools_are_named() {
    let folder = llvm::folder("driver-no-tools");
    let bitcode = folder.join("empty.bc");
    fs::write(&bitcode, b"BC\xC0\xDE").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanai-link"));
    command.env("LANIGON_LLVM", "/nonexistent").arg(&bitcode);
    let run = command.arg("-o").arg(folder.join("image")).output();
    let message = String::from_utf8(run.expect("the driver runs").stderr).expect("a text");
    let expected = "lanai-link: llvm-link is missing; `make setup`";
    assert!(message.starts_with(expected), "{message}");
    assert!(!folder.join("image.steps").exists());
}
