//! All-to-all broadcast: each member of a group has a block, and all of them get it (docs/collectives.md, section 5).
//!
//! * **Concurrent broadcasting**: each block goes along a binomial tree of its own. A NIC passes a packet on from the memory
//!   into which it was received, one hop after the other. The hop with exponent `j` goes over `2^j` ranks. The origin begins with
//!   exponent 0; a member that got a block with `j` sends it with `j + 1`, `j + 2` and so on, while they do not lead around to the
//!   origin (`state::behind`). RECV: `block_came` in `came` takes a block and says whether it goes on. SEND: `load_pass`, `send_pass` and
//!   `pass_left` in `pass` make the hops, `has_hop` ends them; `ask_for_blocks` in `missing` asks for what has not come.
//! * **Recursive doubling**: in step `s` a NIC sends all that it has to the member `2^s` ranks back, in a group of any size (on hosts
//!   members exchange in pairs instead, which needs a power of two). Few bytes are combined in staging memory of the NIC; more go to
//!   host memory and back in each step.
//!
//! There are no acks and no records. A receiver that waits asks for what is missing ([`MISSING`](defs::gm::gossip::MISSING)); all
//! blocks are in the members' channels in host memory as long as one may ask. An operation is posted after the one before is complete, so
//! all members have entered that one: two channels in turn are enough.
//!
//! RECV's half takes packets into the channels and tells SEND's half, which knows how far the operation is, passes packets on, and
//! asks. A ring holds what is to be passed on; what finds no place there is lost like a packet of the network.

mod came;
mod group;
mod missing;
mod pass;
pub(crate) mod state;
mod steps;

pub use came::{HELD_COOKIES, HELD_COOKIES_END, News};
pub use state::Group;
