//! Figures as PDF, drawn by Poppler: not empty, and of the size of a column. Pictures of the documents, drawn by a run.

use std::path::Path;
use std::process::Command;

use crate::tools::is_installed;

/// Numbers at the beginning of a grey picture (PGM, binary), and its pixels.
fn picture(bytes: &[u8]) -> (usize, usize, &[u8]) {
    let mut words = bytes.splitn(4, |byte| byte.is_ascii_whitespace());
    assert_eq!(words.next(), Some(&b"P5"[..]));
    let mut number = || -> usize {
        let word = words.next().unwrap();
        std::str::from_utf8(word).unwrap().parse().unwrap()
    };
    let (width, height) = (number(), number());
    (width, height, &bytes[bytes.len() - width * height..])
}

#[test]
fn pdf_files_show_the_figure() {
    if !is_installed("pdftoppm", "figures as PDF") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures-pdf");
    let _ = std::fs::remove_dir_all(&folder);
    let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args([
            "reproduce",
            "emp",
            "--quick",
            "--profile",
            "emp-thesis",
            "--figure",
            "3.3",
        ])
        .args(["--size", "10", "--size", "1024", "--out"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let drawn = Command::new("pdftoppm")
        .args(["-r", "72", "-gray", "-singlefile"])
        .arg(folder.join("figure-3.3-emp-thesis.pdf"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&drawn.stderr), "");
    let (width, height, pixels) = picture(&drawn.stdout);
    // Two panels of 252 points.
    assert_eq!((width, height > 150), (504, true));
    let dark = |from: usize, to: usize| {
        let rows = pixels.chunks(width).flat_map(|row| &row[from..to]);
        rows.filter(|pixel| **pixel < 128).count() as f64 / ((to - from) * height) as f64
    };
    for share in [dark(0, 252), dark(252, 504)] {
        assert!((0.01..0.3).contains(&share), "{share}");
    }
}

/// The pictures of runs in `docs/pictures` are what the commands draw; with `LANIGON_UPDATE_TUTORIAL` they are drawn anew.
#[test]
fn pictures_of_the_documents_are_of_real_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let drawn = Path::new(env!("CARGO_TARGET_TMPDIR")).join("picture.svg");
    for (name, command) in [
        (
            "message.svg",
            "ledger scenarios/pair.toml --message 0:1:100 --svg",
        ),
        ("flame.svg", "profile scenarios/pair.toml --node 0 --flame"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
            .current_dir(&root)
            .args(command.split(' '))
            .arg(&drawn)
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let kept = root.join("docs/pictures").join(name);
        if std::env::var_os("LANIGON_UPDATE_TUTORIAL").is_some() {
            std::fs::copy(&drawn, kept).unwrap();
        } else {
            let (drawn, kept) = (std::fs::read(&drawn).unwrap(), std::fs::read(kept).unwrap());
            assert!(
                drawn == kept,
                "docs/pictures/{name} is not what `lanigon {command}` draws"
            );
        }
    }
}
