//! Probes of firmware and logs of instructions: they show, and change nothing.

use std::sync::{Arc, Mutex};

use defs::probe::Kind;
use emulator::board::{CpuId, Inspect, ProbeTable};
use emulator::image::Probe;
use emulator::observe::event::TraceEvent;
use emulator::observe::stream::Observer;

use crate::bench::{Bench, PROFILES};

/// A loop with work, and marks: each mark has an instruction of its own.
const SOURCE: &str = "
    mov 0, %r8
again:
    nop
    add %r8, 1, %r8
    st %r8, 0x500[%r0]
    nop
    sub.f %r8, 20, %r0
    bne again
    nop
    nop
    nop
end:
    bt end
    nop
    nop";

/// Texts of events.
#[derive(Default, Clone)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Observer for Lines {
    fn event(&mut self, event: &TraceEvent) {
        self.0.lock().unwrap().push(event.to_string());
    }
}

fn probes() -> ProbeTable {
    let probe = |address, kind, text: &str, registers: &[u8]| Probe {
        address,
        kind,
        text: text.into(),
        registers: registers.to_vec(),
    };
    ProbeTable::new(vec![
        probe(4, Kind::StageEnter, "counting", &[]),
        probe(16, Kind::StageExit, "counting", &[]),
        probe(16, Kind::Event, "counted", &[8]),
        probe(16, Kind::Log, "r8 is {}", &[8]),
    ])
}

#[test]
fn probes_show_stages_values_and_lines() {
    for profile in PROFILES {
        let mut bench = Bench::new(profile);
        bench.load(SOURCE);
        bench.board().set_probes(probes());
        let lines = Lines::default();
        bench.world.observe(Box::new(lines.clone()));
        let control = bench.control();
        bench.write(control, 1 << 31);
        bench.run_us(50);
        assert_eq!(bench.word(0x500), 20, "{profile}");
        let board = bench.board();
        assert_eq!(board.stages().len(), 1);
        let total = board.stage_total(CpuId::new(0), 0);
        // Two instructions are within the stage: its marks are skipped.
        assert_eq!((total.visits, total.cycles), (20, 40), "{profile}");
        let lines = lines.0.lock().unwrap();
        let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert_eq!(count("counted"), 20, "{profile}: {lines:?}");
        assert_eq!(count("r8 is 20"), 1, "{profile}: {lines:?}");
        assert_eq!(count(" counting"), 40, "{profile}: {lines:?}");
    }
}
