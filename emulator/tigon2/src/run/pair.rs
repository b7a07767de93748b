//! Two of a board's units, and the rest of them. Nearly all boards have two: they are handled without loops.

/// The units before, between and behind two of them.
#[derive(Debug)]
pub(crate) struct Rest<'a, T>([&'a mut [T]; 3]);

impl<T> Rest<'_, T> {
    /// The units, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flat_map(|part| part.iter())
    }

    /// The units, in their order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flat_map(|part| part.iter_mut())
    }
}

/// Acts on each unit.
#[inline(always)]
pub(crate) fn for_each<T>(units: &mut [T], mut act: impl FnMut(&mut T)) {
    match units {
        [a, b] => {
            act(a);
            act(b);
        }
        units => units.iter_mut().for_each(act),
    }
}

/// Whether any of the units is so.
#[inline(always)]
pub(crate) fn any<T>(units: &[T], mut is_so: impl FnMut(&T) -> bool) -> bool {
    match units {
        [a, b] => is_so(a) || is_so(b),
        units => units.iter().any(is_so),
    }
}

/// Divides units into two different ones and the rest.
///
/// # Panics
/// If both are the same, or one is not there.
#[inline(never)]
pub(crate) fn divide<T>(
    units: &mut [T],
    first: usize,
    second: usize,
) -> (&mut T, &mut T, Rest<'_, T>) {
    let (low, high) = (first.min(second), first.max(second));
    let (before, units) = units.split_at_mut(low);
    let (one, units) = units.split_at_mut(1);
    let (between, units) = units.split_at_mut(high - low - 1);
    let (other, behind) = units.split_at_mut(1);
    let (one, other) = (&mut one[0], &mut other[0]);
    let rest = Rest([before, between, behind]);
    match first < second {
        true => (one, other, rest),
        false => (other, one, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_in_one_part() {
        for count in 2..6 {
            for (first, second) in (0..count * count).map(|at| (at / count, at % count)) {
                if first == second {
                    continue;
                }
                let mut units: Vec<usize> = (0..count).collect();
                let (one, other, rest) = divide(&mut units, first, second);
                assert_eq!((*one, *other), (first, second));
                let rest: Vec<_> = rest.iter().copied().collect();
                let expected = (0..count).filter(|at| ![first, second].contains(at));
                assert_eq!(rest, expected.collect::<Vec<_>>());
            }
        }
    }
}
