//! What releases cost, by the functions that `sordino privacy` calls.

use pyo3::prelude::*;
use sordino_core::privacy::Event;
use sordino_lab::privacy::asked::{
    Choice, failure, multiplier, nonnegative, positive, probability, sampled,
};
use sordino_lab::privacy::calibrate::{Question, Search, find};

use crate::error;

/// The most releases that are asked about.
const ROUNDS_MAX: u32 = 1_000_000_000;

const ACCOUNTANTS: [(&str, Choice); 3] = [
    ("pld", Choice::Pld),
    ("rdp", Choice::Rdp),
    ("moments", Choice::Moments),
];

fn releases(
    sampling_probability: f64,
    noise_multiplier: f64,
    rounds: i64,
) -> PyResult<(Event, u32)> {
    let q = error::number("sampling_probability", sampling_probability, probability())?;
    let z = error::number("noise_multiplier", noise_multiplier, multiplier())?;
    Ok((
        sampled(q, z),
        error::whole("rounds", rounds, 1, ROUNDS_MAX)?,
    ))
}

/// ε of Poisson-sampled Gaussian releases at δ.
#[pyfunction]
pub fn epsilon(
    py: Python<'_>,
    sampling_probability: f64,
    noise_multiplier: f64,
    rounds: i64,
    delta: f64,
    accountant: &str,
) -> PyResult<f64> {
    let (event, rounds) = releases(sampling_probability, noise_multiplier, rounds)?;
    let delta = error::number("delta", delta, failure())?;
    let accountant = error::named("accountant", accountant, &ACCOUNTANTS)?;
    py.detach(|| accountant.epsilon(&event, rounds, delta))
        .map(|spent| spent.epsilon)
        .map_err(error::input)
}

/// δ of the same releases at ε.
#[pyfunction]
pub fn delta(
    py: Python<'_>,
    sampling_probability: f64,
    noise_multiplier: f64,
    rounds: i64,
    epsilon: f64,
    accountant: &str,
) -> PyResult<f64> {
    let (event, rounds) = releases(sampling_probability, noise_multiplier, rounds)?;
    let epsilon = error::number("epsilon", epsilon, nonnegative())?;
    let accountant = error::named("accountant", accountant, &ACCOUNTANTS)?;
    py.detach(|| accountant.delta(&event, rounds, epsilon))
        .map_err(error::input)
}

/// What is left out of three parameters for a target (ε, δ): the JSON of
/// `sordino privacy calibrate`.
#[pyfunction]
pub fn calibrate(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    sampling_probability: Option<f64>,
    noise_multiplier: Option<f64>,
    rounds: Option<i64>,
    accountant: &str,
) -> PyResult<String> {
    let given = [
        sampling_probability.is_some(),
        noise_multiplier.is_some(),
        rounds.is_some(),
    ];
    if given.iter().filter(|given| **given).count() != 2 {
        return Err(error::InputError::new_err(
            "exactly two of sampling_probability, noise_multiplier and rounds are given; the third is found",
        ));
    }
    let question = Question {
        epsilon: error::number("epsilon", epsilon, positive())?,
        delta: error::number("delta", delta, failure())?,
        sampling_probability: sampling_probability
            .map(|q| error::number("sampling_probability", q, probability()))
            .transpose()?,
        noise_multiplier: noise_multiplier
            .map(|z| error::number("noise_multiplier", z, multiplier()))
            .transpose()?,
        rounds: rounds
            .map(|rounds| error::whole("rounds", rounds, 1, ROUNDS_MAX))
            .transpose()?,
        accountant: error::named(
            "accountant",
            accountant,
            &[("pld", Search::Pld), ("rdp", Search::Rdp)],
        )?,
    };
    let answer = py.detach(|| find(&question)).map_err(error::ended)?;
    serde_json::to_string(&answer).map_err(error::failure)
}

/// A bound as the command line tells it: with so many digits, never below itself.
#[pyfunction]
pub fn significant_up(number: f64, digits: usize) -> String {
    sordino_host::text::significant_up(number, digits)
}
