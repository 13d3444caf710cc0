//! What an audit breaks on purpose.

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// Nothing: the shipped path.
    None,
    /// The noise is this fraction of what it should be.
    NoiseFactor(f64),
    /// Coins fall with this probability.
    SampledWith(f64),
    /// More or fewer rounds are run than are claimed.
    RoundsRun(u32),
    /// The agent's contribution is counted a second time, as that of another agent of the sample: twice the sensitivity.
    CountedTwice,
    /// The observer knows the seed of the coins, though not that of the noise.
    KnownCoins,
    /// The host looks at the noise and releases only when it points the agent's way.
    NoiseOfOneSign,
    /// The noise of a federated prior's release is that of C alone, though the joint vector with the clip coordinate is
    /// longer.
    ClipCoordinateLeftOut,
    /// The radius C of a federated prior's release is the norm of the longest innovation of this very release: that of
    /// the agent in question, and without it this fraction of it.
    PrivateRadius(f64),
    /// The reward spans this many times the sensitivity that is claimed (a local report).
    SensitivityFactor(f64),
    /// The reward is not clamped, this many times the bound (a local report).
    NoClamp(f64),
}

impl Defect {
    /// Whether it knows coins or noise before they are drawn.
    pub(super) const fn foresees(self) -> bool {
        matches!(self, Defect::CountedTwice | Defect::KnownCoins | Defect::NoiseOfOneSign)
    }
}
