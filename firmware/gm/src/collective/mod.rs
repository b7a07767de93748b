//! Collective operations: barriers and reductions that NICs carry out by themselves (docs/collectives.md).
//!
//! SEND's half owns their state. A process posts an operation in a send slot; packets of other members come from RECV, on two CPUs
//! as jobs; what a NIC sends is one record for each packet in the connection of low priority to the other node. So these packets are
//! acknowledged, sent again and kept in order with messages, like all others. The end of an operation goes to RECV, which
//! writes its event.
//!
//! | module | contents |
//! |--------|----------|
//! | `state`, `origin` | layout of SRAM, the word that tells where a packet comes from |
//! | `barrier` | pairwise exchange, gather-broadcast |
//! | `reduce` | values up a tree, results down |
//! | `vector` | values of several elements, and arithmetic that the host does |
//! | `arrive` | packets of other members, and those that come before the operation |
//! | `depart` | packets to other members |
//! | `port` | opening and closing of ports, operations that fail |
//!
//! **Packets that come early.** A member of a barrier sends one packet to an endpoint before it hears from it at most, so a byte for
//! each pair of endpoints notes those that came before their process asked. Values have buffers, a limited number of them: beyond it
//! the receiver asks for the packet later, as for a message without a receive token.
//!
//! **Ports that are opened.** Packets for a closed port are noted. When the port is opened they are sent back to their senders, which
//! send them again if their operations still wait: so nothing that an earlier process was sent counts for a new one, and nothing is
//! lost. A port's openings are counted; a packet carries the count of its sender.

mod arrive;
mod barrier;
mod depart;
mod origin;
mod port;
mod reduce;
pub(crate) mod state;
mod vector;

pub use depart::{K_COLLECTIVE, NO_VALUE, Value, value_packet};
pub(crate) use origin::check as check_origin;
pub use port::RESULT_NOTICES;
pub use state::{COLLECTIVE_STATE_END, block, end_word, ended_operation, ended_status};
pub use vector::vector_packet;
