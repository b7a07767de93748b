//! docs/sockets.md: its programs print what it shows, and its table has the functions that the library stands for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::are_there;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sockets.md");

fn page() -> String {
    fs::read_to_string(PAGE).unwrap()
}

/// The programs of the page, in the order in which it shows them.
const NAMES: [&str; 2] = ["server.py", "client.py"];

#[test]
fn the_page_shows_what_its_programs_print() {
    if !are_there(&["python3"]) {
        return;
    }
    let text = page();
    let folder = tempfile::tempdir().unwrap();
    let programs = text.split("```python\n").skip(1);
    for (program, name) in programs.zip(NAMES) {
        let program = program.split("```").next().unwrap();
        fs::write(folder.path().join(name), program).unwrap();
    }
    let scenario = text.split("```toml\n").nth(1).unwrap();
    let scenario = scenario.split("```").next().unwrap();
    fs::write(folder.path().join("beside.toml"), scenario).unwrap();
    let mut shown = 0;
    for part in text.split("\n    $ target/release/lanigon ").skip(1) {
        let (command, rest) = part.split_once('\n').unwrap();
        let lines = rest.lines().map_while(|line| line.strip_prefix("    "));
        let wanted: Vec<&str> = lines.collect();
        let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
            .args(command.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // What Python does at its begin and end differs between its versions, and takes time.
        let is_equal = |line: &&str| {
            let differs = ["trace ", "end ", "busy ", "          "];
            !differs.iter().any(|start| line.starts_with(start))
        };
        let got: Vec<&str> = text.lines().filter(is_equal).collect();
        let mut left = &got[..];
        let mut skips = false;
        for line in wanted {
            if line != "..." {
                let place = left.iter().position(|got| *got == line);
                let place = place.filter(|place| skips || *place == 0);
                left = &left[place.unwrap_or_else(|| panic!("{line}: {got:?}")) + 1..];
            }
            skips = line == "...";
        }
        assert!(skips || left.is_empty(), "{command}: {left:?}");
        shown += 1;
    }
    assert_eq!(shown, 2);
}

/// The functions of C that a shared library defines: the names of its text symbols.
fn defined(library: &Path) -> BTreeSet<String> {
    let file = fs::read(library).unwrap();
    let elf = goblin::elf::Elf::parse(&file).unwrap();
    let symbols = elf.dynsyms.iter();
    let symbols = symbols.filter(|symbol| symbol.is_function() && symbol.st_shndx != 0);
    let names = symbols.filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name));
    let checked = names.filter(|name| !name.starts_with('_'));
    checked.map(str::to_owned).collect()
}

#[test]
fn the_page_names_the_functions_of_the_library() {
    let own = Path::new(env!("CARGO_BIN_EXE_lanigon"));
    let library = own.with_file_name("deps").join("liblanigon_sockets.so");
    let text = page();
    let (_, rest) = text.split_once("\n## 4. ").expect("a section");
    let section = rest.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let named: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(named, defined(&library));
}
