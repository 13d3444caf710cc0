//! What an invitation asks of a site, all of it, before anything is agreed to.

use std::fmt;

use serde::Serialize;
use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_experiment::metrics::SMALL_DELTA;
use sordino_experiment::text::{significant, significant_up};
use sordino_host::campaign::EVALUATIONS;
use sordino_host::prior::publish::Publication;
use sordino_host::text::cut;

use crate::admission::{self, Admitted, Inadmissible};
use crate::invitation::Invitation;
use crate::progress::{RELATION, spoken};
use crate::shares;
use crate::terms::Terms;

/// Words of the server's are shown up to this many characters.
const SHOWN: usize = 200;

/// What is asked of a site, by its terms alone.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Agents of the federation, N.
    pub agents: u32,
    /// Index of the agent that is invited.
    pub agent: u32,
    /// Evaluations before the first release.
    pub first_evaluations: u32,
    /// Evaluations in all, of a site of a campaign that does not say how many; of a scenario its
    /// terms say so.
    pub evaluations_default: Option<u32>,
    /// The most evaluations in all.
    pub evaluations_max: u32,
    /// Releases that an agent contributes to.
    pub releases: u32,
    /// ε of all of them at δ.
    pub epsilon: f64,
    /// The announced δ.
    pub delta: f64,
    /// ε of all of them at 1e-5.
    pub epsilon_at_1e_5: f64,
    /// ε at δ between two contributions.
    pub epsilon_between_contributions: f64,
    /// Which neighbours ε compares.
    pub relation: &'static str,
    /// How long a round is open at most, in milliseconds.
    pub deadline_ms: u64,
    /// Whether rounds may end early, which shows who is there.
    pub may_close_early: bool,
    /// What is searched, which values are better, name of the data; of a scenario nothing: points
    /// of the unit box, larger is better.
    pub publication: Option<Publication>,
    /// SHA-256 of the terms.
    pub terms: String,
    /// Fingerprints of the server's keys.
    pub server_keys: Vec<String>,
    /// Where the server is.
    pub address: String,
    /// Who is trusted with contributions: `one-server`, or `two-servers`, of which either one is
    /// honest.
    pub trust: Trust,
    /// The key of the helper's masks, where there are two servers.
    pub helper_key: Option<String>,
    /// What is searched and which values are better, in words.
    pub searched: String,
}

impl Asked {
    /// What the terms of this invitation ask.
    ///
    /// **Errors**: [`Inadmissible`] for terms that nobody should agree to.
    pub fn of(terms: &Terms, invitation: &Invitation) -> Result<Self, Inadmissible> {
        let Admitted {
            agents,
            searched,
            evaluations,
            releases,
            epsilon,
            delta,
            epsilon_small,
            epsilon_between,
            ..
        } = admission::admit(terms)?;
        let protocol = &terms.agreement.protocol;
        let announced = terms.agreement.announced;
        Ok(Asked {
            agents,
            agent: invitation.slot,
            first_evaluations: protocol.initial_points(),
            evaluations_default: by_default(protocol, evaluations),
            evaluations_max: evaluations,
            releases,
            epsilon,
            delta,
            epsilon_at_1e_5: epsilon_small,
            epsilon_between_contributions: epsilon_between,
            relation: RELATION,
            deadline_ms: announced.deadline_ms,
            may_close_early: announced.may_close_early,
            publication: terms.publication()?,
            terms: invitation.terms.to_string(),
            server_keys: invitation.pins.iter().map(ToString::to_string).collect(),
            address: invitation.address.clone(),
            trust: shares::trust(protocol),
            helper_key: invitation.helper.map(|key| key.to_string()),
            searched,
        })
    }
}

/// Evaluations of a site that does not say how many, where it may.
fn by_default(protocol: &Protocol, most: u32) -> Option<u32> {
    match protocol {
        Protocol::Campaign(_) => Some(EVALUATIONS.clamp(protocol.initial_points(), most)),
        Protocol::Draws(_) | Protocol::Prior(_) | Protocol::Vote(_) | Protocol::Own(_) => None,
    }
}

/// For people, line by line: what it costs first, then what the server calls things.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "you would be agent {} of {}", self.agent, self.agents)?;
        let first = self.first_evaluations;
        let made = match self.evaluations_default {
            Some(_) => format!("{first} evaluations"),
            None => format!("all evaluations so far, of {first} before the first"),
        };
        writeln!(
            f,
            "you give    one vector to each of {} releases, made of the values of {made}, which stay with you",
            self.releases
        )?;
        write!(
            f,
            "it costs    ε = {} at δ = {}",
            significant_up(self.epsilon, 3),
            significant(self.delta, 3)
        )?;
        if self.delta != SMALL_DELTA {
            write!(
                f,
                " (ε = {} at δ = 1e-5)",
                significant_up(self.epsilon_at_1e_5, 3)
            )?;
        }
        writeln!(f, "; {}", self.relation)?;
        writeln!(
            f,
            "            between two things you may have given: ε = {}",
            significant_up(self.epsilon_between_contributions, 3)
        )?;
        match &self.helper_key {
            None => writeln!(
                f,
                "seen by     the server, which sees your vectors; everybody sees the noised sums"
            )?,
            Some(_) => writeln!(
                f,
                "seen by     two servers, neither of which sees your vectors, unless both work together; everybody sees sums with the \
                 noise of both"
            )?,
        }
        if self.may_close_early {
            writeln!(
                f,
                "            rounds may close early: then everybody sees that nobody is absent"
            )?;
        }
        match self.evaluations_default {
            Some(evaluations) => writeln!(
                f,
                "you make    {evaluations} evaluations, or as many as you say by --evaluations, {} at most",
                self.evaluations_max
            )?,
            None => writeln!(
                f,
                "you make    {} evaluations at most",
                self.evaluations_max
            )?,
        }
        writeln!(
            f,
            "you have    {} for the first evaluations",
            spoken(self.deadline_ms)
        )?;
        writeln!(f, "search      {}", self.searched)?;
        if let Some(publication) = &self.publication {
            let by = publication.by.as_ref().map_or(String::new(), |by| {
                format!(", asked for by {}", cut(by, SHOWN))
            });
            writeln!(f, "data        {}{by}", cut(&publication.dataset, SHOWN))?;
        }
        writeln!(
            f,
            "server      {}, key {}",
            self.address,
            self.server_keys.join(" or ")
        )?;
        if let Some(key) = &self.helper_key {
            writeln!(
                f,
                "helper      key {key}: ask whoever runs it whether it is theirs, the server chose what you read here"
            )?;
        }
        writeln!(f, "terms       {}", self.terms)
    }
}
