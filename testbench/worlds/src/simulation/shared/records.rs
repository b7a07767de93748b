//! Records of host programs as bytes, for the other ranks of a run.

use emulator::sim::ranks::{RankError, Ranks};
use emulator::state::{Reader, StateError, Value, Writer};
use emulator::{value_enum, value_struct};
use host_lib::dsm;
use host_lib::gm::atomic::Operation;

use crate::programs::atomic::linear::Operated;
use crate::programs::atomic::{AtomicRecords, Executed, Use};
use crate::programs::content::Flow;
use crate::programs::deliveries::{Deliveries, FrameLife, Got, Records, Round, Sending, Sent};
use crate::programs::mpi::{Measured, Report, Skewed, TimeUse};
use crate::simulation::Lives;

value_struct!(Flow {
    from: from,
    to: to,
    tag: tag,
    life: life
});
value_enum!(Sending { Pending {}, Done {}, Failed {} });
value_struct!(Sent {
    posted_ps: posted_ps,
    length: length,
    end: end
});
value_struct!(Got {
    sequence: sequence,
    number: number,
    time_ps: time_ps,
    length: length,
    intact: intact
});
value_struct!(Round {
    process: process,
    began_ps: began_ps,
    ended_ps: ended_ps
});
value_struct!(FrameLife {
    opened_ps: opened_ps,
    is_cut: is_cut
});
value_struct!(Use {
    acquired_ps: acquired_ps,
    released_ps: released_ps
});
value_struct!(Executed {
    home: home,
    word: word,
    operated: operated
});
value_struct!(AtomicRecords {
    executed: executed,
    uses: uses,
    iterations: iterations
});
value_struct!(Skewed {
    total_us: total_us,
    handler_us: handler_us,
    handlers: handlers
});
value_struct!(Measured {
    size: size,
    value: value,
    skewed: skewed
});
value_struct!(TimeUse {
    compute_us: compute_us,
    handlers_us: handlers_us,
    waiting_us: waiting_us,
    copies_us: copies_us,
    library_us: library_us,
    signals: signals
});
value_struct!(Report {
    measured: measured,
    times: times
});

/// An operation as its number, operand and compared value.
impl Value for Operated {
    fn write(&self, out: &mut Writer) {
        let operation = match self.operation {
            Operation::FetchAdd(value) => (0_u8, value, 0),
            Operation::FetchWrite(value) => (1, value, 0),
            Operation::CompareSwap { expected, new } => (2, new, expected),
        };
        (operation, self.began_ps, self.end).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let ((kind, value, expected), began_ps, end) = Value::read(from)?;
        let operation = match kind {
            0_u8 => Operation::FetchAdd(value),
            1 => Operation::FetchWrite(value),
            2 => Operation::CompareSwap {
                expected,
                new: value,
            },
            _ => return Err(StateError::Value("an operation")),
        };
        Ok(Self {
            operation,
            began_ps,
            end,
        })
    }
}

/// What a node has done in a shared memory, in the order of the report's fields.
struct Shared(dsm::Report);

impl Value for Shared {
    fn write(&self, out: &mut Writer) {
        let report = &self.0;
        let times = [
            report.page_ps,
            report.handler_ps,
            report.lock_ps,
            report.barrier_ps,
            report.compute_ps,
            report.fault_ps,
            report.total_ps,
        ];
        let counts = [
            report.read_faults,
            report.write_faults,
            report.fetches,
            report.repeats,
            report.handled,
            report.diffs,
            report.diff_bytes,
            report.invalidations,
            report.locks,
            report.barriers,
        ];
        let races = report.races.iter();
        let races: Vec<_> = races
            .map(|race| (race.page, race.word, race.ranks))
            .collect();
        (times, counts, races).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (times, counts, races): ([u64; 7], [u64; 10], Vec<_>) = Value::read(from)?;
        let [
            page_ps,
            handler_ps,
            lock_ps,
            barrier_ps,
            compute_ps,
            fault_ps,
            total_ps,
        ] = times;
        let [
            read_faults,
            write_faults,
            fetches,
            repeats,
            handled,
            diffs,
            diff_bytes,
            invalidations,
            locks,
            barriers,
        ] = counts;
        let races = races.into_iter();
        let races = races.map(|(page, word, ranks)| dsm::Race { page, word, ranks });
        Ok(Self(dsm::Report {
            page_ps,
            handler_ps,
            lock_ps,
            barrier_ps,
            compute_ps,
            fault_ps,
            total_ps,
            read_faults,
            write_faults,
            fetches,
            repeats,
            handled,
            diffs,
            diff_bytes,
            invalidations,
            locks,
            barriers,
            races: races.collect(),
        }))
    }
}

impl Value for Records {
    fn write(&self, out: &mut Writer) {
        let Self {
            sent,
            got,
            rounds,
            calls_ps,
            atomic,
            report,
            shared,
            received,
            failed_receives,
            failures,
            sending_over,
            operations_left,
            receiving_over,
            frames,
            problem,
        } = self;
        sent.write(out);
        got.write(out);
        rounds.write(out);
        calls_ps.write(out);
        atomic.write(out);
        report.write(out);
        shared.clone().map(Shared).write(out);
        received.write(out);
        failed_receives.write(out);
        failures.write(out);
        sending_over.write(out);
        operations_left.write(out);
        receiving_over.write(out);
        frames.write(out);
        problem.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self {
            sent: Value::read(from)?,
            got: Value::read(from)?,
            rounds: Value::read(from)?,
            calls_ps: Value::read(from)?,
            atomic: Value::read(from)?,
            report: Value::read(from)?,
            shared: Option::<Shared>::read(from)?.map(|shared| shared.0),
            received: Value::read(from)?,
            failed_receives: Value::read(from)?,
            failures: Value::read(from)?,
            sending_over: Value::read(from)?,
            operations_left: Value::read(from)?,
            receiving_over: Value::read(from)?,
            frames: Value::read(from)?,
            problem: Value::read(from)?,
        })
    }
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
            deliveries.records().write(&mut out);
        }
    }
    let owners: Vec<usize> = (0..lives.len()).map(|node| ranks.owner(node)).collect();
    let me = ranks.rank();
    let messages = ranks.exchange(&out.into_bytes())?;
    let mut readers: Vec<_> = messages.iter().map(|bytes| Reader::new(bytes)).collect();
    for (lives, rank) in lives.iter().zip(owners).filter(|(_, owner)| *owner != me) {
        let read = Vec::<(u64, Records)>::read(&mut readers[rank]);
        let read = read.map_err(|error| RankError::Unreadable { rank, error })?;
        let all = read.into_iter();
        lives.set(all.map(|(began_ps, records)| (began_ps, Deliveries::from(records))));
    }
    Ok(())
}
