//! gdb's `monitor` command: the language of the console.

use emulator::board::CpuId;
use std::sync::atomic::Ordering;

use emulator::debug::DebugError;
use gdbstub::outputln;
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd};

use super::target::Cpus;
use crate::busy::BusyLine;
use crate::debug::Focus;
use crate::debug::command::{SessionFlow, execute};

/// Shown when gdb's registers are out of date.
const MOVED: &str = "gdb does not know of this yet: say `maintenance flush register-cache`, or go on and it stops at once.";

impl MonitorCmd for Cpus {
    fn handle_monitor_cmd(
        &mut self,
        line: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), DebugError> {
        let line = String::from_utf8_lossy(line);
        self.session.focus = Focus {
            node: self.node,
            cpu: self.cpu,
        };
        let stands = |cpus: &Self| {
            let board = cpus.board();
            let ids = (0..board.cpus().len()).map(CpuId::new);
            let stand = |cpu| {
                (
                    board.cpu(cpu).map(|view| view.pc),
                    board.registers(cpu).to_vec(),
                )
            };
            (cpus.now(), ids.map(stand).collect::<Vec<_>>())
        };
        let before = stands(self);
        let mut text = String::new();
        // Clear an earlier interrupt.
        let interrupt = self.session.interrupt.flag();
        interrupt.store(false, Ordering::Relaxed);
        let busy = BusyLine::moving(self.session.history.reached());
        match execute(&mut self.session, &line, &mut text) {
            Ok(SessionFlow::Next) => {}
            Ok(SessionFlow::Quit) => {
                text.push_str("say `detach` to leave, or `kill` to end the run\n")
            }
            Err(error) => text.push_str(&format!("{error:#}\n")),
        }
        if interrupt.load(Ordering::Relaxed) {
            self.session.come_to_rest()?;
        }
        drop(busy);
        outputln!(out, "{}", text.trim_end());
        if stands(self) != before {
            self.news.moved = true;
            self.news.waiting.clear();
            outputln!(out, "{MOVED}");
        }
        Ok(())
    }
}
