//! Stored states of reporter, curator, publisher, modeler and tuner are judged: what cannot be is
//! refused by name.

use sordino_core::kernel::SquaredExponential;
use sordino_core::local::ReporterState;
use sordino_core::output::{
    self, FailureRule, Publisher, PublisherState, ScoreScale, Tuner, TunerState, WorstCase,
};
use sordino_core::outsourced::preprocess::Origin;
use sordino_core::outsourced::{
    self, Config, Curator, CuratorState, Modeler, ModelerState, Parameters, Protection,
};
use sordino_core::privacy::Epsilon;
use sordino_core::privacy::ShiftUnit;
use sordino_core::privacy::mechanism::projection::GaussianProjection;

/// A state from the bytes of what it is made of.
fn from<'de, S: serde::Deserialize<'de>>(
    parts: &impl serde::Serialize,
    bytes: &'de mut [u8; 64],
) -> Option<S> {
    postcard::from_bytes(postcard::to_slice(parts, bytes).unwrap()).ok()
}

/// Before the mend the first of these, 1,000 reports with nothing spent, came back with its whole
/// budget left.
#[test]
fn a_reporter_with_more_reports_than_budget_spent_is_refused() {
    const ONE: u64 = 1 << 20;
    // User, what is spent and the whole budget in 2⁻²⁰, phase, candidate, reports.
    let read = |spent: u64, max: u64, reports: u32| {
        from::<ReporterState>(&(7u32, (spent, max), 0u8, 3u32, reports), &mut [0; 64])
            .map(|state| (state.reports(), state.budget().left()))
    };
    assert_eq!(read(0, ONE, 1000), None);
    assert_eq!(read(999, ONE, 1000), None);
    assert_eq!(read(0, u64::MAX, 0), None);
    // Negative controls: what a reporter can be; a budget beyond its end admits nothing; zeroed
    // flash neither.
    assert_eq!(
        read(1000, ONE, 1000),
        Some((1000, 1.0 - 1000.0 / ONE as f64))
    );
    assert_eq!(read(ONE / 2, ONE, 1), Some((1, 0.5)));
    assert_eq!(read(9 * ONE, ONE, 9), Some((9, 0.0)));
    assert_eq!(read(0, 0, 0), Some((0, 0.0)));
    assert_eq!(read(0, 256 * ONE, 0), Some((0, 256.0)));
}

/// Before the mend a curator of two rows that evaluates row 99 was put together.
#[test]
fn a_curator_that_cannot_be_is_refused() {
    // Phase (Fresh, Charging, Serving, Evaluating, Closed), row, answers.
    let attach = |phase: u8, row: u32, answers: u32| {
        let mut state: CuratorState = from(&(phase, row, answers), &mut [0; 64]).unwrap();
        let protection =
            Protection::Gaussian(GaussianProjection::identity(2, 1.0, 1e-5, 25.0, 20).unwrap());
        let table = [1.0, 2.0, 3.0, 4.0];
        let mut pool = [0; 4];
        let mut out = [0.0; 4];
        let curator = Curator::attach(
            protection,
            &table,
            Origin::Public {
                unit: ShiftUnit::ONE,
            },
            &mut state,
            &mut pool,
            &mut out,
        );
        curator.err().map(|error| error.to_string())
    };
    let refused = |phase, what| Some(format!("stored state in phase {phase}: {what}"));
    assert_eq!(
        attach(3, 99, 0),
        refused("Evaluating", "row 99 is outside 0..=1")
    );
    assert_eq!(
        attach(2, 2, 5),
        refused("Serving", "row 2 is outside 0..=1")
    );
    assert_eq!(
        attach(0, 0, 5),
        refused("Fresh", "number of answers 5 is outside 0..=0")
    );
    assert_eq!(attach(4, 1, 0), refused("Closed", "row 1 is outside 0..=0"));
    // Negative control.
    for (phase, row, answers) in [(0, 0, 0), (1, 0, 0), (2, 1, 900), (3, 1, 0), (4, 0, 0)] {
        assert_eq!(attach(phase, row, answers), None);
    }
}

