//! A file in the memory of one node, in regions that clients read and write: by the board of that node, or by a process of its host.
//!
//! A region has a word for its lock, a word with its version and its data. The version is odd while the region is written. Each write
//! fills the region with a pattern of its own, by which a reader finds a mixture of two writes.

mod client;
mod content;
mod keys;
mod mailbox;
mod records;
mod server;
mod summary;
mod workload;

use host_lib::gm::Gm;
use host_lib::gm::atomic::Wait;
use host_lib::gm::collective::{AllToAll, Endpoint, Group, Host, Settings as Exchange};
use host_lib::window::{System, VirtualAddress};

pub use records::FileRecords;
pub use summary::FileUse;
pub use workload::KIND;

use crate::collective::ExecutedOn;
use lanigon_worlds::emp::text;
use lanigon_worlds::programs::deliveries::Deliveries;

/// The port of the server and its clients.
const PORT: u8 = 2;
/// The port through which nodes tell each other their addresses.
const EXCHANGE_PORT: u8 = 5;
/// Nodes tell their addresses so long after the start, so that all ports are open.
const LEAD_NS: u64 = 500_000;
/// Longest wait for the address of another node.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Longest wait for the routes of a mapper.
const LONGEST_MAPPING_NS: u64 = 60_000_000_000;
/// Most regions of a file.
pub const MOST_REGIONS: u32 = 4096;
/// Fewest bytes of a region.
pub const LEAST_REGION_BYTES: u32 = 64;
/// Most bytes of a region.
pub const MOST_REGION_BYTES: u32 = 16384;
/// Most clients: a client's number has 8 bits in the pattern of a write, and is not 0.
pub const MOST_CLIENTS: usize = 255;
/// Bytes before the data of a region: the words of its lock and its version, in a line of the cache of their own.
const HEADER_BYTES: u32 = 64;

/// The settings of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Executor of the accesses to the file.
    pub on: ExecutedOn,
    /// Method by which the server's process waits for requests.
    pub wait: Wait,
    /// Regions of the file.
    pub regions: u32,
    /// Bytes of a region.
    pub region_bytes: u32,
    /// Operations of each client.
    pub rounds: u32,
    /// Percentage of writes.
    pub write_percent: u32,
}

impl Settings {
    /// Bytes of the file with the words of its regions.
    const fn file_bytes(&self) -> u32 {
        self.regions * (HEADER_BYTES + self.region_bytes)
    }
}

/// A region at the server.
#[derive(Debug, Clone, Copy)]
struct RegionPlace {
    /// Address of the lock's word.
    lock: VirtualAddress,
}

impl RegionPlace {
    const fn new(file: VirtualAddress, settings: &Settings, region: u32) -> Self {
        let step = (HEADER_BYTES + settings.region_bytes) as u64;
        Self {
            lock: VirtualAddress(file.0 + region as u64 * step),
        }
    }

    const fn version(self) -> VirtualAddress {
        VirtualAddress(self.lock.0 + 4)
    }

    const fn data(self) -> VirtualAddress {
        VirtualAddress(self.lock.0 + HEADER_BYTES as u64)
    }
}

/// The part of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// The settings, the same for all nodes.
    pub settings: Settings,
    /// The server, then its clients.
    pub nodes: Vec<u16>,
    /// The own place in `nodes`.
    pub place: usize,
    /// Start delay, in ns.
    pub start_ns: u64,
    /// The scenario's seed.
    pub seed: u64,
}

impl FilePlan {
    /// The server's port.
    fn server(&self) -> Endpoint {
        Endpoint {
            node: self.nodes[0],
            port: PORT,
        }
    }
}

/// Executes the part of a node, whose library is `gm`.
///
/// # Errors
/// An access fails.
async fn run(mut gm: Gm, plan: FilePlan, deliveries: Deliveries) -> Result<(), String> {
    gm.open(PORT).await.map_err(text)?;
    let is_server = plan.place == 0;
    let own = match is_server {
        true => {
            let allowed = gm.allow_remote_memory_access(PORT, true).await;
            allowed.map_err(text)?;
            let file = gm.allocate_dma(plan.settings.file_bytes());
            let file = file.map_err(text)?.address;
            let zeros = vec![0; plan.settings.file_bytes() as usize];
            let cleared = gm.system_mut().write_memory(file, &zeros);
            cleared.map_err(|_| "the file's memory is not mapped")?;
            file
        }
        false => VirtualAddress(0),
    };
    if gm.nodes() == 0 {
        gm.await_map(LONGEST_MAPPING_NS).await.map_err(text)?;
    }
    gm.system_mut().sleep(LEAD_NS + plan.start_ns).await;
    // The server can take messages before any client knows its file.
    let mailbox = mailbox::Mailbox::new(&mut gm, &plan).await?;
    let file = exchange(&mut gm, &plan, own).await?;
    match is_server {
        true => server::run(gm, &plan, mailbox, file, &deliveries).await,
        false => client::run(gm, plan, mailbox, file, &deliveries).await,
    }
}

/// Tells the other nodes an address; that of the server.
async fn exchange(
    gm: &mut Gm,
    plan: &FilePlan,
    own: VirtualAddress,
) -> Result<VirtualAddress, String> {
    let endpoint = |node: &u16| Endpoint {
        node: *node,
        port: EXCHANGE_PORT,
    };
    let members: Vec<_> = plan.nodes.iter().map(endpoint).collect();
    let group = Group::new(&members, members[plan.place]).map_err(text)?;
    gm.open(EXCHANGE_PORT).await.map_err(text)?;
    let settings = Exchange {
        longest_bytes: 8 * members.len(),
        limit_ns: PATIENCE_NS,
    };
    let mut host = Host::new(gm, group, settings).await.map_err(text)?;
    // The others open their ports.
    gm.system_mut().sleep(LEAD_NS).await;
    let block = own.0.to_be_bytes();
    let all = host.all_to_all(gm, AllToAll::RecursiveDoubling, &block);
    let all = all.await.map_err(text)?;
    host.flush(gm).await.map_err(text)?;
    let first = all.first_chunk::<8>().ok_or("no address of the file")?;
    Ok(VirtualAddress(u64::from_be_bytes(*first)))
}
