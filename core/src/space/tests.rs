//! Round trips in both formats, shares, refusals, neighbours.

extern crate std;
use std::string::ToString;

use super::*;

/// An axis of every kind and scale, none beyond what `f32` resolves.
fn axes() -> [Axis; 10] {
    [
        Axis::real(-5.0, 10.0),
        Axis::real(1e-6, 1e3).log(),
        Axis::integer(-7, 12),
        Axis::integer(-300_000, 400_000),
        Axis::integer(1, 60_000).log(),
        Axis::integer(900, 1000).log(),
        Axis::category(5),
        Axis::category(1),
        Axis::ordinal(9),
        Axis::real(0.0, 1.0).given(),
    ]
}

/// Every value of a small axis; of a large one both ends and some between.
fn some(axis: &Axis) -> impl Iterator<Item = u32> {
    let count = axis.count().unwrap_or(0);
    let step = (count / 1000).max(1) as usize;
    (0..count)
        .step_by(step)
        .chain([count.saturating_sub(1)])
        .filter(move |index| *index < count)
}

fn comes_back<T: Scalar>() {
    for axis in axes() {
        let space = Space::new(&[axis, Axis::real(0.0, 1.0)]).unwrap();
        assert_eq!(space.check_format::<T>(), Ok(()), "{axis:?}");
        for index in some(&axis) {
            let value = axis.nth::<T>(index);
            let unit = space.to_unit(0, value).unwrap();
            assert_eq!(
                space.from_unit(0, unit),
                Some(value),
                "{axis:?} {index} {}",
                T::NAME
            );
            let mut point = [unit, T::ZERO];
            space.snap(&mut point);
            assert_eq!(point[0], unit, "{axis:?} {index}");
            assert_eq!(space.check(&[value, T::ZERO]), Ok(()));
        }
    }
}

#[test]
fn whole_numbers_and_choices_come_back_exactly_in_both_formats() {
    comes_back::<f32>();
    comes_back::<f64>();
    // Every one of the hardest: the largest whole numbers whose logarithms f32 is said to tell
    // apart.
    let axis = Axis::integer(1, 60_000).log();
    assert!(
        (0..60_000)
            .all(|index| axis.value_at(axis.unit_of(axis.nth::<f32>(index)))
                == axis.nth::<f32>(index))
    );
}

/// Negative control of the one above: axes that a format does not resolve are refused, and rightly.
#[test]
fn a_format_that_merges_values_is_refused() {
    for (axis, narrow, wide) in [
        (Axis::integer(0, 20_000_000), false, true),
        (Axis::integer(16_777_216, 16_777_220), false, true),
        (Axis::integer(1, 2_000_000).log(), false, true),
        (Axis::real(1e9, 1e9 + 1.0), false, true),
        (Axis::real(1e-60, 1.0).log(), false, true),
        (Axis::real(-3e38, 3e38), false, true),
        (Axis::real(-1.7e308, 1.7e308), false, false),
        (Axis::integer(0, 1000), true, true),
    ] {
        let space = Space::new(&[axis]).unwrap();
        assert_eq!(space.check_format::<f32>().is_ok(), narrow, "{axis:?}");
        assert_eq!(space.check_format::<f64>().is_ok(), wide, "{axis:?}");
    }
    let merged = Axis::integer(1, 2_000_000).log();
    let lost = |index: u32| {
        merged.value_at(merged.unit_of(merged.nth::<f32>(index))) != merged.nth::<f32>(index)
    };
    assert!(
        (1_900_000..1_900_100).any(lost),
        "f32 tells them apart after all"
    );
}

#[test]
fn every_value_has_an_equal_share_of_its_axis() {
    let cells = 1000u32;
    for axis in [Axis::integer(3, 7), Axis::category(5), Axis::ordinal(5)] {
        let mut shares = [0; 5];
        for cell in 0..cells {
            let unit = (f64::from(cell) + 0.5) / f64::from(cells);
            shares[axis.index(axis.value_at(unit)) as usize] += 1;
        }
        assert_eq!(shares, [200; 5], "{axis:?}");
    }
    // Of the logarithm, where that is taken: 2 has ln(2.5/1.5) of ln(8.5/0.5).
    let axis = Axis::integer(1, 8).log();
    let of_two = (0..cells)
        .filter(|cell| axis.value_at((f64::from(*cell) + 0.5) / 1000.0) == 2.0)
        .count();
    let expected = ((2.5f64 / 1.5).ln() / (8.5f64 / 0.5).ln() * 1000.0).round() as usize;
    assert_eq!(of_two, expected);
}

