//! The methods of a federation as data: a name, a base, and what it changes.
//!
//! A shipped method is a row of the table below; a scenario's own method (`super::own`) is a row
//! with other keys. No other module knows which methods there are: tables, figures, colours and
//! differences follow the scenario's list.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rule::{Rule, Ruled, named};

/// The base of methods that come from a program using the library.
pub const CUSTOM: &str = "custom";
/// The longest name that a method may have.
pub const NAME_MAX: usize = 40;

/// The name of a method, as it stands in files, tables and checkpoints. The scenario decides what
/// it means ([`Scenario::method`](super::Scenario::method)).
///
/// Each name is stored once and lives as long as the program, so names are copied like numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodName(&'static str);

impl MethodName {
    /// The name with this text.
    pub fn new(name: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if let Some(shipped) = Method::from_name(name) {
            return shipped.name;
        }
        let mut known = KNOWN
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = known.get(name) {
            return MethodName(known);
        }
        let kept: &'static str = Box::leak(name.into());
        known.insert(kept);
        MethodName(kept)
    }

    /// The text, as it stands in scenarios, tables and file names.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Display for MethodName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for MethodName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for MethodName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        // Of a damaged file no long text is kept for ever.
        if name.len() > NAME_MAX {
            let message = format!(
                "{} bytes are no name of a method; admissible: at most {NAME_MAX}",
                name.len()
            );
            return Err(serde::de::Error::custom(message));
        }
        Ok(MethodName::new(&name))
    }
}

impl PartialEq<Method> for MethodName {
    fn eq(&self, method: &Method) -> bool {
        *self == method.name
    }
}

/// Which parties a method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Agents without a server.
    Alone,
    /// Agents that send draws of their weights, and a server that broadcasts their mean or a noised
    /// sum.
    Draws,
    /// Agents and server of the federated prior, which is from no paper.
    Prior,
    /// Agents that choose uniformly, without a server.
    Random,
    /// Agents with the optimizer of a device, without a server and without constants of the
    /// scenario.
    Optimizer,
    /// Agents that vote once for a candidate, and a server that releases the noised sum of their
    /// votes.
    Vote,
    /// Sites of a campaign, each in units of its own: they make a prior file together and go on
    /// with it.
    Campaign,
    /// A server that has every observation, and agents that draw from its posterior.
    Pooled,
    /// Parties that a program using the library brings.
    Custom,
}

/// The one thing in which a method differs from its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The domain is split: each agent explores its part, and weighs most there.
    Split,
    /// A secret sample, clipped vectors, noised sums.
    Private,
    /// The signal is replaced by zero, the noise kept.
    Silent,
    /// Every agent weighs the same in every region.
    UniformWeights,
    /// Initial points come from the whole domain.
    WholeDomain,
    /// Noise that protects nobody (multiplier 2⁻¹⁰): shows what sharing could bring.
    Unprotected,
    /// Agents follow the posterior's mean, not a draw of it.
    Mean,
    /// There is no model that trusts only the agent's own data.
    Unsafe,
    /// Keys of the scenario have other values.
    Keys,
}

/// What the parties of a method do; the scenario's numbers say the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Which parties there are.
    pub kind: Kind,
    /// Whether releases are differentially private.
    pub private: bool,
    /// Whether the domain is split into the scenario's regions.
    pub split: bool,
    /// Whether agents weigh more in their own region.
    pub region_weights: bool,
    /// Whether initial points come from the agent's own region.
    pub initial_in_region: bool,
    /// Whether what agents send enters the sum; if not, zeros do.
    pub signal: bool,
    /// Whether agents follow a draw of the public posterior; if not, its mean.
    pub follows_draws: bool,
    /// Whether agents also have a model that trusts only their own data.
    pub own_model: bool,
}

/// A federated method: one from the papers, the federated prior, or one of the scenario's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    name: MethodName,
    base: Option<MethodName>,
    change: Option<Change>,
    parts: Parts,
    place: Option<usize>,
}

/// What the private releases of a method are: methods of one kind pay alike where their keys are
/// equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseKind {
    /// Equal releases of a secret sample, one a round.
    Sampled,
    /// Those that the plan of the federated prior names, of all agents.
    Planned,
    /// One, of everybody's vote.
    Vote,
    /// The two of a campaign.
    Campaign,
}

