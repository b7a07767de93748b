//! Multicasts over FM.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host_lib::fm::multicast::{Member, Multicast};
use host_lib::fm::{Fm, ReceiveError};

use super::MulticastPlan;
use lanigon_worlds::emp::text;

/// Handler of the multicast's packets.
const HANDLER: u16 = 1;
/// Handler of answers.
const ANSWER: u16 = 2;

/// A node.
pub(super) struct FmEngine {
    pub(super) fm: Fm,
    member: Member,
    /// Answers that have come.
    answers: Arc<AtomicU64>,
    /// Answers that were waited for.
    awaited: u64,
    timeout_ns: u64,
}

impl FmEngine {
    pub(super) fn new(mut fm: Fm, plan: &MulticastPlan) -> Result<Self, String> {
        let multicast = Multicast {
            tree: Arc::clone(&plan.tree),
            members: Arc::clone(&plan.members),
            way: plan.settings.way,
            handler: HANDLER,
        };
        let member = fm.join_multicast(&multicast).map_err(text)?;
        // Atomic since a handler is `Send`; it runs in the calls of this node only, so relaxed suffices.
        let answers = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&answers);
        fm.set_handler(ANSWER, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        Ok(Self {
            fm,
            member,
            answers,
            awaited: 0,
            timeout_ns: plan.timeout_ns,
        })
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.member.send(&mut self.fm, bytes).await.map_err(text)
    }

    pub(super) async fn receive(&mut self) -> Result<(Vec<u8>, u64), String> {
        let timeout_ns = Some(self.timeout_ns);
        let got = self.member.receive(&mut self.fm, timeout_ns).await;
        got.map(|got| (got.bytes, got.at_ps)).map_err(text)
    }

    pub(super) async fn answer(&mut self, root: u16) -> Result<(), String> {
        let stream = self.fm.begin_message(root, 0, ANSWER).await;
        let ended = self.fm.end_message(stream.map_err(text)?).await;
        ended.map_err(text)
    }

    pub(super) async fn await_answer(&mut self) -> Result<(), String> {
        self.awaited += 1;
        while self.answers.load(Ordering::Relaxed) < self.awaited {
            match self.fm.wait(Some(self.timeout_ns)).await {
                Ok(()) => {}
                Err(ReceiveError::Nothing { timeout_ns }) => {
                    let timeout = Duration::from_nanos(timeout_ns);
                    return Err(format!("no answer came in {timeout:?}"));
                }
                Err(error) => return Err(error.to_string()),
            }
            self.fm.extract(u32::MAX).await.map_err(text)?;
        }
        Ok(())
    }
}
