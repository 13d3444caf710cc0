//! Letting go: what is asked in place of a question that promises next to nothing.

use core::task::Poll;

use super::*;

/// A rate, a depth and one of three kinds.
fn wide() -> Space {
    Space::new(&[
        Axis::real(1e-6, 1.0).log(),
        Axis::integer(1, 12),
        Axis::category(3),
    ])
    .unwrap()
}

/// A hill that each kind has, highest in the first one, and flat land around it.
fn hills<T: Scalar>(x: &[T], seed: u32) -> f64 {
    let at: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    let rate = (libm::log10(at[0]) + 2.4 - 0.05 * f64::from(seed % 7)) / 0.7;
    let depth = (at[1] - 6.0 - f64::from(seed % 4) / 2.0) / 2.0;
    let high = [1.0, 0.6, 0.3][at[2] as usize];
    high * libm::exp(-0.5 * (rate * rate + depth * depth))
}

/// A broad hill, and one that is higher and narrow.
fn two_hills<T: Scalar>(x: &[T], seed: u32) -> f64 {
    let hill = |at: f64, width: f64| {
        let far = (x[0].to_f64() - at) / width;
        libm::exp(-0.5 * far * far)
    };
    let moved = 0.01 * f64::from(seed);
    0.6 * hill(0.1 + moved, 0.2) + hill(0.65 + moved, 0.04)
}

fn new<T: Scalar>(space: Space, seed: u32) -> Optimizer<T, Vec<T>> {
    let dim = space.dim();
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    Optimizer::new(space, settings, 100, vec![T::ZERO; storage_len(dim, 100)]).unwrap()
}

/// What the same optimizer asks where it lets nothing go.
fn held<T: Scalar>(optimizer: &Optimizer<T, Vec<T>>) -> Point<T> {
    let mut other = optimizer.clone();
    other.suggest_by(&Acquisition::ExpectedImprovement).unwrap()
}

/// A function of the point, and the seed.
type Trap<T> = fn(&[T], u32) -> f64;

/// How many of 24 searches have not found the higher hill in the end, where each value is told so
/// often, with the rule or without it.
fn stuck<T: Scalar>(space: fn() -> Space, f: Trap<T>, times: usize, lets_go: bool) -> usize {
    let is_stuck = |seed: &u32| {
        let mut optimizer = new::<T>(space(), *seed);
        let mut best = 0.0;
        for _ in 0..40 {
            let x = if lets_go {
                optimizer.suggest().unwrap()
            } else {
                held(&optimizer)
            };
            let value = f(&x, *seed);
            best = f64::max(best, value);
            for _ in 0..times {
                optimizer.observe(&x, T::from_f64(value)).unwrap();
            }
        }
        best < 0.8
    };
    (0..24).filter(is_stuck).count()
}

fn line() -> Space {
    unit_box(1).into()
}

/// Both formats, spaces with a choice and boxes, and values told twice. The control is the same
/// search without the rule; in single precision the floor of the noise has nearly the same effect.
#[test]
fn a_search_does_not_stay_with_the_wrong_choice() {
    let with = [
        stuck::<f64>(wide, hills, 1, true),
        stuck::<f32>(wide, hills, 1, true),
        stuck::<f64>(wide, hills, 2, true),
        stuck::<f64>(line, two_hills, 1, true),
        stuck::<f32>(line, two_hills, 1, true),
        stuck::<f64>(line, two_hills, 2, true),
    ];
    let without = [
        stuck::<f64>(wide, hills, 1, false),
        stuck::<f64>(line, two_hills, 1, false),
    ];
    let [wide, line] = [&with[..3], &with[3..]];
    assert!(wide.iter().all(|stuck| *stuck <= 2), "{with:?} {without:?}");
    assert!(line.iter().all(|stuck| *stuck <= 6), "{with:?} {without:?}");
    assert!(without[0] >= 7 && without[1] >= 14, "{without:?}");
}

