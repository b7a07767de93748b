//! The library against the control program in one process: nodes whose windows show the SRAM that the firmware works on.

mod credits;
mod messages;
mod multicast;
mod nic;
mod start;
mod tree;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use defs::fm::map::SRAM_BYTES;
use defs::lanai::window::{RESET_OFF, RESET_ON, four, record};

use super::{Config, Fm};
use crate::at_once::{AnswersAtOnce, block_on, port_at_once};
use crate::firmware::Firmware;
use crate::window::{PhysicalAddress, SystemPort, VirtualAddress};
use nic::{Fake, HOST_BYTES};

/// Memory begins here, in both spaces.
const MEMORY: u64 = 0x1_0000;
/// Node of a route byte.
const NODE_BITS: u8 = 0x7F;

/// A node: its firmware, once it is released from reset.
struct Node {
    firmware: Option<fm::Fm<Fake>>,
    /// SRAM before that.
    held: Option<Fake>,
    /// Whether its board works at all.
    runs: bool,
    /// Packets that left it, whole, in order.
    left: Vec<Vec<u8>>,
}

/// All nodes. The last byte of a route names the target.
struct World {
    nodes: Vec<Node>,
    time_ns: u64,
    /// The next packets that come to a node are damaged.
    damage: usize,
    /// Whether the EEPROM tells of enough memory.
    sram_bytes: u32,
}

impl Node {
    fn fake(&mut self) -> &mut Fake {
        match (&mut self.firmware, &mut self.held) {
            (Some(firmware), _) => firmware.nic_mut(),
            (None, Some(held)) => held,
            (None, None) => panic!("a node has hardware"),
        }
    }
}

impl World {
    /// Runs everything that can happen without a host.
    fn settle(&mut self) {
        while (0..self.nodes.len()).any(|index| self.act(index)) {}
    }

    fn act(&mut self, index: usize) -> bool {
        let node = &mut self.nodes[index];
        let Some(firmware) = node.firmware.as_mut().filter(|_| node.runs) else {
            return false;
        };
        if !firmware.begin() {
            return false;
        }
        if firmware.step() || firmware.nic_mut().write() {
            return true;
        }
        let Some(packet) = firmware.nic_mut().leave() else {
            return false;
        };
        node.left.push(packet.clone());
        let route = packet.iter().take_while(|&&byte| byte >= 0x80).count();
        let target = usize::from(packet[route - 1] & NODE_BITS);
        let intact = self.damage == 0;
        self.damage = self.damage.saturating_sub(1);
        while !self.nodes[target].fake().has_room() {
            assert!(self.act(target), "backpressure ends");
        }
        self.nodes[target].fake().come(&packet[route..], intact);
        true
    }
}

/// A host's view of one node.
#[derive(Clone)]
struct Host {
    world: Arc<Mutex<World>>,
    node: usize,
}

type Library = Fm;

impl Host {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no test panics while it holds it")
    }
}

/// The nodes' hosts, without firmware.
fn hosts(count: usize) -> Vec<Host> {
    let node = || Node {
        firmware: None,
        held: Some(Fake::new()),
        runs: true,
        left: Vec::new(),
    };
    let world = Arc::new(Mutex::new(World {
        nodes: (0..count).map(|_| node()).collect(),
        time_ns: 0,
        damage: 0,
        sram_bytes: 1 << 20,
    }));
    let host = |node| Host {
        world: Arc::clone(&world),
        node,
    };
    (0..count).map(host).collect()
}

/// Two route bytes for nodes below 8, five for others.
fn config(node: usize, nodes: usize) -> Config {
    let route = |other: usize| {
        let mut route = vec![0x85; if other < 8 { 1 } else { 4 }];
        route.push(0x80 | other as u8);
        (other != node).then_some(route)
    };
    let mut config = Config::new(node as u16, (0..nodes).map(route).collect());
    config.timeout_ns = Some(1000);
    config
}

/// An image: the firmware is the crate, so it has no bytes that matter.
fn image() -> Firmware {
    Firmware {
        segments: vec![(0, vec![1, 2, 3, 4])],
        entry: 0,
    }
}

