//! Profiles as tables and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use emulator::cpu::clock::TICKS_PER_CYCLE;
use serde_json::{Value, json};

use super::flame::core_name;
use super::names;
use super::{CoreProfile, Cores, Costs, Spending};

/// Width of names in a table of 80 columns.
const NAME_WIDTH: usize = 31;
/// Number of functions per CPU in a table.
pub const ROWS: usize = 20;

/// Costs of a function over all callers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionRow {
    /// Name of the function.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Costs without callees.
    pub own: Costs,
    /// Ticks including callees.
    pub total: u64,
}

/// Functions of a CPU, most expensive first.
#[must_use]
pub fn rows(core: &CoreProfile) -> Vec<FunctionRow> {
    let totals = core.tree.totals();
    let mut by_function: BTreeMap<usize, FunctionRow> = BTreeMap::new();
    for (node, total) in core.tree.nodes.iter().zip(totals) {
        let row = by_function.entry(node.function).or_default();
        row.name = core.name(node.function).to_owned();
        row.calls += node.calls;
        row.own += &node.own;
        // Recursive calls are already part of the total.
        if !core.tree.recurs(node) {
            row.total += total;
        }
    }
    let mut rows: Vec<FunctionRow> = by_function.into_values().collect();
    rows.retain(|row| row.total > 0);
    rows.sort_by(|a, b| (b.own.total(), b.total, &a.name).cmp(&(a.own.total(), a.total, &b.name)));
    rows
}

/// Total costs of a CPU's functions.
#[must_use]
pub fn busy(core: &CoreProfile) -> Costs {
    let mut busy = Costs::default();
    for node in &core.tree.nodes {
        busy += &node.own;
    }
    busy
}

fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

const fn cycles(ticks: u64) -> u64 {
    (ticks + TICKS_PER_CYCLE / 2) / TICKS_PER_CYCLE
}

/// Tables in 80 columns, of all or of the most expensive functions.
#[must_use]
pub fn text(cores: &Cores, all: bool) -> String {
    let mut text = String::new();
    for (&(node, _), core) in cores {
        if core.span() > 0 {
            one(&mut text, &core_name(node, core), core, all);
        }
    }
    text
}

fn one(text: &mut String, name: &str, core: &CoreProfile, all: bool) {
    let (span, busy) = (core.span(), busy(core));
    let us = span as f64 * 1e6 / core.ticks_per_second().max(1) as f64;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{name}: {us:.3} us, {} cycles: {:.1} % busy, {:.1} % idle, {:.1} % halted",
        cycles(span),
        share(busy.total(), span),
        share(core.idle.total(), span),
        share(core.halted, span),
    );
    let _ = writeln!(text, "{:>8} {:>8} {:>6}   % of self:", "self", "total", "");
    let _ = writeln!(
        text,
        "{:>8} {:>8} {:>6} {:>3} {:>3} {:>3} {:>3} {:>3} {:>3}  function",
        "cycles", "cycles", "calls", "wrk", "fch", "bus", "mem", "reg", "sem"
    );
    let rows = rows(core);
    let shown = if all {
        rows.len()
    } else {
        ROWS.min(rows.len())
    };
    let full: Vec<_> = rows[..shown].iter().map(|row| row.name.as_str()).collect();
    let names = names::distinct(&full, NAME_WIDTH);
    for (row, name) in rows[..shown].iter().zip(names) {
        line(text, row, &name);
    }
    let mut rest = FunctionRow::default();
    for row in &rows[shown..] {
        rest.calls += row.calls;
        rest.own += &row.own;
        rest.total += row.own.total();
    }
    if shown < rows.len() {
        let name = format!("({} more functions)", rows.len() - shown);
        line(text, &rest, &name);
    }
    let all = FunctionRow {
        calls: rows.iter().map(|row| row.calls).sum(),
        own: busy,
        total: busy.total(),
        ..FunctionRow::default()
    };
    line(text, &all, "all functions");
    text.push('\n');
}

fn line(text: &mut String, row: &FunctionRow, name: &str) {
    let own = row.own.total();
    let _ = write!(
        text,
        "{:>8} {:>8} {:>6}",
        cycles(own),
        cycles(row.total),
        row.calls
    );
    for ticks in row.own.ticks {
        let _ = match ticks {
            0 => write!(text, "   -"),
            _ => write!(text, " {:>3.0}", share(ticks, own)),
        };
    }
    let _ = writeln!(text, "  {name}");
}

fn costs(costs: &Costs) -> Value {
    let ticks = Spending::ALL.iter().zip(costs.ticks);
    let cycles = ticks.map(|(spending, ticks)| (spending.name().to_owned(), exact(ticks)));
    json!({
        "cycles": exact(costs.total()),
        "instructions": costs.instructions,
        "by_cause": cycles.collect::<serde_json::Map<_, _>>(),
    })
}

/// Exact cycles: a tick is 1/1024 of a cycle, which a floating-point number represents exactly.
fn exact(ticks: u64) -> Value {
    match ticks % TICKS_PER_CYCLE {
        0 => (ticks / TICKS_PER_CYCLE).into(),
        _ => (ticks as f64 / TICKS_PER_CYCLE as f64).into(),
    }
}

/// One JSON object per CPU.
#[must_use]
pub fn json(cores: &Cores) -> Value {
    let core = |(&(node, _), core): (&(u16, usize), &CoreProfile)| {
        let functions = rows(core).into_iter().map(|row| {
            json!({
                "name": row.name,
                "calls": row.calls,
                "total_cycles": exact(row.total),
                "self": costs(&row.own),
            })
        });
        json!({
            "node": node,
            "cpu": core.cpu(),
            "cycles": exact(core.span()),
            "busy": costs(&busy(core)),
            "idle": costs(&core.idle),
            "halted_cycles": exact(core.halted),
            "functions": functions.collect::<Vec<_>>(),
        })
    };
    cores.iter().map(core).collect()
}
