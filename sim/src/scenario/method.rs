//! The methods of a federation by their names, and what they promise.

use super::rule::names;

names! {
    /// A federated method or ablation of PAPERS.md §1.
    pub enum Method {
        /// Every agent alone: own posterior draws only.
        Ts = "ts",
        /// One region, server mean, uniform weights, nothing private.
        Fts = "fts",
        /// Sub-regions and weights, nothing private.
        FtsDe = "fts-de",
        /// One region, private.
        DpFts = "dp-fts",
        /// Sub-regions and weights, private.
        DpFtsDe = "dp-fts-de",
        /// Ablation of `dp-fts-de`: the signal replaced by zero, the noise kept.
        PureNoise = "pure-noise",
        /// Ablation of `dp-fts-de`: every agent weighs the same in every region.
        UniformWeights = "uniform-weights",
        /// Ablation of `dp-fts-de`: initial points from the whole domain.
        GlobalInit = "global-init",
    }
}

impl Method {
    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }

    /// What the method's releases promise.
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Method::Ts => Guarantee::NothingReleased,
            Method::Fts | Method::FtsDe => Guarantee::None,
            _ => Guarantee::DifferentialPrivacy,
        }
    }

    /// True if the domain is split into the scenario's regions; false if there is one region only.
    pub const fn uses_regions(self) -> bool {
        !matches!(self, Method::Ts | Method::Fts | Method::DpFts)
    }

    /// True for the variants of `dp-fts-de` with one thing changed.
    pub const fn is_ablation(self) -> bool {
        matches!(self, Method::PureNoise | Method::UniformWeights | Method::GlobalInit)
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
