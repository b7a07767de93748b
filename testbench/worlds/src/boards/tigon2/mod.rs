//! The Alteon Tigon2, and the same chip with any number of CPUs.

mod form;
mod kernel;
mod start;

use emulator::boards::IntoNode;
use emulator::cpu::mips::architecture::{MIPS, MIPS_WITH_BITS};
use emulator::sim::node::Node;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::inspect::names::{NAMES, NAMES_N};
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::{PROFILES, PROFILES_N, Timing};

use host_lib::gm;

use super::{
    AcenicFirmware, BoardError, BoardType, BusyMeasurement, GmFirmware, HostView, KB, Medium, Parts,
};
use crate::busy_nodes::CodeMemory;

pub(super) const TIGON2: BoardType = BoardType {
    name: NAMES.board,
    aliases: &[],
    medium: Medium::Ethernet,
    link_mbit: 1000,
    runs_emp: true,
    host_view: HostView::Tigon2,
    gm: Some(GmFirmware {
        image: "gm-tigon2",
        variants: &["gm-tigon2-two"],
        family: gm::Family::Tigon2,
        sram_bytes: 1024 * KB,
    }),
    fm: None,
    acenic: Some(AcenicFirmware {
        image: "acenic",
        sram_bytes: 1024 * KB,
    }),
    title: "Alteon Tigon2",
    description: "two MIPS CPUs, gigabit Ethernet",
    architecture: &MIPS,
    profile: "tigon2-88mhz",
    profiles: &PROFILES,
    sram_sizes: &[512 * KB, 1024 * KB, 2048 * KB],
    usual_sram_bytes: 1024 * KB,
    usual_image: "emp-base",
    scenario_sram_bytes: 512 * KB,
    images: "tigon2",
    hal: "tigon2-hal",
    build,
    limits: Tigon2::image_limits,
    other_form: Some(form::read),
    start: |machine, firmware, time| Box::pin(start::run(machine, firmware, time)),
    load: kernel::load,
    busy: &[
        BusyMeasurement {
            key: "busy_mips",
            what: "both CPUs busy, code in scratchpads, data in SRAM: million instructions a second",
            least_mips: 250.0,
            code: CodeMemory::Private,
        },
        BusyMeasurement {
            key: "busy_mips_sram",
            what: "the same with code in SRAM",
            least_mips: 150.0,
            code: CodeMemory::Shared,
        },
    ],
};

pub(super) const TIGON_N: BoardType = BoardType {
    name: NAMES_N.board,
    title: "Tigon2 with any number of CPUs",
    description: "one to eight MIPS CPUs (core.cpus of the profile), gigabit Ethernet",
    architecture: &MIPS_WITH_BITS,
    profile: "tigon-n-88mhz",
    scenario_sram_bytes: 1024 * KB,
    profiles: &PROFILES_N,
    limits: |sram_bytes| Tigon2::image_limits_of(&NAMES_N, sram_bytes),
    busy: &[],
    ..TIGON2
};

fn build(own: &'static BoardType, index: u16, parts: &Parts<'_>) -> Result<Node, BoardError> {
    let sram = SramSize::from_bytes(parts.sram_bytes).ok_or(BoardError::Sram(own))?;
    let mut board = Tigon2::new(sram, Timing::from_profile(parts.profile)?);
    if let Some(probes) = parts.probes {
        board.probes = probes.clone();
    }
    let costs = &parts.profile.host;
    Ok(board.into_node(index, costs, parts.memory_megabytes))
}
