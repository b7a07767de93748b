//! Check of a received message against the bytes that its sender must have sent.

use host_lib::window::{SystemPort, VirtualAddress};

use super::content::{self, Flow, LABEL_BYTES};
use super::deliveries::{LifeRecords, ReceivedEntry};

/// Identity of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Node of the program.
    pub node: u16,
    /// Number of earlier incarnations.
    pub life: u16,
    /// Seed of the scenario.
    pub seed: u64,
}

/// A received message, as its protocol reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedMessage {
    /// First byte.
    pub address: VirtualAddress,
    /// Reported length in bytes.
    pub length: u32,
    /// Bytes of memory at the address.
    pub room: u32,
    /// The sender.
    pub from: u16,
    /// The tag; 0 in a protocol without tags.
    pub tag: u16,
}

impl Identity {
    /// Checks a message that this program has as bytes and records it.
    pub fn record_bytes(
        &self,
        now_ps: u64,
        from: u16,
        tag: u16,
        bytes: &[u8],
        records: &mut LifeRecords,
    ) {
        let label = &bytes[..bytes.len().min(LABEL_BYTES as usize)];
        let flow = Flow {
            from,
            to: self.node,
            tag,
            life: content::life(label),
        };
        let expected = records.expected(flow);
        let sequence = content::sequence(label, expected);
        let length = bytes.len() as u32;
        let intact = content::bytes(self.seed, flow, sequence, length) == bytes;
        let got = ReceivedEntry {
            sequence: if intact { sequence } else { expected },
            number: content::number(label),
            time_ps: now_ps,
            length,
            intact,
        };
        records.receive(flow, got);
    }

    /// Checks a message that this program received and records it.
    ///
    /// # Errors
    /// If the program has no memory at the message's address.
    pub fn record(
        &self,
        system: &dyn SystemPort,
        arrival: ReportedMessage,
        records: &mut LifeRecords,
    ) -> Result<(), String> {
        let ReportedMessage {
            address,
            length,
            room,
            ..
        } = arrival;
        let nothing = |at: VirtualAddress| format!("no memory at {:#x}", at.0);
        let mut label = [0; LABEL_BYTES as usize];
        let bytes = &mut label[..length.min(room).min(LABEL_BYTES) as usize];
        system.read_memory(address, bytes).map_err(nothing)?;
        let flow = Flow {
            from: arrival.from,
            to: self.node,
            tag: arrival.tag,
            life: content::life(bytes),
        };
        let expected = records.expected(flow);
        let sequence = content::sequence(bytes, expected);
        let intact = length <= room && {
            let sent = content::bytes(self.seed, flow, sequence, length);
            system.memory_is(address, &sent).map_err(nothing)?
        };
        let got = ReceivedEntry {
            // A damaged label is useless: take the message for the next one.
            sequence: if intact { sequence } else { expected },
            number: content::number(bytes),
            time_ps: system.now_ps(),
            length,
            intact,
        };
        records.receive(flow, got);
        Ok(())
    }
}
