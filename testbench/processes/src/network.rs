//! Messages of a rank over its board.

use std::collections::{BTreeMap, VecDeque};

use host_lib::mpi::{Arrival, BoardCollective, BoardResult, Delivery, Transport, TransportError};
use lanigon_requests::{Answer, Envelope, MOST_BYTES, Message, RequestError};

use crate::error::ProcessError;
use crate::receipts::Receipts;
use crate::wire::PacketHeader;

/// Largest part of a long message.
const PART_BYTES: usize = 256 << 10;
/// Parts of one message that have memory at the same time.
const PARTS_OF_A_MESSAGE: usize = 2;
/// Parts of all messages to a rank that have memory at the same time.
const MOST_LANDINGS: usize = 32;
/// Transfers of a rank at the same time.
const MOST_TRANSFERS: usize = 16;

/// Memory for parts of long messages, in bytes: what comes in, and what goes out.
pub(crate) const PARTS_BYTES: u64 = (PART_BYTES * (MOST_LANDINGS + MOST_TRANSFERS)) as u64;

/// The end of a send or of a collective operation.
const fn ended(token: u64, value: u64) -> Answer {
    Answer::Done {
        token,
        failed: false,
        value,
    }
}

/// A packet or message to send.
enum Outgoing {
    Packet {
        to: usize,
        header: Vec<u8>,
        content: Vec<u8>,
    },
    Part {
        number: u64,
        offset: usize,
        landing: u64,
    },
}

/// A long message that is sent.
struct LongSend {
    to: usize,
    token: u64,
    bytes: Vec<u8>,
    /// Bytes that have not arrived.
    left: usize,
}

/// A message that has come, or comes, from a rank.
struct IncomingMessage {
    envelope: Envelope,
    /// The sender's number of a long one.
    number: Option<u64>,
    bytes: Vec<u8>,
    /// Bytes for whose parts memory was prepared.
    asked: usize,
    /// Bytes that are here.
    here: usize,
}

/// Memory for a part of a message.
struct Landing {
    from: usize,
    number: u64,
    offset: usize,
}

/// Messages of a rank over its board.
pub(crate) struct Network<T> {
    transport: T,
    outgoing: VecDeque<Outgoing>,
    sends: BTreeMap<u64, LongSend>,
    next_number: u64,
    receipts: Receipts,
    /// Own transfers: the message and the length of the part.
    transfers: BTreeMap<u64, (u64, usize)>,
    landings: BTreeMap<u64, Landing>,
    /// Long messages that lack memory for their next part, with their senders.
    asks: VecDeque<(usize, u64)>,
    /// Messages that come from each rank, in the order in which they were sent.
    coming: Vec<VecDeque<IncomingMessage>>,
    /// Answers that the process has not got yet.
    answers: VecDeque<Answer>,
    /// Collective operations that have not ended, by name: the boards execute one after the other, in the order in which all ranks begin them.
    collectives: VecDeque<(u64, BoardCollective)>,
}

