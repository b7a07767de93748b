//! A client of the file: its cache of regions, reads and writes.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use host_lib::gm::atomic::{AtomicOperation, Atomics, Executor, Wait, Word};
use host_lib::gm::{Buffer, Event, Gm, Priority, Remote, SendId, Status};
use host_lib::window::{System, VirtualAddress};

use super::content::{pattern, tag, tag_of};
use super::mailbox::{Kind, Mailbox, Message};
use super::records::{FileRecords, Sighting};
use super::{FilePlan, PORT, RegionPlace, Settings};
use crate::collective::ExecutedOn;
use lanigon_worlds::emp::text;
use lanigon_worlds::programs::deliveries::Deliveries;

/// Longest pause before a client tries again to take a lock, or to read a region that is being written, in ns.
const LONGEST_PAUSE_NS: u64 = 8_000;
/// Version of a region of which the client has no copy: no whole region has it.
const NO_COPY: u32 = 1;
/// Words that a client gets, and words that it puts: versions.
const WORDS: u32 = 3;

/// A client's copy of the file, and what it exchanges with the server.
struct Client<'a> {
    gm: Gm,
    plan: FilePlan,
    /// Address of the file at the server.
    file: VirtualAddress,
    mailbox: Mailbox,
    atomics: Atomics,
    /// The copies of the regions, in registered memory.
    cache: Buffer,
    /// Versions of the copies.
    versions: Vec<u32>,
    /// Newest version that the client has seen of each region.
    newest: Vec<u32>,
    /// Memory for versions that come and go.
    words: Buffer,
    /// The data of a write.
    source: Buffer,
    random: ChaCha8Rng,
    deliveries: &'a Deliveries,
}

/// Bytes of the memory of a client, without messages.
pub(super) fn client_bytes(settings: &Settings) -> u64 {
    u64::from(settings.regions + 1) * u64::from(settings.region_bytes) + u64::from(4 * WORDS)
}

/// Executes the operations of a client.
pub(super) async fn run(
    mut gm: Gm,
    plan: FilePlan,
    mailbox: Mailbox,
    file: VirtualAddress,
    deliveries: &Deliveries,
) -> Result<(), String> {
    let Settings {
        regions,
        region_bytes,
        ..
    } = plan.settings;
    let cache = gm.allocate_dma(regions * region_bytes).map_err(text)?;
    let words = gm.allocate_dma(4 * WORDS).map_err(text)?;
    let source = gm.allocate_dma(region_bytes).map_err(text)?;
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(plan.place as u64);
    let mut client = Client {
        gm,
        file,
        mailbox,
        atomics: Atomics::new(PORT),
        cache,
        versions: vec![NO_COPY; regions as usize],
        newest: vec![0; regions as usize],
        words,
        source,
        random,
        deliveries,
        plan,
    };
    let begin_ps = client.gm.system().now_ps();
    for sequence in 0..client.plan.settings.rounds {
        let failed = |error| format!("operation {sequence}: {error}");
        client.operation(sequence).await.map_err(failed)?;
    }
    let end_ps = client.gm.system().now_ps();
    client.record(|own| own.span_ps = Some((begin_ps, end_ps)));
    let done = Message::new(Kind::Done, 0, 0, Vec::new());
    client.send(&done).await?;
    client.mailbox.flush(&mut client.gm).await
}

