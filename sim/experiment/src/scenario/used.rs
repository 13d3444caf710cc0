//! Who uses which key of a federation.

use sordino_core::federated::OwnDraw;

use super::federated::Scenario;
use super::method::{Kind, Method, Parts};
use super::objective::ObjectiveConfig;
use super::own::OwnMethod;
use super::unused::{Counts, Unused, Why, beside};
use crate::benchmark::Design;

/// Whether a method with these parts uses a key, where the scenario says this beside it.
type UsedBy = fn(Parts, Beside) -> bool;

/// Of the rest of a scenario what decides whether keys are used.
#[derive(Clone, Copy)]
struct Beside {
    /// Own draws are weights of the public features.
    draws_features: bool,
    /// Inducing points are given along each axis.
    has_axes: bool,
    /// `prior.epsilon` is given: otherwise it follows from what samples cost.
    sets_epsilon: bool,
}

/// Keys that not every method uses. A test changes each for each shipped method, and holds the
/// digests against this table.
const KEYS: [(&str, UsedBy); 31] = [
    // The usual clipping norm follows from the number of parts.
    ("federation.splits", |parts, _| parts.split || clips(parts)),
    ("federation.mixing", |parts, _| parts.kind == Kind::Draws),
    ("federation.constant", believes),
    ("surrogate.kernel", believes),
    ("surrogate.lengthscale", believes),
    ("surrogate.signal_variance", believes),
    ("surrogate.noise_variance", believes),
    ("surrogate.features", features),
    ("surrogate.feature_seed", |parts, beside| {
        parts.kind == Kind::Prior || features(parts, beside)
    }),
    ("surrogate.regularization", |parts, beside| {
        match parts.kind {
            Kind::Alone => beside.draws_features,
            kind => kind == Kind::Draws,
        }
    }),
    ("surrogate.normalize_features", features),
    ("surrogate.own_draw", believes),
    ("surrogate.prior_tolerance", |parts, beside| {
        !beside.draws_features && believes(parts, beside)
    }),
    ("privacy.sampling_probability", samples),
    ("privacy.noise_multiplier", samples),
    ("privacy.clipping_norm", |parts, _| clips(parts)),
    ("privacy.grid_exponent", |parts, _| match parts.kind {
        Kind::Draws => clips(parts),
        kind => matches!(kind, Kind::Prior | Kind::Vote),
    }),
    ("privacy.weight_concentration", |parts, _| {
        parts.region_weights
    }),
    ("privacy.delta", spends),
    ("privacy.max_epsilon", spends),
    ("prior.releases", |parts, _| parts.kind == Kind::Prior),
    ("prior.shares", |parts, _| {
        parts.kind == Kind::Prior && parts.private
    }),
    ("prior.points_per_axis", |parts, beside| {
        parts.kind == Kind::Prior && beside.has_axes
    }),
    ("prior.inducing_points", |parts, beside| {
        parts.kind == Kind::Prior && !beside.has_axes
    }),
    ("prior.features", |parts, _| parts.kind == Kind::Campaign),
    ("prior.epsilon", |parts, _| {
        parts.private && parts.kind != Kind::Draws
    }),
    ("faults.straggler", sends),
    ("faults.loss", sends),
    ("faults.broadcast_loss", |parts, _| shares(parts)),
    ("faults.corrupt", sends),
    ("faults.oversize", sends),
];

/// Who hears of others.
fn shares(parts: Parts) -> bool {
    !matches!(parts.kind, Kind::Alone | Kind::Random | Kind::Optimizer)
}

/// Whose uploads are missed where they do not arrive.
fn sends(parts: Parts, _: Beside) -> bool {
    shares(parts) && parts.signal
}

/// Who believes what the scenario says of its functions.
fn believes(parts: Parts, _: Beside) -> bool {
    !matches!(parts.kind, Kind::Random | Kind::Optimizer | Kind::Campaign)
}

/// Who computes with the public features.
fn features(parts: Parts, beside: Beside) -> bool {
    let own = beside.draws_features && parts.kind != Kind::Prior;
    parts.kind == Kind::Draws || (own && believes(parts, beside))
}

/// Who clips vectors and draws a sample.
fn clips(parts: Parts) -> bool {
    parts.kind == Kind::Draws && parts.private
}

/// Whose noise follows from these keys, directly or by the ε of samples.
fn samples(parts: Parts, beside: Beside) -> bool {
    clips(parts) || (parts.private && !beside.sets_epsilon)
}

/// Whose releases cost what the key says.
fn spends(parts: Parts, _: Beside) -> bool {
    parts.private
}

