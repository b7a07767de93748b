//! Host programs that this crate knows. A program with messages is a [`plan`]; an engine for each protocol ([`traffic`] over EMP,
//! [`gm_traffic`] over GM, [`fm_traffic`] over FM) executes all plans and checks every message. Programs that send [`frames`] of Ethernet
//! have plans of their own. One program needs no protocol: [`BoardType::start`](crate::boards::BoardType::start). Others are workloads
//! ([`crate::workload`]).

pub mod check;
pub mod content;
mod cut_off;
pub mod deliveries;
pub mod fm_traffic;
pub mod frame;
pub mod frames;
pub mod gm_traffic;
pub mod outages;
pub mod plan;
pub mod traffic;
pub mod verdict;
