//! The methods of a federation by their names, and what they promise.

use serde::{Deserialize, Serialize};

/// A federated method or ablation: of PAPERS.md §1, or the federated prior, which is no paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every agent alone: own posterior draws only.
    Ts,
    /// One region, server mean, uniform weights, nothing private.
    Fts,
    /// Sub-regions and weights, nothing private.
    FtsDe,
    /// One region, private.
    DpFts,
    /// Sub-regions and weights, private.
    DpFtsDe,
    /// Ablation of `dp-fts-de`: the signal replaced by zero, the noise kept.
    PureNoise,
    /// Ablation of `dp-fts-de`: every agent weighs the same in every region.
    UniformWeights,
    /// Ablation of `dp-fts-de`: initial points from the whole domain.
    GlobalInit,
    /// The federated prior with noise that protects nobody (multiplier 2⁻¹⁰): what sharing could bring.
    Prior,
    /// The federated prior: few releases to all, a public posterior of what agents share, private.
    DpPrior,
    /// Ablation of `dp-prior`: the signal replaced by zero, the noise kept.
    PriorNoise,
    /// Ablation of `dp-prior`: agents follow the posterior's mean, not a draw of it.
    PriorMean,
    /// Ablation of `dp-prior`: without the model that trusts the agent's own data alone.
    PriorUnsafe,
}

impl Method {
    /// All methods, in the order of tables.
    pub const ALL: [Method; 13] = [
        Method::Ts,
        Method::Fts,
        Method::FtsDe,
        Method::DpFts,
        Method::DpFtsDe,
        Method::PureNoise,
        Method::UniformWeights,
        Method::GlobalInit,
        Method::Prior,
        Method::PriorNoise,
        Method::PriorMean,
        Method::PriorUnsafe,
        Method::DpPrior,
    ];

    /// The name in scenarios, tables and file names.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Ts => "ts",
            Method::Fts => "fts",
            Method::FtsDe => "fts-de",
            Method::DpFts => "dp-fts",
            Method::DpFtsDe => "dp-fts-de",
            Method::PureNoise => "pure-noise",
            Method::UniformWeights => "uniform-weights",
            Method::GlobalInit => "global-init",
            Method::Prior => "prior",
            Method::DpPrior => "dp-prior",
            Method::PriorNoise => "prior-noise",
            Method::PriorMean => "prior-mean",
            Method::PriorUnsafe => "prior-unsafe",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What the method's releases promise.
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Method::Ts => Guarantee::NothingReleased,
            Method::Fts | Method::FtsDe | Method::Prior => Guarantee::None,
            _ => Guarantee::DifferentialPrivacy,
        }
    }

    /// True if the domain is split into the scenario's regions; false if there is one region only.
    pub const fn uses_regions(self) -> bool {
        !matches!(self, Method::Ts | Method::Fts | Method::DpFts) && !self.is_prior()
    }

    /// True for the federated prior and its variants, whose parties are their own.
    pub const fn is_prior(self) -> bool {
        matches!(self, Method::Prior | Method::DpPrior | Method::PriorNoise | Method::PriorMean | Method::PriorUnsafe)
    }

    /// True for the variants of a private method with one thing changed.
    pub const fn is_ablation(self) -> bool {
        matches!(
            self,
            Method::PureNoise
                | Method::UniformWeights
                | Method::GlobalInit
                | Method::PriorNoise
                | Method::PriorMean
                | Method::PriorUnsafe
        )
    }
}

impl core::fmt::Display for Method {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// What the releases of a method promise to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// No vector leaves an agent.
    NothingReleased,
    /// Vectors leave and nothing protects them.
    None,
    /// Differential privacy of the broadcasts, if the noise is secret.
    DifferentialPrivacy,
}

impl Guarantee {
    /// As it stands in a summary.
    pub const fn name(self) -> &'static str {
        match self {
            Guarantee::NothingReleased => "nothing released",
            Guarantee::None => "none",
            Guarantee::DifferentialPrivacy => "dp",
        }
    }
}
