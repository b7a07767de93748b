//! Start-up: every access in order, the information block, and defective boards.

use super::*;
use defs::acenic::info::RingFlags;
use defs::acenic::{Link, Mode};

/// Steps 1 to 7 of docs/tigon2-driver.md, section 8, for a driver that knows its address.
const ACCESSES: &str = "
    W 040 8000008, R 040, W 040 22000022, R 040,
    R 140, W 140 10000, R 140,
    W 504 0,
    R 240, W 240 10000, R 240,
    W 044 200, W 050 100000,
    W 618 4000021c,
    W 600 60, W 604 cf201234,
    R 05c, W 05c 76020000,
    W 068 2000, W 800 512 words";
const LOADED: &str = "
    W 068 4000, W 800 2 words, R 800,
    W 608 2, W 60c 2000,
    W 628 0, W 700 64 words, W 50c 0, W 62c 0,
    W 61c 80, W 620 80, W 664 0, W 65c 1, W 638 1e8480, W 644 0,
    W 634 190, W 63c 3c, W 630 78, W 640 19,
    W 624 15, W 648 400c0000, W 64c 400c0000, W 660 5ee,
    W 144 4000, W 504 0, W 514 0, W 680 0, W 11c 1,
    R 140, W 140 0";

fn lines(text: &str) -> Vec<String> {
    text.split(',').map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_board_is_brought_up_access_by_access() {
    let (fake, nic) = started(config());
    let machine = fake.lock();
    let begin = lines(ACCESSES);
    assert_eq!(machine.accesses[..begin.len()], begin);
    let end = lines(LOADED);
    // In between, SRAM up to 512 KB is cleared, view by view.
    let cleared = &machine.accesses[begin.len()..machine.accesses.len() - end.len()];
    assert_eq!(cleared.len(), 2 * (0x7_E000 / 0x800 - 1));
    assert_eq!(
        cleared[cleared.len() - 2..],
        lines("W 068 7f800, W 800 512 words")
    );
    assert_eq!(machine.accesses[machine.accesses.len() - end.len()..], end);
    assert_eq!(nic.address(), OWN);
    assert_eq!(machine.word(0x4000), 0x3C1C_C000);
}

#[test]
fn default_words_are_those_of_drivers() {
    assert_eq!(FIXED_LINK.bits(), 0x400C_0000);
    assert_eq!(NEGOTIATED_LINK.bits(), 0x70AF_0000);
    assert_eq!(Config::default().mode.bits(), 0x4000_021C);
    assert_eq!(Rings::offload().send.bits() | 0x40, 0x59);
}

#[track_caller]
fn check_info(config: Config, expected: &[(u32, u32)]) {
    let (fake, _) = started(config);
    for &(offset, value) in expected {
        assert_eq!(fake.lock().info(offset), value, "at {offset:#x}");
    }
}

#[test]
fn the_information_block_says_where_everything_is() {
    check_info(
        config(),
        &[
            (0x408, 0),
            (0x410, 0),
            (0x414, 0x100),
            (0x418, 0),
            (0x420, 2),
            (0x428, 256 << 16 | 0x40),
            (0x438, 1538 << 16),
            (0x448, 0),
            (0x458, 0x80 << 16),
            (0x468, 2048 << 16),
            (0x470, 2),
        ],
    );
    check_info(
        Config {
            rings: Rings::offload(),
            send_ring: SendRing::NIC,
            ..config()
        },
        &[
            (0x420, 0),
            (0x424, 0x3000),
            (0x428, 128 << 16 | 0x19),
            (0x438, 1538 << 16 | 0x19),
            (0x448, 0x19),
            (0x458, 0x80 << 16 | 0x19),
        ],
    );
    let (fake, _) = started(config());
    let machine = fake.lock();
    let block = u64::from(machine.word(INFO_HIGH)) << 32 | u64::from(machine.word(INFO_LOW));
    assert_eq!(machine.info_address(info::STATISTICS_POINTER), block);
    let mut places: Vec<u64> = [
        0x400, 0x420, 0x430, 0x440, 0x450, 0x460, 0x470, 0x478, 0x480,
    ]
    .iter()
    .map(|&offset| machine.info_address(offset))
    .chain([block])
    .collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 10, "nothing shares its memory");
}