/// Before the mend a publisher of three candidates with 99 scores was put together.
#[test]
fn a_publisher_without_its_scores_is_refused() {
    let scale = ScoreScale::per_record(1, 10).unwrap();
    let one = Epsilon::new(1.0).unwrap();
    let mechanism = WorstCase::new(3, scale, one, one, FailureRule::Abort).unwrap();
    // Phase (Collecting, Charging, Done), scored, failed.
    let attach = |phase: u8, scored: u32, failed: u32, mut levels: [i64; 3]| {
        let mut state: PublisherState =
            from(&(phase, scored, failed, mechanism.id()), &mut [0; 64]).unwrap();
        let mut order = [0; 3];
        let publisher = Publisher::attach(&mechanism, &mut state, &mut levels, &mut order);
        publisher.err().map(|error| error.to_string())
    };
    let refused = |what| Some(format!("stored state in phase Collecting: {what}"));
    assert_eq!(
        attach(0, 99, 0, [0; 3]),
        refused("number of scores 99 is outside 0..=3")
    );
    assert_eq!(
        attach(0, 2, 3, [4, -1, 5]),
        refused("number of failures 3 is outside 0..=2")
    );
    assert_eq!(
        attach(0, 1, 0, [0; 3]),
        refused("number of scores that are there 3 is outside 1..=1")
    );
    assert_eq!(
        attach(0, 2, 0, [11, -1, -2]),
        refused("number of scores out of range 2 is outside 0..=0")
    );
    // Negative controls: scores that are there; a fresh one clears what lies in its slices; one
    // that is done needs none.
    for (phase, scored, failed, levels) in [
        (0, 2, 2, [4, -1, 10]),
        (1, 3, 0, [0; 3]),
        (0, 0, 0, [7; 3]),
        (2, 3, 0, [99; 3]),
    ] {
        assert_eq!(attach(phase, scored, failed, levels), None);
    }
}

/// Before the mend a modeler at observation 99 of 5 was put together, and read what was not there.
#[test]
fn a_modeler_or_tuner_that_cannot_be_is_refused() {
    let kernel = || SquaredExponential::new(0.3, 1.0).unwrap();
    let points = [0.1, 0.4, 0.8];
    let config = Config::new(Parameters {
        rows: 3,
        out_dim: 1,
        initial_rows: 1,
        rounds: 4,
        noise_variance: 0.01,
        failure_probability: 0.05,
        prior_mean: 0.0,
        repeats: true,
    })
    .unwrap();
    // Phase (Fresh, Waiting, Done), observations, row.
    let modeler = |phase: u8, observations: u32, row: u32| {
        let mut state: ModelerState = from(&(phase, observations, row), &mut [0; 64]).unwrap();
        let mut log = vec![0.5; outsourced::log_len(&config)];
        let mut workspace = vec![0.0; outsourced::workspace_len(&config)];
        log.iter_mut().step_by(2).for_each(|row| *row = 1.0);
        let modeler = Modeler::attach(
            &config,
            kernel(),
            &points,
            &[0],
            &mut state,
            &mut log,
            &mut workspace,
        );
        modeler.err().map(|error| error.to_string())
    };
    // Phase (Fresh, Evaluating, Done), observations, candidate.
    let tuner = |phase: u8, observations: u32, candidate: u32| {
        let mut state: TunerState = from(&(phase, observations, candidate), &mut [0; 64]).unwrap();
        let mut log = vec![0.5; output::log_len(5)];
        let mut workspace = vec![0.0; output::workspace_len(3, 5)];
        log.iter_mut()
            .step_by(2)
            .for_each(|candidate| *candidate = 1.0);
        let tuner = Tuner::attach(
            kernel(),
            0.01,
            &points,
            1,
            5,
            0.1,
            &mut state,
            &mut log,
            &mut workspace,
        );
        tuner.err().map(|error| error.to_string())
    };
    for (attach, phase) in [
        (
            &modeler as &dyn Fn(u8, u32, u32) -> Option<String>,
            "Waiting",
        ),
        (&tuner, "Evaluating"),
    ] {
        let refused =
            |phase: &str, what: &str| Some(format!("stored state in phase {phase}: {what}"));
        assert_eq!(
            attach(1, 99, 0),
            refused(phase, "number of observations 99 is outside 0..=4")
        );
        assert_eq!(
            attach(2, 3, 0),
            refused("Done", "number of observations 3 is outside 5..=5")
        );
        assert_eq!(
            attach(0, 2, 0),
            refused("Fresh", "number of observations 2 is outside 0..=0")
        );
        for (phase, observations, row) in [(0, 0, 0), (1, 0, 2), (1, 4, 1), (2, 5, 0)] {
            assert_eq!(attach(phase, observations, row), None, "negative control");
        }
    }
    assert!(modeler(1, 2, 3).is_some_and(|said| said.contains("row 3 is outside 0..=2")));
    assert!(tuner(1, 2, 3).is_some_and(|said| said.contains("candidate 3 is outside 0..=2")));
}