impl Method {
    const fn of_kind(name: &'static str, kind: Kind) -> Self {
        let parts = Parts {
            kind,
            private: matches!(kind, Kind::Prior | Kind::Vote | Kind::Campaign),
            split: false,
            region_weights: false,
            initial_in_region: true,
            signal: true,
            follows_draws: true,
            own_model: true,
        };
        Method {
            name: MethodName(name),
            base: None,
            change: None,
            parts,
            place: None,
        }
    }

    /// This method under another name, with other keys of the scenario: the scenario's own method
    /// at this place.
    pub(super) const fn of_scenario(self, name: MethodName, place: usize) -> Self {
        Method {
            name,
            base: Some(self.name),
            change: Some(Change::Keys),
            place: Some(place),
            ..self
        }
    }

    /// A method that comes from a program using the library.
    pub(super) const fn custom(name: MethodName, place: usize) -> Self {
        let custom = Method::of_kind(CUSTOM, Kind::Custom);
        Method {
            base: Some(custom.name),
            name,
            place: Some(place),
            ..custom
        }
    }

    const fn with(self, name: &'static str, change: Change) -> Self {
        let mut parts = self.parts;
        match change {
            Change::Split => (parts.split, parts.region_weights) = (true, true),
            Change::Private => parts.private = true,
            Change::Silent => parts.signal = false,
            Change::UniformWeights => parts.region_weights = false,
            Change::WholeDomain => parts.initial_in_region = false,
            Change::Unprotected => parts.private = false,
            Change::Mean => parts.follows_draws = false,
            Change::Unsafe => parts.own_model = false,
            Change::Keys => {}
        }
        Method {
            name: MethodName(name),
            base: Some(self.name),
            change: Some(change),
            parts,
            place: None,
        }
    }
}

