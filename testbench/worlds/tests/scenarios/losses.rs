//! EMP repairs losses, whatever image, window and size: no message fails, and little time is lost.

use cases::cases;
use lanigon_worlds::simulation::RunOptions;
use proptest::prelude::*;

use super::{good, run};

/// Images, with the board of those that do not run on the chip.
const IMAGES: [&str; 7] = [
    "image = \"emp-base\"",
    "image = \"emp-so\"",
    "image = \"emp-ro\"",
    "image = \"emp-dsr\"",
    "image = \"emp-sr\"",
    "image = \"emp-dyn\"",
    "image = \"emp-dyn-n\"\nboard = \"tigon-n\"",
];
/// The host's timeout, in us. The first loss may cost one: no ack has been timed yet.
const TIMEOUT_US: u64 = 2000;
/// Frames of a run, about.
const FRAMES: u32 = 400;

/// A stream from node 0 to node 1.
#[derive(Debug, Clone)]
struct Case {
    image: &'static str,
    topology: &'static str,
    window: u32,
    bytes: u32,
}

impl Case {
    fn messages(&self) -> u32 {
        (FRAMES / self.bytes.div_ceil(1400).max(1)).max(8)
    }

    /// Runs the stream with faults; returns its time in us.
    fn us(&self, seed: u32, faults: &str) -> u64 {
        let Self {
            image,
            topology,
            window,
            bytes,
        } = self;
        let messages = self.messages();
        let outcome = good(&format!(
            "{image}\nseed = {seed}\n[emp]\ntimeout_us = {TIMEOUT_US}\n\
             [network]\ntopology = \"{topology}\"\nnodes = 2\n\
             [[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n\
             messages = {messages}\nbytes = {bytes}\nwindow = {window}\n{faults}"
        ));
        let verdict = &outcome.verdict;
        assert_eq!(verdict.messages.delivered, u64::from(messages), "{self:?}");
        let failed = (
            verdict.messages.failed_with_status,
            outcome.idle_faults.len(),
        );
        assert_eq!(failed, (0, 0), "{self:?} {faults}");
        (verdict.last_ps.unwrap() - verdict.first_ps.unwrap()) / 1_000_000
    }
}

fn case() -> impl Strategy<Value = Case> {
    let bytes = prop_oneof![100u32..1479, 1479u32..10_000, 10_000u32..65_537];
    let topology = prop::sample::select(vec!["pair", "star"]);
    let image = prop::sample::select(IMAGES.to_vec());
    (image, topology, 0u32..=6, bytes).prop_map(|(image, topology, window, bytes)| Case {
        image,
        topology,
        // Send descriptors limit the window of messages of several pages.
        window: (1u32 << window).min(50),
        bytes,
    })
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn one_lost_frame_costs_at_most_two_timeouts(
        case in case(),
        place in 0u32..1000,
        kind in prop::sample::select(vec!["header", "data", "ack"]),
    ) {
        // A message of one frame has no data frame.
        let kind = if kind == "data" && case.bytes < 1479 { "header" } else { kind };
        let message = place % case.messages();
        let from = u32::from(kind == "ack");
        let fault = format!(
            "[[fault]]\ndo = \"drop\"\nframe = \"{kind}\"\nmessage = {message}\nfrom = {from}\n"
        );
        let (plain, lossy) = (case.us(1, ""), case.us(1, &fault));
        prop_assert!(lossy <= plain + 2 * TIMEOUT_US, "{} us with {}, not {}", lossy, fault, plain);
    }

    #[test]
    fn goodput_remains(case in case(), seed in 0u32..1_000_000, heavy in any::<bool>()) {
        let (loss, least) = if heavy { ("0.05", 20) } else { ("0.005", 60) };
        let faults = format!("[faults]\nloss = {loss}\n");
        let (plain, lossy) = (case.us(seed, ""), case.us(seed, &faults));
        // The first loss, and one at the end, count more in a short run than in a long one.
        let most = plain * 100 / least + 2 * TIMEOUT_US;
        prop_assert!(lossy <= most, "{} us at {}, not {} (seed {})", lossy, loss, plain, seed);
    }
}