#[test]
fn real_numbers_keep_their_ends_and_their_range() {
    for axis in [
        Axis::real(-5.0, 10.0),
        Axis::real(1e-4, 10.0),
        Axis::real(1e-4, 10.0).log(),
        Axis::real(0.1, 0.7),
    ] {
        let space = Space::new(&[axis]).unwrap();
        for i in 0..=1000u16 {
            let narrow = f32::from(i) / 1000.0;
            let wide = f64::from(i) / 1000.0;
            let x = space.from_unit(0, narrow).unwrap();
            let y = space.from_unit(0, wide).unwrap();
            assert_eq!(
                (space.check(&[x]), space.check(&[y])),
                (Ok(()), Ok(())),
                "{axis:?} {x} {y}"
            );
            assert!(
                (space.to_unit(0, x).unwrap() - narrow).abs() < 2e-6,
                "{axis:?} {x}"
            );
            assert!(
                (space.to_unit(0, y).unwrap() - wide).abs() < 1e-14,
                "{axis:?} {y}"
            );
        }
        let below = space.from_unit(0, -1.0).unwrap();
        let above = space.from_unit(0, 7.0).unwrap();
        assert_eq!(
            (space.to_unit(0, below), space.to_unit(0, above)),
            (Some(0.0), Some(1.0))
        );
        assert_eq!(space.from_unit(0, f64::NAN), space.from_unit(0, 0.0));
    }
}