impl Client<'_> {
    fn record(&self, change: impl FnOnce(&mut FileRecords)) {
        self.deliveries.record(change);
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit.max(1)
    }

    async fn pause(&mut self) {
        let pause = 1 + self.below(LONGEST_PAUSE_NS);
        self.gm.system_mut().compute(pause).await;
    }

    /// Reads or writes a region, both at random.
    async fn operation(&mut self, sequence: u32) -> Result<(), String> {
        let settings = self.plan.settings;
        let region = self.below(settings.regions.into()) as u32;
        let writes = self.below(100) < settings.write_percent.into();
        let begin_ps = self.gm.system().now_ps();
        match (writes, settings.on) {
            (false, ExecutedOn::Nic) => self.get_region(region).await?,
            (false, ExecutedOn::Host) => self.ask_region(region).await?,
            (true, ExecutedOn::Nic) => self.put_region(region, sequence).await?,
            (true, ExecutedOn::Host) => self.send_region(region, sequence).await?,
        }
        let time_ps = self.gm.system().now_ps() - begin_ps;
        self.record(|own| match writes {
            true => own.writes.add(time_ps),
            false => own.reads.add(time_ps),
        });
        Ok(())
    }

    /// Reads a region by gets, or from the cache if its copy has the version of the file.
    async fn get_region(&mut self, region: u32) -> Result<(), String> {
        let place = RegionPlace::new(self.file, &self.plan.settings, region);
        let mut version = self.get_version(place).await?;
        loop {
            if !version.is_multiple_of(2) {
                self.record(|own| own.retries += 1);
                self.pause().await;
                version = self.get_version(place).await?;
                continue;
            }
            if self.versions[region as usize] == version {
                self.record(|own| own.hits += 1);
                self.see(region, version);
                return Ok(());
            }
            // What comes may be a mixture.
            self.versions[region as usize] = NO_COPY;
            let copy = self.copy(region);
            self.get(copy, place.data()).await?;
            let after = self.get_version(place).await?;
            if after == version {
                return self.fetched(region, version);
            }
            self.record(|own| own.retries += 1);
            version = after;
        }
    }

    /// Takes a region's lock, puts version, data and version, and gives the lock back.
    async fn put_region(&mut self, region: u32, sequence: u32) -> Result<(), String> {
        let place = RegionPlace::new(self.file, &self.plan.settings, region);
        let own = self.plan.place as u32;
        let take = AtomicOperation::CompareSwap {
            expected: 0,
            new: own,
        };
        while self.atomic(place, take).await? != 0 {
            self.record(|own| own.busy += 1);
            self.pause().await;
        }
        let version = self.get_version(place).await?;
        if !version.is_multiple_of(2) {
            self.defect(format!(
                "region {region} is being written, though its lock was free"
            ));
        }
        self.versions[region as usize] = NO_COPY;
        let tag = tag(self.plan.place, sequence);
        let data = pattern(tag, self.plan.settings.region_bytes);
        let source = self.source;
        self.store(source, &data)?;
        let next = (version | 1).wrapping_add(1);
        let (begun, ended) = (self.word(1), self.word(2));
        self.store(begun, &(version | 1).to_be_bytes())?;
        self.store(ended, &next.to_be_bytes())?;
        // Puts to one port arrive in their order.
        let mut puts = Vec::new();
        for (from, to) in [
            (begun, place.version()),
            (source, place.data()),
            (ended, place.version()),
        ] {
            let to = self.remote(to);
            puts.push(self.gm.put(PORT, from, to).await.map_err(text)?);
        }
        self.sent(puts).await?;
        let before = self.atomic(place, AtomicOperation::FetchWrite(0)).await?;
        if before != own {
            self.defect(format!(
                "the lock of region {region} named {before} when client {own} gave it back"
            ));
        }
        self.wrote(region, next, tag, &data)
    }

    /// Asks the server's process for a region, unless the copy has its version.
    async fn ask_region(&mut self, region: u32) -> Result<(), String> {
        let cached = self.versions[region as usize];
        let request = Message::new(Kind::Read, region, cached, Vec::new());
        let answer = self.ask(&request).await?;
        if answer.version == cached {
            self.record(|own| own.hits += 1);
            self.see(region, cached);
            return Ok(());
        }
        let copy = self.copy(region);
        self.store(copy, &answer.data)?;
        let system = self.gm.system_mut();
        system.charge_copy(answer.data.len()).await;
        self.fetched(region, answer.version)
    }

    /// Sends a region's data to the server's process.
    async fn send_region(&mut self, region: u32, sequence: u32) -> Result<(), String> {
        let tag = tag(self.plan.place, sequence);
        let data = pattern(tag, self.plan.settings.region_bytes);
        let request = Message::new(Kind::Write, region, NO_COPY, data);
        let answer = self.ask(&request).await?;
        self.wrote(region, answer.version, tag, &request.data)
    }

    /// Sends a request; its answer.
    async fn ask(&mut self, request: &Message) -> Result<Message, String> {
        self.send(request).await?;
        loop {
            match self.mailbox.event(&mut self.gm, Wait::Poll).await? {
                Some((_, answer))
                    if answer.kind == Kind::Answer && answer.region == request.region =>
                {
                    return Ok(answer);
                }
                Some((from, _)) => {
                    return Err(format!("node {} sent no answer", from.node));
                }
                None => {}
            }
        }
    }

    /// Sends a message to the server, whose data the program has made in place.
    async fn send(&mut self, message: &Message) -> Result<(), String> {
        while !self.mailbox.can_send() {
            if self
                .mailbox
                .event(&mut self.gm, Wait::Poll)
                .await?
                .is_some()
            {
                return Err("an answer to no request".into());
            }
        }
        let server = self.plan.server();
        self.mailbox
            .send(&mut self.gm, server, message, false)
            .await
    }

    /// Enters what the client has written. Its copy has this data.
    fn wrote(&mut self, region: u32, version: u32, tag: u32, data: &[u8]) -> Result<(), String> {
        let copy = self.copy(region);
        self.store(copy, data)?;
        self.versions[region as usize] = version;
        self.see(region, version);
        self.record(|own| {
            own.written.push(Sighting {
                region,
                version,
                tag,
            });
        });
        Ok(())
    }

    /// Checks and enters a copy that has come.
    fn fetched(&mut self, region: u32, version: u32) -> Result<(), String> {
        let copy = self.copy(region);
        let mut data = vec![0; copy.length as usize];
        let read = self.gm.system().read_memory(copy.address, &mut data);
        read.map_err(|_| "the cache is not mapped")?;
        self.versions[region as usize] = version;
        self.see(region, version);
        match tag_of(&data) {
            Some(tag) => self.record(|own| {
                own.fetched.push(Sighting {
                    region,
                    version,
                    tag,
                });
            }),
            None => self.defect(format!(
                "region {region} with version {version} is of no single write"
            )),
        }
        Ok(())
    }

    /// Checks that a region's version does not go back.
    fn see(&mut self, region: u32, version: u32) {
        let newest = &mut self.newest[region as usize];
        let before = std::mem::replace(newest, version);
        if version < before {
            self.defect(format!(
                "region {region} went from version {before} back to {version}"
            ));
        }
    }

    fn defect(&self, text: String) {
        let place = self.plan.place;
        self.record(|own| own.defect(format!("client {place}: {text}")));
    }

    /// The copy of a region.
    const fn copy(&self, region: u32) -> Buffer {
        let length = self.plan.settings.region_bytes;
        Buffer {
            address: VirtualAddress(self.cache.address.0 + region as u64 * length as u64),
            length,
        }
    }

    /// A word for a version.
    const fn word(&self, place: u32) -> Buffer {
        Buffer {
            address: VirtualAddress(self.words.address.0 + 4 * place as u64),
            length: 4,
        }
    }

    fn store(&mut self, at: Buffer, bytes: &[u8]) -> Result<(), String> {
        let written = self.gm.system_mut().write_memory(at.address, bytes);
        written.map_err(|_| "memory of the client is not mapped".to_owned())
    }

    fn remote(&self, address: VirtualAddress) -> Remote {
        let server = self.plan.server();
        Remote {
            node: server.node,
            port: server.port,
            priority: Priority::Low,
            address,
        }
    }

    async fn get_version(&mut self, place: RegionPlace) -> Result<u32, String> {
        let word = self.word(0);
        self.get(word, place.version()).await?;
        let mut bytes = [0; 4];
        let read = self.gm.system().read_memory(word.address, &mut bytes);
        read.map_err(|_| "a version's word is not mapped")?;
        Ok(u32::from_be_bytes(bytes))
    }

    /// Gets bytes of the file, and waits for them: two gets under way could be answered in another order if packets are lost.
    async fn get(&mut self, into: Buffer, from: VirtualAddress) -> Result<(), String> {
        let from = self.remote(from);
        let get = self.gm.get(PORT, into, from).await.map_err(text)?;
        self.sent(vec![get]).await
    }

    /// Waits for the ends of gets or puts.
    async fn sent(&mut self, mut left: Vec<SendId>) -> Result<(), String> {
        while !left.is_empty() {
            let Event::Sent(all) = self.gm.receive(PORT).await.map_err(text)? else {
                return Err("an event of something else".into());
            };
            for (id, status) in all {
                left.retain(|one| *one != id);
                if status != Status::Success {
                    return Err(format!("an access to the file: {}", status.name()));
                }
            }
        }
        Ok(())
    }

    /// Executes an operation on the word of a region's lock; the word before it.
    async fn atomic(
        &mut self,
        place: RegionPlace,
        operation: AtomicOperation,
    ) -> Result<u32, String> {
        let server = self.plan.server();
        let word = Word {
            node: server.node,
            port: server.port,
            address: place.lock,
        };
        let executed = self.atomics.execute(&mut self.gm, word, operation).await;
        executed.map_err(text)
    }
}
