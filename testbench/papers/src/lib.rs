//! Published results, reproduced: the papers, each a folder with its measurements, rows, claims and figures.

/// A file of a paper, by its path from this folder.
macro_rules! file {
    ($name:literal) => {
        lanigon_experiments::statements::PaperFile {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $name)),
        }
    };
}

/// The table of published numbers with this name.
macro_rules! table {
    ($name:literal) => {
        lanigon_experiments::published::PublishedTable::new(
            concat!("published-", $name),
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/data/published-",
                $name,
                ".csv"
            )),
        )
    };
}

pub mod ardmar;
pub mod atomics;
pub mod bypass;
pub mod collectives;
pub mod emp;
pub mod gm;
pub mod multicast;

use lanigon_experiments::paper::Paper;

/// All papers, in the order in which people are told of them.
pub static PAPERS: &[&Paper] = &[
    &emp::PAPER,
    &gm::PAPER,
    &collectives::BARRIER,
    &collectives::REDUCTION,
    &collectives::GOSSIP,
    &multicast::PAPER,
    &collectives::MPI_BARRIER,
    &atomics::PAPER,
    &bypass::BROADCAST,
    &bypass::REDUCTION,
    &ardmar::PAPER,
];
