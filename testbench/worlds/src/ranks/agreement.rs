//! Ranks that a transport joins before they know each other: rank 0 compares the others with itself, as it does when ranks meet over TCP.

use emulator::sim::ranks::{MESSAGE_BYTES, RankError, Transport};

use super::{Identity, MeetingError, bytes_of, value_of};

/// Longest reason that travels; the rest of a message is far shorter than [`MESSAGE_BYTES`].
const REASON_CHARS: usize = 2000;
const _: () = assert!(4 * REASON_CHARS < MESSAGE_BYTES / 2);

/// Inputs of the run that a rank has prepared, or the reason for which it cannot run.
type Prepared = Result<Identity, String>;
type Agreement = Result<(), String>;

fn short(reason: &str) -> String {
    reason.chars().take(REASON_CHARS).collect()
}

/// Tells all ranks whether all are to run the same. `prepared`: what this rank is to run, or why it cannot. Every rank must call it, and gets
/// the same result.
///
/// # Errors
/// [`MeetingError::Refused`] if a rank cannot run, or is to run something else than rank 0; other errors if a rank is gone or foreign.
pub fn agree(
    transport: &mut dyn Transport,
    prepared: Result<&Identity, String>,
) -> Result<(), MeetingError> {
    let ranks = transport.ranks();
    if transport.rank() > 0 {
        let prepared = prepared.cloned().map_err(|reason| short(&reason));
        transport.send(0, &bytes_of(&prepared))?;
        let answer: Agreement = value_of(&receive(transport, 0)?).map_err(|_| foreign(0))?;
        return answer.map_err(MeetingError::Refused);
    }
    let mut result = prepared.map_err(MeetingError::Refused);
    // All are heard, so that none waits for this rank to take its message.
    for rank in 1..ranks {
        let theirs = receive(transport, rank)?;
        result = result.and_then(|own| compare(own, rank, &theirs).map(|()| own));
    }
    let answer: Agreement = match &result {
        Ok(_) => Ok(()),
        Err(error) => Err(short(&error.to_string())),
    };
    for rank in 1..ranks {
        transport.send(rank, &bytes_of(&answer))?;
    }
    result.map(|_| ())
}

fn compare(own: &Identity, rank: usize, theirs: &[u8]) -> Result<(), MeetingError> {
    let theirs: Prepared = value_of(theirs).map_err(|_| foreign(rank))?;
    let theirs =
        theirs.map_err(|reason| MeetingError::Refused(format!("rank {rank}: {reason}")))?;
    own.compare(rank, &theirs).map_err(MeetingError::Refused)
}

fn receive(transport: &mut dyn Transport, rank: usize) -> Result<Vec<u8>, RankError> {
    let mut message = Vec::new();
    transport.receive(rank, &mut message)?;
    Ok(message)
}

fn foreign(rank: usize) -> MeetingError {
    MeetingError::Foreign {
        who: format!("rank {rank}"),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use emulator::sim::ranks::channels;

    use super::*;

    /// Result of each of these ranks.
    fn results<const N: usize>(prepared: [Result<&str, &str>; N]) -> Vec<String> {
        let threads = channels(N).into_iter().zip(prepared);
        let threads = threads.map(|(mut transport, seed)| {
            let own = seed.map(|seed| Identity::default().with("seed", seed));
            let own = own.map_err(str::to_owned);
            thread::spawn(move || {
                let result = agree(&mut transport, own.as_ref().map_err(Clone::clone));
                result.map_or_else(|error| error.to_string(), |()| "agreed".into())
            })
        });
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results.map(|result| result.expect("no panic")).collect()
    }

    #[test]
    fn all_ranks_hear_the_same() {
        assert_eq!(results([Ok("1")]), ["agreed"]);
        assert_eq!(results([Err("no file")]), ["no file"]);
        assert_eq!(results([Ok("1"); 3]), ["agreed"; 3]);
        let expected = "rank 2 has another seed than rank 0: 2, and rank 0 has 1";
        assert_eq!(results([Ok("1"), Ok("1"), Ok("2")]), [expected; 3]);
        let failed = [Ok("1"), Err("no file"), Ok("2")];
        assert_eq!(results(failed), ["rank 1: no file"; 3]);
        assert_eq!(results([Err("no file"), Err("none")]), ["no file"; 2]);
        let long = "x".repeat(2 * MESSAGE_BYTES);
        let heard = results([Err(&long), Ok("1")]);
        assert_eq!(heard, [long.clone(), short(&long)]);
    }

    #[test]
    fn another_program_is_foreign() {
        let [mut first, mut second] = channels(2).try_into().expect("two ranks");
        second.send(0, b"something else").expect("rank 0 is there");
        let error = agree(&mut first, Ok(&Identity::default())).unwrap_err();
        let expected = "rank 1 is no rank of this version of lanigon";
        assert_eq!(error.to_string(), expected);
    }
}
