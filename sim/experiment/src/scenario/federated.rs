//! Every key of a scenario of the trust model `federated`.

use serde::Serialize;
use sordino_core::domain::{DIM_MAX, REGIONS_MAX};
use sordino_core::federated::OwnDraw;
use sordino_core::federated::shares::Trust;
use sordino_core::math::Scalar;
use sordino_core::privacy::{ClippingNorm, Event, NeighboringRelation, NoiseMultiplier};
use sordino_core::random::RunSeed;
use sordino_core::schedule::Mixing;

use sordino_host::prior::publish::POINTS_MIN;

use super::faults::FaultConfig;
use super::head::{FEDERATED, Head};
use super::kernel::KernelConfig;
use super::keys::keys;
use super::method::{ALONE, Guarantee, Kind, Method, MethodName, POOLED, RANDOM, VOTE};
use super::objective::{AGENTS_MAX, ObjectiveConfig};
use super::own::{OwnKeys, OwnMethod, declared};
use super::prior::{CAMPAIGN_RELEASES, PriorConfig, PriorPlan};
use super::reader::{Problem, ScenarioError, Section};
use super::root::with_root;
use super::rule::{Rule, names, number, whole};
use super::sections::SectionTables;
use crate::text::significant;

/// A δ above this is reported with a caution whatever the number of agents, and one that is above
/// [`served_delta`].
const DELTA_CAUTION: f64 = 0.01;
/// The most observations that a run folder keeps unless the scenario says otherwise.
const OBSERVATIONS_MAX: u64 = 100_000;

/// One experiment: functions, federation, surrogate, privacy. Every field is in its admissible
/// range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Name in tables and folders.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Seed of everything that is simulated.
    pub seed: u64,
    /// Number of paired runs, at least 1.
    pub runs: u32,
    /// What is optimised.
    pub objective: ObjectiveConfig,
    /// Who takes part and how.
    pub federation: FederationConfig,
    /// What the agents believe about their functions.
    pub surrogate: SurrogateConfig,
    /// How private methods limit what a release reveals.
    pub privacy: PrivacyConfig,
    /// The federated prior; `None` if neither a method nor a key asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<PriorConfig>,
    /// What goes wrong; nothing by default.
    #[serde(skip_serializing_if = "FaultConfig::is_none")]
    pub faults: FaultConfig,
    /// The scenario's own methods.
    #[serde(rename = "method", skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnMethod<Scenario>>,
}

keys! {
    /// Who takes part and how.
    pub struct FederationConfig(objective: &ObjectiveConfig, runs: u32, own: &[MethodName]) {
        /// Enrolled agents N.
        agents: u32 [given 50, "29 (`landmine`), 16 (`winequality`), as many as the data (`table`), and no other" objective.agents()]
            in whole(1, AGENTS_MAX).because("of a table it is read from --data FILE.csv")
            => objective.agents().map_or(whole(1, AGENTS_MAX), |agents| whole(u64::from(agents), u64::from(agents)));
        /// Queries T after the initial points; exactly T releases.
        rounds: u32 [given 20] in whole(1, 10_000);
        /// Number of points drawn uniformly, with replacement, from the candidates of the agent's
        /// own region before the first query; one that is drawn again is observed again.
        initial_points: u32 [given 5] in whole(1, 1_000);
        /// Equal parts in each dimension; P is their product, at most 64 and at most the number of
        /// agents.
        splits: Vec<u32> [like "all 1" vec![1; objective.dim()]]
            in parts(REGIONS_MAX as u64, 1, DIM_MAX) => parts(objective.parts_max(), objective.dim(), objective.dim());
        /// Probability 1−p_t of using the server's vector in query t: 1/√t or 1/t.
        mixing: Mixing [is Mixing::InverseSqrt];
        /// What is compared, in the order of tables.
        methods: Vec<MethodName> [like "all but `random`, `alone`, `vote`, `pooled`, `campaign` and `campaign-noise`, and every `[[method]]`" usual(own)];
        /// Whether the run folder has every observation (`observations.csv`, `agents.csv`).
        observations: bool [like "true up to 100,000 of them"
            observed(runs, methods.len(), agents, rounds + initial_points) <= OBSERVATIONS_MAX];
        /// c₀: one public constant that every agent subtracts from its observations.
        constant: f64 [like "0 (`function`: its mean)" objective.constants().map_or(0.0, |(mean, _)| mean)]
            in number(-1e6, 1e6);
    }
}

