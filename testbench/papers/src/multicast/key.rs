//! The measured points.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanigon_experiments::{Error, scenario};
use lanigon_workloads::multicast::MulticastUse;
use lanigon_workloads::multicast::{TreeKind, Way};
use lanigon_worlds::outcome::RunError;
use serde::Serialize;

use super::PROFILE;

/// Numbers of nodes of the figures.
pub const NODES: [u16; 3] = [4, 8, 16];
/// Lengths of messages of the figures, in bytes.
pub const SIZES: [u32; 13] = [
    4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384,
];
/// Those of a quick run.
pub const QUICK_SIZES: [u32; 7] = [8, 32, 1024, 2048, 4096, 8192, 16_384];
/// Lengths of packets from which the cost model is fitted, in bytes.
pub const PACKETS: [u32; 7] = [0, 16, 64, 256, 512, 1024, 1536];
/// The length to which most published factors belong, in bytes.
pub const LONG: u32 = 16_384;
/// Processor time of a combined write of a word, in ns (dissertation-025: 10.6 ns a byte, assumed by its author).
const COMBINED_NS: f64 = 42.4;

/// Which nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Those of the publication.
    Usual,
    /// Their processors combine writes to the board.
    Combining,
    /// Their firmware has no multi-sends.
    Plain,
}

/// A point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// Which nodes.
    pub variant: Variant,
    /// Number of nodes.
    pub nodes: u16,
    /// Lambda of the tree; `None`: a binomial tree.
    pub lambda: Option<u32>,
    /// Whether boards copy packets.
    pub multi_send: bool,
    /// Whether packets are sent on one by one.
    pub pipelined: bool,
    /// Bytes of a message.
    pub bytes: u32,
}

/// What was measured at a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Mean time from the root's call to the answer of a leaf, in us; the longest over the answering leaves.
    pub answered_us: f64,
    /// Mean time of the root's call, in us.
    pub call_us: f64,
    /// Mean time from the root's call until each rank has the message, in us, without the root.
    pub delivered_us: Vec<f64>,
}

impl Key {
    /// All to all destinations at once: a tree of one level.
    #[must_use]
    pub const fn star(variant: Variant, nodes: u16, multi_send: bool, bytes: u32) -> Self {
        Self {
            variant,
            nodes,
            lambda: Some(nodes as u32),
            multi_send,
            pipelined: false,
            bytes,
        }
    }

    /// The host-based multicast: ordinary sends along a binomial tree.
    #[must_use]
    pub const fn binomial(nodes: u16, bytes: u32) -> Self {
        Self {
            variant: Variant::Usual,
            nodes,
            lambda: None,
            multi_send: false,
            pipelined: false,
            bytes,
        }
    }

    /// A tree of the postal model.
    #[must_use]
    pub const fn optimal(nodes: u16, lambda: u32, way: Way, bytes: u32) -> Self {
        Self {
            variant: Variant::Usual,
            nodes,
            lambda: Some(lambda),
            multi_send: way.multi_send,
            pipelined: way.pipelined,
            bytes,
        }
    }

    /// Its scenario, with so many rounds for each answering leaf.
    fn scenario(&self, rounds: u64) -> String {
        let (image, settings) = match self.variant {
            Variant::Usual => ("fm", String::new()),
            Variant::Plain => ("fm-plain", String::new()),
            Variant::Combining => (
                "fm",
                format!(
                    "fm.combine_writes = true\ncosts = {{ \"pci.pio_write\" = {COMBINED_NS} }}\n"
                ),
            ),
        };
        let tree = match self.lambda {
            Some(lambda) => format!("lambda = {lambda}"),
            None => "tree = \"binomial\"".into(),
        };
        let send = match self.multi_send {
            true => "multi-send",
            false => "unicast",
        };
        let (nodes, bytes, pipelined) = (self.nodes, self.bytes, self.pipelined);
        format!(
            "board = \"{PROFILE}\"\nprotocol = \"fm\"\nimage = \"{image}\"\nseed = 1\n{settings}\
             network = {{ topology = \"star\", nodes = {nodes} }}\n\
             program = [{{ run = \"multicast\", nodes = \"all\", bytes = {bytes}, {tree}, send = \"{send}\", pipelined = {pipelined}, rounds = {rounds} }}]\n"
        )
    }

    /// Measures it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, rounds: u64, interrupt: &Arc<AtomicBool>) -> Result<Point, Error> {
        let outcome = scenario::run(&self.scenario(rounds), None, interrupt)?;
        let used = outcome.result::<MulticastUse>();
        let used = used.filter(|used| used.rounds > 0);
        let used = used.ok_or(Error::NoRound)?;
        if !outcome.is_good() {
            let message = "a message is not as it was sent".into();
            let program = "a member";
            return Err(RunError::Program { program, message }.into());
        }
        let delivered = used.deliveries.iter();
        Ok(Point {
            answered_us: used.answered_us,
            call_us: used.call_us,
            delivered_us: delivered.map(|delivery| delivery.mean_us).collect(),
        })
    }
}

/// The whole lambdas with different trees: the least one of each, up to the number of nodes.
#[must_use]
pub fn lambdas(nodes: u16) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for lambda in 1..=u32::from(nodes) {
        let tree = TreeKind::Optimal { lambda }.build(usize::from(nodes));
        if let Ok(tree) = tree
            && !seen.contains(&tree)
        {
            seen.push(tree);
            found.push(lambda);
        }
    }
    found
}

/// The ways of the figures: multi-sends and ordinary sends, pipelined and not.
pub const WAYS: [Way; 4] = [
    way(true, true),
    way(true, false),
    way(false, true),
    way(false, false),
];

/// A way.
#[must_use]
pub const fn way(multi_send: bool, pipelined: bool) -> Way {
    Way {
        multi_send,
        pipelined,
    }
}

/// Lengths of the messages of a run.
#[must_use]
pub fn sizes(quick: bool) -> &'static [u32] {
    match quick {
        true => &QUICK_SIZES,
        false => &SIZES,
    }
}

/// All points of a run.
#[must_use]
pub fn keys(quick: bool) -> Vec<Key> {
    let mut all = Vec::new();
    for variant in [Variant::Usual, Variant::Combining, Variant::Plain] {
        all.extend(PACKETS.map(|bytes| Key::star(variant, 2, false, bytes)));
        if variant != Variant::Plain {
            all.extend(PACKETS.map(|bytes| Key::star(variant, 16, true, bytes)));
        }
        if variant == Variant::Usual {
            all.extend([true, false].map(|multi| Key::star(variant, 7, multi, 1536)));
        }
    }
    for &bytes in sizes(quick) {
        for nodes in NODES {
            all.extend([true, false].map(|multi| Key::star(Variant::Usual, nodes, multi, bytes)));
            all.push(Key::binomial(nodes, bytes));
            for way in WAYS {
                // A quick run has ordinary sends along the same trees for the shortest and the longest message only.
                if quick && !way.multi_send && ![8, 32, LONG].contains(&bytes) {
                    continue;
                }
                let of = |lambda| Key::optimal(nodes, lambda, way, bytes);
                all.extend(lambdas(nodes).into_iter().map(of));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
