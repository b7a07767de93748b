//! The medium: what joins nodes, as boards and as the simulation see it.
//!
//! # Types that a board and its medium share
//!
//! A medium names three types. A *unit* travels forward: an Ethernet frame, a packet of a wormhole network. Its head and its
//! tail have times of their own. A *control* travels in the reverse direction: STOP, GO, the refusal of a receiver that is
//! not ready. A *cable* is what a board is told when one is plugged in: rates and lengths. Each board names the medium that
//! its port fits, so units reach a board with their own type; a cable of another medium is refused when the world is built.
//!
//! # Board side
//!
//! A board puts units and controls that leave it into its *outbox*. The medium takes them from there once the node has run.
//! Units and controls reach the board by one call each, ahead of their time, and the board schedules an event of its own
//! for when they matter. Two promises let nodes run apart: before `transmitter_free_at` no further unit leaves, and before
//! `next_control` no control leaves. A board that promises nothing is right, and slower. A medium without a reverse direction
//! never looks for controls.
//!
//! # Simulation side
//!
//! A world holds one *network* for each medium in use: all its links and switches, whether or not they are joined. For the time
//! of a run a network falls into *segments*, whose nodes can reach each other. A segment decides how far its nodes may run:
//!
//! * Two nodes may take *turns* if all that passes between them is units with a constant delay.
//! * All other nodes run in rounds up to a *horizon*, the earliest time at which a unit or a control that no node has been told of
//!   could matter to any node. It follows from the earliest unit and the earliest control that a node could still send, from
//!   the segment's own next event, and from the look-ahead of each direction. After each round the segment takes what left,
//!   in an order of its own that does not depend on threads, and tells nodes what will reach them.
//!
//! Types are erased where a node and a segment meet, once for each turn and for each unit or control that arrives; neither the
//! world nor the tools are generic over a medium.
