//! Searches over boxes: what is found, in which slices.

use super::*;

/// A function and its gradient.
struct Function<F, G>(F, G);

impl<F: FnMut(&[f64]) -> f64, G: FnMut(&[f64], &mut [f64])> Landscape<f64> for Function<F, G> {
    fn value(&mut self, x: &[f64]) -> f64 {
        (self.0)(x)
    }
    fn gradient(&mut self, x: &[f64], out: &mut [f64]) {
        (self.1)(x, out);
    }
}

const NOWHERE: Around<'static, f64> = Around {
    center: &[],
    spread: &[],
};

fn search(
    budget: BoxSearch,
    slice: u32,
    around: Around<'_, f64>,
    best: &mut [f64],
    landscape: &mut impl Landscape<f64>,
) -> (BoxMaximum<f64>, u32) {
    let mut scratch = [9.0; scratch_len(3)];
    let mut searching = Searching::begin(budget, 5, best, &mut scratch);
    for steps in 1.. {
        if let Poll::Ready(found) = searching.step(slice, around, best, &mut scratch, landscape) {
            assert_eq!(
                searching.step(1, around, best, &mut scratch, landscape),
                Poll::Ready(found)
            );
            return (found, steps);
        }
    }
    unreachable!("it ends")
}

#[test]
fn finds_maxima_inside_and_on_the_border() {
    let bowl = |x: &[f64]| -(x[0] - 0.31) * (x[0] - 0.31) - 2.0 * (x[1] - 0.77) * (x[1] - 0.77);
    let slope = |x: &[f64], out: &mut [f64]| {
        out.copy_from_slice(&[-2.0 * (x[0] - 0.31), -4.0 * (x[1] - 0.77)])
    };
    let budget = BoxSearch {
        scan: 64,
        near: 0,
        climbs: 2,
        evaluations_per_climb: 40,
    };
    let mut best = [0.0; 2];
    let (found, _) = search(budget, 1000, NOWHERE, &mut best, &mut Function(bowl, slope));
    assert!(
        (best[0] - 0.31).abs() < 0.03 && (best[1] - 0.77).abs() < 0.03,
        "{best:?}"
    );
    assert!(found.evaluations <= 64 + 80 && found.value == bowl(&best) && found.value > -1e-3);
    let flat = Function(
        |x: &[f64]| x[0] - 3.0 * x[1],
        |_: &[f64], out: &mut [f64]| out.copy_from_slice(&[1.0, -3.0]),
    );
    search(budget, 1000, NOWHERE, &mut best, &mut { flat });
    assert_eq!(best, [1.0, 0.0]);
}

#[test]
fn what_lies_near_the_best_point_is_found_and_nan_never_wins() {
    // A needle that the scan misses.
    let needle = |x: &[f64]| (-1e8 * (x[0] - 0.123_456) * (x[0] - 0.123_456)).max(-1.0);
    let slope = |_: &[f64], out: &mut [f64]| out.fill(0.0);
    let budget = BoxSearch::for_dim(1);
    let mut best = [0.0; 1];
    assert_eq!(
        search(budget, 99, NOWHERE, &mut best, &mut Function(needle, slope))
            .0
            .value,
        -1.0
    );
    let around = Around {
        center: &[0.1234],
        spread: &[0.01],
    };
    assert!(
        search(budget, 99, around, &mut best, &mut Function(needle, slope))
            .0
            .value
            > -1.0
    );
    let half = |x: &[f64]| if x[0] < 0.5 { f64::NAN } else { -x[0] };
    let found = search(
        budget,
        99,
        NOWHERE,
        &mut best,
        &mut Function(half, |_: &[f64], out: &mut [f64]| out.fill(-1.0)),
    )
    .0;
    assert!(found.value <= -0.5 && found.value > -0.52 && best[0] >= 0.5);
    let nothing = search(
        budget,
        99,
        NOWHERE,
        &mut best,
        &mut Function(|_: &[f64]| f64::NAN, slope),
    )
    .0;
    assert_eq!((nothing.value, best), (f64::NEG_INFINITY, [0.5]));
    let mut searching = Searching::begin(budget, 0, &mut best, &mut []);
    let short = searching.step(9, NOWHERE, &mut best, &mut [], &mut Function(needle, slope));
    assert!(matches!(
        short,
        Poll::Ready(BoxMaximum { evaluations: 0, .. })
    ));
}

#[test]
fn slices_of_any_size_are_the_search_in_one_go() {
    let value = |x: &[f64]| {
        x.iter()
            .map(|x| Scalar::sin(9.0 * x) + Scalar::cos(23.0 * x))
            .sum::<f64>()
    };
    let slope = |x: &[f64], out: &mut [f64]| {
        out.iter_mut()
            .zip(x)
            .for_each(|(out, x)| *out = 9.0 * Scalar::cos(9.0 * x) - 23.0 * Scalar::sin(23.0 * x));
    };
    for (dim, budget) in [(1, 40), (2, 7), (3, 25), (2, 1)] {
        let plan = BoxSearch {
            scan: 40,
            near: 20,
            climbs: 3,
            evaluations_per_climb: budget,
        };
        let center = [0.3, 0.7, 0.9];
        let spread = [0.2, 0.1, 0.05];
        let around = Around {
            center: &center[..dim],
            spread: &spread[..dim],
        };
        let mut whole = [0.0; 3];
        let (expected, once) = search(
            plan,
            u32::MAX,
            around,
            &mut whole[..dim],
            &mut Function(value, slope),
        );
        assert!(once == 1 && expected.value == value(&whole[..dim]));
        for slice in [1, 2, 3, 7, 40, 41, 1000] {
            let mut best = [9.0; 3];
            let mut evaluated = 0u32;
            let counted = |x: &[f64]| {
                evaluated += 1;
                value(x)
            };
            let (found, steps) = search(
                plan,
                slice,
                around,
                &mut best[..dim],
                &mut Function(counted, slope),
            );
            assert_eq!(
                (found, evaluated),
                (expected, expected.evaluations),
                "{dim} {slice}"
            );
            assert_eq!(best[..dim], whole[..dim]);
            assert!(steps >= evaluated.div_ceil(slice));
        }
    }
}
