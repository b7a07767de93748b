//! Claims about barriers of message passing.

use super::super::On;
use super::super::key::{FINE_NS, L4, L7, NODES, VARIED_US, What};
use super::super::rows::{flat_us, mpi_adds};
use super::{Claim, all, list, rises};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "dissertation-084",
        text: "what message passing adds to the NIC's barrier grows slightly with the number of nodes [LANai 4; not by more than 3 us]",
        judge: |results| {
            let adds = all(NODES, |nodes| mpi_adds(results, L4, nodes))?;
            let (first, last) = (adds.first()?, adds.last()?);
            let holds = first < last && last - first < 3.0;
            Some((holds, list(&adds)))
        },
    },
    Claim {
        id: "dissertation-091",
        text: "the gain rises with the number of nodes on both boards",
        judge: |results| {
            let old = all(NODES, |nodes| results.gain(L4, nodes, What::Mpi))?;
            let new = all([2, 4, 8], |nodes| results.gain(L7, nodes, What::Mpi))?;
            let text = format!("LANai 4: {}; LANai 7: {}", list(&old), list(&new));
            Some((rises(&old) && rises(&new), text))
        },
    },
    Claim {
        id: "dissertation-092",
        text: "on the NIC seven nodes take longer than eight [LANai 4]",
        judge: |results| {
            let times = all([8, 7], |nodes| results.at(L4, On::Nic, nodes, What::Mpi))?;
            Some((rises(&times), list(&times)))
        },
    },
    Claim {
        id: "dissertation-096",
        text: "with host barriers the loop hardly gets longer at first; longer so on the LANai 4 than on the LANai 7 [by 5 %]",
        judge: |results| {
            let flat = [
                flat_us(results, L7, On::Host)?,
                flat_us(results, L4, On::Host)?,
            ];
            Some((rises(&flat), format!("up to {} us", list(&flat))))
        },
    },
    Claim {
        id: "dissertation-098",
        text: "with NIC barriers there is no such computation [LANai 4: the loop grows by half of the first 15.5 us at least]",
        judge: |results| {
            let time = |compute_ns| {
                let percent = 0;
                results.at(
                    L4,
                    On::Nic,
                    8,
                    What::Loop {
                        compute_ns,
                        percent,
                    },
                )
            };
            let grown = time(FINE_NS[2])? - time(FINE_NS[0])?;
            let added = (FINE_NS[2] - FINE_NS[0]) as f64 / 1e3;
            Some((
                grown > added / 2.0,
                format!("{grown:.2} us of {added:.2} us"),
            ))
        },
    },
    Claim {
        id: "dissertation-116",
        text: "the gap between host and NIC barriers shrinks with variation, not with computation alone; the NIC is always faster [16 nodes; 0 %: within 10 %]",
        judge: |results| {
            let gap = |us: u64, percent| {
                let what = What::Loop {
                    compute_ns: us * 1_000,
                    percent,
                };
                let on = |on| results.at(L4, on, 16, what);
                Some(on(On::Host)? - on(On::Nic)?)
            };
            let even = all(VARIED_US, |us| gap(us, 0))?;
            let varied = all(VARIED_US, |us| gap(us, 20))?;
            let most = even.iter().copied().fold(0.0, f64::max);
            let flat = even.iter().all(|gap| *gap > 0.9 * most);
            let falls = rises(&varied.iter().rev().copied().collect::<Vec<_>>());
            let faster = varied.iter().all(|gap| *gap > 0.0);
            let text = format!("gap at 0 %: {}; at 20 %: {} us", list(&even), list(&varied));
            Some((flat && falls && faster, text))
        },
    },
];
