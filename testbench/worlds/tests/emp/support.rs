//! Shared parts of the tests: worlds, programs, and messages with known contents.

use lanigon_worlds::profile::built_in;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use defs::emp::control::COUNTER_COUNT;
use emulator::image::Image;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::emp::{Buffer, Emp, Source, Tag};
use host_lib::window::{System, VirtualAddress};
use lanigon_worlds::boards::board_type;
use lanigon_worlds::emp::EmpPairs;
use lanigon_worlds::end::ResultSlot;
use lanigon_worlds::images;
use lanigon_worlds::nodes;

pub static IMAGE: LazyLock<Image> =
    LazyLock::new(|| images::own_image("emp-base", nodes::EMP_SRAM_BYTES).unwrap());

thread_local! {
    /// Image of this test's pairs, if not the default one.
    static OTHER_IMAGE: RefCell<Option<Image>> = const { RefCell::new(None) };
    /// CPUs of the boards of this test's pairs, if these are not the chip.
    static CPUS: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Sets the image of the pairs of this thread.
pub fn use_image(name: &str) {
    let image = images::own_image(name, nodes::EMP_SRAM_BYTES).unwrap();
    OTHER_IMAGE.set(Some(image));
}

/// Lets the pairs of this thread have an image for boards with so many CPUs and 1 MB of SRAM.
pub fn use_image_on_cpus(name: &str, count: u32) {
    let board = board_type("tigon-n").unwrap();
    let image = board.own_image(name, nodes::EMP_SRAM_BYTES).unwrap();
    OTHER_IMAGE.set(Some(image));
    CPUS.set(Some(count));
}

/// Factor of the time of a message on the boards of this thread's pairs: a CPU that takes all events alone, by turns, is slow.
pub fn slowness() -> u64 {
    if CPUS.get() == Some(1) { 2 } else { 1 }
}

/// Counters of a node's firmware.
pub type Counters = [u32; COUNTER_COUNT as usize];

/// Calls a function with the image of this test's pairs.
pub fn with_image<T>(what: impl FnOnce(&Image) -> T) -> T {
    OTHER_IMAGE.with_borrow(|other| what(other.as_ref().unwrap_or(&IMAGE)))
}

pub fn pair() -> EmpPairs {
    let Some(cpus) = CPUS.get() else {
        let profile = built_in("tigon2-88mhz").unwrap();
        return with_image(|image| EmpPairs::one(image, &profile, &[]).unwrap());
    };
    let profile = built_in("tigon-n-88mhz").unwrap();
    let values = [("core.cpus", f64::from(cpus))];
    let profile = profile.with_values(values).unwrap();
    with_image(|image| EmpPairs::new(1, 1 << 20, image, &profile, &[]).unwrap())
}

/// Converts an error to a program's error.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A random number below `limit`.
fn below(random: &mut ChaCha8Rng, limit: u32) -> u32 {
    random.next_u32() % limit
}

/// The bytes of message `number` of `length` bytes from `node`.
pub fn contents(node: u16, number: u32, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    random(u64::from(node) << 32 | u64::from(number)).fill_bytes(&mut bytes);
    bytes
}

pub fn allocate(emp: &mut Emp, length: u32) -> VirtualAddress {
    emp.system_mut().allocate(u64::from(length) + 1).unwrap()
}

/// Separate memory for a message.
pub fn buffer(emp: &mut Emp, length: u32) -> Buffer {
    let address = allocate(emp, length);
    Buffer { address, length }
}

/// Memory that holds message `number` of `node`.
pub fn message(emp: &mut Emp, node: u16, number: u32, length: u32) -> Buffer {
    let buffer = buffer(emp, length);
    fill(emp, buffer, node, number);
    buffer
}

fn fill(emp: &mut Emp, buffer: Buffer, node: u16, number: u32) {
    let bytes = contents(node, number, buffer.length);
    emp.system_mut()
        .write_memory(buffer.address, &bytes)
        .unwrap();
}

/// Checks that a buffer holds message `number` of `node`.
pub fn compare(emp: &Emp, buffer: Buffer, node: u16, number: u32) -> Result<(), String> {
    let mut bytes = vec![0; buffer.length as usize];
    emp.system()
        .read_memory(buffer.address, &mut bytes)
        .unwrap();
    if bytes == contents(node, number, buffer.length) {
        Ok(())
    } else {
        Err(format!("message {number} of node {node} is damaged"))
    }
}

/// Result of a program.
pub type Left<T> = ResultSlot<Result<T, String>>;

/// Runs one program on each node until both have ended; returns their results.
pub fn run_both<A, B, FA, FB>(
    pair: &mut EmpPairs,
    a: impl FnOnce(Emp) -> FA + Send + 'static,
    b: impl FnOnce(Emp) -> FB + Send + 'static,
) -> (RunEnd, Left<A>, Left<B>)
where
    A: Send + 'static,
    B: Send + 'static,
    FA: Future<Output = Result<A, String>> + Send + 'static,
    FB: Future<Output = Result<B, String>> + Send + 'static,
{
    let first = pair.spawn(0, "first", a);
    let second = pair.spawn(1, "second", b);
    (pair.world.run(&RunLimits::default()), first, second)
}

/// Like [`run_both`], with two successful programs.
pub fn run_well<A, B, FA, FB>(
    pair: &mut EmpPairs,
    a: impl FnOnce(Emp) -> FA + Send + 'static,
    b: impl FnOnce(Emp) -> FB + Send + 'static,
) -> (A, B)
where
    A: Send + 'static,
    B: Send + 'static,
    FA: Future<Output = Result<A, String>> + Send + 'static,
    FB: Future<Output = Result<B, String>> + Send + 'static,
{
    let (end, first, second) = run_both(pair, a, b);
    match (first.take(), second.take()) {
        (Some(Ok(first)), Some(Ok(second))) => (first, second),
        (first, second) => panic!(
            "{end:?}: first {:?}, second {:?}",
            first.map(|outcome| outcome.err()),
            second.map(|outcome| outcome.err())
        ),
    }
}

/// Random messages in both directions at once.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    pub seed: u64,
    /// Number of messages in each direction.
    pub messages: u32,
    /// Length of the longest message.
    pub longest: u32,
    /// Number of receives posted in advance.
    pub receives_ahead: usize,
    /// Delay of each receive's post in microseconds.
    pub late_us: u64,
}