/// Started nodes, with changed settings.
fn nodes_with(count: usize, change: impl Fn(&mut Config)) -> Vec<Library> {
    let start = |host: Host| {
        let mut config = config(host.node, count);
        change(&mut config);
        run(Fm::start(
            host.clone().into(),
            host.into(),
            &image(),
            config,
        ))
        .expect("it starts")
    };
    hosts(count).into_iter().map(start).collect()
}

fn nodes(count: usize) -> Vec<Library> {
    nodes_with(count, |_| {})
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host {}", self.node)
    }
}

impl Host {
    fn write(&self, offset: u32, value: u32) {
        let mut world = self.lock();
        let node = &mut world.nodes[self.node];
        if offset < SRAM_BYTES {
            return node.fake().set_word(offset, value);
        }
        if offset != four::CONTROL {
            return;
        }
        if value & RESET_ON != 0 && node.firmware.is_some() {
            (node.firmware, node.held) = (None, Some(Fake::new()));
        }
        if value & RESET_OFF != 0 && node.runs {
            node.firmware = node.held.take().map(fm::Fm::new);
        }
    }
}

impl AnswersAtOnce for Host {
    fn read(&self, offset: u32) -> u32 {
        let mut world = self.lock();
        world.settle();
        if offset < SRAM_BYTES {
            return world.nodes[self.node].fake().word(offset);
        }
        match offset.wrapping_sub(four::EEPROM) {
            record::VERSION => 0x0403 << 16,
            record::SRAM_BYTES => world.sram_bytes,
            _ => 0,
        }
    }

    fn write_burst(&self, offset: u32, values: &[u32]) {
        for (offset, value) in (offset..).step_by(4).zip(values) {
            self.write(offset, *value);
        }
    }

    fn memory_word(&self, address: VirtualAddress) -> Result<u32, VirtualAddress> {
        let mut bytes = [0; 4];
        self.read_memory(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn pass(&self, nanoseconds: u64) {
        self.lock().time_ns += nanoseconds;
    }
}

port_at_once!(Host);

impl SystemPort for Host {
    fn allocate(&mut self, _: u64) -> Option<VirtualAddress> {
        None
    }

    fn allocate_contiguous(&mut self, length: u64) -> Option<(VirtualAddress, PhysicalAddress)> {
        let fits = MEMORY + length <= HOST_BYTES as u64;
        fits.then_some((VirtualAddress(MEMORY), PhysicalAddress(MEMORY)))
    }

    fn write_memory(&mut self, at: VirtualAddress, bytes: &[u8]) -> Result<(), VirtualAddress> {
        let at = at.0 as usize;
        self.lock().nodes[self.node].fake().host[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read_memory(&self, at: VirtualAddress, bytes: &mut [u8]) -> Result<(), VirtualAddress> {
        let at = at.0 as usize;
        let mut world = self.lock();
        world.settle();
        bytes.copy_from_slice(&world.nodes[self.node].fake().host[at..at + bytes.len()]);
        Ok(())
    }

    fn now_ps(&self) -> u64 {
        self.lock().time_ns * 1000
    }
}

/// The host of a library.
fn host_of(library: &Library) -> &Host {
    let system: &dyn Any = &*library.system;
    system.downcast_ref().expect("a host of these tests")
}

/// Runs a call, which never waits.
fn run<F: Future>(call: F) -> F::Output {
    block_on(call)
}

/// Messages at the handlers of a node: sender, message, bytes so far, whether it is complete.
type Inbox = Arc<Mutex<Vec<(u16, u16, Vec<u8>, bool)>>>;

/// Sets handler 1 of a node: it collects messages.
fn collect(library: &mut Library) -> Inbox {
    let inbox = Inbox::default();
    let filled = Arc::clone(&inbox);
    library.set_handler(1, move |piece| {
        let mut inbox = filled.lock().expect("no panic");
        if piece.offset == 0 {
            inbox.push((piece.sender, piece.message, Vec::new(), false));
        }
        let key = (piece.sender, piece.message);
        let mut messages = inbox.iter_mut().rev();
        let entry = messages.find(|entry| (entry.0, entry.1) == key);
        let (_, _, bytes, complete) = entry.expect("a message that has begun");
        assert_eq!(bytes.len(), piece.offset as usize);
        bytes.extend(piece.bytes);
        *complete = piece.is_last();
    });
    inbox
}

/// Bytes of a message that differ from place to place.
fn content(seed: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 7 + at / 256 + seed) as u8)
        .collect()
}
