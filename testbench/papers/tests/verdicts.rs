//! Verdicts of a quick run and of a usual one.

use std::collections::BTreeMap;
use std::sync::Arc;

use lanigon_experiments::execute::measure;
use lanigon_experiments::experiment::Experiment;
use lanigon_papers::emp::key::Experiment as Benchmark;
use lanigon_papers::emp::measure::rounds::Rounds;
use lanigon_papers::emp::measure::scheme::Scheme;
use lanigon_papers::emp::{Emp, EmpPlan, LARGE, QUICK_SIZES, Selection, Task};
use lanigon_worlds::profile::built_in;
use lanigon_worlds::{images, nodes};

/// The verdicts of the thesis's claims with so many rounds.
fn verdicts(rounds: Rounds) -> BTreeMap<String, (Option<bool>, String)> {
    let selection = Selection::whole(QUICK_SIZES);
    // What claims are about, but without other systems: these need GM's image, which is not built everywhere.
    let needed = |task: &Task| match task {
        Task::Point(key) => {
            let is_large = [8192, LARGE].contains(&key.size);
            key.experiment == Benchmark::Latency || is_large && !key.experiment.is_other()
        }
        Task::Usage(..) => true,
        Task::Ledger(..) | Task::NetPipe(_) => false,
    };
    let image = |scheme: Scheme| {
        let image = images::own_image(scheme.image(), nodes::EMP_SRAM_BYTES);
        (scheme, Arc::new(image.unwrap()))
    };
    let plan = EmpPlan {
        images: Scheme::ALL.into_iter().map(image).collect(),
        profiles: vec![built_in("emp-thesis").unwrap()],
        no_linux: None,
        gm: None,
        tasks: selection.tasks.iter().copied().filter(needed).collect(),
        rounds,
        max_time: None,
        interrupt: Arc::default(),
    };
    let emp = Emp::for_plan(plan, selection).unwrap();
    let judged = emp.claims(&measure(&emp, &|_| ()).unwrap().0);
    judged
        .into_iter()
        .map(|claim| (claim.id, (claim.holds, claim.evidence)))
        .collect()
}

#[test]
fn more_rounds_turn_no_verdict() {
    let (quick, usual) = (verdicts(Rounds::QUICK), verdicts(Rounds::USUAL));
    for (id, (first, why)) in &quick {
        let (then, then_why) = &usual[id];
        let turned = first.is_some() && then.is_some() && first != then;
        assert!(!turned, "{id}: {why}; with more rounds: {then_why}");
    }
    let decided = |verdicts: &BTreeMap<_, (Option<bool>, String)>| {
        verdicts
            .values()
            .filter(|(holds, _)| holds.is_some())
            .count()
    };
    assert!(decided(&quick) >= 10 && decided(&usual) > decided(&quick));
}
