//! One executor over operations of boards and those of servers on hosts.

use std::sync::{Arc, Mutex, PoisonError};

use host_lib::gm::atomic::{
    AtomicError, AtomicOperation, Atomics, Executor, Requests, Server, Wait, Word,
};
use host_lib::gm::{Buffer, Gm};

use super::{SERVER_PORT, Settings};
use crate::collective::ExecutedOn;
use lanigon_worlds::emp::text;

/// The executor of a member.
pub(super) enum MemberExecutor {
    Nic(Atomics),
    Host(Requests),
}

impl MemberExecutor {
    /// The executor of a member whose port is open.
    pub(super) async fn new(gm: &mut Gm, settings: &Settings, port: u8) -> Result<Self, String> {
        match settings.on {
            ExecutedOn::Nic if settings.direct => {
                let direct = Atomics::direct(gm, port);
                direct.map(Self::Nic).map_err(text)
            }
            ExecutedOn::Nic => Ok(Self::Nic(Atomics::new(port))),
            ExecutedOn::Host => {
                let requests = Requests::new(gm, port).await;
                requests.map(Self::Host).map_err(text)
            }
        }
    }

    /// Waits until everything has left.
    pub(super) async fn flush(&mut self, gm: &mut Gm) -> Result<(), String> {
        match self {
            // An operation has ended when it has been answered.
            Self::Nic(_) => Ok(()),
            Self::Host(requests) => requests.flush(gm).await.map_err(text),
        }
    }
}

impl Executor for MemberExecutor {
    async fn execute(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<u32, AtomicError> {
        match self {
            Self::Nic(atomics) => atomics.execute(gm, word, operation).await,
            Self::Host(requests) => requests.execute(gm, word, operation).await,
        }
    }
}

/// The words that a node's member gives to its server.
#[derive(Debug, Clone, Default)]
pub struct SharedWords(Arc<Mutex<Option<Buffer>>>);

impl SharedWords {
    /// Gives the words.
    pub fn set(&self, words: Buffer) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    fn get(&self) -> Option<Buffer> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the words of a node for ever.
///
/// # Errors
/// The port cannot be used, or a message is no request.
pub async fn serve(mut gm: Gm, wait: Wait, region: &SharedWords) -> Result<(), String> {
    let words = region.get().ok_or("a server without words")?;
    gm.open(SERVER_PORT).await.map_err(text)?;
    let server = Server::new(&mut gm, SERVER_PORT, wait, words).await;
    server.map_err(text)?.serve(&mut gm).await.map_err(text)
}
