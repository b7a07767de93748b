//! Published results, reproduced: the papers, each a folder with its measurements, rows, claims and figures.

pub mod ardmar;
pub mod atomics;
pub mod bypass;
pub mod collectives;
pub mod emp;
pub mod gm;
pub mod multicast;

use lanigon_experiments::paper::Paper;

use collectives::chapter::PAPERS as COLLECTIVES;

/// All papers, in the order in which people are told of them.
pub static PAPERS: &[&Paper] = &[
    &emp::PAPER,
    &gm::PAPER,
    &COLLECTIVES[0],
    &COLLECTIVES[1],
    &COLLECTIVES[2],
    &multicast::PAPER,
    &COLLECTIVES[3],
    &atomics::PAPER,
    &bypass::BROADCAST,
    &bypass::REDUCTION,
    &ardmar::PAPER,
];