/// The methods compared unless the scenario says otherwise.
fn usual(own: &[MethodName]) -> Vec<MethodName> {
    let shipped = Method::SHIPPED
        .into_iter()
        .filter(|method| ![RANDOM, ALONE, VOTE, POOLED].contains(method) && !method.is_campaign());
    shipped
        .map(Method::named)
        .chain(own.iter().copied())
        .collect()
}

/// Number of observations of all methods in all runs.
fn observed(runs: u32, methods: usize, agents: u32, each: u32) -> u64 {
    u64::from(runs)
        .saturating_mul(methods as u64)
        .saturating_mul(u64::from(agents) * u64::from(each))
}

const fn parts(parts_max: u64, least: usize, most: usize) -> Rule {
    whole(1, parts_max).list(least, most).each("dimension")
}

impl FederationConfig {
    /// Number of regions P.
    pub fn regions(&self) -> u32 {
        self.splits.iter().product()
    }

    fn check(&self) -> Result<(), Problem> {
        let most = (REGIONS_MAX as u32).min(self.agents);
        if self.regions() <= most {
            return Ok(());
        }
        let admissible = if most == REGIONS_MAX as u32 {
            format!("parts whose product is at most {most}")
        } else {
            let why = "every region needs one that explores it";
            format!("parts whose product is at most the number of agents, {most}: {why}")
        };
        Err(Problem::value(
            "federation.splits",
            format!("{:?}", self.splits),
            admissible,
        ))
    }
}

names! {
    /// A floating-point format by name.
    pub enum ScalarKind {
        /// Double precision.
        F64 = "f64",
        /// Single precision.
        F32 = "f32",
    }
}

keys! {
    /// What the agents believe about their functions; public, and nothing of it fitted to private
    /// data.
    pub struct SurrogateConfig(objective: &ObjectiveConfig) {
        /// Kernel of the agents' Gaussian processes and of the public features.
        kernel: KernelConfig [group "the objective's" objective.kernel()];
        /// Noise variance in the agent's own posterior, unit y².
        noise_variance: f64 [given 0.01, "the objective's, at least 1e-6 (`gp-sample`, `function`); of others it must be given"
            objective.noise_variance().map(|variance| variance.max(1e-6))] in number(1e-9, 1e9);
        /// M, length of a vector for one region.
        features: u32 [given 30] in whole(2, 4096);
        /// Public; run i draws its features from hash(`feature_seed`, i).
        feature_seed: u64 [is 0];
        /// λ in the posterior of the uploaded weights; it decides their norms and so what
        /// `clipping_norm` means.
        regularization: f64 [like "`noise_variance`" noise_variance] in number(1e-9, 1e9);
        /// Whether φ(x) is rescaled to norm √`signal_variance`.
        normalize_features: bool [is true];
        /// The agent's own draw: joint over the candidates, or weights of the public features.
        own_draw: OwnDraw [like "`joint` in one or two dimensions, `features` beyond"
            if objective.dim() <= 2 { OwnDraw::Joint } else { OwnDraw::Features }];
        /// `joint`: variance that the factor of the prior may lack at any candidate.
        prior_tolerance: f64 [is 1e-8] in number(1e-14, 1.0).unit("units of y squared");
        /// Format in which the agents compute.
        scalar: ScalarKind [is ScalarKind::F64];
    }
}

fn prior_norm(
    federation: &FederationConfig,
    surrogate: &SurrogateConfig,
) -> Result<ClippingNorm, Problem> {
    let norm = 1.1 * (f64::from(surrogate.features) * f64::from(federation.regions())).sqrt();
    ClippingNorm::new(norm)
        .map_err(|error| Problem::value("privacy.clipping_norm", norm, error.admissible))
}

