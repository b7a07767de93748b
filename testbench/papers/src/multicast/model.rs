//! The cost model of section 2.1, fitted to measured packets: times of send, transmission and receive that are linear in the bytes.

use host_lib::fm::predict::{Costs, LinearCost as CostLine};
use serde::Serialize;

use super::results::{PACKETS, Results, star};

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
        let count = points.len() as f64;
        let sum = |value: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>();
        let (x, y) = (sum(&|point| point.0), sum(&|point| point.1));
        let (xx, xy) = (
            sum(&|point| point.0 * point.0),
            sum(&|point| point.0 * point.1),
        );
        let below = count * xx - x * x;
        if below == 0.0 {
            return None;
        }
        let byte_us = (count * xy - x * y) / below;
        Some(Self {
            fixed_us: (y - byte_us * x) / count,
            byte_us,
        })
    }

    /// The time of a packet, in us.
    #[must_use]
    pub fn time_us(&self, bytes: u32) -> f64 {
        self.fixed_us + self.byte_us * f64::from(bytes)
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
    pub fn fit(results: &Results, variant: &str) -> Option<Self> {
        let (mut send, mut transmit, mut receive) = (Vec::new(), Vec::new(), Vec::new());
        for bytes in PACKETS {
            let x = f64::from(bytes);
            let one = star(variant, 2, false, bytes);
            let call_us = results.points.at(&one, "call_us")?;
            send.push((x, call_us));
            receive.push((x, results.points.at(&one, "delivered_us")? - call_us));
            let fifteen = star(variant, 16, true, bytes);
            let times = results.points.all(&fifteen, "delivered_us")?;
            let (first, last) = times.first().zip(times.last())?;
            transmit.push((x, (last - first) / (times.len() - 1).max(1) as f64));
        }
        Some(Self {
            send: LinearTime::fitted(&send)?,
            transmit: LinearTime::fitted(&transmit)?,
            receive: LinearTime::fitted(&receive)?,
        })
    }

    /// Time until the last of `count` destinations has a packet, in us (section 2.1).
    #[must_use]
    pub fn last_us(&self, multi_send: bool, count: u32, bytes: u32) -> f64 {
        let (send, receive) = (self.send.time_us(bytes), self.receive.time_us(bytes));
        match multi_send {
            true => send + f64::from(count - 1) * self.transmit.time_us(bytes) + receive,
            false => f64::from(count) * send + receive,
        }
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
