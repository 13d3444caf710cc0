//! What several questions ask for: releases, an accountant, numbers in their ranges.

use clap::{Args, ValueEnum};
use serde::Serialize;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, MomentsAccountant, PldAccountant, PrivacySpent, RdpAccountant,
};
use sordino_core::privacy::{Event, NeighboringRelation};

use sordino_experiment::command_line::number::{in_range, whole};

/// The releases that are asked about.
#[derive(Clone, Copy, Debug, Args)]
pub struct Releases {
    /// Probability with which each agent is selected, in (0, 1]
    #[arg(long, value_name = "Q", value_parser = probability())]
    pub sampling_probability: f64,
    /// Noise standard deviation over sensitivity, positive
    #[arg(long, value_name = "Z", value_parser = multiplier())]
    pub noise_multiplier: f64,
    /// Number of releases
    #[arg(long, value_name = "T", value_parser = whole::<u32>(1, 1_000_000_000))]
    pub rounds: u32,
}

impl Releases {
    /// What one of them costs.
    pub fn event(&self) -> Event {
        sampled(self.sampling_probability, self.noise_multiplier)
    }
}

/// One Poisson-sampled Gaussian release; the neighbour has an agent that contributes nothing.
pub fn sampled(sampling_probability: f64, noise_multiplier: f64) -> Event {
    Event::PoissonSampledGaussian {
        sampling_probability,
        noise_multiplier,
        relation: NeighboringRelation::ReplaceSpecial,
    }
}

/// The accountants by the names that users know; core's trait says what each can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Privacy-loss distributions: tight, never below the truth
    #[default]
    Pld,
    /// Rényi divergences of fractional orders: what a budget's filter uses
    Rdp,
    /// The paper's: integer orders 2 to 33
    Moments,
}

impl Choice {
    /// The closest first.
    pub const ALL: [Choice; 3] = [Choice::Pld, Choice::Rdp, Choice::Moments];

    /// The name in tables and pictures.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Pld => "PLD",
            Choice::Rdp => "RDP",
            Choice::Moments => "moments",
        }
    }

    /// The accountant of this name, after a number of equal releases.
    pub fn after(self, event: &Event, rounds: u32) -> Result<Box<dyn Accountant>, AccountantError> {
        let mut accountant: Box<dyn Accountant> = match self {
            Choice::Pld => Box::new(PldAccountant::new()),
            Choice::Rdp => Box::new(RdpAccountant::new()),
            Choice::Moments => Box::new(MomentsAccountant::new()),
        };
        accountant.compose(event, rounds)?;
        Ok(accountant)
    }

    /// ε of equal releases at δ.
    pub fn epsilon(
        self,
        event: &Event,
        rounds: u32,
        delta: f64,
    ) -> Result<PrivacySpent, AccountantError> {
        self.after(event, rounds)?.epsilon(delta)
    }

    /// δ of equal releases at ε; an upper bound.
    pub fn delta(self, event: &Event, rounds: u32, epsilon: f64) -> Result<f64, AccountantError> {
        self.after(event, rounds)?.delta(epsilon)
    }
}

/// Reads an argument, or says what is admissible.
pub type Parser<T> = fn(&str) -> Result<T, String>;

/// A probability in (0, 1].
pub fn probability() -> Parser<f64> {
    |text| in_range(text, f64::MIN_POSITIVE, 1.0, "a probability in (0, 1]")
}

/// A noise multiplier.
pub fn multiplier() -> Parser<f64> {
    |text| in_range(text, 1e-3, 1e6, "a number from 0.001 to 1e6")
}

/// A δ, which is in (0, 1).
pub fn failure() -> Parser<f64> {
    |text| {
        in_range(
            text,
            f64::MIN_POSITIVE,
            1.0 - f64::EPSILON,
            "a number in (0, 1)",
        )
    }
}

/// A number from 0 to 1e6.
pub fn nonnegative() -> Parser<f64> {
    |text| in_range(text, 0.0, 1e6, "a number from 0 to 1e6")
}

/// A positive number that an ε may be.
pub fn positive() -> Parser<f64> {
    |text| in_range(text, 1e-6, 1e6, "a number from 1e-6 to 1e6")
}
