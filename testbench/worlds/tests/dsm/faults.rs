//! Races, requests that are refused, nodes that die.

use super::*;

#[test]
fn races_are_reported() {
    if !built() {
        return;
    }
    for protocol in [Protocol::Async, Protocol::Ardmar] {
        let settings = Settings {
            find_races: true,
            ..Settings::new(protocol, 4)
        };
        let ends = run(3, settings, 0.0, 1, |mut memory: Memory| async move {
            let words = memory.allocate::<u32>(64)?;
            let rank = memory.rank();
            // Word 5: nodes 1 and 2 without a lock. Word 9: all nodes with a lock. Other words: one node each.
            memory.set(words, 20 + rank, 1).await?;
            if rank > 0 {
                memory.set(words, 5, rank as u32).await?;
            }
            memory.acquire(0).await?;
            let sum = memory.get(words, 9).await?;
            memory.set(words, 9, sum + 1).await?;
            memory.release(0).await?;
            memory.barrier().await?;
            let sum = memory.get(words, 9).await?;
            Ok((sum, memory.finish().await?))
        });
        let (mut sums, mut races) = (Vec::new(), Vec::new());
        for end in ends {
            let (sum, report) = end.unwrap();
            sums.push(sum);
            races.extend(report.races);
        }
        assert_eq!(sums, [3, 3, 3]);
        let found: Vec<_> = races
            .iter()
            .map(|race| (race.page, race.word, race.ranks))
            .collect();
        // The lock may have ordered them by chance: then there is no race.
        assert!(
            found.iter().all(|race| *race == (0, 5, (1, 2))),
            "{found:?}"
        );
        assert_eq!(found.len(), 1, "{protocol:?}");
    }
}

#[test]
fn wrong_uses_are_refused() {
    if !built() {
        return;
    }
    let settings = Settings::new(Protocol::Async, 2);
    let ends = run(2, settings, 0.0, 1, |mut memory: Memory| async move {
        let mut errors = Vec::new();
        let words = memory.allocate::<u32>(1025)?;
        errors.extend(memory.allocate::<u32>(1).err());
        errors.extend(memory.get(words, 1025).await.err());
        let backwards = std::ops::Range { start: 3, end: 2 };
        errors.extend(memory.read(words, backwards).await.err());
        errors.extend(memory.write(words, 1024, &[1, 2]).await.err());
        errors.extend(memory.write(words, usize::MAX, &[1]).await.err());
        errors.extend(memory.acquire(64).await.err());
        errors.extend(memory.release(1).await.err());
        memory.acquire(1).await?;
        errors.extend(memory.acquire(1).await.err());
        memory.release(1).await?;
        memory.finish().await?;
        Ok(errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    for end in ends {
        assert_eq!(
            end.unwrap(),
            [
                "1 more pages are needed, 0 are left",
                "elements 1025 to 1026 of a region of 1025",
                "elements 3 to 2 of a region of 1025",
                "elements 1024 to 1026 of a region of 1025",
                "elements 18446744073709551615 to 18446744073709551615 of a region of 1025",
                "there is no lock 64: the memory has 64",
                "lock 1 is not held by this node",
                "lock 1 is held by this node already",
            ]
        );
    }
}

#[test]
fn impossible_memories_are_refused() {
    if !built() {
        return;
    }
    let usual = Settings::new(Protocol::Async, 4);
    let cases = [
        (
            Settings {
                page_bytes: 100,
                ..usual
            },
            "a page of 100 bytes",
        ),
        (
            Settings {
                diffs: Diffs::Put,
                ..usual
            },
            "diffs by put need the protocol ardmar",
        ),
        (
            Settings { parts: 4, ..usual },
            "pages in parts need the protocol ardmar",
        ),
        (Settings { parts: 3, ..usual }, "3 parts of a page"),
        (
            Settings {
                parts: 4,
                page_bytes: 64,
                ..Settings::new(Protocol::Ardmar, 4)
            },
            "4 parts of a page",
        ),
        (
            Settings {
                early_fetches: 17,
                ..usual
            },
            "17 early fetches at a time are more than 16",
        ),
        // 128 MB do not fit into the page table of the board.
        (
            Settings::new(Protocol::Ardmar, 32_768),
            "no place for the page",
        ),
        (
            Settings::new(Protocol::Ardmar, 4_000_000),
            "no contiguous memory",
        ),
    ];
    for (settings, expected) in cases {
        let ends = run(2, settings, 0.0, 1, |memory: Memory| async move {
            memory.finish().await.map(drop)
        });
        for end in ends {
            let error = end.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn a_node_that_dies_ends_the_others() {
    if !built() {
        return;
    }
    for barriers_by in [Barriers::Handler, Barriers::Nic] {
        let settings = Settings {
            patience_ns: 10_000_000,
            barriers_by,
            ..Settings::new(Protocol::Ardmar, 8)
        };
        let ends = run(4, settings, 0.0, 1, |memory: Memory| async move {
            let mut memory = memory;
            let words = memory.allocate::<u32>(8192)?;
            if memory.rank() == 2 {
                memory.set(words, 3000, 1).await?;
                memory.leave().await?;
                return Ok(());
            }
            memory.compute(1_000_000).await?;
            memory
                .get(words, 3000 * usize::from(memory.rank() == 1))
                .await?;
            memory.barrier().await
        });
        for (node, end) in ends.into_iter().enumerate() {
            match node {
                2 => assert_eq!(end, Ok(())),
                _ => assert!(
                    matches!(end, Err(DsmError::NodeGone { .. })),
                    "{node}: {end:?}"
                ),
            }
        }
    }
}
