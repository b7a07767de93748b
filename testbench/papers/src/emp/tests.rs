//! Properties of a plan's worlds.

use std::sync::atomic::AtomicBool;

use lanigon_experiments::execute::measure;
use lanigon_worlds::profile::built_in;

use super::key::{Experiment as Benchmark, Key};
use super::measure::testbed::Testbed;
use super::*;

fn plan() -> EmpPlan {
    let image = images::own_image(Scheme::Base.image(), nodes::EMP_SRAM_BYTES);
    let image = Arc::new(image.unwrap_or_else(|error| panic!("{error}")));
    EmpPlan {
        images: Scheme::ALL
            .into_iter()
            .map(|scheme| (scheme, Arc::clone(&image)))
            .collect(),
        profiles: boards::DEFAULT
            .profiles
            .names()
            .filter_map(|name| built_in(name).ok())
            .collect(),
        tasks: Selection::whole(QUICK_SIZES).tasks,
        no_linux: None,
        gm: EmpPlan::gm_boards().unwrap_or_default(),
        rounds: Rounds::QUICK,
        max_time: None,
        interrupt: Arc::new(AtomicBool::new(false)),
    }
}

/// All worlds use one set of parameters: worlds of a scheme differ in hosts, switch and flow control only,
/// and worlds of different schemes in the firmware only.
#[test]
fn no_experiment_has_parameters_of_its_own() -> Result<(), Error> {
    let plan = plan();
    assert_eq!(plan.profiles.len(), 2);
    for profile in &plan.profiles {
        let calibrated = plan.calibrate(profile)?;
        for task in &plan.tasks {
            let (testbed, flow_control) = task.conditions();
            let setup = plan.setup(&calibrated, task.scheme(), testbed, flow_control)?;
            let setup = setup.unwrap_or_else(|| panic!("{task:?} has no image"));
            for (name, entry) in &setup.profile.entries {
                let host = name.starts_with("host.");
                assert!(host || *entry == profile.entries[name], "{task:?} {name}");
            }
            assert_eq!(setup.profile.stages, profile.stages, "{task:?}");
            assert_eq!(
                setup.profile.host.pio_read, profile.host.pio_read,
                "{task:?}"
            );
            assert_eq!(
                *setup.factors,
                calibrated.schemes[&task.scheme()].factors,
                "{task:?}"
            );
            assert_eq!(setup.rounds, plan.rounds, "{task:?}");
            assert_eq!(
                setup.switch.is_some(),
                testbed == Testbed::Switch700,
                "{task:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn schemes_without_an_image_are_reported() -> Result<(), Error> {
    let mut plan = plan();
    plan.images.retain(|scheme, _| *scheme == Scheme::Base);
    plan.profiles.truncate(1);
    plan.tasks = Scheme::ALL
        .map(|scheme| Task::Point(Key::new(Benchmark::Latency, scheme, SMALL)))
        .into();
    let emp = Emp::for_plan(plan, Selection::whole(QUICK_SIZES))?;
    assert_eq!(emp.keys().len(), 1);
    let (results, _) = measure(&emp, &|_| ())?;
    assert_eq!(results.lacks.missing, Scheme::ALL[1..]);
    assert_eq!(results.profiles[0].points.len(), 1);
    let judged: Vec<_> = emp
        .claims(&results)
        .into_iter()
        .map(|claim| claim.id)
        .collect();
    let published: Vec<_> = published::claims().map(|(id, _)| id).collect();
    assert_eq!(judged, published);
    Ok(())
}

/// The systems with which the thesis compares EMP, and which statements call absent, are so.
#[test]
fn no_scenario_runs_what_is_absent() {
    let network = "[network]\ntopology = \"pair\"\n[[program]]\nrun = ";
    let refused = |name: &str| {
        let text = format!("{network}\"{name}\"\nnodes = \"all\"\n");
        let found = lanigon_workloads::parse("test", &text);
        found
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    for name in ["sockets", "socket"] {
        let why = refused(name);
        let unknown = format!("no program \"{name}\"");
        assert!(
            why.contains(&unknown),
            "{name} exists: mend its text. {why}"
        );
    }
    assert!(!refused("mpi").contains("no program"));
}
