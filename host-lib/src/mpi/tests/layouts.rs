//! Layouts, persistent requests, prefixes and blocks of different lengths, against what one program computes.

use cases::cases;
use proptest::prelude::*;

use super::{EAGER_BYTES, check};
use crate::mpi::{Datatype, Layout, LayoutError, Located, MpiError, Operation};

/// A random layout, and the elements that it consists of, one by one.
fn layouts() -> impl Strategy<Value = (Layout, Vec<usize>)> {
    let contiguous =
        (0usize..20).prop_map(|count| (Layout::contiguous(count), (0..count).collect()));
    let vector = (0usize..6, 0usize..5, 0usize..9).prop_map(|(count, length, stride)| {
        let elements = (0..count).flat_map(|at| (0..length).map(move |one| at * stride + one));
        let layout = Layout::vector(count, length, stride).expect("short");
        (layout, elements.collect())
    });
    let indexed = prop::collection::vec((0usize..30, 0usize..6), 0..6).prop_map(|blocks| {
        let elements = blocks
            .iter()
            .flat_map(|(first, length)| *first..first + length);
        let layout = Layout::indexed(&blocks).expect("short");
        (layout, elements.collect())
    });
    let subarray =
        prop::collection::vec((1usize..5, any::<[u8; 2]>()), 1..4).prop_map(|dimensions| {
            let sizes: Vec<usize> = dimensions.iter().map(|(size, _)| *size).collect();
            let starts: Vec<usize> = dimensions
                .iter()
                .map(|(size, [start, _])| usize::from(*start) % (size + 1))
                .collect();
            let parts: Vec<usize> = dimensions
                .iter()
                .zip(&starts)
                .map(|((size, [_, part]), start)| usize::from(*part) % (size - start + 1))
                .collect();
            let mut elements = vec![0];
            for (dimension, size) in sizes.iter().enumerate() {
                let range = starts[dimension]..starts[dimension] + parts[dimension];
                let mut inside = Vec::new();
                for at in elements {
                    inside.extend(range.clone().map(|one| at * size + one));
                }
                elements = inside;
            }
            let layout = Layout::subarray(&sizes, &parts, &starts).expect("inside");
            (layout, elements)
        });
    let leaf = prop_oneof![contiguous, vector, indexed, subarray];
    (leaf, 0usize..4, 0usize..40, 0usize..8).prop_map(
        |((layout, elements), count, stride, offset)| {
            let repeated = layout.repeated(count, stride).expect("short");
            let layout = repeated.shifted(offset).expect("short");
            let elements = (0..count).flat_map(|number| {
                let further = move |at: &usize| at + number * stride + offset;
                elements.iter().map(further).collect::<Vec<_>>()
            });
            let elements: Vec<usize> = elements.collect();
            (layout, elements)
        },
    )
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn layouts_name_the_elements_that_their_definition_names((layout, elements) in layouts()) {
        let span = elements.iter().map(|at| at + 1).max().unwrap_or(0);
        prop_assert_eq!((layout.len(), layout.span()), (elements.len(), span));
        let array: Vec<u32> = (0..span as u32 + 3).collect();
        let values = layout.pack(&array).expect("long enough");
        let wanted: Vec<u32> = elements.iter().map(|at| *at as u32).collect();
        prop_assert_eq!(&values, &wanted);
        let mut sorted = elements.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let mut target = vec![u32::MAX; array.len()];
        match layout.unpack(&values, &mut target) {
            Ok(()) => {
                prop_assert_eq!(sorted.len(), elements.len());
                for (at, value) in target.iter().enumerate() {
                    let inside = sorted.binary_search(&at).is_ok();
                    prop_assert_eq!(*value, if inside { at as u32 } else { u32::MAX });
                }
            }
            Err(error) => {
                prop_assert!(matches!(error, LayoutError::Twice(_)));
                prop_assert!(sorted.len() < elements.len());
            }
        }
        if span > 0 {
            let short = LayoutError::Short { elements: span - 1, span };
            prop_assert_eq!(layout.pack(&array[..span - 1]), Err(short));
        }
    }

    #[test]
    fn a_matrix_is_turned_with_columns_as_messages(
        size in 1usize..6,
        width in 1usize..5,
        seed in any::<u64>(),
    ) {
        // Rank r has columns r * width and following of a square matrix, and wants these rows.
        let side = size * width;
        let turned = check(size, seed, async |mut mpi| {
            let world = mpi.world();
            let own = world.rank();
            let value = |row: usize, column: usize| (row * side + column) as u64;
            let mine: Vec<u64> = (0..side)
                .flat_map(|row| (0..width).map(move |one| value(row, own * width + one)))
                .collect();
            let mut rows = vec![0u64; width * side];
            for other in 0..size {
                // A block of `mine`, which goes into columns of the other rank's rows.
                let block = Layout::subarray(&[side, width], &[width, width], &[other * width, 0])?;
                mpi.send_layout(&world, other, 3, (&mine, &block)).await?;
            }
            for other in 0..size {
                let part = Layout::subarray(&[width, side], &[width, width], &[0, other * width])?;
                let status = mpi.receive_layout(&world, other, 3, (&mut rows, &part)).await?;
                assert_eq!(status.count::<u64>(), Some(width * width));
            }
            Ok((mpi, rows))
        });
        let all: Vec<u64> = turned.concat();
        let wanted: Vec<u64> = (0..(side * side) as u64).collect();
        prop_assert_eq!(all, wanted);
    }

    #[test]
    fn persistent_requests_are_started_again_and_again(
        size in 2usize..6,
        rounds in 1u64..6,
        elements in prop_oneof![0usize..4, Just(EAGER_BYTES)],
        synchronous in any::<bool>(),
        seed in any::<u64>(),
    ) {
        check(size, seed, async |mut mpi| {
            let world = mpi.world();
            let own = world.rank();
            let (next, before) = ((own + 1) % size, (own + size - 1) % size);
            let mut send = mpi.send_init(&world, next, 5, vec![0u64; elements])?;
            if synchronous {
                send = send.synchronous();
            }
            let receive = mpi.receive_init::<u64>(&world, before, 5, elements)?;
            for round in 0..rounds {
                send.data.fill(round * 100 + own as u64);
                let incoming = mpi.start_receive(&receive).await?;
                let sent = mpi.start_send(&send).await?;
                let (values, status) = mpi.wait(incoming).await?;
                assert_eq!(values, vec![round * 100 + before as u64; elements]);
                assert_eq!((status.source, status.tag), (before, 5));
                mpi.wait(sent).await?;
            }
            Ok((mpi, ()))
        });
    }

    #[test]
    fn prefixes_and_blocks_are_what_one_program_computes(
        size in 1usize..12,
        root in 0usize..12,
        count in 0usize..4,
        seed in any::<u64>(),
    ) {
        let root = root % size;
        check(size, seed, async |mut mpi| {
            let world = mpi.world();
            let own = world.rank();
            let value = |rank: usize, at: usize| (rank * rank * 7 + at * 3) as u64;
            let data: Vec<u64> = (0..count).map(|at| value(own, at)).collect();
            let sum = |ranks: usize| -> Vec<u64> {
                (0..count).map(|at| (0..ranks).map(|rank| value(rank, at)).sum()).collect()
            };
            assert_eq!(mpi.scan(&world, Operation::Sum, &data).await?, sum(own + 1));
            let before = mpi.exclusive_scan(&world, Operation::Sum, &data).await?;
            assert_eq!(before, (own > 0).then(|| sum(own)));
            let blocks: Vec<u64> = (0..size * count).map(|at| value(own, at)).collect();
            let mine = mpi.reduce_scatter(&world, Operation::Sum, &blocks).await?;
            let wanted = (own * count..(own + 1) * count).map(|at| (0..size).map(|rank| value(rank, at)).sum());
            assert_eq!(mine, wanted.collect::<Vec<u64>>());
            // Ranks have blocks of different lengths, some of which are long messages.
            let block = |from: usize, to: usize| vec![(from * 16 + to) as u8; from * EAGER_BYTES / 4 + to];
            let gathered = mpi.gather_varying(&world, root, &block(own, 0)).await?;
            let all: Vec<Vec<u8>> = (0..size).map(|from| block(from, 0)).collect();
            assert_eq!(gathered, (own == root).then(|| all.clone()));
            assert_eq!(mpi.all_gather_varying(&world, &block(own, 0)).await?, all);
            assert_eq!(mpi.scatter_varying(&world, root, gathered.as_deref()).await?, block(own, 0));
            let out: Vec<Vec<u8>> = (0..size).map(|to| block(own, to)).collect();
            let wanted: Vec<Vec<u8>> = (0..size).map(|from| block(from, own)).collect();
            assert_eq!(mpi.all_to_all_varying(&world, &out).await?, wanted);
            Ok((mpi, ()))
        });
    }

    #[test]
    fn elements_of_several_values_keep_them(values in prop::collection::vec(any::<[i32; 3]>(), 0..5), place in any::<u64>()) {
        let mut bytes = Vec::new();
        for value in &values {
            value.append_to(&mut bytes);
        }
        let read: Vec<_> = bytes.chunks_exact(12).map(<[i32; 3]>::from_bytes).collect();
        prop_assert_eq!(read, values.iter().copied().map(Some).collect::<Vec<_>>());
        let located = Located { value: 1.5f32, place };
        let mut bytes = Vec::new();
        located.append_to(&mut bytes);
        prop_assert_eq!(Located::<f32>::from_bytes(&bytes), Some(located));
        prop_assert_eq!(Located::<f32>::from_bytes(&bytes[1..]), None);
    }
}

