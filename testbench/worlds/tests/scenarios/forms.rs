//! Images in the form of Linux, with and without symbols.

use std::fs;
use std::path::PathBuf;

use host_lib::firmware::linux::{LinuxFirmware, Version};
use lanigon_worlds::boards::KB;
use lanigon_worlds::images::{firmware, own_image};
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A new folder with an image in this form.
fn folder(test: &str, image: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("forms-{test}"));
    fs::create_dir_all(&folder).unwrap();
    let [major, minor, fix] = [1, 2, 3];
    let file = LinuxFirmware {
        version: Version { major, minor, fix },
        firmware: firmware(&own_image(image, 512 * KB).unwrap()),
    };
    fs::write(folder.join("stripped.bin"), file.to_file(512 * KB).unwrap()).unwrap();
    folder
}

fn simulation(folder: PathBuf, text: &str) -> Result<Simulation, ScenarioError> {
    let mut scenario = lanigon_workloads::parse("forms.toml", text).unwrap();
    scenario.folder = folder;
    Simulation::new(&scenario)
}

fn run(folder: PathBuf, text: &str) -> RunSummary {
    let mut simulation = simulation(folder, text).unwrap();
    simulation.run(&RunOptions::default(), |_| ())
}

#[test]
fn an_image_with_symbols_runs_as_its_elf_file() {
    let text = |image: &str| {
        format!(
            "{image}\n[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n\
             messages = 3\nbytes = 3000\n"
        )
    };
    let folder = folder("as-elf", "emp-base");
    let run = |image| run(folder.clone(), &text(image));
    let elf = run("image = \"emp-base\"");
    let named = run("image = \"stripped.bin\"\nsymbols = \"emp-base\"");
    let bare = run("image = \"stripped.bin\"");
    for outcome in [&elf, &named, &bare] {
        assert!(outcome.is_good(), "{outcome:?}");
        assert_eq!(outcome.verdict.messages.delivered, 3);
    }
    assert_eq!(named.trace_hash, elf.trace_hash);
    assert_eq!(named.simulated, elf.simulated);
    // Marks of unknown probes are instructions that take time.
    assert_ne!(bare.trace_hash, elf.trace_hash);
}

#[test]
fn symbols_belong_to_the_image_beside_them() {
    let text = "image = \"stripped.bin\"\nsymbols = \"hello\"\n\
        [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\nimage = \"timer-tick\"\n[[node]]\nname = \"c\"\nsymbols = \"./none.elf\"\n\
        [network]\ntopology = \"none\"\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n";
    let scenario = lanigon_workloads::parse("forms.toml", text).unwrap();
    let nodes = scenario.nodes.iter();
    let named: Vec<_> = nodes
        .map(|node| node.symbols.as_ref().map(|symbols| symbols.name.as_str()))
        .collect();
    assert_eq!(named, [Some("hello"), None, Some("./none.elf")]);
    let error = simulation(folder("beside", "hello"), text).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("forms.toml:10: node.symbols: "),
        "{error}"
    );
    assert!(error.contains("none.elf: No such file"), "{error}");
}

#[test]
fn wrong_files_are_refused_where_they_are_named() {
    let refused = |more: &str, expected: &[&str]| {
        let text = format!(
            "{more}\n[network]\ntopology = \"none\"\nnodes = 1\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n"
        );
        let folder = folder("wrong", "hello");
        fs::write(
            folder.join("cut.bin"),
            [1, 2, 3, 0, 0, 0, 0x40, 0, 0, 0, 0x40, 0, 9],
        )
        .unwrap();
        let error = simulation(folder, &text).unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{part:?} not in {error:?}");
        }
    };
    let stripped = "image = \"stripped.bin\"\nsymbols = ";
    let other = ["forms.toml:2: symbols: ", "it is for other code: at 0x4"];
    refused(&format!("{stripped}\"timer-tick\""), &other);
    let no_elf = ["forms.toml:2: symbols: ", "stripped.bin: not an ELF file"];
    refused(&format!("{stripped}\"stripped.bin\""), &no_elf);
    let cut = [
        "forms.toml:1: image: ",
        "cut.bin: as a firmware in the Linux form",
        "damaged",
    ];
    refused("image = \"cut.bin\"", &cut);
    let misspelled = [
        "forms.toml:1: image: ",
        "no image for tigon2 boards \"helo\"; did you mean \"hello\"?",
    ];
    refused("image = \"helo\"", &misspelled);
    let other_board = [
        "forms.toml:2: image: ",
        "\"emp-base\" is an image for tigon2 boards, this one is for lanai",
    ];
    refused("board = \"lanai\"\nimage = \"emp-base\"", &other_board);
}
