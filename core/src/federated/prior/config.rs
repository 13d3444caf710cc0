//! What all parties of a federated prior agree on. Everything here is public, and none of it is
//! fitted on private data.

use serde::{Deserialize, Serialize};

use super::super::config::{enrolled, grid};
use super::super::shares::Trust;
use super::constant::Constant;
use crate::math::Scalar;
use crate::parameter::{ConfigError, check, checked, whole};

/// The numbers a federated prior is described by, before they are checked.
///
/// **Example**: that of [`super::Public`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Parameters {
    /// N, enrolled agents: the divisor of every mean, however many answer.
    pub agents: u32,
    /// M, features of the population's weights.
    pub feature_count: u32,
    /// Observations of one virtual design: the points an agent looks at before the first release.
    pub initial_points: u32,
    /// V, virtual designs; 256 in our experiments.
    pub designs: u32,
    /// λ, observation noise variance, unit y².
    pub noise_variance: f64,
    /// γ: the clip factor's coordinate is γC times the factor; ¼ in our experiments.
    pub clip_weight: f64,
    /// The clip factor expected where the model holds, in (0, 1]; .92 in our experiments.
    pub clip_mean: f64,
    /// Standard deviation of that expectation; .2 in our experiments.
    pub clip_std: f64,
    /// m: the noise has standard deviation 2ᵐ grid units.
    pub grid_exponent: u32,
    /// What is known of the constant that values are around.
    pub constant: Constant,
    /// Who is trusted with contributions: it decides whose noise a release has.
    pub trust: Trust,
}

/// [`Parameters`] as they are stored and sent. The constant is the highest bit of `designs`, 0
/// where it is known, and trust the one below, 0 for one server: those have the bytes, and the
/// digests, that they had before there was a choice; and a program that knows of none refuses the
/// others, whose number of designs is beyond its range, where it would misread a field that it does
/// not have.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Parameters")]
struct Stored {
    agents: u32,
    feature_count: u32,
    initial_points: u32,
    designs: u32,
    noise_variance: f64,
    clip_weight: f64,
    clip_mean: f64,
    clip_std: f64,
    grid_exponent: u32,
}

/// The bit of `designs` that says that the constant is projected out.
const PROJECTED: u32 = 1 << 31;
/// The bit of `designs` that says that there are two servers.
const TWO_SERVERS: u32 = 1 << 30;

impl From<Parameters> for Stored {
    fn from(p: Parameters) -> Self {
        let constant = match p.constant {
            Constant::Known => 0,
            Constant::Projected => PROJECTED,
        };
        let trust = match p.trust {
            Trust::OneServer => 0,
            Trust::TwoServers => TWO_SERVERS,
        };
        Stored {
            agents: p.agents,
            feature_count: p.feature_count,
            initial_points: p.initial_points,
            designs: p.designs | constant | trust,
            noise_variance: p.noise_variance,
            clip_weight: p.clip_weight,
            clip_mean: p.clip_mean,
            clip_std: p.clip_std,
            grid_exponent: p.grid_exponent,
        }
    }
}

impl From<Stored> for Parameters {
    fn from(p: Stored) -> Self {
        let constant = if p.designs & PROJECTED == 0 {
            Constant::Known
        } else {
            Constant::Projected
        };
        let trust = if p.designs & TWO_SERVERS == 0 {
            Trust::OneServer
        } else {
            Trust::TwoServers
        };
        Parameters {
            agents: p.agents,
            feature_count: p.feature_count,
            initial_points: p.initial_points,
            designs: p.designs & !(PROJECTED | TWO_SERVERS),
            noise_variance: p.noise_variance,
            clip_weight: p.clip_weight,
            clip_mean: p.clip_mean,
            clip_std: p.clip_std,
            grid_exponent: p.grid_exponent,
            constant,
            trust,
        }
    }
}

impl Parameters {
    /// The constants of our experiments for N agents, M features, initial points and λ.
    pub const fn usual(
        agents: u32,
        feature_count: u32,
        initial_points: u32,
        noise_variance: f64,
    ) -> Self {
        Parameters {
            agents,
            feature_count,
            initial_points,
            designs: 256,
            noise_variance,
            clip_weight: 0.25,
            clip_mean: 0.92,
            clip_std: 0.2,
            grid_exponent: 20,
            constant: Constant::Known,
            trust: Trust::OneServer,
        }
    }

    /// The constants of a prior file: values in the agents' own units, the constant projected out,
    /// 128 virtual designs, and a noise variance of .01 in these units.
    pub const fn own_units(agents: u32, feature_count: u32, initial_points: u32) -> Self {
        let usual = Parameters::usual(agents, feature_count, initial_points, 0.01);
        Parameters {
            designs: 128,
            constant: Constant::Projected,
            ..usual
        }
    }
}

