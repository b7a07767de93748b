//! A model of release consistency: which values a read may give.
//!
//! Events happen before others by the order of a node's program, from a release of a lock to its next acquire, and from all nodes' arrivals
//! at a barrier to all their departures. A read may give a write that does not happen after it, unless a further write of the word lies
//! between both.

/// Something that a node has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A word gave a value.
    Read { word: usize, value: u32 },
    /// A word got a value, which no other write has.
    Write { word: usize, value: u32 },
    /// The node has a lock.
    Acquired(u32),
    /// The node gives a lock back.
    Releases(u32),
    /// The node comes to a barrier.
    Arrives,
    /// The node leaves it.
    Departs,
}

/// For each node how many of its releases and barriers are known.
type Clock = Vec<u32>;

#[derive(Debug, Clone)]
struct Write {
    value: u32,
    node: usize,
    clock: Clock,
}

impl Write {
    /// Whether the write happens before what a node does at `clock`.
    fn is_before(&self, node: usize, clock: &Clock) -> bool {
        self.node == node || clock[self.node] >= self.clock[self.node]
    }
}

/// State of the model.
struct Model {
    clocks: Vec<Clock>,
    words: Vec<Vec<Write>>,
    /// Knowledge of each lock's last holder, and the node that has the lock.
    locks: Vec<(Clock, Option<usize>)>,
    /// Knowledge of the nodes that have arrived at each barrier, and their number.
    barriers: Vec<(Clock, usize)>,
    /// Barriers to which each node has come.
    arrivals: Vec<usize>,
}

fn join(own: &mut Clock, other: &Clock) {
    for (own, other) in own.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

/// Checks the events of all nodes, each with its time and node, in the order of their times.
pub fn check(
    nodes: usize,
    words: usize,
    locks: usize,
    events: &[(u64, usize, Event)],
) -> Result<(), String> {
    let start = |node: usize| {
        let mut clock = vec![0; nodes];
        clock[node] = 1;
        clock
    };
    let mut model = Model {
        clocks: (0..nodes).map(start).collect(),
        words: vec![Vec::new(); words],
        locks: vec![(vec![0; nodes], None); locks],
        barriers: Vec::new(),
        arrivals: vec![0; nodes],
    };
    for &(time, node, event) in events {
        let done = model.take(node, event);
        done.map_err(|error| format!("{time} ps, node {node}, {event:?}: {error}"))?;
    }
    Ok(())
}

impl Model {
    fn take(&mut self, node: usize, event: Event) -> Result<(), String> {
        match event {
            Event::Read { word, value } => return self.read(node, word, value),
            Event::Write { word, value } => {
                let clock = self.clocks[node].clone();
                let write = Write { value, node, clock };
                // What another write hides from everyone is not needed any more.
                self.words[word].push(write);
            }
            Event::Acquired(lock) => {
                let (known, holder) = &mut self.locks[lock as usize];
                if let Some(other) = holder.replace(node) {
                    return Err(format!("node {other} has the lock"));
                }
                join(&mut self.clocks[node], known);
            }
            Event::Releases(lock) => {
                let (known, holder) = &mut self.locks[lock as usize];
                if holder.take() != Some(node) {
                    return Err("it does not have the lock".into());
                }
                join(known, &self.clocks[node]);
                self.clocks[node][node] += 1;
            }
            Event::Arrives => {
                let nodes = self.clocks.len();
                let barrier = self.arrivals[node];
                self.arrivals[node] += 1;
                if barrier == self.barriers.len() {
                    self.barriers.push((vec![0; nodes], 0));
                }
                let (known, arrived) = &mut self.barriers[barrier];
                join(known, &self.clocks[node]);
                *arrived += 1;
                self.clocks[node][node] += 1;
            }
            Event::Departs => {
                let barrier = self.arrivals[node].checked_sub(1);
                let barrier = barrier.ok_or("it has not arrived")?;
                let (known, arrived) = &self.barriers[barrier];
                if *arrived < self.clocks.len() {
                    return Err("not all nodes have arrived".into());
                }
                join(&mut self.clocks[node], known);
            }
        }
        Ok(())
    }

    fn read(&self, node: usize, word: usize, value: u32) -> Result<(), String> {
        let clock = &self.clocks[node];
        let before: Vec<_> = self.words[word]
            .iter()
            .filter(|write| write.is_before(node, clock))
            .collect();
        if value == 0 {
            return match before.last() {
                Some(write) => Err(format!("{:#x} was written before", write.value)),
                None => Ok(()),
            };
        }
        let given = self.words[word]
            .iter()
            .position(|write| write.value == value);
        let given = given.ok_or("a value that was never written")?;
        let write = &self.words[word][given];
        let later = &self.words[word][given + 1..];
        let hides = |other: &&Write| {
            other.is_before(node, clock) && write.is_before(other.node, &other.clock)
        };
        match later.iter().find(hides) {
            Some(other) => Err(format!("{:#x} was written in between", other.value)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Event::{Acquired, Arrives, Departs, Read, Releases, Write};
    use super::{Event, check};

    /// Two nodes, two words, one lock.
    fn verdict(events: &[(usize, Event)]) -> Result<(), String> {
        let timed = (0..)
            .zip(events)
            .map(|(time, (node, event))| (time, *node, *event));
        check(2, 2, 1, &timed.collect::<Vec<_>>())
    }

    const fn write(value: u32) -> Event {
        Write { word: 0, value }
    }

    const fn read(value: u32) -> Event {
        Read { word: 0, value }
    }

    #[test]
    fn right_histories() {
        let right: [&[(usize, Event)]; 6] = [
            // The second arrival of node 0 is not known behind the first barrier.
            &[
                (0, Arrives),
                (1, write(1)),
                (1, Arrives),
                (0, Departs),
                (0, write(2)),
                (0, Arrives),
                (1, Departs),
                (1, read(1)),
            ],
            &[(0, write(1)), (0, read(1)), (1, read(0)), (1, read(1))],
            &[
                (0, Acquired(0)),
                (0, write(1)),
                (0, Releases(0)),
                (1, Acquired(0)),
                (1, read(1)),
            ],
            &[
                (0, write(1)),
                (1, write(2)),
                (0, Arrives),
                (1, Arrives),
                (0, Departs),
                (0, read(2)),
                (1, Departs),
                (1, read(1)),
            ],
            &[
                (0, write(1)),
                (0, Arrives),
                (1, Arrives),
                (1, Departs),
                (1, write(2)),
                (0, Departs),
                (0, read(1)),
                (0, read(2)),
            ],
            &[
                (0, write(1)),
                (1, Acquired(0)),
                (1, read(0)),
                (1, Releases(0)),
            ],
        ];
        for history in right {
            assert_eq!(verdict(history), Ok(()), "{history:?}");
        }
    }

    #[test]
    fn wrong_histories() {
        let wrong: [(&[(usize, Event)], &str); 6] = [
            (&[(0, write(1)), (0, read(0))], "was written before"),
            (&[(0, read(7))], "never written"),
            (&[(0, write(1)), (0, write(2)), (0, read(1))], "in between"),
            (&[(0, Acquired(0)), (1, Acquired(0))], "node 0 has the lock"),
            (&[(0, Arrives), (0, Departs)], "not all nodes"),
            (
                &[
                    (0, Acquired(0)),
                    (0, write(1)),
                    (0, Releases(0)),
                    (1, Acquired(0)),
                    (1, read(0)),
                ],
                "was written before",
            ),
        ];
        for (history, expected) in wrong {
            let error = verdict(history).unwrap_err();
            assert!(error.contains(expected), "{history:?}: {error}");
        }
    }
}
