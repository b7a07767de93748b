//! Checks of results.

use host_lib::gm::collective::{Arithmetic, Group, Value};
use lanigon_worlds::emp::text;

use super::engine::OperationOutcome;
use super::{CollectivePlan, CollectiveWork, ExecutedOn};

/// Whether the values of children are combined in the order of the tree: with vectors on hosts or by hosts. Boards take them as they come.
pub(super) const fn is_ordered(on: ExecutedOn, work: CollectiveWork) -> bool {
    match work {
        CollectiveWork::Reduction {
            vector: Some(vector),
            ..
        } => matches!(on, ExecutedOn::Host) || matches!(vector.arithmetic, Arithmetic::FastTrap),
        _ => false,
    }
}

/// Compares a result with what the program computes itself.
pub(super) fn check(
    plan: &CollectivePlan,
    work: CollectiveWork,
    round: u64,
    result: &OperationOutcome,
) -> Result<(), String> {
    let ranks = 0..plan.members.len();
    match (work, result) {
        (
            CollectiveWork::Reduction {
                root, all: to_all, ..
            },
            OperationOutcome::Values(found),
        ) => {
            let expected = match to_all || plan.rank == root {
                true => Some(expected(plan, work, round)?),
                false => None,
            };
            match *found == expected {
                true => Ok(()),
                false => Err(wrong_values(round, found.as_deref(), expected.as_deref())),
            }
        }
        (CollectiveWork::AllToAll { bytes, .. }, OperationOutcome::Blocks(found)) => {
            let expected: Vec<u8> = ranks
                .flat_map(|rank| plan.block(bytes, rank, round))
                .collect();
            let mut pairs = expected.iter().zip(found);
            match pairs.position(|(expected, found)| expected != found) {
                None if expected.len() == found.len() => Ok(()),
                first => Err(wrong_block(bytes, round, first.unwrap_or(found.len()))),
            }
        }
        (CollectiveWork::Barrier(_), OperationOutcome::None) => Ok(()),
        (work, _) => Err(format!(
            "round {round}: {} gave the result of another operation",
            work.operation()
        )),
    }
}

/// Message about a result that is not the expected one: `None` where a member learns none.
fn wrong_values(round: u64, found: Option<&[Value]>, expected: Option<&[Value]>) -> String {
    match (found, expected) {
        (None, _) => format!("round {round} has no result for this member"),
        (_, None) => format!("round {round} has a result for a member that learns none"),
        (Some(found), Some(expected)) => {
            let mut pairs = (0_usize..).zip(found.iter().zip(expected));
            match pairs.find(|(_, (found, expected))| found != expected) {
                Some((element, (found, expected))) => {
                    format!(
                        "round {round}: element {element} of the result is {found}, not {expected}"
                    )
                }
                None => format!(
                    "round {round}: the result has {} elements, not {}",
                    found.len(),
                    expected.len()
                ),
            }
        }
    }
}

/// Message about blocks of `bytes` whose bytes are wrong from `first` on.
fn wrong_block(bytes: usize, round: u64, first: usize) -> String {
    let (rank, byte) = (first / bytes.max(1), first % bytes.max(1));
    format!(
        "round {round}: the block of rank {rank} is not as its sender gave it, from byte {byte} on"
    )
}

/// The result of a reduction: the values in the order of the ranks, or, where the order matters, along the tree.
fn expected(plan: &CollectivePlan, work: CollectiveWork, round: u64) -> Result<Vec<Value>, String> {
    let CollectiveWork::Reduction {
        operation,
        shape,
        root,
        ..
    } = work
    else {
        return Err("no reduction".into());
    };
    let add = |sum: &mut Vec<Value>, others: &[Value]| {
        for (own, other) in sum.iter_mut().zip(others) {
            *own = operation.apply(*own, *other).map_err(text)?;
        }
        Ok::<_, String>(())
    };
    if !is_ordered(plan.settings.on, work) {
        let mut sum = plan.given(work, 0, round).0;
        for rank in 1..plan.members.len() {
            add(&mut sum, &plan.given(work, rank, round).0)?;
        }
        return Ok(sum);
    }
    // Each rank's parent has joined the tree before it: the last ranks of this list are leaves.
    let mut order = vec![root];
    let mut children = vec![Vec::new(); plan.members.len()];
    let mut at = 0;
    while let Some(&rank) = order.get(at) {
        let group = Group::new(&plan.members, plan.members[rank]).map_err(text)?;
        children[rank] = shape.children(&group, root).map_err(text)?;
        order.extend(&children[rank]);
        at += 1;
    }
    let mut sums = vec![Vec::new(); plan.members.len()];
    for rank in order.into_iter().rev() {
        let mut sum = plan.given(work, rank, round).0;
        for child in &children[rank] {
            let others: &Vec<Value> = &sums[*child];
            add(&mut sum, others)?;
        }
        sums[rank] = sum;
    }
    Ok(std::mem::take(&mut sums[root]))
}