/// Checked [`Parameters`].
///
/// **Example**: that of [`super::Public`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Config(Parameters);

checked!(Config);

impl Config {
    /// Checks every range.
    ///
    /// **Errors**: [`ConfigError`] naming the first field outside its range.
    pub fn new(parameters: Parameters) -> Result<Self, ConfigError> {
        let p = &parameters;
        enrolled(p.agents)?;
        whole("feature_count", p.feature_count, 1..=1 << 12, "1..=4096")?;
        match p.constant {
            Constant::Known => whole("initial_points", p.initial_points, 1..=1 << 12, "1..=4096")?,
            // One point says nothing but the constant.
            Constant::Projected => {
                whole(
                    "initial_points",
                    p.initial_points,
                    2..=1 << 12,
                    "2..=4096 where the constant is projected out",
                )?;
            }
        }
        whole("designs", p.designs, 1..=1 << 16, "1..=65536")?;
        grid(p.grid_exponent)?;
        let variance = p.noise_variance;
        check(
            "noise_variance",
            variance,
            (1e-12..=1e12).contains(&variance),
            "[1e-12, 1e12]",
        )?;
        check(
            "clip_weight",
            p.clip_weight,
            (0.01..=10.0).contains(&p.clip_weight),
            "[0.01, 10]",
        )?;
        check(
            "clip_mean",
            p.clip_mean,
            (0.1..=1.0).contains(&p.clip_mean),
            "[0.1, 1]",
        )?;
        check(
            "clip_std",
            p.clip_std,
            (1e-3..=1e3).contains(&p.clip_std),
            "[1e-3, 1e3]",
        )?;
        Ok(Config(parameters))
    }

    /// Number of features M.
    pub fn features(&self) -> usize {
        self.0.feature_count as usize
    }

    /// Observations of a virtual design.
    pub fn design_len(&self) -> usize {
        self.0.initial_points as usize
    }

    /// Coordinates of a contribution: M and the clip factor's.
    pub fn contribution_len(&self) -> usize {
        self.features() + 1
    }

    /// Δ = C√(1 + γ²) of a release with this C.
    pub(super) fn l2_sensitivity(&self, clip_radius: f64) -> f64 {
        let gamma = self.0.clip_weight;
        clip_radius * Scalar::sqrt(1.0 + gamma * gamma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_constant_has_the_bytes_it_had_and_a_projected_one_comes_back() {
        let usual = Parameters {
            designs: 300,
            ..Parameters::usual(66, 50, 10, 0.01)
        };
        let projected = Parameters {
            constant: Constant::Projected,
            ..usual
        };
        let mut buffer = [0; 128];
        // The fields as they were before there was a choice, in their order.
        let before = (
            66u32, 50u32, 10u32, 300u32, 0.01f64, 0.25f64, 0.92f64, 0.2f64, 20u32,
        );
        let expected: heapless::Vec<u8, 128> = postcard::to_slice(&before, &mut buffer)
            .unwrap()
            .iter()
            .copied()
            .collect();
        assert_eq!(
            *postcard::to_slice(&usual, &mut buffer).unwrap(),
            expected[..]
        );
        let shared = Parameters {
            trust: Trust::TwoServers,
            ..usual
        };
        for parameters in [
            usual,
            projected,
            shared,
            Parameters {
                trust: Trust::TwoServers,
                ..projected
            },
        ] {
            let config = Config::new(parameters).unwrap();
            let bytes = postcard::to_slice(&config, &mut buffer).unwrap();
            assert_eq!(
                (*bytes == expected[..], postcard::from_bytes(bytes)),
                (parameters == usual, Ok(config))
            );
        }
        // A number of designs that no configuration has is refused with the bit and without it.
        let both = [Trust::OneServer, Trust::TwoServers];
        for (constant, trust) in [Constant::Known, Constant::Projected].into_iter().zip(both) {
            let many = Parameters {
                designs: 70_000,
                constant,
                trust,
                ..usual
            };
            let bytes = postcard::to_slice(&many, &mut buffer).unwrap();
            assert!(postcard::from_bytes::<Config>(bytes).is_err() && Config::new(many).is_err());
        }
        let one = Parameters {
            initial_points: 1,
            ..projected
        };
        assert_eq!(Config::new(one).unwrap_err().field, "initial_points");
        assert!(
            Config::new(Parameters {
                constant: Constant::Known,
                ..one
            })
            .is_ok()
        );
    }
}