/// The questions of a search in slices of so many evaluations, how many slices the dearest took,
/// and how many were asked elsewhere.
fn sliced<T: Scalar>(space: fn() -> Space, f: Trap<T>, slice: u32) -> (Vec<Vec<u64>>, u32, u32) {
    let mut optimizer = new::<T>(space(), 3);
    let (mut path, mut most, mut elsewhere) = (Vec::new(), 0, 0);
    for _ in 0..30 {
        elsewhere += u32::from(held(&optimizer) != optimizer.clone().suggest().unwrap());
        let mut slices = 1;
        let x = loop {
            if let Poll::Ready(x) = optimizer.suggest_step(slice).unwrap() {
                break x;
            }
            slices += 1;
            // A look at the best point in between changes nothing.
            let _ = optimizer.best();
        };
        most = most.max(slices);
        // It is kept for those who ask again, with what it promises.
        let gain = optimizer.expected_gain();
        assert_eq!(optimizer.suggest_step(1), Ok(Poll::Ready(x.clone())));
        assert_eq!(optimizer.expected_gain(), gain);
        path.push(bits(&x));
        let value = f(&x, 3);
        optimizer.observe(&x, T::from_f64(value)).unwrap();
    }
    (path, most, elsewhere)
}

fn slices_agree<T: Scalar>(space: fn() -> Space, f: Trap<T>, scan: u32) {
    let whole = sliced::<T>(space, f, u32::MAX);
    assert!(whole.1 == 1 && whole.2 >= 4, "{} elsewhere", whole.2);
    for slice in [1, 7, 64] {
        let found = sliced::<T>(space, f, slice);
        assert_eq!(found.0, whole.0, "slices of {slice}");
        assert_eq!(found.2, whole.2);
        // Two scans at least are in them.
        assert!(found.1 > 2 * scan / slice, "{} slices of {slice}", found.1);
    }
}

#[test]
fn slices_ask_elsewhere_the_same_bits() {
    slices_agree::<f64>(wide, hills, 144);
    slices_agree::<f32>(wide, hills, 144);
    slices_agree::<f64>(line, two_hills, 48);
    slices_agree::<f32>(line, two_hills, 48);
}

/// What is resumed from a log, also of an optimizer in the middle of a question, and what was
/// copied there, asks the same.
fn resumes_elsewhere<T: Scalar>() {
    let mut optimizer = new::<T>(wide(), 5);
    let mut log: Vec<LogEntry<T>> = Vec::new();
    let mut elsewhere = 0;
    for round in 0..40_u32 {
        let resume = || {
            let storage = vec![T::ZERO; storage_len(3, 100)];
            let settings = optimizer.settings;
            Optimizer::resume(wide(), settings, 100, storage, log.iter().cloned()).unwrap()
        };
        let mut resumed = resume();
        let mut copied = optimizer.clone();
        for _ in 0..round * 11 {
            if copied.suggest_step(1).unwrap().is_ready() {
                break;
            }
        }
        let mut copied = copied.clone();
        let x = optimizer.suggest().unwrap();
        assert_eq!(bits(&resumed.suggest().unwrap()), bits(&x), "round {round}");
        assert_eq!(bits(&copied.suggest().unwrap()), bits(&x), "round {round}");
        elsewhere += u32::from(held(&optimizer) != x);
        // One fails, and one is told as it is expected, for another is asked meanwhile.
        if round == 20 {
            optimizer.fail(&x).unwrap();
            log.push(LogEntry::failed(&x).unwrap());
        } else {
            let value = match round {
                30 => optimizer.predict(&x).unwrap().0,
                _ => T::from_f64(hills(&x, 5)),
            };
            optimizer.observe(&x, value).unwrap();
            log.push(LogEntry::told(&x, value).unwrap());
        }
    }
    assert!(elsewhere >= 6, "{elsewhere}");
}

#[test]
fn a_resumed_search_asks_elsewhere_as_the_first_one_did() {
    resumes_elsewhere::<f64>();
    resumes_elsewhere::<f32>();
}