#[test]
fn a_value_that_its_axis_does_not_admit_is_named() {
    let space = Space::new(&[
        Axis::real(1e-4, 1.0).log(),
        Axis::integer(-1_000_000, 8),
        Axis::category(3),
        Axis::ordinal(2),
    ]);
    let space = space.unwrap();
    assert_eq!(space.check(&[0.5f32, -3.0, 2.0, 1.0]), Ok(()));
    for (point, said) in [
        (
            [2.0f32, 0.0, 0.0, 0.0],
            "axis 0: 2 is not a number from 0.0001 to 1",
        ),
        (
            [f32::NAN, 0.0, 0.0, 0.0],
            "axis 0: NaN is not a number from 0.0001 to 1",
        ),
        (
            [0.5, 0.5, 0.0, 0.0],
            "axis 1: 0.5 is not a whole number from -1000000 to 8",
        ),
        ([0.5, 1e-9, 0.0, 0.0], "is not a whole number"),
        (
            [0.5, 9.0, 0.0, 0.0],
            "axis 1: 9 is not a whole number from -1000000 to 8",
        ),
        (
            [0.5, 0.0, 3.0, 0.0],
            "axis 2: 3 is not the number of one of 3 choices, from 0",
        ),
        (
            [0.5, 0.0, 1.5, 0.0],
            "axis 2: 1.5 is not the number of one of 3 choices",
        ),
        ([0.5, 0.0, -1.0, 0.0], "axis 2: -1 is not"),
        (
            [0.5, 0.0, 0.0, 2.0],
            "axis 3: 2 is not the number of one of 2 levels, from 0",
        ),
    ] {
        let refused = space.check(&point).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(
        space.check(&[0.5f32]),
        Err(SpaceError::Coordinates {
            expected: 4,
            given: 1
        })
    );
}

#[test]
fn refuses_a_space_that_cannot_be_searched() {
    let real = Axis::real(0.0, 1.0);
    for (axes, expected) in [
        (&[][..], SpaceError::Dimension { dim: 0 }),
        (
            &[real; DIM_MAX + 1][..],
            SpaceError::Dimension { dim: DIM_MAX + 1 },
        ),
        (&[real.given()][..], SpaceError::NothingSearched),
        (
            &[real, Axis::real(1.0, 1.0)][..],
            SpaceError::Bounds {
                axis: 1,
                low: 1.0,
                high: 1.0,
            },
        ),
        (
            &[Axis::integer(3, 3)][..],
            SpaceError::Integers {
                axis: 0,
                low: 3,
                high: 3,
            },
        ),
        (
            &[Axis::integer(-1, i32::MAX)][..],
            SpaceError::Integers {
                axis: 0,
                low: -1,
                high: i32::MAX,
            },
        ),
        (
            &[Axis::integer(0, i32::MAX)][..],
            SpaceError::Integers {
                axis: 0,
                low: 0,
                high: i32::MAX,
            },
        ),
        (
            &[real, Axis::category(0)][..],
            SpaceError::Choices { axis: 1, count: 0 },
        ),
        (
            &[Axis::ordinal(CHOICES_MAX + 1)][..],
            SpaceError::Choices {
                axis: 0,
                count: CHOICES_MAX + 1,
            },
        ),
        (&[real.log()][..], SpaceError::Logarithm { axis: 0 }),
        (
            &[Axis::real(-1.0, 1.0).log()][..],
            SpaceError::Logarithm { axis: 0 },
        ),
        (
            &[Axis::real(-0.0, 1.0).log()][..],
            SpaceError::Logarithm { axis: 0 },
        ),
        (
            &[Axis::integer(0, 5).log()][..],
            SpaceError::Logarithm { axis: 0 },
        ),
        (
            &[Axis::category(4).log()][..],
            SpaceError::Logarithm { axis: 0 },
        ),
    ] {
        assert_eq!(Space::new(axes), Err(expected));
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(
            Space::new(&[Axis::real(bad, 1.0)]).is_err()
                && Space::new(&[Axis::real(0.0, bad)]).is_err()
        );
    }
    // A stored space is checked as a new one is.
    let stored: Axes = heapless::Vec::from_slice(&[Axis::category(0)]).unwrap();
    let mut bytes = [0; 64];
    let bytes = postcard::to_slice(&stored, &mut bytes).unwrap();
    assert!(postcard::from_bytes::<Space>(bytes).is_err());
}

#[test]
fn neighbours_are_the_next_ones_or_all_other_choices() {
    let space = Space::new(&[
        Axis::integer(1, 4),
        Axis::category(3),
        Axis::real(0.0, 1.0),
        Axis::integer(1, 100).log(),
        Axis::ordinal(1),
    ]);
    let space = space.unwrap();
    let values = |axis: usize, value: f64| {
        let unit = space.to_unit(axis, value).unwrap();
        let list: heapless::Vec<f64, 8> = space
            .neighbours(axis, unit)
            .map(|unit| space.from_unit(axis, unit).unwrap())
            .collect();
        list
    };
    assert_eq!(values(0, 1.0), [2.0]);
    assert_eq!(values(0, 3.0), [2.0, 4.0]);
    assert_eq!(values(0, 4.0), [3.0]);
    assert_eq!(values(1, 1.0), [0.0, 2.0]);
    assert!(values(2, 0.5).is_empty() && values(4, 0.0).is_empty());
    assert_eq!(values(3, 50.0), [49.0, 51.0]);
    assert_eq!(space.neighbours(9, 0.5f32).count(), 0);
}

#[test]
fn a_box_is_a_space_of_real_numbers() {
    let domain = BoxDomain::new(&[(-5.0, 10.0), (0.0, 15.0)]).unwrap();
    let space = Space::from(&domain);
    assert_eq!((space.dim(), space.count()), (2, None));
    for i in 0..=100u8 {
        let unit = f32::from(i) / 100.0;
        for axis in 0..2 {
            let x = domain.from_unit(axis, unit).unwrap();
            assert_eq!(space.from_unit(axis, unit), Some(x));
            assert_eq!(space.to_unit(axis, x), domain.to_unit(axis, x));
        }
    }
    // Discrete axes of context are not among the questions.
    let counted = Space::new(&[
        Axis::integer(1, 5),
        Axis::category(3).given(),
        Axis::ordinal(2),
    ])
    .unwrap();
    assert_eq!(counted.count(), Some(10));
    assert!(counted.searched().eq([0, 2]) && counted.is_category(1) && !counted.is_category(0));
}
