//! `lanigon plan`: the tree of a multicast, and the predicted times of its deliveries.

use std::fmt::Write as _;

use anyhow::bail;
use defs::fm::map::MULTI_LIMIT;
use host_lib::fm::predict::{Costs, LinearCost, SendMethod, best, deliveries};
use host_lib::fm::tree::{Postal, Tree};
use lanigon_figures::{Axis, Curve, Figure, Panel, Point, Scale};
use lanigon_papers::multicast::points as measured;
use lanigon_worlds::files::output as files;
use lanigon_worlds::interrupt::Interrupt;
use serde::Serialize;

use super::Status;
use crate::cli::plan::{Plan, PlanMulticastArgs, Shape};
use crate::output::{self, WriteError};

/// A node's part in a planned multicast.
#[derive(Debug, Serialize)]
struct PlannedDelivery {
    rank: usize,
    parent: Option<usize>,
    children: Vec<usize>,
    /// When it has the whole message, in us since the root's call.
    us: f64,
}

/// A plan, for `--json`.
#[derive(Debug, Serialize)]
struct PlanDocument {
    tree: String,
    multi_send: bool,
    pipelined: bool,
    bytes: u32,
    costs: &'static str,
    last_us: f64,
    deliveries: Vec<PlannedDelivery>,
}

/// Runs the command.
///
/// # Errors
/// If the plan is not possible, or a file cannot be written.
pub fn run(plan: &Plan, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let Plan::Multicast(args) = plan;
    if args.lambda.is_some() && args.tree != Shape::Optimal {
        bail!("--lambda is for --tree optimal");
    }
    let (costs, source) = costs(args, interrupt)?;
    let way = SendMethod {
        multi_send: !args.unicast,
        pipelined: args.pipelined,
    };
    let (name, tree) = tree(args, way, &costs)?;
    let most = (0..tree.nodes())
        .map(|rank| tree.children(rank).len())
        .max();
    let most = most.unwrap_or_default();
    if way.multi_send && most > MULTI_LIMIT as usize {
        bail!(
            "a node of this tree has {most} children, and a multi-send at most {MULTI_LIMIT} destinations: a smaller --lambda, or --unicast"
        );
    }
    let times = deliveries(&tree, args.bytes, way, &costs);
    let delivery = |rank: usize| PlannedDelivery {
        rank,
        parent: tree.parent(rank),
        children: tree.children(rank).to_vec(),
        us: times[rank].last().copied().unwrap_or_default() as f64 / 1e6,
    };
    let all: Vec<_> = (0..tree.nodes()).map(delivery).collect();
    let document = PlanDocument {
        tree: name,
        multi_send: way.multi_send,
        pipelined: way.pipelined,
        bytes: args.bytes,
        costs: source,
        last_us: all.iter().map(|one| one.us).fold(0.0, f64::max),
        deliveries: all,
    };
    if let Some(path) = &args.svg {
        let svg = lanigon_figures::svg(&figure(&document, &tree));
        files::write(path, svg.as_bytes())
            .map_err(|error| WriteError::new(path.display(), error))?;
    }
    match args.json {
        true => output::print_json(&document)?,
        false => output::print(&text(&document, &costs))?,
    }
    Ok(Status::Done)
}

/// The costs, and where they are from.
fn costs(args: &PlanMulticastArgs, interrupt: &Interrupt) -> anyhow::Result<(Costs, &'static str)> {
    if args.measured {
        let costs = measured::measured_costs(&interrupt.flag())?;
        return Ok((costs, "measured"));
    }
    let mut costs = Costs::PUBLISHED;
    let given = [args.send, args.transmit, args.receive, args.handle];
    let places = [
        &mut costs.send,
        &mut costs.transmit,
        &mut costs.receive,
        &mut costs.handle,
    ];
    let any = given.iter().any(Option::is_some);
    for (place, given) in places.into_iter().zip(given) {
        *place = given.unwrap_or(*place);
    }
    Ok((costs, if any { "given" } else { "published" }))
}

/// The tree and its name.
fn tree(
    args: &PlanMulticastArgs,
    way: SendMethod,
    costs: &Costs,
) -> anyhow::Result<(String, Tree)> {
    let nodes = usize::from(args.nodes);
    let optimal = |lambda| -> anyhow::Result<_> {
        let tree = Tree::optimal(nodes, Postal::lambda(lambda))?;
        Ok((format!("optimal tree of lambda {lambda}"), tree))
    };
    match (args.tree, args.lambda) {
        (Shape::Binomial, _) => Ok(("binomial tree".into(), Tree::binomial(nodes)?)),
        (Shape::Star, _) => optimal(args.nodes.into()),
        (Shape::Optimal, Some(lambda)) => optimal(lambda),
        (Shape::Optimal, None) => {
            let (lambda, _) = best(nodes, args.bytes, way, costs)?;
            optimal(lambda)
        }
    }
}

/// The plan as text.
fn text(plan: &PlanDocument, costs: &Costs) -> String {
    let line = |line: LinearCost| {
        format!(
            "{:.4} + {:.4} m",
            line.fixed_ps as f64 / 1e6,
            line.per_byte_ps as f64 / 1e6
        )
    };
    let mut text = format!(
        "{} bytes to {} nodes: {}, {}, {}\n",
        plan.bytes,
        plan.deliveries.len() - 1,
        plan.tree,
        if plan.multi_send {
            "multi-sends"
        } else {
            "ordinary sends"
        },
        if plan.pipelined {
            "pipelined"
        } else {
            "whole messages"
        },
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "costs of a packet of m bytes in us ({}): send {}, transmit {}, receive {}, of which the host {}\n",
        plan.costs,
        line(costs.send),
        line(costs.transmit),
        line(costs.receive),
        line(costs.handle),
    );
    branch(&mut text, plan, 0, "");
    let _ = writeln!(text, "\nlast delivery after {:.2} us", plan.last_us);
    text
}

/// Draws a node and what is below it.
fn branch(text: &mut String, plan: &PlanDocument, rank: usize, before: &str) {
    let node = &plan.deliveries[rank];
    let _ = match node.parent {
        None => writeln!(text, "{rank}"),
        Some(_) => writeln!(text, "{rank}  {:.2} us", node.us),
    };
    for (place, &child) in node.children.iter().enumerate() {
        let is_last = place + 1 == node.children.len();
        let _ = write!(text, "{before}+- ");
        let below = format!("{before}{}", if is_last { "   " } else { "|  " });
        branch(text, plan, child, &below);
    }
}

/// The deliveries as a figure: a curve for each level of the tree.
fn figure(plan: &PlanDocument, tree: &Tree) -> Figure {
    let level = |level: usize| {
        let nodes = plan.deliveries.iter();
        let nodes = nodes.filter(|node| tree.level(node.rank) == level);
        let point = |node: &PlannedDelivery| Point {
            x: node.rank as f64,
            y: node.us,
            error: None,
        };
        Curve {
            name: format!("level {level}"),
            points: nodes.map(point).collect(),
        }
    };
    let axis = |label: &str| Axis {
        label: label.into(),
        scale: Scale::Linear,
    };
    Figure {
        title: format!("{} bytes, {}", plan.bytes, plan.tree),
        panels: vec![Panel {
            title: "deliveries".into(),
            x: axis("rank"),
            y: axis("time, us"),
            curves: (1..=tree.depth()).map(level).collect(),
            marks: Vec::new(),
        }],
    }
}
