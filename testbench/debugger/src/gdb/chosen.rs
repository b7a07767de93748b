//! The thread that gdb has selected for resuming (`Hc`), decoded from the packets.
//!
//! gdb steps back without naming a thread, unless its `scheduler-locking` is on: it selects thread 0, any
//! thread. The protocol library then takes the first thread without reporting it. The correct one is the
//! thread that stopped last.

use emulator::board::CpuId;

/// The selection, and the packet being received.
#[derive(Debug, Default)]
pub(super) struct GdbSelection {
    packet: Option<String>,
    cpu: Option<CpuId>,
}

/// Longest prefix of a packet that is needed.
const LONGEST: usize = 16;

impl GdbSelection {
    /// Processes a received byte.
    pub fn byte(&mut self, byte: u8) {
        match (byte, &mut self.packet) {
            (b'$', _) => self.packet = Some(String::new()),
            (b'#', packet) => {
                if let Some(thread) = packet
                    .take()
                    .as_deref()
                    .and_then(|text| text.strip_prefix("Hc"))
                {
                    self.cpu = cpu(thread);
                }
            }
            (byte, Some(packet)) if packet.len() < LONGEST => packet.push(char::from(byte)),
            _ => {}
        }
    }

    /// The CPU, if gdb has named one.
    pub const fn cpu(&self) -> Option<CpuId> {
        self.cpu
    }
}

/// CPU of a thread id: `2`, `p1.2`.
fn cpu(thread: &str) -> Option<CpuId> {
    match thread.rsplit('.').next()?.trim_start_matches('0') {
        "1" => Some(CpuId::new(0)),
        "2" => Some(CpuId::new(1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices() {
        let mut chosen = GdbSelection::default();
        let mut check = |bytes: &str, expected| {
            bytes.bytes().for_each(|byte| chosen.byte(byte));
            assert_eq!(chosen.cpu().map(CpuId::index), expected, "{bytes}");
        };
        check("+$Hc2#dd", Some(1));
        check("$Hg1#e0$m1,4#00", Some(1));
        check("$Hc0#db", None);
        check("$Hcp1.01#00", Some(0));
        check("$Hc-1#09", None);
        check("$Hc", None);
        check("2#dd", Some(1));
    }
}