#[test]
fn the_smallest_value_is_found_with_its_place() {
    let results = check(5, 3, async |mut mpi| {
        let world = mpi.world();
        let own = Located {
            value: [4.0f64, 1.0, 7.0, 1.0, 7.0][world.rank()],
            place: world.rank() as u64,
        };
        let least = mpi.all_reduce(&world, Operation::Min, &[own]).await?;
        let largest = mpi.all_reduce(&world, Operation::Max, &[own]).await?;
        let sum = mpi.all_reduce(&world, Operation::Sum, &[own]).await;
        assert_eq!(sum, Err(MpiError::Operation(Operation::Sum)));
        Ok((mpi, (least[0].place, largest[0].place)))
    });
    assert_eq!(results, [(1, 2); 5]);
}

#[test]
fn a_refused_collective_call_counts_for_none() {
    let results = check(3, 4, async |mut mpi| {
        let world = mpi.world();
        if world.rank() == 1 {
            let refused = [
                mpi.broadcast(&world, 3, &mut [0u8]).await,
                mpi.reduce(&world, 9, Operation::Sum, &[1u8])
                    .await
                    .map(|_| ()),
                mpi.scan(&world, Operation::Xor, &[1.0f32])
                    .await
                    .map(|_| ()),
                mpi.all_to_all(&world, &[1u8; 4]).await.map(|_| ()),
                mpi.scatter_varying::<u8>(&world, 1, Some(&[]))
                    .await
                    .map(|_| ()),
                mpi.reduce_scatter(&world, Operation::Sum, &[1u8])
                    .await
                    .map(|_| ()),
            ];
            for call in refused {
                assert!(call.expect_err("refused").is_refusal());
            }
        }
        let sum = mpi
            .all_reduce(&world, Operation::Sum, &[world.rank() as u64])
            .await?;
        Ok((mpi, sum[0]))
    });
    assert_eq!(results, [3; 3]);
}

#[test]
fn layouts_that_are_not_possible_are_refused() {
    let dimensions = LayoutError::Dimensions {
        sizes: 2,
        parts: 1,
        starts: 2,
    };
    assert_eq!(Layout::subarray(&[2, 2], &[1], &[0, 0]), Err(dimensions));
    let outside = LayoutError::Outside {
        dimension: 1,
        start: 3,
        end: 5,
        size: 4,
    };
    assert_eq!(Layout::subarray(&[4, 4], &[4, 2], &[0, 3]), Err(outside));
    let far = Layout::vector(2, 1, usize::MAX);
    assert_eq!(far, Err(LayoutError::TooLong));
    assert_eq!(
        Layout::indexed(&[(usize::MAX, 1)]),
        Err(LayoutError::TooLong)
    );
    assert_eq!(
        Layout::contiguous(usize::MAX).repeated(3, 0),
        Err(LayoutError::TooLong)
    );
    let values = LayoutError::Values {
        values: 3,
        elements: 2,
    };
    let unpacked = Layout::contiguous(2).unpack(&[1u8, 2, 3], &mut [0; 4]);
    assert_eq!(unpacked, Err(values));
}
