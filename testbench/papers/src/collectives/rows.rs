//! Rows that compare measured values with published figures.

use serde::Serialize;

use super::published::{Published, Table};

/// A quantity on both places, beside the published figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Section and figure of the publication.
    pub figure: &'static str,
    /// The published id.
    pub id: &'static str,
    /// The published value, in its unit.
    pub published: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Value on the host.
    pub host: Option<f64>,
    /// Value on the NIC.
    pub nic: Option<f64>,
    /// How many times the NIC is better.
    pub gain: Option<f64>,
}

impl Row {
    /// The row of a published figure, for values that are better when they are smaller.
    #[must_use]
    pub fn new(figure: &Published, host: Option<f64>, nic: Option<f64>) -> Self {
        let gain = host.zip(nic).filter(|(_, nic)| *nic > 0.0);
        Self {
            figure: figure.section,
            id: figure.id,
            published: figure.value,
            unit: figure.unit,
            host,
            nic,
            gain: gain.map(|(host, nic)| host / nic),
        }
    }

    /// The measured value that answers the published one: a gain, or the value of the place that the figure is about.
    #[must_use]
    pub fn answer(&self, figure: &Published) -> Option<f64> {
        match figure.scheme.split_once(' ') {
            _ if figure.unit == "x" => self.gain,
            Some((_, "host")) => self.host,
            Some((_, "nic")) => self.nic,
            _ => None,
        }
    }
}

/// The published figure with an id.
#[must_use]
pub fn figure(id: &str) -> Option<&'static Published> {
    let all = Table::ALL.into_iter().flat_map(Table::figures);
    all.into_iter().find(|figure| figure.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_answers_its_figure() {
        let answer = |id: &str, nic| {
            let figure = figure(id).expect("published");
            Row::new(figure, Some(90.0), nic).answer(figure)
        };
        assert_eq!(answer("dissertation-075", None), Some(90.0));
        assert_eq!(answer("dissertation-074", None), None);
        assert_eq!(answer("dissertation-074", Some(45.0)), Some(45.0));
        assert_eq!(answer("dissertation-076", Some(45.0)), Some(2.0));
        assert_eq!(answer("dissertation-076", None), None);
    }
}
