//! TCP as the thesis's baseline: Linux on two hosts with its own driver, and NetPIPE's ping-pong and stream between them
//! (docs/linux.md).

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::scenario::{MEASUREMENT, measured};
use serde_json::Value;

use super::Setup;

/// Buffer of a socket in each direction (emp-063), in bytes.
const BUFFER_BYTES: u32 = 65_536;
/// Repeats of each length.
const REPEATS: u32 = 50;
/// The longest message of the ping-pong, in bytes.
const LONGEST_PING: u32 = 16_384;
/// Lengths of the stream's messages, in bytes.
const STREAM: [u32; 2] = [16_384, 131_072];

/// Latencies and bandwidths of TCP.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tcp {
    /// Half a round trip by message length, in us.
    pub latencies: BTreeMap<u32, f64>,
    /// Bandwidth of a stream by message length, in Mb/s.
    pub bandwidths: BTreeMap<u32, f64>,
}

impl Tcp {
    /// The highest bandwidth.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        self.bandwidths.values().copied().reduce(f64::max)
    }
}

/// Name of these measurements in rows, with or without time of the hosts' processors.
#[must_use]
pub const fn name(processor: bool) -> &'static str {
    match processor {
        true => "tcp",
        false => "tcp, processor without time",
    }
}

/// Measures on a pair of hosts; whether their processors' work takes time.
///
/// # Errors
/// If a guest fails.
pub fn measure(setup: &Setup, processor: bool) -> Result<Tcp, Error> {
    let text = scenario(&setup.profile, processor);
    let document = measured(MEASUREMENT, &text, setup.max_time, &setup.interrupt)?;
    let lines = lines(&document);
    let mut words = lines.splitn(2, |line| line.contains(STREAMS));
    let mut found = || {
        let part = words.next().unwrap_or_default();
        part.iter().filter_map(|line| point(line))
    };
    Ok(Tcp {
        latencies: found().collect(),
        bandwidths: found()
            .map(|(bytes, us)| (bytes, f64::from(bytes) * 8.0 / us))
            .collect(),
    })
}

/// First words of NetPIPE when it streams.
const STREAMS: &str = "Streaming in one direction";

fn scenario(profile: &Profile, processor: bool) -> String {
    let mut text = String::from(
        "protocol = \"acenic\"\nhost_memory_mb = 64\n[network]\ntopology = \"pair\"\n[costs]\n",
    );
    for (name, entry) in &profile.entries {
        // A string takes everything.
        let _ = writeln!(text, "{name:?} = {:?}", entry.value);
    }
    for node in 0..2_u32 {
        let script = script(node);
        let _ = write!(
            text,
            "[[program]]\nrun = \"linux\"\nnodes = [{node}]\nprocessor = {processor}\nscript = '''\n{script}'''\n"
        );
    }
    text
}

fn script(node: u32) -> String {
    let (address, to) = match node {
        0 => ("10.0.0.1", ""),
        _ => ("10.0.0.2", "-h 10.0.0.1"),
    };
    let [first, last] = STREAM;
    let usual = format!("-b {BUFFER_BYTES} -n {REPEATS} -p 0 {to}");
    format!(
        "set -e\nip addr add {address}/24 dev eth0\nip link set eth0 up\nsleep {}\n\
         NPtcp -l 1 -u {LONGEST_PING} {usual}\nsleep {}\n\
         NPtcp -s -l {first} -u {last} {usual}\nsleep 1\n",
        // The one that connects comes later, when the link is negotiated and the other one listens.
        node,
        node,
    )
}

/// The lines of the host that measures.
fn lines(document: &Value) -> Vec<String> {
    let programs = document["guests"].as_array().into_iter().flatten();
    let guests = programs.flat_map(|program| program["guests"].as_array().into_iter().flatten());
    let lines = guests.filter(|guest| guest["node"] == 1);
    let lines = lines.flat_map(|guest| guest["console"].as_array().into_iter().flatten());
    lines
        .filter_map(|line| line["text"].as_str().map(str::to_owned))
        .collect()
}

/// Length and time in us of a line such as `  4:       6 bytes     50 times -->      0.28 Mbps in     166.25 usec`.
fn point(line: &str) -> Option<(u32, f64)> {
    let (head, time) = line.split_once(" Mbps in ")?;
    let bytes = head.split(" bytes ").next()?.split(':').nth(1)?;
    let us = time.trim().strip_suffix("usec")?;
    Some((bytes.trim().parse().ok()?, us.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_netpipe_are_understood() {
        let line = "  4:       6 bytes     50 times -->      0.28 Mbps in     166.25 usec";
        assert_eq!(point(line), Some((6, 166.25)));
        assert_eq!(point("Now starting the main loop"), None);
    }

    #[test]
    fn the_scenario_is_one() {
        let profile = lanigon_worlds::profile::built_in("tigon2-88mhz").unwrap();
        let parsed = lanigon_workloads::parse("tcp", &scenario(&profile, true));
        // Without the kernel of guests that is its only fault.
        if let Err(error) = parsed {
            assert!(error.to_string().contains("make linux"), "{error}");
        }
    }
}