/// Messages of three frames from several senders through a port that buffers one frame: each whole group loses
/// a frame there, tries that leave out frames get the others through.
#[test]
fn senders_share_a_buffer_of_one_frame() {
    for senders in [1, 2, 4, 7, 15] {
        let nodes = senders + 1;
        let from: Vec<String> = (1..nodes).map(|node| node.to_string()).collect();
        let outcome = good(&format!(
            "image = \"emp-base\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n\
             switch = {{ buffer_bytes = 2048 }}\n\
             [[program]]\nrun = \"incast\"\nfrom = [{}]\nto = 0\nmessages = 8\nbytes = 4096\n",
            from.join(", ")
        ));
        let delivered = outcome.verdict.messages.delivered;
        assert_eq!(delivered, 8 * senders, "{senders} senders");
    }
}

/// Groups of four and of six frames of whole windows, from 15 senders: a burst through the buffer of one frame loses every other frame.
#[test]
fn senders_with_long_groups_share_a_buffer_of_one_frame() {
    for (image, ack_group) in [("emp-base", 4), ("emp-sr", 8)] {
        let text = format!(
            "image = \"{image}\"\n[network]\ntopology = \"star\"\nnodes = 16\nswitch = {{ buffer_bytes = 2048 }}\n\
             [emp]\nack_group = {ack_group}\n[[program]]\nrun = \"incast\"\n\
             from = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\nto = 0\nmessages = 8\nbytes = 8000\n"
        );
        assert_eq!(good(&text).verdict.messages.delivered, 120, "{image}");
    }
}

/// An indirect message needs a last word of the CPU that transmits. It does not wait behind the frames of the messages that follow it.
#[test]
fn a_loss_costs_a_full_window_little() {
    let rate = |fault: &str| {
        let outcome = good(&format!(
            "image = \"emp-sr\"\n[network]\ntopology = \"pair\"\n[emp]\nack_group = 1\n\
             [[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 80\nbytes = 64304\nwindow = 64\n{fault}"
        ));
        outcome.verdict.megabits_per_s().unwrap()
    };
    let whole = rate("");
    let lossy = rate("[[fault]]\ndo = \"drop\"\nframe = \"data\"\nfragment = 30\nmessage = 3\n");
    assert!(whole > 900.0 && lossy > 0.98 * whole, "{lossy} of {whole}");
}

/// A fault excuses messages that fail from its time on, and not before.
#[test]
fn a_fault_that_comes_too_late_excuses_nothing() {
    let failed = |more: &str| {
        // Senders that try only once lose frames at a full buffer.
        let outcome = run(
            &format!(
                "[emp]\ntimeout_us = 500\nretry_limit = 0\n\
                 [network]\ntopology = \"star\"\nnodes = 5\nswitch = {{ buffer_bytes = 2048 }}\n\
                 [[program]]\nrun = \"incast\"\nfrom = [1, 2, 3, 4]\nto = 0\nmessages = 20\nbytes = 4096\n{more}"
            ),
            &RunOptions::default(),
        );
        assert!(outcome.verdict.messages.failed_with_status > 0, "{more}");
        !outcome.is_good()
    };
    let cut =
        |at_us: u32| format!("[[fault]]\ndo = \"cut\"\nnodes = 0\nat_us = {at_us}\nfor_us = 1\n");
    assert!(failed(""));
    assert!(failed(&cut(5_000_000)));
    assert!(!failed(&cut(0)));
}

/// `lanigon sweep goodput` measures the whole curve.
#[test]
fn one_percent_loss_leaves_most_of_the_goodput() {
    let rate = |loss: f64| {
        let outcome = good(&format!(
            "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\n\
             messages = 150\nbytes = 65536\nwindow = 2\n[faults]\nloss = {loss}"
        ));
        outcome.verdict.megabits_per_s().unwrap()
    };
    let [whole, most, part] = [0.0, 0.01, 0.05].map(rate);
    assert!(whole > 900.0, "{whole}");
    assert!(most > 0.7 * whole && most < whole, "{most} of {whole}");
    assert!(part > 0.25 * whole, "{part} of {whole}");
}