/// Number of transmits posted in advance.
const TRANSMITS_AHEAD: usize = 4;

impl Streams {
    pub fn new(seed: u64, messages: u32, longest: u32) -> Self {
        Self {
            seed,
            messages,
            longest,
            receives_ahead: 4,
            late_us: 0,
        }
    }

    /// Length of each message from `node`.
    fn lengths(&self, node: u16) -> Arc<Vec<u32>> {
        let mut random = random(self.seed + u64::from(node));
        let length = |_| match below(&mut random, 4) {
            0 => below(&mut random, 64),
            1 => below(&mut random, 3000),
            _ => below(&mut random, self.longest + 1),
        };
        Arc::new((0..self.messages).map(length).collect())
    }

    /// Runs the streams, compares every byte, and returns the firmware's counters.
    pub fn run(self, pair: &mut EmpPairs) -> (Counters, Counters) {
        run_well(
            pair,
            move |emp| Stream::new(emp, self, 0).run(),
            move |emp| Stream::new(emp, self, 1).run(),
        )
    }
}

impl Streams {
    /// Spawns the streams on the pair whose first node is `first`.
    pub fn spawn(self, pairs: &mut EmpPairs, first: usize) -> [Left<Counters>; 2] {
        [0, 1].map(|me| {
            let run = move |emp| Stream::new(emp, self, me).run();
            pairs.spawn(first + usize::from(me), "stream", run)
        })
    }
}

