//! Application bypass: broadcasts and reductions that go on while the program computes (docs/mpi.md, section 6).
//!
//! A message of such an operation for a process that has to pass something on raises a signal, if the process computes. Its handler
//! does what the program's next call would have done: it passes a broadcast on to the children, or takes a partial result into its own
//! and sends that to the parent when no child is missing. Processes without children get usual messages, and so does the root of
//! a reduction, whose call waits.
//!
//! The program computes in [`Mpi::compute`](super::Mpi::compute), during which the handler has the library's state ([`LentState`](super::held::LentState)):
//! what publications do with a mutex around the progress engine. Signals are enabled there, and disabled in all other calls, which look themselves. Operations
//! are numbered in each communicator, since packets with signals may overtake others.

use std::collections::BTreeMap;

use super::communicator::{COLLECTIVE, Communicator};
use super::datatype::{Datatype, Operation, combine_all, from_bytes, to_bytes};
use super::engine::{Engine, OutgoingPacket};
use super::envelope::{Envelope, EnvelopeKind, MessageLabel};
use super::error::MpiError;
use super::transport::{Delivery, Transport};
use crate::gm::collective::schedule::{self, Position};

/// Operations that go on while the program computes. Messages up to [`Transport::eager_bytes`] do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bypass {
    /// Broadcasts go on.
    pub broadcast: bool,
    /// Reductions: processes with parent and children return before the children's results have come.
    pub reduce: bool,
    /// A reduction waits so long for the children's results before it returns, in ns.
    pub exit_delay_ns: u64,
    /// Operations that return at once, such as [`Mpi::immediate_all_reduce`](super::Mpi::immediate_all_reduce), on hosts.
    pub immediate: bool,
}

/// Combines the bytes of elements of a type with others.
pub(super) type Combine = fn(&mut Vec<u8>, &[u8], Operation) -> Result<(), MpiError>;

/// A reduction that waits for children.
#[derive(Debug)]
struct WaitingReduction {
    label: MessageLabel,
    mark: u16,
    /// The parent's rank among all processes.
    parent: usize,
    /// Whether the parent has a parent itself.
    parent_passes_on: bool,
    /// The members from which nothing has come.
    awaited: Vec<usize>,
    operation: Operation,
    /// The result so far.
    bytes: Vec<u8>,
    combine: Combine,
}

/// A reduction of a process with a parent.
pub(super) struct Starting<'a, D> {
    pub(super) world: &'a Communicator,
    pub(super) root: usize,
    pub(super) parent: usize,
    pub(super) children: &'a [usize],
    pub(super) tag: i32,
    pub(super) mark: u16,
    pub(super) operation: Operation,
    pub(super) data: &'a [D],
}

/// State of bypassed operations, which the handler of signals needs.
#[derive(Debug)]
pub(super) struct Bypassing {
    pub(super) settings: Bypass,
    /// The communicators, by context.
    groups: BTreeMap<u32, Communicator>,
    /// From the oldest on.
    reductions: Vec<WaitingReduction>,
    /// Partial results whose operation has not begun here.
    early: Vec<(MessageLabel, Vec<u8>)>,
}

impl Bypassing {
    pub(super) const fn new() -> Self {
        Self {
            settings: Bypass {
                broadcast: false,
                reduce: false,
                exit_delay_ns: 0,
                immediate: false,
            },
            groups: BTreeMap::new(),
            reductions: Vec::new(),
            early: Vec::new(),
        }
    }

    /// A communicator is there.
    pub(super) fn add(&mut self, group: &Communicator) {
        self.groups.insert(group.context, group.clone());
    }

    pub(super) const fn has_reductions(&self) -> bool {
        !self.reductions.is_empty()
    }

    /// The reduction that waits for a partial result.
    fn waiting_for(&self, label: &MessageLabel) -> Option<usize> {
        self.reductions.iter().position(|one| {
            one.label.context == label.context
                && one.label.tag == label.tag
                && one.awaited.contains(&(label.source as usize))
        })
    }

    fn take_early(&mut self, label: &MessageLabel) -> Option<Vec<u8>> {
        let found = self.early.iter().position(|(early, _)| early == label);
        found.map(|at| self.early.remove(at).1)
    }
}

impl Communicator {
    /// Whether a member has children in the tree of a root.
    fn has_children(&self, rank: usize, root: usize) -> bool {
        let size = self.size();
        let tree = schedule::binomial(Position { rank, size }, root);
        tree.is_ok_and(|tree| !tree.children.is_empty())
    }
}

/// The way to a member that passes something on, or does not.
const fn delivery_to(passes_on: bool, kind: EnvelopeKind) -> (EnvelopeKind, Delivery) {
    match passes_on {
        true => (kind, Delivery::Signal),
        false => (EnvelopeKind::Eager, Delivery::Quiet),
    }
}

/// Combines elements of a type.
pub(super) fn combine<D: Datatype>(
    bytes: &mut Vec<u8>,
    others: &[u8],
    operation: Operation,
) -> Result<(), MpiError> {
    let mut values = from_bytes::<D>(bytes)?;
    combine_all(&mut values, &from_bytes::<D>(others)?, operation)?;
    *bytes = to_bytes(&values);
    Ok(())
}

impl<T: Transport> Engine<T> {
    /// Whether messages have to be handled while the program computes.
    pub(super) fn needs_signals(&self) -> bool {
        let Bypassing { settings, .. } = &self.bypassing;
        let reduces = self.bypassing.has_reductions();
        settings.broadcast || reduces || settings.immediate && self.has_immediate()
    }

