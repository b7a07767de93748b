//! Boards with Myricom's LANai: one type for each generation of the chip. Firmware of the project has LLVM's pipeline on all of them,
//! control programs of real adapters that of their chip (docs/lanai-core.md, section 1).

mod form;
mod kernel;
mod start;

use emulator::boards::IntoNode;
use emulator::cpu::lanai::architecture::LANAI;
use emulator::cpu::lanai::pipeline::Pipeline;
use emulator::lanai::board::Lanai;
use emulator::lanai::chip::Generation;
use emulator::lanai::timing::{PROFILES_4, PROFILES_7, PROFILES_9, Timing};
use emulator::sim::node::Node;
use host_lib::gm;
use host_lib::lanai::Family;

use super::{
    BoardError, BoardType, BusyMeasurement, FmFirmware, GmFirmware, HostView, KB, Medium, Parts,
};
use crate::busy_nodes::CodeMemory;
use crate::nodes::mac_address;

/// Properties that all generations have in common, with the values of a LANai 9.
pub(super) const LANAI_9: BoardType = BoardType {
    name: Generation::L9.board(),
    aliases: &["lanai"],
    medium: Medium::Myrinet,
    link_mbit: 2000,
    runs_emp: false,
    host_view: HostView::Lanai(Family::Later),
    gm: Some(GmFirmware {
        image: "gm",
        variants: &[],
        family: gm::Family::Lanai(Family::Later),
        sram_bytes: 2048 * KB,
    }),
    fm: None,
    title: "Myricom LANai 9",
    description: "one CPU, Myrinet of 2 Gb/s (PCI64B, PCI64C)",
    architecture: &LANAI,
    profile: "lanai9.1-133",
    profiles: &PROFILES_9,
    sram_sizes: &[512 * KB, 1024 * KB, 2048 * KB, 4096 * KB, 8192 * KB],
    usual_sram_bytes: 2048 * KB,
    usual_image: "hello",
    scenario_sram_bytes: 2048 * KB,
    images: "lanai",
    build,
    hal: "lanai-hal",
    limits: |bytes| Lanai::image_limits(Generation::L9, bytes),
    other_form: Some(form::read),
    acenic: None,
    start: |machine, firmware, time| Box::pin(start::run(machine, Family::Later, firmware, time)),
    load: kernel::load,
    busy: &[BusyMeasurement {
        key: "busy_lanai_mips",
        what: "a LANai 9 that searches, copies and checksums: million instructions a second",
        least_mips: 300.0,
        code: CodeMemory::Shared,
    }],
};

pub(super) const LANAI_7: BoardType = BoardType {
    name: Generation::L7.board(),
    aliases: &[],
    link_mbit: 1280,
    title: "Myricom LANai 7",
    description: "one CPU, Myrinet of 1.28 Gb/s (PCI64A)",
    profile: "lanai7.2-66",
    profiles: &PROFILES_7,
    busy: &[],
    limits: |bytes| Lanai::image_limits(Generation::L7, bytes),
    ..LANAI_9
};

pub(super) const LANAI_4: BoardType = BoardType {
    name: Generation::L4.board(),
    title: "Myricom LANai 4",
    description: "one CPU, Myrinet of 1.28 Gb/s, 32-bit PCI",
    host_view: HostView::Lanai(Family::Four),
    gm: Some(GmFirmware {
        image: "gm-l4",
        variants: &[],
        family: gm::Family::Lanai(Family::Four),
        sram_bytes: 1024 * KB,
    }),
    fm: Some(FmFirmware {
        image: "fm",
        sram_bytes: 1024 * KB,
    }),
    profile: "lanai4.3-33",
    profiles: &PROFILES_4,
    sram_sizes: &[256 * KB, 512 * KB, 1024 * KB],
    usual_sram_bytes: 1024 * KB,
    scenario_sram_bytes: 1024 * KB,
    limits: |bytes| Lanai::image_limits(Generation::L4, bytes),
    start: |machine, firmware, time| Box::pin(start::run(machine, Family::Four, firmware, time)),
    ..LANAI_7
};

fn build(_: &'static BoardType, index: u16, parts: &Parts<'_>) -> Result<Node, BoardError> {
    let timing = Timing::from_profile(parts.profile)?;
    let pipeline = match parts.original {
        true => timing.generation.pipeline(),
        false => Pipeline::LLVM,
    };
    let mut board = Lanai::new(parts.sram_bytes, timing, pipeline);
    let serial = u32::from(index) + 1;
    board.fabric.set_address(mac_address(index).0, serial);
    if let Some(probes) = parts.probes {
        board.set_probes(probes.clone());
    }
    let costs = &parts.profile.host;
    Ok(board.into_node(index, costs, parts.memory_megabytes))
}