/// Keys that count beside some values of others only.
const BESIDE: [(&str, Counts<Scenario>, &str); 5] = [
    (
        "faults.trace_digest",
        |scenario| scenario.faults.trace.is_some(),
        "`faults.trace`",
    ),
    (
        "faults.crash_rounds",
        |scenario| scenario.faults.crash > 0.0,
        "`faults.crash` above 0",
    ),
    (
        "objective.own_lengthscale",
        |scenario| match &scenario.objective {
            ObjectiveConfig::GpSample(sample) => sample.differences.own_variance > 0.0,
            _ => true,
        },
        "`objective.own_variance` above 0",
    ),
    (
        "objective.design_seed",
        |scenario| design(scenario).is_none_or(Design::has_seed),
        "`objective.design` \"sobol\" or \"latin-hypercube\"",
    ),
    (
        "objective.candidates",
        |scenario| design(scenario) != Some(Design::List),
        "`objective.design` that is no \"list\", which has its own length",
    ),
];

/// How candidates are placed, where the scenario says it.
fn design(scenario: &Scenario) -> Option<Design> {
    match &scenario.objective {
        ObjectiveConfig::Function(config) => Some(config.points.design),
        ObjectiveConfig::Command(config) => Some(config.points.design),
        _ => None,
    }
}

impl Scenario {
    /// Which of these dotted keys, set at one time, no method of the scenario uses; of its own
    /// methods, what they set without using it.
    pub fn unused(&self, keys: &[&str]) -> Vec<Unused> {
        let here = keys.contains(&"prior.epsilon");
        let of_all = keys.iter().filter_map(|key| self.does_nothing(key, here));
        of_all
            .chain(beside(&BESIDE, self, keys))
            .chain(self.own.iter().flat_map(own_unused))
            .collect()
    }

    fn does_nothing(&self, key: &str, here: bool) -> Option<Unused> {
        let (_, uses) = KEYS.iter().find(|(known, _)| *known == key)?;
        let given = (self.prior.as_ref()).is_some_and(|prior| prior.epsilon_is_given);
        let sets_epsilon = here || given;
        let why = if self
            .methods()
            .any(|method| self.used(method, *uses, sets_epsilon))
        {
            // Both are set on one line: whoever does that sees both.
            let left = self.methods().filter(|_| given && !here);
            let left = left.filter(|method| uses(method.parts(), self.beside(false)));
            let left = left.filter(|method| !self.used(*method, *uses, sets_epsilon));
            let left: Vec<String> = left.map(|method| method.name().to_owned()).collect();
            if left.is_empty() {
                return None;
            }
            Why::Some(left)
        } else {
            Why::Nobody(who_would(*uses, self.beside(sets_epsilon)))
        };
        let key = key.to_owned();
        Some(Unused { key, why })
    }

    /// Whether a method of the scenario uses a key: one with keys of its own may draw in another
    /// way, and what a method of another program uses nobody here knows.
    fn used(&self, method: Method, uses: UsedBy, sets_epsilon: bool) -> bool {
        method.parts().kind == Kind::Custom
            || uses(method.parts(), self.of(method).beside(sets_epsilon))
    }

    fn beside(&self, sets_epsilon: bool) -> Beside {
        let draws_features = self.surrogate.own_draw == OwnDraw::Features;
        Beside {
            draws_features,
            has_axes: self.objective.dim() <= 2,
            sets_epsilon,
        }
    }
}

/// What a method of the scenario's own sets without using it.
fn own_unused(own: &OwnMethod<Scenario>) -> Vec<Unused> {
    let parts = own.method.parts();
    let set = own.keys.set.iter().flatten();
    // Others may follow from what is set.
    let set = set.filter(|(key, _)| key.starts_with("surrogate.") || *key == "federation.constant");
    let unused = set.filter_map(|(key, _)| {
        let (_, uses) = KEYS.iter().find(|(known, _)| known == key)?;
        let beside = own.scenario.beside(false);
        let used = parts.kind == Kind::Custom || uses(parts, beside);
        (!used).then(|| Unused {
            key: format!("method.{}.set.{key}", own.method.name()),
            why: Why::Nobody(who_would(*uses, beside)),
        })
    });
    unused.collect()
}

/// The shipped methods that use a key.
fn who_would(uses: UsedBy, beside: Beside) -> Vec<&'static str> {
    let would = Method::SHIPPED
        .iter()
        .filter(|method| uses(method.parts(), beside));
    would.map(|method| method.name()).collect()
}
