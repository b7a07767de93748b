//! Host programs of scenarios. A program is a [`plan`]; one engine executes all plans and checks every
//! message. One program needs no EMP: [`BoardType::start`](crate::boards::BoardType::start).

pub mod content;
pub mod deliveries;
pub mod plan;
pub mod traffic;
pub mod verdict;
