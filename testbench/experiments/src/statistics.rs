//! Means and confidence intervals.

/// Mean of some values and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Number of values.
    pub count: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the sample (n - 1); `None` for one value.
    pub deviation: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t; `None` for one value.
    pub interval: Option<f64>,
}

impl Sample {
    /// The sample of these values; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        // Values that are all equal have exactly that mean, whatever their sum is rounded to.
        let first = values[0];
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count as f64;
        if count == 1 {
            return Some(Self {
                count,
                mean,
                deviation: None,
                interval: None,
            });
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1) as f64).sqrt();
        let interval = student_t(count - 1) * deviation / (count as f64).sqrt();
        Some(Self {
            count,
            mean,
            deviation: Some(deviation),
            interval: Some(interval),
        })
    }
}

/// Quantile 0.975 of Student's t for up to 30 degrees of freedom.
const QUANTILES: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139, 2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905,
    2.109_816, 2.100_922, 2.093_024, 2.085_963, 2.079_614, 2.073_873, 2.068_658, 2.063_899,
    2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];
/// Quantile 0.975 of the normal distribution.
const NORMAL: f64 = 1.959_963_985;

/// Quantile 0.975 of Student's t. Above 30 degrees of freedom by the expansion of Cornish and Fisher (Abramowitz and Stegun,
/// 26.7.5), whose error is below 1e-5 there.
#[must_use]
pub fn student_t(degrees: usize) -> f64 {
    if let Some(&quantile) = degrees.checked_sub(1).and_then(|at| QUANTILES.get(at)) {
        return quantile;
    }
    let (x, n) = (NORMAL, degrees.max(1) as f64);
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + first / n + second / (n * n) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (degrees, expected) in [
            (1, 12.706_205),
            (9, 2.262_157),
            (30, 2.042_272),
            (31, 2.039_513),
            (40, 2.021_075),
            (60, 2.000_298),
            (120, 1.979_930),
            (1_000_000, 1.959_966),
        ] {
            let found = student_t(degrees);
            assert!((found - expected).abs() < 2e-6, "{degrees}: {found}");
        }
    }

    #[test]
    fn intervals_are_those_of_known_samples() {
        let check = |values: &[f64], mean: f64, deviation: f64, interval: f64| {
            let sample = Sample::of(values).expect("values");
            let near = |found: f64, expected: f64| (found - expected).abs() < 1e-5;
            assert_eq!(sample.count, values.len());
            assert!(near(sample.mean, mean), "{sample:?}");
            assert!(
                near(sample.deviation.expect("several"), deviation),
                "{sample:?}"
            );
            assert!(
                near(sample.interval.expect("several"), interval),
                "{sample:?}"
            );
        };
        // 2.776445 * 1.581139 / sqrt(5)
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 1.581_139, 1.963_243);
        // 12.706205 * 1.414214 / sqrt(2)
        check(&[1.0, 3.0], 2.0, 2f64.sqrt(), 12.706_205);
        check(&[7.25; 12], 7.25, 0.0, 0.0);
        assert_eq!(Sample::of(&[]), None);
        let one = Sample::of(&[4.0]).expect("a value");
        assert_eq!((one.mean, one.deviation, one.interval), (4.0, None, None));
    }

    proptest! {
        #[test]
        fn shifts_and_scales_of_values_are_those_of_samples(
            values in proptest::collection::vec(-1e3f64..1e3, 2..60),
            shift in -1e3f64..1e3,
            scale in 0.01f64..100.0,
        ) {
            let plain = Sample::of(&values).expect("values");
            let changed: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
            let changed = Sample::of(&changed).expect("values");
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()));
            prop_assert!(near(changed.mean, plain.mean * scale + shift));
            let interval = plain.interval.expect("several") * scale;
            prop_assert!(near(changed.interval.expect("several"), interval));
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(plain.mean >= least - 1e-9 && plain.mean <= most + 1e-9);
        }
    }
}