/// What is given stays given, what failed is left, and nothing is asked twice.
#[test]
fn what_is_asked_elsewhere_keeps_its_context_and_is_new() {
    let axes = [
        Axis::real(0.0, 1.0),
        Axis::integer(0, 9).given(),
        Axis::category(3),
    ];
    let mut optimizer = new::<f64>(Space::new(&axes).unwrap(), 1);
    let mut asked = Vec::new();
    let mut elsewhere = 0;
    for round in 0..80_u32 {
        let load = f64::from(round % 4);
        optimizer.given(&[load]).unwrap();
        let x = optimizer.suggest().unwrap();
        assert_eq!(x[1], load);
        assert!(!asked.contains(&bits(&x)), "{x:?} again");
        asked.push(bits(&x));
        elsewhere += u32::from(held(&optimizer) != x);
        if x[0] > 0.9 {
            optimizer.fail(&x).unwrap();
            continue;
        }
        let high = [1.0, 0.7, 0.4][x[2] as usize];
        let far = (x[0] - 0.1 - 0.1 * load) / 0.15;
        optimizer
            .observe(&x, high * libm::exp(-0.5 * far * far))
            .unwrap();
    }
    assert!(elsewhere >= 10, "{elsewhere}");
    for load in 0..4 {
        optimizer.given(&[f64::from(load)]).unwrap();
        let best = optimizer.recommend().unwrap();
        assert!(best.mean > 0.9 && best.point[2] == 0.0, "{best:?}");
    }
}

/// Values that are all one are no measure of anything; who sets a width or a rule is not
/// overruled; the promise is that of the best question.
#[test]
fn what_is_not_let_go() {
    let mut constant = new::<f32>(wide(), 0);
    let mut explorer = new::<f64>(line(), 0);
    let mut optimizer = new::<f64>(line(), 0);
    explorer.settings.acquisition = Acquisition::UpperConfidenceBound { width: 2.0 };
    let width = explorer.settings.acquisition;
    let mut elsewhere = 0;
    for _ in 0..30 {
        let x = constant.suggest().unwrap();
        assert_eq!(x, held(&constant));
        constant.observe(&x, 3.0).unwrap();
        let x = explorer.suggest().unwrap();
        assert_eq!(x, explorer.clone().suggest_by(&width).unwrap());
        explorer.observe(&x, two_hills(&x, 0)).unwrap();
        let mut other = optimizer.clone();
        let x = optimizer.suggest().unwrap();
        let best = other.suggest_by(&Acquisition::ExpectedImprovement).unwrap();
        elsewhere += u32::from(x != best);
        assert_eq!(optimizer.expected_gain(), other.expected_gain());
        optimizer.observe(&x, two_hills(&x, 0)).unwrap();
    }
    assert!(elsewhere >= 4, "{elsewhere}");
}

/// A program with a pool of its own.
#[test]
fn of_a_pool_another_point_is_asked_only_where_the_best_is_idle() {
    let mut optimizer = new::<f64>(line(), 2);
    let pool: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.618) % 1.0).collect();
    assert_eq!(optimizer.elsewhere_among(&[0.5], &pool), Ok(None));
    let mut elsewhere = 0;
    for _ in 0..40 {
        let best = optimizer.suggest_among(&pool).unwrap();
        let other = optimizer
            .elsewhere_among(&pool[best..=best], &pool)
            .unwrap();
        let place = other.unwrap_or(best);
        let x = [pool[place]];
        if other.is_some() {
            elsewhere += 1;
            assert!(!optimizer.was_asked(&x));
        }
        optimizer.observe(&x, two_hills(&x, 0)).unwrap();
    }
    assert!((6..26).contains(&elsewhere), "{elsewhere}");
    let (best, _) = optimizer.best().unwrap();
    assert!((best[0] - 0.65).abs() < 0.02, "{best:?}");
    assert!(optimizer.elsewhere_among(&[0.5, 0.5], &pool).is_err());
    assert!(optimizer.elsewhere_among(&[1.5], &pool).is_err());
    assert!(optimizer.elsewhere_among(&[0.5], &[]).is_err());
    assert!(optimizer.elsewhere_among(&[0.5], &[0.1, 1.5]).is_err());
}
