//! NetPIPE's ping-pong and stream over sockets: over TCP, the thesis's baseline, between two hosts that run Linux with its own driver (docs/linux.md);
//! and over EMP, with the same program of this machine as a process of each host (docs/sockets.md).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use emulator::profile::Profile;
use lanigon_experiments::Error;
use lanigon_experiments::scenario::{MEASUREMENT, measured, run_to_end};
use lanigon_processes::{Output, prepare};
use lanigon_workloads::linux;
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

/// Network below the sockets of NetPIPE's hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// Linux's TCP; the work of the hosts' processors takes time.
    Tcp,
    /// Linux's TCP; the work of the hosts' processors takes no time.
    TcpWithoutTime,
    /// EMP.
    Emp,
}

impl Stack {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::TcpWithoutTime, Self::Emp];

    /// Name of these measurements in rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpWithoutTime => "tcp, processor without time",
            Self::Emp => "sockets over emp",
        }
    }

    /// Measures between a pair of hosts.
    ///
    /// # Errors
    /// If a guest or a process fails.
    pub fn measure(self, setup: &Setup) -> Result<NetPipe, Error> {
        match self {
            Self::Emp => over_emp(setup),
            Self::Tcp | Self::TcpWithoutTime => over_tcp(setup, self == Self::Tcp),
        }
    }
}

/// Latencies and bandwidths that NetPIPE tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetPipe {
    /// Half a round trip by message length, in us.
    pub latencies: BTreeMap<u32, f64>,
    /// Bandwidth of a stream by message length, in Mb/s.
    pub bandwidths: BTreeMap<u32, f64>,
}

impl NetPipe {
    /// The highest bandwidth.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        self.bandwidths.values().copied().reduce(f64::max)
    }

    /// Results of the lines of a ping-pong and of a stream.
    fn read<'a>(
        ping: impl IntoIterator<Item = &'a str>,
        stream: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let rate = |(bytes, us)| (bytes, f64::from(bytes) * 8.0 / us);
        Self {
            latencies: ping.into_iter().filter_map(point).collect(),
            bandwidths: stream.into_iter().filter_map(point).map(rate).collect(),
        }
    }
}

fn over_tcp(setup: &Setup, processor: bool) -> Result<NetPipe, Error> {
    let text = scenario(&setup.profile, processor);
    let document = measured(MEASUREMENT, &text, setup.max_time, &setup.interrupt)?;
    let lines = lines(&document);
    let streams = lines.iter().position(|line| line.contains(STREAMS));
    let (ping, stream) = lines.split_at(streams.unwrap_or(lines.len()));
    let (ping, stream) = (ping.iter(), stream.iter());
    Ok(NetPipe::read(
        ping.map(String::as_str),
        stream.map(String::as_str),
    ))
}

/// The program is that of the guests, and runs on this machine.
fn over_emp(setup: &Setup) -> Result<NetPipe, Error> {
    let [first, last] = STREAM;
    let ping = output_over_emp(setup, &format!("-l 1 -u {LONGEST_PING}"))?;
    let stream = output_over_emp(setup, &format!("-s -l {first} -u {last}"))?;
    Ok(NetPipe::read(ping.lines(), stream.lines()))
}

/// Output of the host that measures.
fn output_over_emp(setup: &Setup, options: &str) -> Result<String, Error> {
    let folder = tempfile::tempdir().map_err(unwritten)?;
    let program = linux::program("bin/NPtcp");
    let mut text = head("emp", &setup.profile);
    for (node, to) in [(0, ""), (1, " -h node0")] {
        let command = format!(
            "exec '{}' {options} -b {BUFFER_BYTES} -n {REPEATS} -p 0{to} >{node} 2>&1",
            program.display()
        );
        let _ = write!(
            text,
            "[[program]]\nrun = \"process\"\nnodes = {node}\ncommand = [\"sh\", \"-c\", {command:?}]\n"
        );
    }
    let mut scenario = lanigon_workloads::parse(MEASUREMENT, &text)?;
    folder.path().clone_into(&mut scenario.folder);
    let interrupt = || Arc::clone(&setup.interrupt);
    prepare(&mut scenario, interrupt, Output::Aside)?;
    run_to_end(&scenario, setup.max_time, &setup.interrupt)?;
    fs::read_to_string(folder.path().join("1")).map_err(unwritten)
}

fn unwritten(error: std::io::Error) -> Error {
    Error::Request(format!("files of NetPIPE: {error}"))
}

/// First words of NetPIPE when it streams.
const STREAMS: &str = "Streaming in one direction";

/// A pair of hosts with the entries of a profile.
fn head(protocol: &str, profile: &Profile) -> String {
    let mut text = format!("protocol = \"{protocol}\"\n[network]\ntopology = \"pair\"\n[costs]\n");
    for (name, entry) in &profile.entries {
        // A string takes everything.
        let _ = writeln!(text, "{name:?} = {:?}", entry.value);
    }
    text
}

fn scenario(profile: &Profile, processor: bool) -> String {
    let mut text = String::from("host_memory_mb = 64\n") + &head("acenic", profile);
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
