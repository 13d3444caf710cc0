//! What is written on a prior file: for people, and for programs that must not believe more than it
//! says.

use serde::{Deserialize, Serialize};
use sordino_core::federated::shares::Trust;
use sordino_core::privacy::Event;
use sordino_core::privacy::NeighboringRelation;
use sordino_core::privacy::accountant::{Accountant, AccountantError, GaussianAccountant};

use super::error::{PriorFileError, refuse, unsearchable};
use crate::space::{Goal, Space};
use crate::text::is_unseen;

/// The most releases a file is made of.
pub const RELEASES_MAX: usize = 64;
/// The most contributors.
pub(crate) const CONTRIBUTORS_MAX: u32 = 1 << 24;
/// A self-test beyond this is written as this: it says no more.
pub const SELF_TEST_MAX: f64 = 1e6;
/// The longest of the free texts, in bytes.
const TEXT_MAX: usize = 1000;

/// What a file tells, who is protected, and how far.
///
/// **Example**: that of [`PriorFile`](super::PriorFile).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// What is searched, with names and units.
    pub space: Space,
    /// Which values are better.
    pub goal: Goal,
    /// What a value is, in words.
    pub value: Option<String>,
    /// Kernel of the file, with its lengthscale in coordinates of the unit box.
    pub kernel: String,
    /// Lengthscale of the kernel, positive.
    pub lengthscale: f32,
    /// Noise variance as a fraction of a contributor's variance, positive.
    pub noise_fraction: f64,
    /// Variance of a contributor's own weights around what all have in common, ≥ 0.
    pub heterogeneity: f64,
    /// Self-test B: how much better a common function explains the releases than unrelated
    /// contributors do, in nats.
    pub self_test: f64,
    /// Enrolled contributors N.
    pub contributors: u32,
    /// Gaussian releases it is made of.
    pub releases: u32,
    /// Noise multiplier z of each.
    pub noise_multipliers: Vec<f64>,
    /// ε at δ that the releases cost, from above.
    pub epsilon: f64,
    /// The δ it was counted at.
    pub delta: f64,
    /// ε at δ between any two data sets of one contributor, from above.
    pub replace_epsilon: f64,
    /// Which neighbours ε compares.
    pub neighboring_relation: String,
    /// How it was counted.
    pub accountant: String,
    /// Whose hands contributions were in: a label says it where there were two servers, and nothing
    /// where there was one.
    #[serde(default, skip_serializing_if = "is_one_server")]
    pub trust: Trust,
    /// Whether its noise can be predicted: then it protects nobody.
    pub simulated: bool,
    /// Name of the contributors' data, under which their budget is counted.
    pub dataset: String,
    /// Who published it, in words.
    pub by: Option<String>,
    /// Free words of the publisher.
    pub note: Option<String>,
    /// The day, as YYYY-MM-DD.
    pub published: Option<String>,
    /// Chain of the ledger's last line, hexadecimal; nothing without a ledger.
    pub ledger: Option<String>,
}

fn is_one_server(trust: &Trust) -> bool {
    *trust == Trust::OneServer
}

/// Words for how the releases of a file are counted.
pub const ACCOUNTANT: &str = "one Gaussian, exact";
/// The kernel of every file so far.
pub const KERNEL: &str = "squared-exponential";

/// What Gaussian releases on everybody cost together: ε at δ, and ε between two data sets of one
/// contributor, whose vectors may be opposite and so twice as far from each other.
///
/// **Errors**: [`AccountantError`] for multipliers or δ out of range.
pub fn cost(noise_multipliers: &[f64], delta: f64) -> Result<(f64, f64), AccountantError> {
    let [used, between] = [
        accounted(noise_multipliers, 1.0)?,
        accounted(noise_multipliers, 0.5)?,
    ];
    Ok((
        used.epsilon(delta)?.epsilon,
        between.epsilon(delta)?.epsilon,
    ))
}

/// How often a reader of the file who guesses whether one contributor was used is right at most,
/// where both are as likely: [`Accountant::best_guess`] of all releases together.
///
/// **Errors**: [`AccountantError`] for multipliers out of range.
pub fn best_guess(noise_multipliers: &[f64]) -> Result<f64, AccountantError> {
    accounted(noise_multipliers, 1.0)?.best_guess()
}

