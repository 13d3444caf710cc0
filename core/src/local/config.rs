//! What reporters and learner agree on. Everything here is public, and none of it may be estimated
//! from rewards.

use serde::{Deserialize, Serialize};

use crate::domain::CANDIDATES_MAX;
use crate::parameter::{ConfigError, check, checked, whole};
use crate::schedule::confidence::{self, LocalNoise, heavy_tailed, order_wise};

/// What is known of the reports a learner receives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewards {
    /// |f| ≤ B and |noise of an observation| ≤ R, both public; then the Laplace noise of ε per report, or none.
    Bounded {
        /// Bound B > 0 of the function's norm.
        norm_bound: f64,
        /// Bound R > 0 of the noise, unit of the reward.
        noise_bound: f64,
        /// ε of one report; `None` where rewards are sent as they are.
        epsilon: Option<f64>,
    },
    /// Raw rewards of which only moments of order 1 + α are bounded. Nothing is private.
    HeavyTailed {
        /// B > 0 with |f| ≤ B.
        norm_bound: f64,
        /// v: E|y|^{1+α} ≤ v.
        moment: f64,
        /// c: E|y − f|^{1+α} ≤ c.
        central_moment: f64,
        /// α in (0, 1]: both moments are of order 1 + α.
        moment_order: f64,
    },
}

/// Which constants multiply the widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constants {
    /// Those of the theorems: valid bounds, and so wide that T = 10⁴ is all exploration.
    Theorem,
    /// Numeric factors dropped, logarithms kept: what the paper's experiments use. No longer
    /// proven.
    OrderWise,
}

/// What is asked before anything is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstQuery {
    /// The candidate of this index.
    Candidate(u32),
    /// One drawn from the run's seed, purpose `InitialPoints`.
    Random,
}

/// The numbers a learner is described by, before they are checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Number of candidates N.
    pub candidates: u32,
    /// Number of rounds T, each a report of one user.
    pub rounds: u32,
    /// What is known of reports.
    pub rewards: Rewards,
    /// The constants of the widths: the theorems' or the experiments'.
    pub constants: Constants,
    /// Multiplies every confidence width; 1 is the paper's.
    pub width_factor: f64,
    /// Regularisation λ > 0 of the ridge regression.
    pub regularization: f64,
    /// δ in (0, 1): the probability with which the bounds may fail. Not a privacy parameter.
    pub failure_probability: f64,
    /// Accuracy of the Nyström approximation in (0, 1). Not a privacy parameter.
    pub accuracy: f64,
    /// How the first query is chosen.
    pub first_query: FirstQuery,
    /// Plays of one point in MoMA's epochs; `None` is the constants'.
    pub epoch_len: Option<u32>,
    /// q_N of the dictionary; `None` is the constants'.
    pub nystrom_inflation: Option<f64>,
    /// The most rounds after which ATA estimates again; 1 is every round.
    pub stride: u32,
}

/// Checked [`Parameters`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config(Parameters);

checked!(Config);