keys! {
    /// How private methods limit what a release reveals.
    pub struct PrivacyConfig(federation: &FederationConfig, surrogate: &SurrogateConfig) {
        /// q: each agent is selected independently, in secret.
        sampling_probability: f64 [given 0.25] in number(1e-6, 1.0);
        /// Noise standard deviation over the sensitivity of the release.
        noise_multiplier: NoiseMultiplier [given 1.0];
        /// S: an agent's vector is clipped to S/√P. An unclipped one has about the norm of its
        /// prior draw, √(M·P).
        clipping_norm: ClippingNorm [like "1.1·√(M·P)" prior_norm(federation, surrogate)?];
        /// Releases are integers on a grid of 2^this units.
        grid_exponent: u32 [is 20] in whole(16, 20);
        /// δ at which ε is stated; tables also show ε at δ = 1e-5.
        delta: f64 [like "N^−1.1" usual_delta(federation.agents)] in number(1e-15, 0.5);
        /// a: how much more weight the agents of a region have in it at first.
        weight_concentration: f64 [is 15.0] in number(0.0, 100.0);
        /// A release that would exceed this ε at `delta` is refused: counted exactly where
        /// everybody is in each release, and by the Rényi accountant's filter where releases are
        /// sampled.
        max_epsilon: Option<f64> [none 10.0] in number(1e-6, 1e6);
        /// Who sees contributions: `one-server`, or none of two, each of which adds the whole
        /// noise: `dp-prior` and its variants.
        trust: Option<Trust> [none "one-server"];
    }
}

/// The δ of a simulation that sets none, N^−1.1: more than a real federation may have.
pub fn usual_delta(agents: u32) -> f64 {
    Scalar::pow(f64::from(agents), -1.1).min(0.5)
}

/// The largest δ of a real federation of this many agents: 1/(10 N).
pub fn served_delta(agents: u32) -> f64 {
    1.0 / (10.0 * f64::from(agents.max(1)))
}

impl PrivacyConfig {
    /// δ as a real federation of this many agents announces it: the largest that it may have where
    /// the scenario sets none.
    pub fn announced_delta(&self, agents: u32) -> f64 {
        if self.delta == usual_delta(agents) {
            served_delta(agents)
        } else {
            self.delta
        }
    }

    /// Who is trusted with contributions; one server unless the scenario says otherwise.
    pub fn servers(&self) -> Trust {
        self.trust.unwrap_or_default()
    }

    /// One release of the private methods other than the federated prior.
    pub fn event(&self) -> Event {
        Event::PoissonSampledGaussian {
            sampling_probability: self.sampling_probability,
            noise_multiplier: self.noise_multiplier.value(),
            relation: NeighboringRelation::ReplaceSpecial,
        }
    }
}

impl Scenario {
    /// Reads a scenario from TOML after applying the `key=value` settings to it.
    ///
    /// **Errors**: the first problem in the order of the text's sections, with key, value,
    /// admissible range and line.
    pub fn parse(source: &str, text: &str, settings: &[String]) -> Result<Scenario, ScenarioError> {
        with_root(source, text, settings, Scenario::read)
    }

    /// The seed of everything that run `index` draws.
    pub fn run_seed(&self, index: u32) -> RunSeed {
        RunSeed::new(self.seed, index)
    }

    /// The keys that scenarios of all trust models have.
    pub fn head(&self) -> Head {
        let name = self.name.clone();
        let description = self.description.clone();
        Head {
            trust: FEDERATED.to_owned(),
            name,
            description,
            seed: self.seed,
            runs: self.runs,
        }
    }

