//! Names of files that are no ELF files, for messages.

/// First bytes of a form of files, and its name with what to do.
const FORMS: &[(&[u8], &str)] = &[
    (b"MZ", "a PE file, a program for Windows"),
    (b"!<arch>\n", "an archive of object files: link it"),
    (b"!<thin>\n", "an archive of object files: link it"),
    (&[0xFE, 0xED, 0xFA, 0xCE], MACH_O),
    (&[0xFE, 0xED, 0xFA, 0xCF], MACH_O),
    (&[0xCE, 0xFA, 0xED, 0xFE], MACH_O),
    (&[0xCF, 0xFA, 0xED, 0xFE], MACH_O),
    (
        &[0xCA, 0xFE, 0xBA, 0xBE],
        "a universal Mach-O file for macOS, or a Java class",
    ),
    (b"BC\xC0\xDE", "LLVM bitcode: compile and link it"),
    (b"\0asm", "a WebAssembly module"),
    (b"#!", "a script"),
    (b"\x1F\x8B", "a gzip file: unpack it"),
    (b"\xFD7zXZ\0", "an xz file: unpack it"),
    (b"\x28\xB5\x2F\xFD", "a zstd file: unpack it"),
    (b"PK\x03\x04", "a zip file: unpack it"),
    (
        b":",
        "perhaps Intel HEX: make ELF or plain bytes of it with objcopy",
    ),
    (
        b"S0",
        "perhaps S-records: make ELF or plain bytes of it with objcopy",
    ),
];
const MACH_O: &str = "a Mach-O file for macOS";

/// The format of a file that is no image, if its first bytes show it.
#[must_use]
pub fn form(file: &[u8]) -> Option<&'static str> {
    if file.is_empty() {
        return Some("an empty file");
    }
    let known = FORMS.iter().find(|(magic, _)| file.starts_with(magic));
    known.map(|(_, name)| *name)
}