    /// Sends a message of a broadcast to the own children; `false` if the communicator is not there yet. The envelope's send is the root.
    pub(super) async fn pass_on(
        &mut self,
        envelope: &Envelope,
        content: &[u8],
    ) -> Result<bool, MpiError> {
        let context = envelope.label.context & !COLLECTIVE;
        let root = envelope.send as usize;
        let group = self.bypassing.groups.get(&context);
        let Some(group) = group.filter(|_| self.bypassing.settings.broadcast) else {
            return Ok(false);
        };
        let Ok(tree) = group.binomial(root) else {
            return Ok(false);
        };
        // The largest subtree first.
        let children = tree.children.iter().rev();
        let targets: Vec<(usize, bool)> = children
            .map(|child| (group.members[*child], group.has_children(*child, root)))
            .collect();
        let source = group.rank as u32;
        for (to, passes_on) in targets {
            self.transport.compute(self.config.library_ns).await;
            let (kind, delivery) = delivery_to(passes_on, EnvelopeKind::Broadcast);
            let label = MessageLabel {
                source,
                ..envelope.label
            };
            let envelope = Envelope {
                kind,
                label,
                ..*envelope
            };
            self.post_later(OutgoingPacket {
                to,
                delivery,
                envelope,
                content: content.to_vec(),
            })
            .await?;
        }
        Ok(true)
    }

    /// Begins a reduction of a process with a parent, and does what can be done now.
    pub(super) async fn begin_reduction<D: Datatype>(
        &mut self,
        start: Starting<'_, D>,
    ) -> Result<(), MpiError> {
        let context = start.world.collective();
        let (source, tag) = (start.world.rank as u32, start.tag);
        let label = MessageLabel {
            context,
            source,
            tag,
        };
        self.bypassing.reductions.push(WaitingReduction {
            label,
            mark: start.mark,
            parent: start.world.members[start.parent],
            parent_passes_on: start.parent != start.root,
            awaited: start.children.to_vec(),
            operation: start.operation,
            bytes: to_bytes(start.data),
            combine: combine::<D>,
        });
        if start.children.is_empty() {
            let done = self.bypassing.reductions.pop();
            return match done {
                Some(done) => self.finish(done).await,
                None => Ok(()),
            };
        }
        for child in start.children {
            let source = *child as u32;
            let from = MessageLabel { source, ..label };
            if let Some(bytes) = self.bypassing.take_early(&from) {
                self.combine(&from, &bytes).await?;
            }
        }
        self.poll().await?;
        self.wait_before_exit(tag, context).await
    }

    /// Waits for the partial results of late children for a while.
    async fn wait_before_exit(&mut self, tag: i32, context: u32) -> Result<(), MpiError> {
        let delay_ps = self.bypassing.settings.exit_delay_ns.saturating_mul(1000);
        let end_ps = self.transport.now_ps().saturating_add(delay_ps);
        let waits = |bypassing: &Bypassing| {
            let mut all = bypassing.reductions.iter();
            all.any(|one| one.label.tag == tag && one.label.context == context)
        };
        while waits(&self.bypassing) {
            let left_ns = end_ps.saturating_sub(self.transport.now_ps()) / 1000;
            if left_ns == 0 || !self.advance_within(left_ns).await? {
                break;
            }
        }
        Ok(())
    }

    /// A partial result has come, in a packet of so many bytes: it is used where it lies, or kept.
    pub(super) async fn partial_came(
        &mut self,
        envelope: &Envelope,
        packet_bytes: usize,
        content: &[u8],
    ) -> Result<(), MpiError> {
        if self.bypassing.waiting_for(&envelope.label).is_some() {
            return self.combine(&envelope.label, content).await;
        }
        self.charge_arrival(packet_bytes).await;
        let early = (envelope.label, content.to_vec());
        self.bypassing.early.push(early);
        Ok(())
    }

    /// Takes a partial result into the reduction that waits for it; with the last one the result goes to the parent.
    async fn combine(&mut self, label: &MessageLabel, content: &[u8]) -> Result<(), MpiError> {
        let Some(at) = self.bypassing.waiting_for(label) else {
            return Ok(());
        };
        let reduction = &mut self.bypassing.reductions[at];
        let (bytes, expected) = (content.len(), reduction.bytes.len());
        let from = label.source as usize;
        if bytes != expected {
            let call = "reduce";
            return Err(MpiError::Count {
                call,
                from,
                bytes,
                expected,
            });
        }
        (reduction.combine)(&mut reduction.bytes, content, reduction.operation)?;
        reduction.awaited.retain(|child| *child != from);
        if !reduction.awaited.is_empty() {
            return Ok(());
        }
        let done = self.bypassing.reductions.remove(at);
        self.finish(done).await
    }

    /// Sends the result of a reduction to the parent.
    async fn finish(&mut self, done: WaitingReduction) -> Result<(), MpiError> {
        self.transport.compute(self.config.library_ns).await;
        let (kind, delivery) = delivery_to(done.parent_passes_on, EnvelopeKind::Partial);
        let envelope = Envelope {
            kind,
            mark: done.mark,
            label: done.label,
            length: done.bytes.len() as u32,
            send: 0,
            landing: 0,
        };
        self.post_later(OutgoingPacket {
            to: done.parent,
            delivery,
            envelope,
            content: done.bytes,
        })
        .await
    }

    /// The handler of a signal.
    pub(super) async fn on_signal(&mut self) {
        let begin = self.clocks.begin(&self.transport);
        self.clocks.handler_begins();
        self.transport.end_signal().await;
        let mut done = self.poll().await;
        if done.is_ok() && !self.needs_signals() {
            done = self.signals(false).await;
        }
        // The program learns of it in its next call that waits.
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
        self.clocks.handler_ends(begin, &self.transport);
    }

    pub(super) async fn signals(&mut self, enabled: bool) -> Result<(), MpiError> {
        Ok(self.transport.enable_signals(enabled).await?)
    }
}