/// A row is a method: `NAME = "name" of KIND` or `NAME = "name" from BASE with CHANGE`, under its
/// sentence.
macro_rules! methods {
    (@row $name:literal of $kind:ident) => { Method::of_kind($name, Kind::$kind) };
    (@row $name:literal from $base:ident with $change:ident) => { $base.with($name, Change::$change) };
    ($($(#[doc = $doc:literal])+ $NAME:ident = $name:literal $how:tt $what:ident $($with:ident $change:ident)?;)+) => {
        $($(#[doc = $doc])+ pub const $NAME: Method = methods!(@row $name $how $what $($with $change)?);)+

        impl Method {
            /// The methods that are shipped, in the order of tables.
            pub const SHIPPED: [Method; [$($name),+].len()] = [$($NAME),+];
        }

        /// What a method of a scenario's own may be based on.
        pub(super) const BASES: &[&str] = &[$($name,)+ CUSTOM];

        impl Ruled for MethodName {
            const RULE: Rule = named(&[$($name),+]);
        }
    };
}

methods! {
    /// Every agent alone: own posterior draws only.
    TS = "ts" of Alone;
    /// One region, server mean, uniform weights, nothing private.
    FTS = "fts" of Draws;
    /// Sub-regions and weights, nothing private.
    FTS_DE = "fts-de" from FTS with Split;
    /// One region, private.
    DP_FTS = "dp-fts" from FTS with Private;
    /// Sub-regions and weights, private.
    DP_FTS_DE = "dp-fts-de" from FTS_DE with Private;
    /// Ablation of `dp-fts-de`: the signal replaced by zero, the noise kept.
    PURE_NOISE = "pure-noise" from DP_FTS_DE with Silent;
    /// Ablation of `dp-fts-de`: every agent weighs the same in every region.
    UNIFORM_WEIGHTS = "uniform-weights" from DP_FTS_DE with UniformWeights;
    /// Ablation of `dp-fts-de`: initial points from the whole domain.
    GLOBAL_INIT = "global-init" from DP_FTS_DE with WholeDomain;
    /// The federated prior with noise that protects nobody: what sharing could bring.
    PRIOR = "prior" from DP_PRIOR with Unprotected;
    /// Ablation of `dp-prior`: the signal replaced by zero, the noise kept.
    PRIOR_NOISE = "prior-noise" from DP_PRIOR with Silent;
    /// Ablation of `dp-prior`: agents follow the posterior's mean, not a draw of it.
    PRIOR_MEAN = "prior-mean" from DP_PRIOR with Mean;
    /// Ablation of `dp-prior`: without the model that trusts the agent's own data alone.
    PRIOR_UNSAFE = "prior-unsafe" from DP_PRIOR with Unsafe;
    /// The federated prior: few releases of everybody, a public posterior of what agents share,
    /// private.
    DP_PRIOR = "dp-prior" of Prior;
    /// Federated random search: every agent draws candidates uniformly, and nothing leaves it.
    RANDOM = "random" of Random;
    /// Every agent alone with the plain optimizer: it knows the candidates and its own values, and
    /// no constant of the scenario.
    ALONE = "alone" of Optimizer;
    /// One private vote for the best candidate among everybody's initial points; all play its
    /// winner first, then each follows its own posterior.
    VOTE = "vote" of Vote;
    /// All data in one place, one posterior of everybody's observations: what sharing could bring,
    /// and nobody is protected.
    POOLED = "pooled" of Pooled;
    /// What everybody's first points have in common, released twice as a prior file, with which
    /// each goes on. No constant of the scenario is used: values are standardised where they are,
    /// and the lengthscale follows from the space.
    CAMPAIGN = "campaign" of Campaign;
    /// Ablation of `campaign`: the signal replaced by zero, the noise kept.
    CAMPAIGN_NOISE = "campaign-noise" from CAMPAIGN with Silent;
}

impl Method {
    /// The shipped method of this name.
    pub fn from_name(name: &str) -> Option<Method> {
        Method::SHIPPED
            .into_iter()
            .find(|method| method.name() == name)
    }

    /// The name in scenarios, tables and file names.
    pub const fn name(self) -> &'static str {
        self.name.0
    }

    /// Its name as the type that files and checkpoints store.
    pub const fn named(self) -> MethodName {
        self.name
    }

    /// The method that this one changes in one thing, if any.
    pub const fn base(self) -> Option<MethodName> {
        self.base
    }

    /// What its parties do.
    pub const fn parts(self) -> Parts {
        self.parts
    }

    /// Its place among the scenario's own methods; `None` if it is shipped.
    pub const fn place(self) -> Option<usize> {
        self.place
    }

    /// The protection that the method's releases promise.
    pub const fn guarantee(self) -> Guarantee {
        match self.parts.kind {
            Kind::Alone | Kind::Random | Kind::Optimizer => Guarantee::NothingReleased,
            Kind::Pooled => Guarantee::None,
            Kind::Custom => Guarantee::Unclaimed,
            Kind::Draws | Kind::Prior | Kind::Vote | Kind::Campaign if self.parts.private => {
                Guarantee::DifferentialPrivacy
            }
            Kind::Draws | Kind::Prior | Kind::Vote | Kind::Campaign => Guarantee::None,
        }
    }

    /// True for the federated prior and its variants, which have their own kinds of agents and
    /// server.
    pub const fn is_prior(self) -> bool {
        matches!(self.parts.kind, Kind::Prior)
    }

    /// True for the vote and methods based on it.
    pub const fn is_vote(self) -> bool {
        matches!(self.parts.kind, Kind::Vote)
    }

    /// True for the campaign and methods based on it.
    pub const fn is_campaign(self) -> bool {
        matches!(self.parts.kind, Kind::Campaign)
    }

    /// Whether its releases, if they are private, are of a secret sample of the agents; if not, of
    /// all of them.
    pub const fn samples(self) -> bool {
        matches!(self.releases(), ReleaseKind::Sampled)
    }

    /// What its releases are, if they are private.
    pub const fn releases(self) -> ReleaseKind {
        match self.parts.kind {
            Kind::Prior => ReleaseKind::Planned,
            Kind::Vote => ReleaseKind::Vote,
            Kind::Campaign => ReleaseKind::Campaign,
            _ => ReleaseKind::Sampled,
        }
    }

    /// True for variants of a private method that change one thing to show what that thing is
    /// worth.
    pub const fn is_ablation(self) -> bool {
        !matches!(
            self.change,
            None | Some(Change::Split | Change::Private | Change::Unprotected | Change::Keys)
        )
    }
}

impl Display for Method {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

/// The protection that a method's releases promise to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// No vector leaves an agent.
    NothingReleased,
    /// Vectors leave and nothing protects them.
    None,
    /// Differential privacy of the broadcasts, if the noise is secret.
    DifferentialPrivacy,
    /// For a method that another program brings: nothing is claimed, whatever noise it adds.
    Unclaimed,
}

impl Guarantee {
    /// Its name, as it stands in a summary.
    pub const fn name(self) -> &'static str {
        match self {
            Guarantee::NothingReleased => "nothing released",
            Guarantee::None => "none",
            Guarantee::DifferentialPrivacy => "dp",
            Guarantee::Unclaimed => "none claimed",
        }
    }
}
