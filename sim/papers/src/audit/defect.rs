//! Defects that an audit introduces on purpose.

/// A defect introduced on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// Nothing: the shipped path.
    None,
    /// The noise is this fraction of what it should be.
    NoiseFactor(f64),
    /// Agents are sampled with this probability.
    SampledWith(f64),
    /// This many rounds are run instead of the number claimed.
    RoundsRun(u32),
    /// The agent's contribution is counted again as another sampled agent's: twice the sensitivity.
    CountedTwice,
    /// The observer knows the seed of the coins, but not the seed of the noise.
    KnownCoins,
    /// The host looks at the noise and releases only when it points the agent's way.
    NoiseOfOneSign,
    /// The noise of a federated prior's release is scaled to C alone, though the joint vector with
    /// the clip coordinate is longer.
    ClipCoordinateLeftOut,
    /// The radius C of a federated prior's release is the norm of the longest innovation in that
    /// same release: the audited agent's if it is present, and this fraction of it if it is absent.
    PrivateRadius(f64),
    /// A publication makes a release more than it charges: the ledger gives a receipt for what it
    /// does not write down.
    Uncharged,
    /// The range of a published space is that of the points of those who contribute, in the place
    /// of a public one.
    SpaceOfPrivateData,
    /// The helper of two servers draws next to no noise.
    HelperWithoutNoise,
    /// The helper answers about two sets in one epoch.
    TwoAnswers,
    /// An agent hides two vectors under one mask.
    MaskUsedTwice,
    /// The reward spans this many times the claimed sensitivity (a local report).
    SensitivityFactor(f64),
    /// The reward is not clamped and is this many times the bound (a local report).
    NoClamp(f64),
}

impl Defect {
    /// Whether the control knows coins or noise before they are drawn.
    pub(super) const fn foresees(self) -> bool {
        matches!(
            self,
            Defect::CountedTwice | Defect::KnownCoins | Defect::NoiseOfOneSign
        )
    }
}
