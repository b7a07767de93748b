//! Two boards with the firmware, as run by `lanigon acenic`: from the ELF image and from the Linux format.

use std::path::Path;
use std::process::Command;

use lanigon_worlds::images::image_folder;
use serde_json::Value;

fn lanigon(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// All frames arrive on both sides, and the firmware's counters agree.
fn check(firmware: &str, options: &str, version: &Value) {
    const FRAMES: u64 = 300;
    let mut arguments = vec![
        "acenic",
        "--json",
        "--frames",
        "300",
        "--firmware",
        firmware,
    ];
    arguments.extend(options.split_whitespace());
    let document: Value = serde_json::from_str(&lanigon(&arguments)).unwrap();
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        for (name, expected) in [
            ("sent", FRAMES),
            ("received", FRAMES),
            ("corrupted", 0),
            ("dropped", 0),
        ] {
            assert_eq!(node[name], expected, "{options}: {name}");
        }
        assert_eq!(node["fw_version"], *version, "{options}");
        let stats = &node["stats"];
        assert_eq!(stats["if_hc_in_ucast_pkts"], FRAMES, "{options}");
        assert_eq!(stats["if_hc_out_ucast_pkts"], FRAMES, "{options}");
    }
}

#[test]
fn two_boards_exchange_frames() {
    let image = image_folder().join("acenic");
    let image = image.to_str().unwrap();
    let linux_form = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acenic.bin");
    let linux_form = linux_form.to_str().unwrap();
    lanigon(&["image", image, "--sram", "512", "--linux-form", linux_form]);
    for sram in [512, 1024, 2048] {
        for assist in ["sw", "hw"] {
            let options = format!("--sram {sram} --assist {assist}");
            check(image, &options, &Value::Null);
        }
    }
    check(image, "--negotiate", &Value::Null);
    let version = Value::from(env!("CARGO_PKG_VERSION"));
    for size in [60, 1514] {
        check(linux_form, &format!("--size {size}"), &version);
    }
}
