//! Start-up: firmware, route table, host words (`defs::emp::control`).

use defs::emp::control::{
    COMMAND, COMMAND_START, DESCRIPTORS, EPOCH, FRAME_BYTES, NODE, READY, READY_MAGIC,
    ROUTE_CAPACITY, ROUTE_COUNT, ROUTE_ENTRY_BYTES, ROUTES,
};
use defs::emp::descriptor::{DESCRIPTOR_BYTES, DESCRIPTOR_COUNT, PAGE_BYTES, SEND_DESCRIPTORS};
use defs::tigon2::map::SRAM_LIMIT;
use defs::tigon2::regs::{MAC_ADDRESS_HIGH, MAC_ADDRESS_LOW};

use super::Emp;
use super::config::Config;
use super::error::StartError;
use super::pool::{Pool, PoolEnd};
use super::settings::Settings;
use crate::address::MacAddress;
use crate::board::BoardWindow;
use crate::firmware::Firmware;
use crate::window::{self, AnySystem, AnyWindow, System};

/// Poll interval during the firmware's start, in nanoseconds.
const START_POLL_NS: u64 = 20_000;
/// Largest number of polls during the firmware's start: 200 ms in all, many times a normal start.
const START_POLLS: u32 = 10_000;

const FIRMWARE_READY: &str = "the firmware to be ready";
const COMMAND_TAKEN: &str = "the firmware to take the start command";

impl Emp {
    /// Starts EMP on the board behind `window`.
    ///
    /// With a `firmware`, resets the chip, loads the image and starts CPU A; without, it expects a running
    /// firmware. Then it waits until the firmware is ready, writes its MAC address, route table and
    /// settings, and waits until the firmware has read them. Each wait ends after 200 ms of silence. Then
    /// every descriptor is free.
    ///
    /// # Errors
    /// [`StartError`]: settings, chip, image or firmware are not usable.
    pub async fn start(
        window: AnyWindow,
        system: AnySystem,
        firmware: Option<&Firmware>,
        config: Config,
    ) -> Result<Self, StartError> {
        const {
            assert!(
                window::PAGE_BYTES == PAGE_BYTES as u64,
                "EMP's pages are the host's"
            )
        };
        let own_address = config.check()?;
        let mut starter = Starter {
            board: BoardWindow::new(window),
            system,
        };
        if let Some(firmware) = firmware {
            starter.boot(firmware).await?;
        }
        starter
            .await_word(READY, READY_MAGIC, FIRMWARE_READY)
            .await?;
        let descriptors = starter
            .table(
                "descriptors",
                DESCRIPTORS,
                DESCRIPTOR_COUNT * DESCRIPTOR_BYTES,
            )
            .await?;
        let nodes = starter.configure(&config, own_address).await?;
        let split = SEND_DESCRIPTORS as u16;
        Ok(Self {
            board: starter.board,
            system: starter.system,
            nodes,
            post_overhead_ns: config.post_overhead_ns,
            frame_bytes: config.frame_bytes,
            settings: Settings::from(&config),
            descriptors,
            // Both pools hand out the descriptors next to their common border first, so that the
            // window's view seldom moves between a few transmits and a few receives.
            transmits: Pool::new(0..split, PoolEnd::Highest),
            receives: Pool::new(split..DESCRIPTOR_COUNT as u16, PoolEnd::Lowest),
            lists: Vec::new(),
            hold: None,
        })
    }
}

/// A node during start-up.
struct Starter {
    board: BoardWindow,
    system: AnySystem,
}

impl Starter {
    /// Resets the board and starts the firmware.
    async fn boot(&mut self, firmware: &Firmware) -> Result<(), StartError> {
        self.board.reset().await?;
        firmware.load(&mut self.board).await?;
        // SRAM survives a reset: clear the words of an earlier run.
        self.board.write_sram(READY, 0).await;
        self.board.write_sram(COMMAND, 0).await;
        self.board.start_cpu_a(firmware.entry).await;
        Ok(())
    }

    /// Writes everything that the firmware needs; returns the number of nodes.
    async fn configure(
        &mut self,
        config: &Config,
        own_address: MacAddress,
    ) -> Result<u16, StartError> {
        let nodes = self.write_routes(&config.routes).await?;
        for (register, value) in [
            (MAC_ADDRESS_HIGH, own_address.high()),
            (MAC_ADDRESS_LOW, own_address.low()),
        ] {
            self.board.write_register(register, value).await;
        }
        let identity = [
            (NODE, u32::from(config.node)),
            (ROUTE_COUNT, u32::from(nodes)),
            (EPOCH, u32::from(config.epoch)),
            (FRAME_BYTES, config.frame_bytes),
        ];
        let settings = Settings::from(config).words();
        for (address, value) in identity.into_iter().chain(settings) {
            self.board.write_sram(address, value).await;
        }
        self.board.write_sram(COMMAND, COMMAND_START).await;
        self.await_word(COMMAND, 0, COMMAND_TAKEN).await?;
        Ok(nodes)
    }

    /// Writes the addresses of all nodes; returns their number.
    async fn write_routes(&mut self, routes: &[MacAddress]) -> Result<u16, StartError> {
        let capacity = self.board.read_sram(ROUTE_CAPACITY).await;
        let nodes = u16::try_from(routes.len())
            .ok()
            .filter(|&nodes| u32::from(nodes) <= capacity)
            .ok_or(StartError::TooManyRoutes {
                routes: routes.len(),
                capacity,
            })?;
        let table = self
            .table("route table", ROUTES, u32::from(nodes) * ROUTE_ENTRY_BYTES)
            .await?;
        let entries: Vec<u32> = routes
            .iter()
            .flat_map(|route| [route.high(), route.low(), 0, 0])
            .collect();
        self.board.write_sram_burst(table, &entries).await;
        Ok(nodes)
    }

    /// Reads and checks the address of a table of `length_bytes`.
    async fn table(
        &mut self,
        table: &'static str,
        pointer: u32,
        length_bytes: u32,
    ) -> Result<u32, StartError> {
        let address = self.board.read_sram(pointer).await;
        let inside = address
            .checked_add(length_bytes)
            .is_some_and(|end| end <= SRAM_LIMIT);
        if inside && address.is_multiple_of(4) {
            Ok(address)
        } else {
            Err(StartError::TableAddress { table, address })
        }
    }

    /// Polls an SRAM word until it is `expected`.
    async fn await_word(
        &mut self,
        address: u32,
        expected: u32,
        waited_for: &'static str,
    ) -> Result<(), StartError> {
        for _ in 0..START_POLLS {
            if self.board.read_sram(address).await == expected {
                return Ok(());
            }
            if let Some(program_counter) = self.board.halted_at().await {
                return Err(StartError::Halted {
                    waited_for,
                    program_counter,
                });
            }
            self.system.compute(START_POLL_NS).await;
        }
        Err(StartError::Silent {
            waited_for,
            polls: START_POLLS,
        })
    }
}
