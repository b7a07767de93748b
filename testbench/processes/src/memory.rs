//! Memory of a process that others access without it.
//!
//! The host of the process carries an operation out when its message has come. The process itself stands meanwhile: it polls, or sleeps. So an operation
//! is atomic for it and for all others.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use lanigon_requests::{Access, Operation, Region, Segment};

/// Numbers of errors of an operation, as Linux has them.
const DENIED: u64 = 13;
const NO_MEMORY: u64 = 14;

/// Memory of a process, as far as it is offered.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    file: Option<File>,
    regions: BTreeMap<u64, Region>,
}

impl Memory {
    /// Offers a region of a process, or offers it no more.
    ///
    /// # Errors
    /// If the process does not let this one access its memory.
    pub(crate) fn set(
        &mut self,
        process: Option<u32>,
        key: u64,
        region: Option<Region>,
    ) -> io::Result<()> {
        let Some(region) = region else {
            self.regions.remove(&key);
            return Ok(());
        };
        if let (None, Some(process)) = (&self.file, process) {
            let path = format!("/proc/{process}/mem");
            match File::options().read(true).write(true).open(path) {
                Ok(file) => self.file = Some(file),
                // The process has ended: the next read of its socket tells.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.regions.insert(key, region);
        Ok(())
    }

    /// Address of a segment.
    fn locate(&self, segment: &Segment) -> Result<u64, u64> {
        let region = self.regions.get(&segment.key).ok_or(DENIED)?;
        let end = segment.offset.checked_add(segment.bytes);
        let is_inside = end.is_some_and(|end| end <= region.bytes);
        let address = region.address.checked_add(segment.offset);
        address.filter(|_| is_inside).ok_or(DENIED)
    }

    /// Carries out an operation; what it has read, or the number of an error. An operation with a segment that is not offered changes nothing.
    pub(crate) fn carry_out(&self, operation: &Operation) -> Result<Vec<u8>, u64> {
        let segments = operation.segments.iter();
        let places = segments.map(|segment| Ok((self.locate(segment)?, segment.bytes as usize)));
        let places: Vec<(u64, usize)> = places.collect::<Result<_, u64>>()?;
        let file = self.file.as_ref().ok_or(DENIED)?;
        let read = || {
            let mut bytes = vec![0; operation.length()];
            let mut rest = &mut bytes[..];
            for (address, length) in &places {
                let (now, later) = rest.split_at_mut(*length);
                file.read_exact_at(now, *address).map_err(|_| NO_MEMORY)?;
                rest = later;
            }
            Ok(bytes)
        };
        let write = |bytes: &[u8]| {
            let mut rest = bytes;
            for (address, length) in &places {
                let (now, later) = rest.split_at(*length);
                file.write_all_at(now, *address).map_err(|_| NO_MEMORY)?;
                rest = later;
            }
            Ok(())
        };
        match operation.access {
            Access::Read => read(),
            Access::Write => write(&operation.operands).map(|()| Vec::new()),
            Access::Compute { atomic, fetch } => {
                let old = read()?;
                let mut new = old.clone();
                atomic.apply(&mut new, &operation.operands);
                if new != old {
                    write(&new)?;
                }
                Ok(if fetch { old } else { Vec::new() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lanigon_requests::{Atomic, Function, Number};

    use super::*;

    /// The test's own process: its memory is accessed as another one's is.
    #[test]
    fn offered_memory_is_accessed_and_no_other() {
        let bytes: Box<[u8]> = Box::new([1, 2, 3, 4]);
        let mut memory = Memory::default();
        let region = Region {
            address: bytes.as_ptr() as u64,
            bytes: 4,
        };
        let own = Some(std::process::id());
        memory.set(own, 7, Some(region)).expect("own memory");
        let segment = |key, offset, bytes| Segment { key, offset, bytes };
        let carry_out = |memory: &Memory, access, segments: &[Segment], operands: &[u8]| {
            memory.carry_out(&Operation {
                access,
                segments: segments.to_vec(),
                operands: operands.to_vec(),
            })
        };
        let two = [segment(7, 3, 1), segment(7, 0, 1)];
        assert_eq!(carry_out(&memory, Access::Read, &two, &[]), Ok(vec![4, 1]));
        let atomic = Atomic {
            function: Function::Sum,
            number: Number::U8,
        };
        let compute = Access::Compute {
            atomic,
            fetch: true,
        };
        assert_eq!(carry_out(&memory, compute, &two, &[5, 6]), Ok(vec![4, 1]));
        assert_eq!(carry_out(&memory, Access::Read, &two, &[]), Ok(vec![9, 7]));
        for outside in [segment(7, 3, 2), segment(7, u64::MAX, 1), segment(8, 0, 1)] {
            let all = [two[0], outside];
            let operands = vec![0; 1 + outside.bytes as usize];
            let denied = carry_out(&memory, Access::Write, &all, &operands);
            assert_eq!(denied, Err(DENIED));
        }
        assert_eq!(carry_out(&memory, Access::Read, &two, &[]), Ok(vec![9, 7]));
        memory.set(own, 7, None).expect("no region");
        assert!(carry_out(&memory, Access::Read, &two, &[]).is_err());
        drop(bytes);
    }
}