impl Config {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`] naming the first field outside its range.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let p = &parameters;
        let positive =
            |field, x: f64| check(field, x, (1e-100..=1e100).contains(&x), "[1e-100, 1e100]");
        whole(
            "candidates",
            p.candidates,
            1..=CANDIDATES_MAX,
            "1..=16777216",
        )?;
        whole("rounds", p.rounds, 1..=1 << 30, "1..=1073741824")?;
        match p.rewards {
            Rewards::Bounded {
                norm_bound,
                noise_bound,
                epsilon,
            } => {
                positive("norm_bound", norm_bound)?;
                positive("noise_bound", noise_bound)?;
                let epsilon = epsilon.unwrap_or(1.0);
                check(
                    "epsilon",
                    epsilon,
                    (1e-7..=256.0).contains(&epsilon),
                    "[1e-7, 256]",
                )?;
            }
            Rewards::HeavyTailed {
                norm_bound,
                moment,
                central_moment,
                moment_order: a,
            } => {
                positive("norm_bound", norm_bound)?;
                positive("moment", moment)?;
                positive("central_moment", central_moment)?;
                check("moment_order", a, a > 0.0 && a <= 1.0, "(0, 1]")?;
            }
        }
        let factor = p.width_factor;
        check(
            "width_factor",
            factor,
            (0.0..=1e6).contains(&factor),
            "[0, 1e6]",
        )?;
        positive("regularization", p.regularization)?;
        let open = |field, x: f64| check(field, x, x > 0.0 && x < 1.0, "(0, 1)");
        open("failure_probability", p.failure_probability)?;
        open("accuracy", p.accuracy)?;
        if let FirstQuery::Candidate(first) = p.first_query {
            check(
                "first_query",
                f64::from(first),
                first < p.candidates,
                "0..candidates",
            )?;
        }
        whole(
            "epoch_len",
            p.epoch_len.unwrap_or(1),
            1..=1 << 20,
            "1..=1048576",
        )?;
        positive("nystrom_inflation", p.nystrom_inflation.unwrap_or(1.0))?;
        whole("stride", p.stride, 1..=1 << 20, "1..=1048576")?;
        Ok(Config(parameters))
    }

    /// Bound B of the function's norm.
    pub fn norm_bound(&self) -> f64 {
        match self.0.rewards {
            Rewards::Bounded { norm_bound, .. } | Rewards::HeavyTailed { norm_bound, .. } => {
                norm_bound
            }
        }
    }

    fn bounded(&self) -> Option<LocalNoise> {
        match self.0.rewards {
            Rewards::Bounded {
                norm_bound,
                noise_bound,
                epsilon,
            } => Some(LocalNoise {
                norm_bound,
                noise_bound,
                epsilon: epsilon.unwrap_or(f64::INFINITY),
            }),
            Rewards::HeavyTailed { .. } => None,
        }
    }

    /// v, c and α of the moments.
    fn moments(&self) -> (f64, f64, f64) {
        match (self.0.rewards, self.bounded()) {
            (
                Rewards::HeavyTailed {
                    moment,
                    central_moment,
                    moment_order,
                    ..
                },
                _,
            ) => (moment, central_moment, moment_order),
            (_, Some(noise)) => (noise.second_moment(), noise.central_moment(), 1.0),
            (_, None) => (0.0, 0.0, 1.0),
        }
    }

    /// b_t of TGP-UCB: a report beyond it is replaced by 0.
    pub fn tgp_threshold(&self, round: u32) -> f64 {
        let (moment, _, order) = self.moments();
        match self.bounded() {
            Some(noise) => confidence::tgp_threshold(&noise, round.into()),
            None => heavy_tailed::tgp_threshold(moment, order, round.into()),
        }
    }

    /// The width of TGP-UCB in round t, `information_gain` that of the run before it.
    pub fn tgp_width(&self, round: u32, information_gain: f64) -> f64 {
        let p = &self.0;
        let delta = self.0.failure_probability;
        let round = u64::from(round);
        let (moment, _, order) = self.moments();
        let width = match (self.bounded(), p.constants) {
            (Some(noise), Constants::Theorem) => {
                confidence::tgp_width(&noise, round, information_gain, p.regularization, delta)
            }
            (Some(noise), Constants::OrderWise) => {
                order_wise::tgp_width(&noise, round, information_gain, delta)
            }
            (None, _) => heavy_tailed::tgp_width(
                self.norm_bound(),
                moment,
                order,
                round,
                information_gain,
                delta,
            ),
        };
        p.width_factor * width
    }

    /// b of ATA-GP-UCB with m features.
    pub fn ata_threshold(&self, features: u32) -> f64 {
        let p = &self.0;
        let delta = self.0.failure_probability;
        let moment = self.moments().0;
        let features = features.into();
        let rounds = p.rounds.into();
        match p.constants {
            Constants::Theorem => heavy_tailed::ata_threshold(moment, features, rounds, delta),
            Constants::OrderWise => order_wise::ata_threshold_of(moment, features, rounds, delta),
        }
    }

    /// The width of ATA-GP-UCB with m features.
    pub fn ata_width(&self, features: u32) -> f64 {
        let p = &self.0;
        let delta = self.0.failure_probability;
        let bound = self.norm_bound();
        let moment = self.moments().0;
        let features = u64::from(features);
        let rounds = u64::from(p.rounds);
        p.width_factor
            * match p.constants {
                Constants::Theorem => heavy_tailed::ata_width(
                    bound,
                    moment,
                    features,
                    rounds,
                    p.accuracy,
                    p.regularization,
                    delta,
                ),
                Constants::OrderWise => {
                    order_wise::ata_width_of(bound, moment, features, rounds, delta)
                }
            }
    }

    /// The width of MoMA-GP-UCB with m features after n epochs.
    pub fn moma_width(&self, features: u32, epochs: u32) -> f64 {
        let (p, bound, (_, central, order)) = (&self.0, self.norm_bound(), self.moments());
        p.width_factor
            * match p.constants {
                Constants::Theorem => confidence::moma_width(
                    bound,
                    central,
                    order,
                    features.into(),
                    epochs.into(),
                    p.accuracy,
                    p.regularization,
                ),
                Constants::OrderWise => order_wise::moma_width(bound, central, features.into()),
            }
    }

    /// k, the plays of one epoch.
    pub fn epoch_len(&self) -> u32 {
        let p = &self.0;
        let delta = self.0.failure_probability;
        p.epoch_len.unwrap_or_else(|| match p.constants {
            Constants::Theorem => confidence::moma_epoch_len(p.rounds.into(), delta) as u32,
            Constants::OrderWise => {
                (order_wise::moma_epoch_len(p.rounds.into(), delta) as u32).max(1)
            }
        })
    }

    /// Inflation q_N of the sampling probabilities of the dictionary.
    pub fn nystrom_inflation(&self) -> f64 {
        let p = &self.0;
        let delta = self.0.failure_probability;
        p.nystrom_inflation.unwrap_or_else(|| match p.constants {
            Constants::Theorem => confidence::nystrom_inflation(p.accuracy, p.rounds.into(), delta),
            Constants::OrderWise => order_wise::nystrom_inflation(p.rounds.into(), delta),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        Parameters {
            candidates: 100,
            rounds: 10_000,
            rewards: Rewards::Bounded {
                norm_bound: 3.0,
                noise_bound: 1.0,
                epsilon: Some(1.0),
            },
            constants: Constants::OrderWise,
            width_factor: 1.0,
            regularization: 1.0,
            failure_probability: 0.1,
            accuracy: 0.5,
            first_query: FirstQuery::Random,
            epoch_len: None,
            nystrom_inflation: None,
            stride: 25,
        }
    }

    #[test]
    fn constants_of_the_experiments() {
        let config = Config::new(parameters()).unwrap();
        assert_eq!(config.epoch_len(), 12);
        assert!((config.nystrom_inflation() - 100_000f64.ln()).abs() < 1e-12);
        // v = 9 + 1 + 8·16 = 138, c = 129.
        assert!((config.moma_width(10, 5) - (3.0 + 1290f64.sqrt())).abs() < 1e-12);
        assert!((config.ata_threshold(10) - (138.0 / 1e6f64.ln()).sqrt()).abs() < 1e-12);
        let theorem = Config::new(Parameters {
            constants: Constants::Theorem,
            ..parameters()
        })
        .unwrap();
        assert_eq!(theorem.epoch_len(), 334);
        assert!(
            theorem.ata_width(10) > config.ata_width(10)
                && theorem.moma_width(10, 5) > config.moma_width(10, 5)
        );
        let rewards = Rewards::HeavyTailed {
            norm_bound: 2.0,
            moment: 7.0,
            central_moment: 3.0,
            moment_order: 1.0,
        };
        let heavy = Config::new(Parameters {
            rewards,
            ..parameters()
        })
        .unwrap();
        assert!((heavy.tgp_threshold(16) - 2.0 * 7f64.sqrt()).abs() < 1e-12);
        assert!((heavy.moma_width(4, 9) - (2.0 + 12f64.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn missing_or_nonsensical_bounds_are_refused_by_name() {
        let bounded = |norm_bound, noise_bound, epsilon| Rewards::Bounded {
            norm_bound,
            noise_bound,
            epsilon,
        };
        for (rewards, field) in [
            (bounded(0.0, 1.0, None), "norm_bound"),
            (bounded(f64::NAN, 1.0, None), "norm_bound"),
            (bounded(1.0, 0.0, None), "noise_bound"),
            (bounded(1.0, -1.0, None), "noise_bound"),
            (bounded(1.0, f64::INFINITY, None), "noise_bound"),
            (bounded(1.0, 1.0, Some(0.0)), "epsilon"),
            (
                Rewards::HeavyTailed {
                    norm_bound: 1.0,
                    moment: 1.0,
                    central_moment: 1.0,
                    moment_order: 0.0,
                },
                "moment_order",
            ),
        ] {
            assert_eq!(
                Config::new(Parameters {
                    rewards,
                    ..parameters()
                })
                .unwrap_err()
                .field,
                field
            );
        }
        for (bad, field) in [
            (
                Parameters {
                    candidates: 0,
                    ..parameters()
                },
                "candidates",
            ),
            (
                Parameters {
                    rounds: 0,
                    ..parameters()
                },
                "rounds",
            ),
            (
                Parameters {
                    accuracy: 1.0,
                    ..parameters()
                },
                "accuracy",
            ),
            (
                Parameters {
                    failure_probability: 0.0,
                    ..parameters()
                },
                "failure_probability",
            ),
            (
                Parameters {
                    regularization: f64::NAN,
                    ..parameters()
                },
                "regularization",
            ),
            (
                Parameters {
                    first_query: FirstQuery::Candidate(100),
                    ..parameters()
                },
                "first_query",
            ),
            (
                Parameters {
                    epoch_len: Some(0),
                    ..parameters()
                },
                "epoch_len",
            ),
            (
                Parameters {
                    stride: 0,
                    ..parameters()
                },
                "stride",
            ),
            (
                Parameters {
                    width_factor: -1.0,
                    ..parameters()
                },
                "width_factor",
            ),
        ] {
            assert_eq!(Config::new(bad).unwrap_err().field, field);
        }
    }
}
