//! The ledger of one quiet message (docs/ledger.md), with its receive posted in advance.

use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;
use host_lib::emp::{Emp, Source, Tag};
use host_lib::window::System;
use lanigon_analysis::ledger::{Activities, Ledger};
use lanigon_analysis::messages::{Message, Messages};

use super::{Error, Setup, completed};
use lanigon_worlds::emp::{buffer, text};
use lanigon_worlds::end::RunError;
use lanigon_worlds::wire_times::FrameTimes;

/// The followed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// Ledger of the message.
    pub ledger: Ledger,
    /// The duration of each of its DMA transfers.
    pub dma: Vec<SimTime>,
}

/// Follows one message of `size` bytes. `None` when it was not delivered.
///
/// # Errors
/// Whatever keeps the exchange from completing.
pub fn follow(setup: &Setup, size: u32) -> Result<Option<Quiet>, Error> {
    let mut pair = setup.pair()?;
    let times = FrameTimes::from_profile(&setup.profile)?;
    let seen = Messages::new(&setup.profile.host);
    pair.world.observe(Box::new(seen.clone()));
    let sender = pair.spawn(0, "sender", move |emp| send(emp, size));
    let receiver = pair.spawn(1, "receiver", move |emp| receive(emp, size));
    let end = pair.world.run(&RunLimits {
        interrupt: Some(setup.interrupt.clone()),
        ..RunLimits::default()
    });
    for (program, outcome) in [("sender", sender), ("receiver", receiver)] {
        if let Some(Err(message)) = outcome.take() {
            return Err(RunError::Program { program, message }.into());
        }
    }
    completed(end)?;
    pair.world.finish_observing();
    let works = seen.take_works();
    let messages = seen.take();
    let ledgers = Activities::new(&times, &messages, works).ledgers(&messages);
    let Some(ledger) = ledgers.into_iter().max_by_key(|ledger| ledger.id.number) else {
        return Ok(None);
    };
    let message = messages.iter().find(|message| message.id == ledger.id);
    let dma = message.map(dma_spans).unwrap_or_default();
    Ok(Some(Quiet { ledger, dma }))
}

/// The durations of a message's transfers.
fn dma_spans(message: &Message) -> Vec<SimTime> {
    let transfers = message.data_frames().flat_map(|frame| {
        let writes = frame.arrivals.iter().flat_map(|arrival| &arrival.writes);
        frame.reads.iter().chain(writes)
    });
    transfers
        .filter_map(|dma| Some(dma.to?.saturating_sub(dma.from)))
        .collect()
}

/// Messages that are sent; the last one is followed. The first one makes the nodes known to each other.
const MESSAGES: u32 = 2;
/// Between messages everything comes to rest.
const SETTLE_NS: u64 = 200_000;

async fn send(mut emp: Emp, size: u32) -> Result<(), String> {
    let out = buffer(&mut emp, size)?;
    for _ in 0..MESSAGES {
        emp.system_mut().compute(SETTLE_NS).await;
        let transmit = emp.post_transmit(1, 1, out).await.map_err(text)?;
        emp.wait(transmit).await.map_err(text)?;
    }
    Ok(())
}

async fn receive(mut emp: Emp, size: u32) -> Result<(), String> {
    let space = buffer(&mut emp, size)?;
    for _ in 0..MESSAGES {
        let receive = emp
            .post_receive(Source::Node(0), Tag::Value(1), space)
            .await
            .map_err(text)?;
        emp.wait(receive).await.map_err(text)?;
    }
    Ok(())
}
