//! Host programs of scenarios. A program is a [`plan`]; an engine for each protocol ([`traffic`] over EMP,
//! [`gm_traffic`] over GM, [`fm_traffic`] over FM) executes all plans and checks every message. Programs that send [`frames`] of Ethernet, those that execute a [`collective`] operation or [`atomic`] ones, and [`multicast`]s have plans of their own, as have those of message passing ([`mpi`]). One program needs no protocol: [`BoardType::start`](crate::boards::BoardType::start).

pub mod atomic;
pub mod check;
pub mod collective;
pub mod content;
mod cut_off;
pub mod deliveries;
pub mod dsm;
pub mod fm_traffic;
pub mod frame;
pub mod frames;
pub mod gm_traffic;
pub mod mpi;
pub mod multicast;
pub mod outages;
pub mod plan;
pub mod traffic;
pub mod verdict;
