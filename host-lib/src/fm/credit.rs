//! Credits: sums of packets that receivers have handled (docs/fm.md, section 4).

use defs::fm::packet::{CREDIT_MASK, NODE_MASK, SENDER_SHIFT, WORD_TARGET};
use defs::fm::ring::RETURNED;

use super::Fm;
use super::error::{SendError, address};
use crate::window::{AnySystem, MemoryWatch, PollError, PolledWord, System, VirtualAddress};

/// Sums of packets from and to one node, from which its credits follow. All are modulo 2^16.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peer {
    /// Packets sent to it.
    sent: u16,
    /// Sent packets that the node has handled, as far as it has told.
    returned: u16,
    /// Packets from it that were handled.
    handled: u16,
    /// Handled packets of the node that it was told about.
    told: u16,
}

impl Peer {
    /// Packets to it that are on their way or in its receive queue.
    const fn outstanding(&self) -> u16 {
        self.sent.wrapping_sub(self.returned)
    }

    /// A sum of credits has come from it. Older sums change nothing.
    pub(super) const fn note_returned(&mut self, sum: u16) {
        if sum.wrapping_sub(self.returned) <= self.outstanding() {
            self.returned = sum;
        }
    }

    /// A packet of it was handled.
    pub(super) const fn handle(&mut self) {
        self.handled = self.handled.wrapping_add(1);
    }

    /// Credits that it was not told about.
    pub(super) const fn owed(&self) -> u16 {
        self.handled.wrapping_sub(self.told)
    }

    /// The sum for a packet to it, which tells it about all.
    pub(super) const fn take_sum(&mut self) -> u16 {
        self.told = self.handled;
        self.handled
    }

    /// A packet to it that takes a credit.
    pub(super) const fn send(&mut self) -> u16 {
        self.sent = self.sent.wrapping_add(1);
        self.take_sum()
    }
}

impl Fm {
    /// Packets that can be sent to a node at once; 0 if there is no such node.
    #[must_use]
    pub fn credits(&self, node: u16) -> u16 {
        let peer = self.peers.get(usize::from(node));
        peer.map_or(0, |peer| {
            self.config.credits.saturating_sub(peer.outstanding())
        })
    }

    /// The nodes of `destinations` without credits.
    fn poor(&self, destinations: &[u16]) -> Vec<u16> {
        let nodes = destinations.iter().copied();
        nodes.filter(|&node| self.credits(node) == 0).collect()
    }

    /// Waits until all `destinations` have a credit.
    pub(super) async fn await_credits(&mut self, destinations: &[u16]) -> Result<(), SendError> {
        loop {
            let poor = self.poor(destinations);
            let Some(&node) = poor.first() else {
                return Ok(());
            };
            self.find_credits(&poor).map_err(SendError::NotMapped)?;
            if self.poor(destinations).len() < poor.len() {
                continue;
            }
            self.return_all_credits().await?;
            let mut words: Vec<_> = poor.iter().map(|&node| self.credit_watch(node)).collect();
            words.extend(self.ring.peek_watch());
            self.poll_credits(node, &words).await?;
        }
    }

    /// Waits until all `destinations` have a credit or there is a packet to extract. A sender that extracts meanwhile lets two nodes go
    /// on that have used up their credits for each other; this is for streams without the lock.
    ///
    /// # Errors
    /// [`SendError`]: neither came in time.
    pub async fn await_credits_or_packet(&mut self, destinations: &[u16]) -> Result<(), SendError> {
        loop {
            let poor = self.poor(destinations);
            let Some(&node) = poor.first() else {
                return Ok(());
            };
            self.find_credits(&poor).map_err(SendError::NotMapped)?;
            if self.poor(destinations).len() < poor.len() {
                continue;
            }
            self.return_all_credits().await?;
            let mut words: Vec<_> = poor.iter().map(|&node| self.credit_watch(node)).collect();
            let packet = words.len();
            words.push(self.ring.watch());
            if self.poll_credits(node, &words).await? == packet {
                return Ok(());
            }
        }
    }

    /// Polls for words that come with credits; the index of the one that has come. `node`: one of those without credits.
    async fn poll_credits(&mut self, node: u16, words: &[PolledWord]) -> Result<usize, SendError> {
        let timeout_ns = self.config.timeout_ns;
        match self.system.poll_words(words, timeout_ns, "credits").await {
            Ok(found) => Ok(found.index),
            Err(PollError::TimedOut(_)) => {
                let timeout_ns = timeout_ns.unwrap_or(0);
                Err(SendError::NoCredit { node, timeout_ns })
            }
            Err(error) => Err(SendError::NotMapped(address(error))),
        }
    }

    /// Returns what is owed, however little: nodes that wait for each other's credits would wait for ever.
    async fn return_all_credits(&mut self) -> Result<(), SendError> {
        for node in 0..self.nodes() {
            if self.peers[usize::from(node)].owed() > 0 {
                self.send_credits(node).await?;
            }
        }
        Ok(())
    }

    /// Takes the credits that nodes have returned: in words of their own, and in packets of the receive queue, which stay there.
    fn find_credits(&mut self, nodes: &[u16]) -> Result<(), VirtualAddress> {
        for &node in nodes {
            let at = self.ring.credit_word(node);
            let word = read_word(&self.system, at)?;
            if word & RETURNED != 0 {
                // No time passes between read and write; where it could, this has to be an atomic exchange.
                self.system.write_memory(at, &[0; 4])?;
                self.take_credits(u32::from(node), word);
            }
        }
        while let Some(packet) = self.ring.peek(&self.system)? {
            let target = read_word(&self.system, packet.word(WORD_TARGET))?;
            self.take_credits(target >> SENDER_SHIFT & NODE_MASK, target);
        }
        Ok(())
    }

    /// A node has returned credits: the sum is in the lower half of `word`.
    pub(super) fn take_credits(&mut self, node: u32, word: u32) {
        if let Some(peer) = self.peers.get_mut(node as usize) {
            peer.note_returned((word & CREDIT_MASK) as u16);
        }
    }

    fn credit_watch(&self, node: u16) -> PolledWord {
        watch(self.ring.credit_word(node), RETURNED)
    }
}

/// A poll for a bit of a big-endian word of memory.
pub(super) const fn watch(address: VirtualAddress, bit: u32) -> PolledWord {
    PolledWord::Memory(MemoryWatch {
        address,
        mask: bit.swap_bytes(),
        expected: bit.swap_bytes(),
    })
}

/// Reads a big-endian word of memory.
pub(super) fn read_word(
    system: &AnySystem,
    address: VirtualAddress,
) -> Result<u32, VirtualAddress> {
    let mut bytes = [0; 4];
    system.read_memory(address, &mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}