/// The releases together, each with this share of its noise.
fn accounted(noise_multipliers: &[f64], share: f64) -> Result<GaussianAccountant, AccountantError> {
    let mut accountant = GaussianAccountant::new();
    for noise_multiplier in noise_multipliers {
        accountant.compose(&event(share * noise_multiplier), 1)?;
    }
    Ok(accountant)
}

/// What one release costs.
pub fn event(noise_multiplier: f64) -> Event {
    sordino_core::federated::prior::event(noise_multiplier)
}

/// Refuses a text that no label has.
///
/// **Errors**: [`PriorFileError`] for one of more than 1,000 bytes, or with characters that are not
/// seen.
pub fn check_text(what: &str, text: Option<&str>) -> Result<(), PriorFileError> {
    match text.filter(|text| text.len() > TEXT_MAX || text.chars().any(is_unseen)) {
        Some(text) => Err(refuse(
            what,
            format!("{text:.60?}"),
            "at most 1000 bytes without characters that are not seen",
        )),
        None => Ok(()),
    }
}

impl Label {
    /// Checks what a label says, and that it claims no less than its multipliers cost.
    ///
    /// **Errors**: [`PriorFileError`] naming the first entry that cannot be.
    pub fn check(&self) -> Result<(), PriorFileError> {
        Space::new(self.space.parameters().to_vec())
            .and_then(|space| space.core())
            .map_err(unsearchable)?;
        self.check_texts()?;
        for (what, x) in [
            ("lengthscale", f64::from(self.lengthscale)),
            ("noise_fraction", self.noise_fraction),
        ] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(refuse(what, x, "a positive number"));
            }
        }
        if !(self.heterogeneity >= 0.0 && self.heterogeneity.is_finite()) {
            return Err(refuse("heterogeneity", self.heterogeneity, "[0, inf)"));
        }
        if !(self.self_test.abs() <= SELF_TEST_MAX) {
            return Err(refuse("self_test", self.self_test, "[-1e6, 1e6]"));
        }
        if !(2..=CONTRIBUTORS_MAX).contains(&self.contributors) {
            return Err(refuse("contributors", self.contributors, "2..=16777216"));
        }
        self.check_cost()
    }

    fn check_texts(&self) -> Result<(), PriorFileError> {
        let relation = NeighboringRelation::ReplaceSpecial.to_string();
        for (what, found, admissible) in [
            ("kernel", &self.kernel, KERNEL),
            (
                "neighboring_relation",
                &self.neighboring_relation,
                relation.as_str(),
            ),
            ("accountant", &self.accountant, ACCOUNTANT),
        ] {
            if found != admissible {
                return Err(refuse(what, format!("{found:?}"), admissible));
            }
        }
        let texts = [
            ("value", &self.value),
            ("by", &self.by),
            ("note", &self.note),
            ("published", &self.published),
            ("ledger", &self.ledger),
        ];
        let dataset = Some(self.dataset.clone());
        for (what, text) in texts.into_iter().chain([("dataset", &dataset)]) {
            check_text(what, text.as_deref())?;
        }
        Ok(())
    }

    fn check_cost(&self) -> Result<(), PriorFileError> {
        let count = self.noise_multipliers.len();
        if count != self.releases as usize || !(1..=RELEASES_MAX).contains(&count) {
            return Err(refuse(
                "releases",
                self.releases,
                "1 to 64, as many as noise_multipliers",
            ));
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(refuse("delta", self.delta, "(0, 1)"));
        }
        let (epsilon, between) = cost(&self.noise_multipliers, self.delta).map_err(|error| {
            refuse(
                "noise_multipliers",
                error,
                "positive numbers that have a finite epsilon",
            )
        })?;
        for (what, told, least) in [
            ("epsilon", self.epsilon, epsilon),
            ("replace_epsilon", self.replace_epsilon, between),
        ] {
            // What is told may be rounded up. Less than the releases cost is no rounding.
            if !(told >= least * (1.0 - 1e-12) && told.is_finite()) {
                return Err(refuse(
                    what,
                    told,
                    &format!("at least {least}, what the noise multipliers cost"),
                ));
            }
        }
        Ok(())
    }
}