impl<T: Transport> Network<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self {
            coming: (0..transport.size()).map(|_| VecDeque::new()).collect(),
            receipts: Receipts::new(transport.size()),
            transport,
            outgoing: VecDeque::new(),
            sends: BTreeMap::new(),
            next_number: 1,
            transfers: BTreeMap::new(),
            landings: BTreeMap::new(),
            asks: VecDeque::new(),
            answers: VecDeque::new(),
            collectives: VecDeque::new(),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.transport.now_ps() / 1000
    }

    /// Longest message that is complete for its sender at once.
    pub(crate) fn eager_bytes(&self) -> usize {
        self.transport.eager_bytes()
    }

    pub(crate) async fn compute(&mut self, nanoseconds: u64) {
        self.transport.compute(nanoseconds).await;
    }

    /// The next of what the process has to be told.
    pub(crate) fn told(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Begins a collective operation of the boards, when those before have ended.
    pub(crate) async fn begin_collective(
        &mut self,
        token: u64,
        collective: BoardCollective,
    ) -> Result<(), ProcessError> {
        if self.coming.len() == 1 {
            let value = match collective {
                BoardCollective::AllReduce { value, .. } => value,
                _ => 0,
            };
            self.answers.push_back(ended(token, value));
            return Ok(());
        }
        self.collectives.push_back((token, collective));
        match self.collectives.len() {
            1 => self.begin_next_collective().await,
            _ => Ok(()),
        }
    }

    async fn begin_next_collective(&mut self) -> Result<(), ProcessError> {
        let Some((_, next)) = self.collectives.front() else {
            return Ok(());
        };
        // One at a time, so that there is room for it.
        let begun = self.transport.begin_collective(next).await;
        begun.map(|_| ()).map_err(|error| self.failure(&error))
    }

    /// Begins to send a message to another rank. With a token its end is told.
    pub(crate) fn send(&mut self, to: usize, envelope: Envelope, token: u64, bytes: Vec<u8>) {
        if bytes.len() > self.eager_bytes() {
            let ask = self.keep(to, envelope, token, bytes);
            self.queue(to, &ask, Vec::new());
            return;
        }
        let wants_receipt = token != 0;
        if wants_receipt {
            self.receipts.want(to, token);
        }
        let short = PacketHeader::Short {
            envelope,
            wants_receipt,
        };
        self.queue(to, &short, bytes);
    }

    /// Queues a packet, with the receipt that its receiver lacks.
    fn queue(&mut self, to: usize, header: &PacketHeader, content: Vec<u8>) {
        let header = header.bytes(self.receipts.pay(to));
        self.outgoing.push_back(Outgoing::Packet {
            to,
            header,
            content,
        });
    }

    /// Queues the receipts that no other packet has carried.
    fn queue_receipts(&mut self) {
        while let Some(to) = self.receipts.debt() {
            self.queue(to, &PacketHeader::Receipt, Vec::new());
        }
    }

    /// Keeps the bytes of a long message until its receiver has memory for them.
    fn keep(&mut self, to: usize, envelope: Envelope, token: u64, bytes: Vec<u8>) -> PacketHeader {
        let (number, length) = (self.next_number, bytes.len());
        self.next_number += 1;
        let send = LongSend {
            to,
            token,
            bytes,
            left: length,
        };
        self.sends.insert(number, send);
        PacketHeader::Ask {
            envelope,
            number,
            length: length as u64,
        }
    }

    fn failure(&self, error: &TransportError) -> ProcessError {
        ProcessError::Network {
            rank: self.transport.rank(),
            reason: error.to_string(),
        }
    }

    /// Gives the board what it takes now; whether that was all.
    pub(crate) async fn flush(&mut self) -> Result<bool, ProcessError> {
        while let Some(next) = self.outgoing.pop_front() {
            let sent = match &next {
                Outgoing::Packet {
                    to,
                    header,
                    content,
                } => {
                    let posted = self.transport.post(*to, Delivery::Quiet, header, content);
                    posted.await.map_err(|error| self.failure(&error))?
                }
                Outgoing::Part {
                    number,
                    offset,
                    landing,
                } => self.transfer(*number, *offset, *landing).await?,
            };
            if !sent {
                self.outgoing.push_front(next);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Transfers a part of a long message, if the board can begin that now.
    async fn transfer(
        &mut self,
        number: u64,
        offset: usize,
        landing: u64,
    ) -> Result<bool, ProcessError> {
        if self.transfers.len() >= MOST_TRANSFERS {
            return Ok(false);
        }
        // A stranger's packet names a message that is none.
        let Some(send) = self.sends.get_mut(&number) else {
            return Ok(true);
        };
        let end = (offset + PART_BYTES).min(send.bytes.len());
        let part = send.bytes.get(offset..end).unwrap_or_default();
        if part.is_empty() {
            self.arrived(number, 0);
            return Ok(true);
        }
        let begun = self.transport.transfer(send.to, landing, part).await;
        let length = part.len();
        match begun.map_err(|error| self.failure(&error))? {
            Some(transfer) => {
                self.transfers.insert(transfer, (number, length));
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// So many bytes of a long message have arrived.
    fn arrived(&mut self, number: u64, bytes: usize) {
        let Some(send) = self.sends.get_mut(&number) else {
            return;
        };
        send.left -= bytes;
        if send.left > 0 {
            return;
        }
        let token = send.token;
        self.sends.remove(&number);
        if token != 0 {
            self.answers.push_back(ended(token, 0));
        }
    }

    /// Takes what the board brings within this time; whether it has brought anything.
    pub(crate) async fn step(&mut self, limit_ns: u64) -> Result<bool, ProcessError> {
        self.queue_receipts();
        self.flush().await?;
        let arrival = match limit_ns {
            0 => self.transport.poll().await,
            limit_ns => self.transport.next(limit_ns).await,
        };
        let Some(arrival) = arrival.map_err(|error| self.failure(&error))? else {
            return Ok(false);
        };
        match arrival {
            Arrival::Packet { from, bytes } => {
                self.transport.charge_arrival(bytes.len()).await;
                let taken = self.accept_packet(from, &bytes).await?;
                taken.map_err(|error| ProcessError::Request { rank: from, error })?;
            }
            Arrival::Landed { landing, bytes } => self.landed(landing, &bytes),
            Arrival::Transferred { transfer } => {
                if let Some((number, bytes)) = self.transfers.remove(&transfer) {
                    self.arrived(number, bytes);
                }
            }
            Arrival::Failed { to, why } => {
                return Err(ProcessError::Network {
                    rank: self.transport.rank(),
                    reason: format!("nothing that is sent to rank {to} arrives: {why}"),
                });
            }
            Arrival::CollectiveEnded { result, .. } => {
                let value = match result {
                    BoardResult::Value(value) => value,
                    BoardResult::Blocks(_) => 0,
                };
                let done = self.collectives.pop_front();
                self.answers
                    .extend(done.map(|(token, _)| ended(token, value)));
                self.begin_next_collective().await?;
            }
            Arrival::Progress => {}
        }
        self.prepare().await?;
        self.flush().await?;
        Ok(true)
    }

    /// Takes a packet of another rank.
    async fn accept_packet(
        &mut self,
        from: usize,
        packet: &[u8],
    ) -> Result<Result<(), RequestError>, ProcessError> {
        let (header, receipt, content) = match PacketHeader::read(packet) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let confirmed = self.receipts.confirm(from, receipt);
        self.answers.extend(confirmed.map(|token| ended(token, 0)));
        match header {
            PacketHeader::Short {
                envelope,
                wants_receipt,
            } => {
                if wants_receipt {
                    self.receipts.owe(from);
                }
                self.coming[from].push_back(IncomingMessage {
                    envelope,
                    number: None,
                    asked: content.len(),
                    here: content.len(),
                    bytes: content.to_vec(),
                });
                self.pass_on(from);
            }
            PacketHeader::Ask {
                envelope,
                number,
                length,
            } => {
                if length > MOST_BYTES as u64 {
                    return Ok(Err(RequestError::TooLong(length)));
                }
                self.coming[from].push_back(IncomingMessage {
                    envelope,
                    number: Some(number),
                    bytes: vec![0; length as usize],
                    asked: 0,
                    here: 0,
                });
                self.asks.push_back((from, number));
            }
            PacketHeader::Ready {
                number,
                offset,
                landing,
            } => self.outgoing.push_back(Outgoing::Part {
                number,
                offset: offset as usize,
                landing,
            }),
            PacketHeader::Receipt => {}
        }
        Ok(Ok(()))
    }

    /// Prepares memory for parts of messages that lack it, and tells their senders.
    async fn prepare(&mut self) -> Result<(), ProcessError> {
        while self.landings.len() < MOST_LANDINGS
            && let Some((from, number)) = self.asks.pop_front()
        {
            let mut coming = self.coming[from].iter_mut();
            let Some(coming) = coming.find(|coming| coming.number == Some(number)) else {
                continue;
            };
            let offset = coming.asked;
            let length = (coming.bytes.len() - offset).min(PART_BYTES);
            coming.asked += length;
            let under_way = coming.asked.div_ceil(PART_BYTES) - coming.here / PART_BYTES;
            if coming.asked < coming.bytes.len() && under_way < PARTS_OF_A_MESSAGE {
                self.asks.push_back((from, number));
            }
            let landing = match length {
                // There is nothing to transfer: the sender learns that the message has come.
                0 => 0,
                _ => {
                    let landing = self.transport.land(from, length).await;
                    landing.map_err(|error| self.failure(&error))?
                }
            };
            if length > 0 {
                let place = Landing {
                    from,
                    number,
                    offset,
                };
                self.landings.insert(landing, place);
            }
            let ready = PacketHeader::Ready {
                number,
                offset: offset as u64,
                landing,
            };
            self.queue(from, &ready, Vec::new());
            self.pass_on(from);
        }
        Ok(())
    }

    /// A part of a long message is in its memory.
    fn landed(&mut self, landing: u64, bytes: &[u8]) {
        let Some(Landing {
            from,
            number,
            offset,
        }) = self.landings.remove(&landing)
        else {
            return;
        };
        let mut coming = self.coming[from].iter_mut();
        let Some(coming) = coming.find(|coming| coming.number == Some(number)) else {
            return;
        };
        if let Some(place) = coming.bytes.get_mut(offset..offset + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        coming.here += bytes.len();
        if coming.asked < coming.bytes.len() && !self.asks.contains(&(from, number)) {
            self.asks.push_back((from, number));
        }
        self.pass_on(from);
    }

    /// Passes on the messages of a rank that are complete, in their order.
    fn pass_on(&mut self, from: usize) {
        let is_complete = |coming: &mut IncomingMessage| {
            // Memory for a message without bytes was "prepared" when its sender was told.
            let is_asked = coming
                .number
                .is_none_or(|number| !self.asks.contains(&(from, number)));
            coming.here == coming.bytes.len() && is_asked
        };
        while let Some(coming) = self.coming[from].pop_front_if(is_complete) {
            self.answers.push_back(Answer::Message(Message {
                rank: from as u32,
                envelope: coming.envelope,
                bytes: coming.bytes,
            }));
        }
    }
}