/// One node's part of [`Streams`].
struct Stream {
    emp: Emp,
    streams: Streams,
    me: u16,
    peer: u16,
    out: Arc<Vec<u32>>,
    incoming: Arc<Vec<u32>>,
    sources: Vec<VirtualAddress>,
    sinks: Vec<VirtualAddress>,
}

impl Stream {
    fn new(mut emp: Emp, streams: Streams, me: u16) -> Self {
        let peer = 1 - me;
        let longest = streams.longest.max(3000);
        let mut memory = |count| -> Vec<_> {
            let one = |_| allocate(&mut emp, longest + 8);
            (0..count).map(one).collect()
        };
        let (sources, sinks) = (memory(TRANSMITS_AHEAD), memory(streams.receives_ahead));
        Self {
            emp,
            streams,
            me,
            peer,
            out: streams.lengths(me),
            incoming: streams.lengths(peer),
            sources,
            sinks,
        }
    }

    /// Address of message `number`. Odd addresses: nothing may depend on alignment.
    fn place(places: &[VirtualAddress], number: usize, length: u32) -> Buffer {
        let base = places[number % places.len()].0;
        Buffer {
            address: VirtualAddress(base + number as u64 % 5),
            length,
        }
    }

    async fn run(mut self) -> Result<Counters, String> {
        let (mut receives, mut sends) = (VecDeque::new(), VecDeque::new());
        let (mut posted, mut received, mut sent) = (0, 0, 0);
        while received < self.incoming.len() || sent < self.out.len() || !sends.is_empty() {
            while posted < self.incoming.len() && receives.len() < self.streams.receives_ahead {
                let late_ns = self.streams.late_us * 1000;
                self.emp.system_mut().compute(late_ns).await;
                let sink = Self::place(&self.sinks, posted, self.incoming[posted]);
                let (source, tag) = (Source::Node(self.peer), Tag::Value(posted as u16 % 7));
                let handle = self.emp.post_receive(source, tag, sink).await;
                receives.push_back((sink, handle.map_err(text)?));
                posted += 1;
            }
            while sent < self.out.len() && sends.len() < TRANSMITS_AHEAD {
                let source = Self::place(&self.sources, sent, self.out[sent]);
                fill(&mut self.emp, source, self.me, sent as u32);
                let tag = sent as u16 % 7;
                let handle = self.emp.post_transmit(self.peer, tag, source).await;
                sends.push_back(handle.map_err(text)?);
                sent += 1;
            }
            if let Some((sink, handle)) = receives.pop_front() {
                let completion = self.emp.wait(handle).await.map_err(text)?;
                if completion.length != sink.length {
                    return Err(format!("message {received}: {} bytes", completion.length));
                }
                compare(&self.emp, sink, self.peer, received as u32)?;
                received += 1;
            }
            if let Some(handle) = sends.pop_front() {
                self.emp.wait(handle).await.map_err(text)?;
            }
        }
        Ok(self.emp.counters().await)
    }
}

/// Exchanges `rounds` messages of `length` bytes, starting with node 0; contents are not checked.
pub async fn ping_pong(mut emp: Emp, me: u16, rounds: u32, length: u32) -> Result<(), String> {
    let (out, space) = (buffer(&mut emp, length), buffer(&mut emp, length));
    for round in 0..rounds {
        ping_pong_round(&mut emp, me, out, space)
            .await
            .map_err(|error| format!("round {round}: {error}"))?;
    }
    Ok(())
}

/// One round: node 0 sends, node 1 answers.
pub async fn ping_pong_round(
    emp: &mut Emp,
    me: u16,
    out: Buffer,
    space: Buffer,
) -> Result<(), String> {
    let peer = 1 - me;
    let receive = emp
        .post_receive(Source::Node(peer), Tag::Value(1), space)
        .await
        .map_err(text)?;
    let transmit = if me == 0 {
        let transmit = emp.post_transmit(peer, 1, out).await.map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
        transmit
    } else {
        emp.wait(receive).await.map_err(text)?;
        emp.post_transmit(peer, 1, out).await.map_err(text)?
    };
    emp.wait(transmit).await.map_err(text)?;
    Ok(())
}