    /// What is compared, in the order of tables.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        self.federation
            .methods
            .iter()
            .filter_map(|name| self.method(*name))
    }

    /// The method that a name means in this scenario; `None` if it names no method.
    pub fn method(&self, name: MethodName) -> Option<Method> {
        let own = self
            .own
            .iter()
            .map(|own| own.method)
            .find(|own| name == *own);
        own.or_else(|| Method::from_name(name.name()))
    }

    /// The scenario as a method sees it: with the keys set by the method's table `[[method]]`.
    pub fn of(&self, method: Method) -> &Scenario {
        method
            .place()
            .and_then(|place| self.own.get(place))
            .map_or(self, |own| &own.scenario)
    }

    /// Rounds of all methods in all runs, the initial ones included.
    pub fn steps(&self) -> u64 {
        let federation = &self.federation;
        u64::from(self.runs) * federation.methods.len() as u64 * (u64::from(federation.rounds) + 1)
    }

    /// The scenario with every default written out: a TOML file that reads back as the same
    /// scenario.
    pub fn resolved(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}"))
    }

    /// Reads the root of a scenario.
    ///
    /// **Errors**: [`Problem`] with the key, what it says and what is admissible.
    pub fn read(mut root: Section) -> Result<Self, Problem> {
        let own = declared(root.tables("method")?)?;
        let table = root.table().clone();
        let names: Vec<MethodName> = own
            .iter()
            .map(|(_, keys)| MethodName::new(&keys.name))
            .collect();
        let mut scenario = Scenario::read_without_own(root, &names)?;
        for (place, keys) in own.into_iter().enumerate() {
            let own = OwnMethod::read(keys, place, &table, &scenario, |section, method| {
                scenario.seen_by(section, method)
            })?;
            scenario.own.push(own);
        }
        let mut asked = scenario.federation.methods.iter();
        if let Some(name) = asked.find(|name| scenario.method(**name).is_none()) {
            let shipped = Method::SHIPPED.map(Method::named);
            let all: Vec<&str> = shipped
                .iter()
                .chain(&names)
                .map(|name| name.name())
                .collect();
            return Err(Problem::no_name("federation.methods", name.name(), &all));
        }
        scenario.protects_somebody()?;
        scenario.says_enough()?;
        scenario.shares_what_can_be_shared()?;
        Ok(scenario)
    }

    /// The private methods, in the order of tables.
    fn private_methods(&self) -> impl Iterator<Item = Method> {
        self.methods()
            .filter(|method| method.guarantee() == Guarantee::DifferentialPrivacy)
    }

    /// Refuses a private method with one agent: there are no others to be hidden among, and δ =
    /// N^−1.1 would be 1.
    fn protects_somebody(&self) -> Result<(), Problem> {
        match self.private_methods().next() {
            Some(method) if self.federation.agents < 2 => {
                let admissible = format!(
                    "at least 2 with the private method `{method}`: one agent is hidden among nobody"
                );
                Err(Problem::value(
                    "federation.agents",
                    self.federation.agents,
                    admissible,
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a campaign whose agents have too few first points to be standardised, or whose ε has
    /// no noise.
    fn says_enough(&self) -> Result<(), Problem> {
        let few = self.methods().find(|method| {
            method.is_campaign()
                && (self.of(*method).federation.initial_points as usize) < POINTS_MIN
        });
        match few {
            Some(method) => {
                let admissible = format!(
                    "at least {POINTS_MIN} with `{method}`: of two values one says nothing but the unit"
                );
                Err(Problem::value(
                    "federation.initial_points",
                    self.of(method).federation.initial_points,
                    admissible,
                ))
            }
            None => self.has_noise(),
        }
    }

    fn has_noise(&self) -> Result<(), Problem> {
        let (low, high) = NoiseMultiplier::RANGE;
        for method in self.methods().filter(|method| method.is_campaign()) {
            let Some(prior) = &self.of(method).prior else {
                continue;
            };
            if prior
                .campaign
                .iter()
                .any(|z| NoiseMultiplier::new(*z).is_err())
            {
                let admissible = format!(
                    "an ε that gives each release of `{method}` a noise multiplier from {low} to {high}"
                );
                return Err(Problem::value(
                    "prior.epsilon",
                    prior.plan.epsilon,
                    admissible,
                ));
            }
        }
        Ok(())
    }

    /// Refuses two servers for a private method whose server draws a secret sample, and where no
    /// method would use them.
    fn shares_what_can_be_shared(&self) -> Result<(), Problem> {
        let shared: Vec<Method> = self
            .private_methods()
            .filter(|method| self.of(*method).privacy.servers() == Trust::TwoServers)
            .collect();
        let admissible = if let Some(method) = shared.iter().find(|method| !method.is_prior()) {
            let why = "only releases of `dp-prior` and its variants, to which everybody contributes, are summed in shares";
            format!("one-server with the private method `{method}`: {why}")
        } else if shared.is_empty() && self.privacy.servers() == Trust::TwoServers {
            "one-server, or a method `dp-prior`: no other private method has shares".to_owned()
        } else {
            return Ok(());
        };
        Err(Problem::value(
            "privacy.trust",
            Trust::TwoServers,
            admissible,
        ))
    }

    /// Cautions about the scenario's privacy, to be read before believing a result: a δ above .01,
    /// or above the 1/(10 N) of a real federation. A mechanism that publishes all data of one
    /// random agent has δ = 1/N.
    pub fn cautions(&self) -> Vec<String> {
        let agents = f64::from(self.federation.agents);
        let mut said = Vec::new();
        for method in self.private_methods() {
            let delta = self.of(method).privacy.delta;
            let sentence = format!(
                "δ = {} for {} agents: a release that published everything of {} agents on average, picked at random, would be \
                 within it; a δ far below 1/N = {} is usual: set privacy.delta, or read the column of the smaller δ",
                significant(delta, 3),
                self.federation.agents,
                significant(delta * agents, 2),
                significant(1.0 / agents, 3)
            );
            let large = delta > DELTA_CAUTION || delta > served_delta(self.federation.agents);
            if large && !said.contains(&sentence) {
                said.push(sentence);
            }
        }
        said
    }

    /// Releases that a whole run of a private method makes, unless its budget refuses some.
    pub fn planned(&self, method: Method) -> u32 {
        let of = self.of(method);
        match method.parts().kind {
            Kind::Vote => 1,
            Kind::Campaign => CAMPAIGN_RELEASES,
            Kind::Prior => of
                .prior
                .as_ref()
                .map_or(0, |prior| prior.plan.releases.len() as u32),
            _ => of.federation.rounds,
        }
    }

    /// The scenario of an own method: keys that concern the folder stay, and keys that it does not
    /// use are left out.
    fn seen_by(&self, section: Section, method: Method) -> Result<Self, Problem> {
        let mut own = Scenario::read_without_own(section, &[])?;
        own.federation.observations = self.federation.observations;
        own.prior = own.prior.filter(|_| !method.samples());
        Ok(own)
    }

    fn read_without_own(mut root: Section, own: &[MethodName]) -> Result<Self, Problem> {
        let sections: Vec<_> = Scenario::sections()
            .iter()
            .map(|section| section.name)
            .collect();
        let Head {
            name,
            description,
            seed,
            runs,
            ..
        } = Head::take_before(&mut root, &sections, FEDERATED)?;
        let objective = ObjectiveConfig::read(root.section("objective")?)?;
        objective.check()?;
        let federation =
            FederationConfig::read(root.section("federation")?, &objective, runs, own)?;
        federation.check()?;
        let surrogate = SurrogateConfig::read(root.section("surrogate")?, &objective)?;
        let privacy = PrivacyConfig::read(root.section("privacy")?, &federation, &surrogate)?;
        let shipped = federation
            .methods
            .iter()
            .filter_map(|name| Method::from_name(name.name()));
        let required = shipped.into_iter().any(|method| !method.samples());
        let spent = (&privacy.event(), federation.rounds, privacy.delta);
        let prior = PriorConfig::read(root.section("prior")?, required, objective.dim(), spent)?;
        let faults = FaultConfig::read(root.section("faults")?)?;
        faults.check()?;
        let own = Vec::new();
        Ok(Scenario {
            name,
            description,
            seed,
            runs,
            objective,
            federation,
            surrogate,
            privacy,
            prior,
            faults,
            own,
        })
    }

    /// What it may say below the head.
    pub fn sections() -> Vec<SectionTables> {
        vec![
            SectionTables::of::<ObjectiveConfig>("objective"),
            SectionTables::of::<FederationConfig>("federation"),
            SectionTables::of::<SurrogateConfig>("surrogate"),
            SectionTables::of::<PrivacyConfig>("privacy"),
            SectionTables::of::<PriorPlan>("prior"),
            SectionTables::of::<FaultConfig>("faults"),
            SectionTables::of::<OwnKeys>("method").many(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Shipped;

    #[test]
    fn a_real_federation_has_a_delta_of_its_own_where_the_scenario_sets_none() {
        let announced = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let scenario =
                Scenario::parse("default", Shipped::find("default").unwrap().text, &settings)
                    .unwrap();
            scenario.privacy.announced_delta(scenario.federation.agents)
        };
        assert_eq!(announced(&[]), 1.0 / 2000.0);
        for delta in ["1e-5", "0.4"] {
            assert_eq!(
                announced(&[&format!("privacy.delta={delta}")]),
                delta.parse::<f64>().unwrap(),
                "as it was set"
            );
        }
        // That of simulations is larger, whatever the number of agents.
        assert!(
            [2, 3, 20, 200, 1_000_000]
                .into_iter()
                .all(|agents| usual_delta(agents) > served_delta(agents))
        );
    }

    /// 200 agents at δ = .59/N were told nothing, 50 at .68/N were: what counts is δ N, by the rule
    /// of real federations.
    #[test]
    fn a_delta_is_judged_by_the_number_of_agents() {
        let cautions = |agents: u32, delta: f64| {
            let settings = [
                format!("federation.agents={agents}"),
                format!("privacy.delta={delta}"),
            ];
            let text = Shipped::find("default").unwrap().text;
            Scenario::parse("default", text, &settings[..1 + usize::from(delta > 0.0)])
                .unwrap()
                .cautions()
        };
        for agents in [10, 50, 200, 1084, 100_000] {
            let said = cautions(agents, 0.0);
            let share = significant(f64::from(agents) * usual_delta(agents), 2);
            assert!(
                said.len() == 1
                    && said[0].contains(&format!("everything of {share} agents on average")),
                "{said:?}"
            );
            let served = served_delta(agents);
            assert_eq!(cautions(agents, 1.01 * served).len(), 1);
            // Negative control: what a real federation may have.
            assert!(cautions(agents, served).is_empty(), "{agents}");
        }
        // Of so few agents 1/(10 N) is large.
        assert_eq!(cautions(5, served_delta(5)).len(), 1);
    }

    #[test]
    fn a_large_delta_is_cautioned_against_once_for_each_that_is_told() {
        let cautions = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let text = Shipped::find("default").unwrap().text;
            Scenario::parse("default", text, &settings)
                .unwrap()
                .cautions()
        };
        let methods = "federation.methods=[\"ts\", \"dp-fts\", \"dp-fts-de\"]";
        let told = cautions(&[methods, "federation.agents=65"]);
        assert_eq!(told.len(), 1);
        for needed in [
            "δ = 0.0101 for 65 agents",
            "0.66 agents on average",
            "1/N = 0.0154",
            "set privacy.delta",
        ] {
            assert!(told[0].contains(needed), "{}\nexpected {needed}", told[0]);
        }
        // δ = N^−1.1 is more than 1/(10 N), however many there are.
        assert_eq!(cautions(&[methods, "federation.agents=66"]).len(), 1);
        assert!(cautions(&[methods, "federation.agents=10", "privacy.delta=0.01"]).is_empty());
        assert_eq!(
            cautions(&[methods, "federation.agents=1000", "privacy.delta=0.0101"]).len(),
            1
        );
        // Who promises nothing, loses nothing of it.
        assert!(
            cautions(&[
                "federation.methods=[\"ts\", \"fts\"]",
                "federation.agents=10"
            ])
            .is_empty()
        );
    }
}
