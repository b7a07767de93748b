//! Profiles as folded stacks, and as a flame graph.

use std::fmt::Write;

use emulator::cpu::clock::TICKS_PER_CYCLE;

use super::names::short;
use super::{CoreProfile, Cores};

/// Width of the picture, and height of a row.
const WIDTH: f64 = 1200.0;
const ROW: usize = 17;
/// Height of the lines above the picture.
const HEAD: usize = 40;
/// Width of a letter.
const LETTER: f64 = 6.6;

const SCRIPT: &str = include_str!("flame.js");

/// A stack: names from the root on, and whole cycles of its last function.
type Stack = (Vec<String>, u64);

/// Name of a CPU of a node.
#[must_use]
pub fn core_name(node: u16, core: &CoreProfile) -> String {
    format!("n{node} {}", core.id())
}

fn stacks(root: &str, core: &CoreProfile) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = Vec::new();
    let mut names: Vec<Vec<String>> = Vec::new();
    for node in &core.tree.nodes {
        let mut stack = match node.parent {
            Some(parent) => names[parent].clone(),
            None => vec![root.to_owned()],
        };
        // Names must not contain the separator.
        stack.push(core.name(node.function).replace(';', ":"));
        names.push(stack.clone());
        stacks.push((stack, node.own.total() / TICKS_PER_CYCLE));
    }
    stacks.push((
        vec![root.to_owned(), "(idle)".into()],
        core.idle.total() / TICKS_PER_CYCLE,
    ));
    stacks.retain(|stack| stack.1 > 0);
    stacks.sort();
    stacks
}

fn all_stacks(cores: &Cores) -> Vec<Stack> {
    let of_core = |(&(node, _), core)| stacks(&core_name(node, core), core);
    cores.iter().flat_map(of_core).collect()
}

/// One line per stack: names separated by `;`, and whole cycles.
#[must_use]
pub fn folded(cores: &Cores) -> String {
    let mut text = String::new();
    for (names, cycles) in all_stacks(cores) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {cycles}", names.join(";"));
    }
    text
}

/// A function in the picture.
struct Box {
    name: String,
    depth: usize,
    start: u64,
    cycles: u64,
}

/// Merges adjacent stacks with common callers.
fn boxes(stacks: &[Stack]) -> Vec<Box> {
    let mut done: Vec<Box> = Vec::new();
    let mut open: Vec<Box> = Vec::new();
    let mut start = 0;
    for (names, cycles) in stacks {
        let same = open
            .iter()
            .zip(names)
            .take_while(|(open, name)| open.name == **name);
        let same = same.count();
        done.extend(open.drain(same..));
        for (depth, name) in names.iter().enumerate().skip(same) {
            open.push(Box {
                name: name.clone(),
                depth,
                start,
                cycles: 0,
            });
        }
        for place in &mut open {
            place.cycles += cycles;
        }
        start += cycles;
    }
    done.extend(open);
    done
}

/// Text as part of XML.
fn escaped(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A warm colour derived from the name.
fn colour(name: &str) -> String {
    let sum = name.bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    match name {
        "(idle)" => "#dddddd".into(),
        _ => format!(
            "rgb({},{},{})",
            205 + sum % 50,
            80 + sum / 50 % 140,
            sum / 7000 % 60
        ),
    }
}

/// Flame graph as an SVG document with its own script: callers are below callees, widths are proportional to time. In a browser, a click on
/// a function shows it over the whole width, hovering shows name, cycles and share, and a text field finds functions. Other viewers show the
/// picture.
#[must_use]
pub fn svg(cores: &Cores, title: &str) -> String {
    let stacks = all_stacks(cores);
    let total: u64 = stacks.iter().map(|stack| stack.1).sum();
    let deepest = stacks.iter().map(|stack| stack.0.len()).max().unwrap_or(0);
    let height = (deepest + 1) * ROW + HEAD;
    let title = escaped(title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\" data-width=\"{WIDTH}\" data-total=\"{total}\" data-letter=\"{LETTER}\">\n\
         <style>g.box {{ cursor: pointer }} g.box:hover rect {{ stroke: #000 }} rect.hit {{ fill: #6fa8dc }} \
         #reset {{ cursor: pointer; text-decoration: underline }}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"4\" y=\"14\" font-weight=\"bold\">{title}</text>\n\
         <text id=\"words\" x=\"4\" y=\"30\">{total} cycles</text>\n\
         <text id=\"found\" x=\"{}\" y=\"30\" text-anchor=\"end\"></text>\n\
         <text id=\"reset\" x=\"{}\" y=\"14\" text-anchor=\"end\" style=\"display: none\">whole picture</text>\n\
         <foreignObject x=\"{}\" y=\"1\" width=\"180\" height=\"18\"><input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" \
         placeholder=\"find functions\" style=\"width: 170px; height: 16px; font: 11px monospace; box-sizing: border-box\"/>\
         </foreignObject>\n",
        WIDTH - 4.0,
        WIDTH - 200.0,
        WIDTH - 184.0,
    );
    for place in boxes(&stacks) {
        text += &drawn(&place, total, height);
    }
    text + &format!("<script>//<![CDATA[\n{SCRIPT}//]]></script>\n</svg>\n")
}

/// A function of the picture.
fn drawn(place: &Box, total: u64, height: usize) -> String {
    let scale = WIDTH / total.max(1) as f64;
    let (x, width) = (place.start as f64 * scale, place.cycles as f64 * scale);
    let y = height - (place.depth + 1) * ROW;
    let share = 100.0 * place.cycles as f64 / total.max(1) as f64;
    let (name, label) = (escaped(&place.name), short(&place.name));
    let shown: String = label
        .chars()
        .take(((width - 4.0) / LETTER) as usize)
        .collect();
    let (start, cycles, depth) = (place.start, place.cycles, place.depth);
    format!(
        "<g class=\"box\" data-name=\"{name}\" data-short=\"{}\" data-depth=\"{depth}\" data-start=\"{start}\" \
         data-cycles=\"{cycles}\"><title>{name}: {cycles} cycles, {share:.2} %</title>\
         <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\" stroke=\"white\" stroke-width=\"0.5\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>\n",
        escaped(&label),
        ROW - 1,
        colour(&place.name),
        x + 2.0,
        y + 12,
        escaped(&shown)
    )
}
