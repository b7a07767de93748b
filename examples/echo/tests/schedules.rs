//! A search for fault schedules that break the protocol.

use lanigon_kit::{Kit, Schedule, Schedules, Search, Step, us};

/// Runs three requests of node 0 under a schedule. Each must be answered with its own value, or not at all.
fn survives(image: &str, schedule: &Schedule) -> Result<(), String> {
    let mut kit = Kit::pair()
        .firmware(format!("firmware/target/tigon2/release/{image}"))
        .schedule(schedule)
        .build()
        .map_err(|error| error.to_string())?;
    let server = kit.host(1, "server", |mut host| async move {
        echo_host::start(&mut host).await;
        Ok(())
    });
    server.map_err(|error| error.to_string())?;
    let asker = kit.run_host(0, "asker", |mut host| async move {
        echo_host::start(&mut host).await;
        host.wait(us(50)).await;
        for number in 1..=3 {
            host.pause().await;
            match echo_host::echo(&mut host, 1, number, 7 * number).await? {
                Some(value) if value != 7 * number => {
                    return Err(format!("request {number} was answered with {value}").into());
                }
                _ => {}
            }
        }
        Ok(())
    });
    asker.map_err(|error| error.to_string())
}

fn search() -> Search {
    Search::new(Schedules::new(2).frames(6).pauses(3).steps(5))
}

#[test]
fn the_protocol_survives_whatever_happens() {
    search()
        .cases(100)
        .check(|schedule| survives("echo", schedule));
}

#[test]
fn a_careless_protocol_is_found_out() {
    let found = search().find(|schedule| survives("careless", schedule));
    let found = found.expect("a schedule that it does not survive");
    println!("{found}");
    assert!(found.schedule.steps.len() <= 2, "{found}");
    for step in 0..found.schedule.steps.len() {
        let less = found.schedule.without(step);
        assert_eq!(survives("careless", &less), Ok(()), "without step {step}");
    }
}

/// The schedule found by the search, as a test of its own.
#[test]
fn an_answer_that_comes_when_nobody_waits_for_it_any_more() {
    let schedule = Schedule::of([Step::drop(0, 1), Step::delay(0, 0, 206)]);
    assert_eq!(survives("echo", &schedule), Ok(()));
    let error = survives("careless", &schedule).unwrap_err();
    assert!(error.ends_with("request 2 was answered with 7"), "{error}");
}