#[test]
fn modes_link_and_tuning_are_the_drivers_wish() {
    let coalescing = Coalescing {
        rx_ticks: 1,
        tx_ticks: 2,
        rx_descriptors: 3,
        tx_descriptors: 4,
    };
    let (fake, mut nic) = started(Config {
        mode: Config::default().mode | Mode::ONE_DMA,
        link: NEGOTIATED_LINK,
        coalescing,
        ..config()
    });
    let general = |words: &[u32]| {
        let machine = fake.lock();
        words.iter().map(|&at| machine.word(at)).collect::<Vec<_>>()
    };
    assert_eq!(
        general(&[0x218, 0x248, 0x24C]),
        [0x4000_025C, 0x70AF_0000, 0x70AF_0000]
    );
    assert_eq!(general(&[0x230, 0x234, 0x240, 0x23C]), [1, 2, 3, 4]);
    block_on(async {
        nic.set_coalescing(Coalescing::default()).await;
        nic.want_link(FIXED_LINK).await;
        nic.set_mtu(JUMBO_MTU).await;
        nic.mask_interrupts(true).await;
        assert_eq!(nic.link_state().await, Link::empty());
        fake.lock().sram.insert(0x268, 0xC00C_0000);
        assert_eq!(nic.link_state().await, FIXED_LINK | Link::UP);
    });
    assert_eq!(general(&[0x230, 0x234, 0x240, 0x23C]), [120, 400, 25, 60]);
    assert_eq!(general(&[0x248, 0x260, 0x264]), [0x400C_0000, 9018, 1]);
}

#[test]
fn a_board_that_does_not_work_is_an_error() {
    let check = |prepare: fn(&mut Machine), config: Config, expected: StartError| {
        let fake = Fake::new();
        prepare(&mut fake.lock());
        let outcome = block_on(AceNic::start(
            fake.clone().into(),
            fake.clone().into(),
            &firmware(),
            config,
        ));
        assert_eq!(outcome.map(|_| ()), Err(expected));
    };
    let sound: fn(&mut Machine) = |_| {};
    check(
        |machine| {
            machine.registers.insert(0x40, 4 << 28);
        },
        config(),
        ChipError::Revision { revision: 4 }.into(),
    );
    let not_halted = ChipError::NotHalted {
        cpu: Cpu::A,
        state: 0,
    };
    check(|machine| machine.halts = false, config(), not_halted.into());
    let no_acknowledge = EepromError::NoAcknowledge {
        sent: "its device address",
        address: 0x8C,
    };
    check(
        |machine| machine.eeprom_silent = true,
        Config::default(),
        no_acknowledge.into(),
    );
    let no_address = EepromError::NoAddress { high: 0, low: 0 };
    check(sound, Config::default(), no_address.into());
    let buffers = ConfigError::Buffers {
        ring: "mini",
        buffers: 1024,
        entries: 1024,
    };
    let mut many = config();
    many.mini_buffers = 1024;
    check(sound, many, buffers.into());
    let mut group = config();
    group.address = Some(MacAddress::BROADCAST);
    check(sound, group, ConfigError::GroupAddress.into());
    let mut returns = config();
    returns.return_entries = 4096;
    check(
        sound,
        returns,
        ConfigError::ReturnEntries { entries: 4096 }.into(),
    );
}

#[test]
fn disabled_rings_get_no_buffers() {
    let mut rings = Rings::alike(RingFlags::empty());
    rings.mini = RingFlags::DISABLED;
    let (fake, mut nic) = started(Config { rings, ..config() });
    block_on(nic.fill_rings()).unwrap();
    let machine = fake.lock();
    assert_eq!(machine.word(0x11C), 128, "standard");
    assert_eq!(machine.word(0x12C), 0, "mini");
    assert_eq!(machine.info(0x458), 0x80 << 16 | 0x200);
}
