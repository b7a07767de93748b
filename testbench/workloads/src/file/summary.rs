//! Results of a file server: the verdict, times and counts.

use std::collections::BTreeMap;

use lanigon_worlds::workload::{Outcome, grouped};

use super::Settings;
use super::records::{FileRecords, Operations, Sighting};

/// Results of a program, over all its clients.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FileUse {
    /// Name of the program.
    pub program: String,
    /// Executor of the accesses: `host` or `nic`.
    pub on: &'static str,
    /// Number of clients.
    pub clients: usize,
    /// Reads that have ended.
    pub reads: u64,
    /// Writes that have ended.
    pub writes: u64,
    /// Operations of all clients a second, from the first begin to the last end.
    pub per_second: f64,
    /// Mean time of a read, in us.
    pub read_us: f64,
    /// Mean time of a write, in us.
    pub write_us: f64,
    /// Reads that caches have served.
    pub hits: u64,
    /// Reads that began again, since a write went on or came between.
    pub retries: u64,
    /// Attempts to take a lock that another client had.
    pub busy: u64,
    /// Requests that the server's process has served.
    pub served: u64,
    /// Time of the server's process for requests, without waits, for each operation, in us.
    pub server_us: f64,
}

impl FileUse {
    /// The results, and problems: what nodes have seen, data that is not that of its version, versions that are not the numbers of writes.
    #[must_use]
    pub fn from_records(
        program: &str,
        settings: &Settings,
        server: &FileRecords,
        clients: &[FileRecords],
    ) -> (Self, Vec<String>) {
        let sum = |of: fn(&FileRecords) -> u64| clients.iter().map(of).sum::<u64>();
        let (reads, writes) = (sum(|one| one.reads.count), sum(|one| one.writes.count));
        let spans = || clients.iter().filter_map(|one| one.span_ps);
        let begin = spans().map(|span| span.0).min().unwrap_or_default();
        let end = spans().map(|span| span.1).max().unwrap_or_default();
        let seconds = (end - begin) as f64 / 1e12;
        let operations = reads + writes;
        let result = Self {
            program: program.to_owned(),
            on: settings.on.name(),
            clients: clients.len(),
            reads,
            writes,
            per_second: match seconds > 0.0 {
                true => operations as f64 / seconds,
                false => 0.0,
            },
            read_us: mean_us(reads, sum(|one| one.reads.total_ps)),
            write_us: mean_us(writes, sum(|one| one.writes.total_ps)),
            hits: sum(|one| one.hits),
            retries: sum(|one| one.retries),
            busy: sum(|one| one.busy),
            served: server.served,
            server_us: mean_us(operations, server.served_ps),
        };
        let problems = problems(server, clients).into_iter();
        (
            result,
            problems.map(|text| format!("{program}: {text}")).collect(),
        )
    }
}

fn mean_us(count: u64, total_ps: u64) -> f64 {
    let mean = Operations { count, total_ps };
    mean.total_ps as f64 / 1e6 / mean.count.max(1) as f64
}

/// Defects of a run, whose server may not have ended.
fn problems(server: &FileRecords, clients: &[FileRecords]) -> Vec<String> {
    let mut problems = Vec::new();
    let nodes = std::iter::once(server).chain(clients);
    for (count, first) in nodes.map(|one| &one.defects) {
        if *count > 0 {
            problems.push(format!("{first} ({count} such defects of this node)"));
        }
    }
    let mut writes: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for one in clients.iter().flat_map(|client| &client.written) {
        let Sighting {
            region,
            version,
            tag,
        } = *one;
        *counts.entry(region).or_default() += 1;
        if let Some(other) = writes.insert((region, version), tag) {
            problems.push(format!(
                "writes {other:#x} and {tag:#x} both gave region {region} version {version}"
            ));
        }
    }
    if server.file.is_empty() {
        // The run has not ended, and says why.
        return problems;
    }
    let fetched = clients.iter().flat_map(|client| &client.fetched);
    for one in fetched.chain(&server.file) {
        let Sighting {
            region,
            version,
            tag,
        } = *one;
        let expected = match version {
            0 => Some(0),
            _ => writes.get(&(region, version)).copied(),
        };
        if expected != Some(tag) {
            problems.push(format!(
                "region {region} with version {version} had the data of write {tag:#x}, not that of its version"
            ));
        }
    }
    for Sighting {
        region, version, ..
    } in &server.file
    {
        let count = counts.get(region).copied().unwrap_or_default();
        if *version != 2 * count {
            problems.push(format!(
                "region {region} has version {version} at the end, after {count} writes"
            ));
        }
    }
    problems
}

impl Outcome for FileUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let Self {
            program,
            on,
            clients,
            ..
        } = self;
        let first = format!(
            "{program} on {on}, {clients} client{}: {} reads of {:.2} us, {} writes of {:.2} us, {} operations a second",
            if *clients == 1 { "" } else { "s" },
            grouped(self.reads),
            self.read_us,
            grouped(self.writes),
            self.write_us,
            grouped(self.per_second.round() as u64),
        );
        let more = format!(
            "{} reads from caches, {} reads and {} locks again; {:.2} us of the server's processor for each operation",
            grouped(self.hits),
            grouped(self.retries),
            grouped(self.busy),
            self.server_us,
        );
        vec![("file", first), ("", more)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn sighting(version: u32, tag: u32) -> Sighting {
        Sighting {
            region: 0,
            version,
            tag,
        }
    }

    fn client(written: &[Sighting], fetched: &[Sighting]) -> FileRecords {
        FileRecords {
            written: written.to_vec(),
            fetched: fetched.to_vec(),
            ..FileRecords::default()
        }
    }

    fn server(version: u32, tag: u32) -> FileRecords {
        FileRecords {
            file: vec![sighting(version, tag)],
            ..FileRecords::default()
        }
    }

    #[test]
    fn defects_are_found() {
        let one = client(&[sighting(2, 11)], &[sighting(0, 0), sighting(4, 22)]);
        let other = client(&[sighting(4, 22)], &[sighting(2, 11)]);
        let all = [one.clone(), other];
        assert_eq!(problems(&server(4, 22), &all), [""; 0]);
        assert_eq!(
            problems(&server(6, 22), &all),
            [
                "region 0 with version 6 had the data of write 0x16, not that of its version",
                "region 0 has version 6 at the end, after 2 writes"
            ]
        );
        let lost = [one.clone(), client(&[sighting(2, 22)], &[])];
        assert_eq!(
            problems(&server(2, 22), &lost),
            [
                "writes 0xb and 0x16 both gave region 0 version 2",
                "region 0 with version 4 had the data of write 0x16, not that of its version",
                "region 0 has version 2 at the end, after 2 writes"
            ]
        );
        let stale = [one, client(&[sighting(4, 22)], &[sighting(4, 11)])];
        assert_eq!(
            problems(&server(4, 22), &stale),
            ["region 0 with version 4 had the data of write 0xb, not that of its version"]
        );
        let mut torn = client(&[], &[]);
        torn.defect("client 1: torn".to_owned());
        torn.defect("client 1: torn again".to_owned());
        assert_eq!(
            problems(&server(0, 0), &[torn]),
            ["client 1: torn (2 such defects of this node)"]
        );
    }
}
