//! Records of host programs as bytes, for the other ranks of a run.

use emulator::sim::ranks::{RankError, Ranks};
use emulator::state::{Reader, StateError, Value, Writer};
use emulator::{value_enum, value_struct};

use crate::programs::content::Flow;
use crate::programs::deliveries::{
    Deliveries, FrameLife, LifeRecords, ReceivedEntry, Sending, SentEntry,
};
use crate::simulation::Lives;
use crate::workload::ReadRecords;

value_struct!(Flow {
    from: from,
    to: to,
    tag: tag,
    life: life
});
value_enum!(Sending { Pending {}, Done {}, Failed {} });
value_struct!(SentEntry {
    posted_ps: posted_ps,
    length: length,
    end: end
});
value_struct!(ReceivedEntry {
    sequence: sequence,
    number: number,
    time_ps: time_ps,
    length: length,
    intact: intact
});
value_struct!(FrameLife {
    opened_ps: opened_ps,
    is_cut: is_cut,
    strangers: strangers
});
/// Records of a program; those of a workload's own type are read by its job.
fn write(records: &LifeRecords, out: &mut Writer) {
    let LifeRecords {
        sent,
        got,
        own,
        received,
        failed_receives,
        failures,
        sending_over,
        operations_left,
        receiving_over,
        frames,
        ends_run,
        problem,
    } = records;
    sent.write(out);
    got.write(out);
    own.is_some().write(out);
    if let Some(own) = own {
        own.write(out);
    }
    received.write(out);
    failed_receives.write(out);
    failures.write(out);
    sending_over.write(out);
    operations_left.write(out);
    receiving_over.write(out);
    frames.write(out);
    ends_run.write(out);
    problem.write(out);
}

fn read(from: &mut Reader<'_>, own: Option<ReadRecords>) -> Result<LifeRecords, StateError> {
    Ok(LifeRecords {
        sent: Value::read(from)?,
        got: Value::read(from)?,
        own: match (bool::read(from)?, own) {
            (false, _) => None,
            (true, Some(own)) => Some(own(from)?),
            (true, None) => return Err(StateError::Value("records of a workload")),
        },
        received: Value::read(from)?,
        failed_receives: Value::read(from)?,
        failures: Value::read(from)?,
        sending_over: Value::read(from)?,
        operations_left: Value::read(from)?,
        receiving_over: Value::read(from)?,
        frames: Value::read(from)?,
        ends_run: Value::read(from)?,
        problem: Value::read(from)?,
    })
}

/// Brings the records of the programs of all nodes to all ranks.
pub(super) fn exchange(lives: &[Lives], ranks: &mut Ranks) -> Result<(), RankError> {
    let mut out = Writer::default();
    for (_, lives) in lives
        .iter()
        .enumerate()
        .filter(|(node, _)| ranks.owns(*node))
    {
        let all = lives.all();
        all.len().write(&mut out);
        for (began_ps, deliveries) in all {
            began_ps.write(&mut out);
            write(&deliveries.records(), &mut out);
        }
    }
    let owners: Vec<usize> = (0..lives.len()).map(|node| ranks.owner(node)).collect();
    let me = ranks.rank();
    let messages = ranks.exchange(&out.into_bytes())?;
    let mut readers: Vec<_> = messages.iter().map(|bytes| Reader::new(bytes)).collect();
    for (lives, rank) in lives.iter().zip(owners).filter(|(_, owner)| *owner != me) {
        let read = read_all(&mut readers[rank], lives.read_records());
        let read = read.map_err(|error| RankError::Unreadable { rank, error })?;
        lives.set(read.into_iter());
    }
    Ok(())
}

/// The start times and records of a node's incarnations.
fn read_all(
    from: &mut Reader<'_>,
    own: Option<ReadRecords>,
) -> Result<Vec<(u64, Deliveries)>, StateError> {
    let count = usize::read(from)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let began_ps = u64::read(from)?;
        all.push((began_ps, Deliveries::from(read(from, own)?)));
    }
    Ok(all)
}
