//! The cost model of section 2.1, fitted to measured packets: times of send, transmission and receive that are linear in the bytes.

use host_lib::fm::predict::{Costs, LinearCost as CostLine};
use serde::Serialize;

use super::points::{PACKETS, star};
use lanigon_experiments::formula::functions::line;
use lanigon_experiments::grid::Points;

/// A time that is linear in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinearTime {
    /// Without bytes, in us.
    pub fixed_us: f64,
    /// For each byte, in us.
    pub byte_us: f64,
}

impl LinearTime {
    /// The line with the least squares.
    fn fitted(points: &[(f64, f64)]) -> Option<Self> {
        let [fixed_us, byte_us] = line(points)?;
        Some(Self { fixed_us, byte_us })
    }

    /// The time in the terms of a prediction.
    fn cost(&self) -> CostLine {
        let ps = |us: f64| (us * 1e6).round().max(0.0) as u64;
        CostLine {
            fixed_ps: ps(self.fixed_us),
            per_byte_ps: ps(self.byte_us),
        }
    }
}

/// The model of some nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Model {
    /// The root's call for one destination.
    pub send: LinearTime,
    /// From one destination's delivery to the next one's, of a multi-send to 15.
    pub transmit: LinearTime,
    /// From the end of the call to the delivery at the only destination.
    pub receive: LinearTime,
}

impl Model {
    /// Fits it; `None`: points are missing.
    #[must_use]
    pub fn fit(points: &Points, variant: &str) -> Option<Self> {
        let (mut send, mut transmit, mut receive) = (Vec::new(), Vec::new(), Vec::new());
        for bytes in PACKETS {
            let x = f64::from(bytes);
            let one = star(variant, 2, false, bytes);
            let call_us = points.at(&one, "call_us")?;
            send.push((x, call_us));
            receive.push((x, points.at(&one, "delivered_us")? - call_us));
            let fifteen = star(variant, 16, true, bytes);
            let times = points.all(&fifteen, "delivered_us")?;
            let (first, last) = times.first().zip(times.last())?;
            transmit.push((x, (last - first) / (times.len() - 1).max(1) as f64));
        }
        Some(Self {
            send: LinearTime::fitted(&send)?,
            transmit: LinearTime::fitted(&transmit)?,
            receive: LinearTime::fitted(&receive)?,
        })
    }

    /// The costs for a prediction. `handle`: the receiving host's part of a receive.
    #[must_use]
    pub fn costs(&self, handle: CostLine) -> Costs {
        Costs {
            send: self.send.cost(),
            transmit: self.transmit.cost(),
            receive: self.receive.cost(),
            handle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_its_points() {
        let line = LinearTime::fitted(&[(0.0, 2.0), (10.0, 7.0), (100.0, 52.0)]).unwrap();
        assert!((line.fixed_us - 2.0).abs() < 1e-9 && (line.byte_us - 0.5).abs() < 1e-9);
        assert_eq!(LinearTime::fitted(&[(1.0, 2.0)]), None);
    }
}
