//! Taking part with an invitation: the library's entry point for agents on computers.

mod agreement;
mod error;

use std::path::PathBuf;
use std::time::Duration;

use sordino_core::federated::shares::{PublicKey, Trust};
use sordino_core::privacy::Event;
use sordino_core::random::RunSeed;
use sordino_experiment::text::chain;
use sordino_host::entropy::deployment;
use sordino_host::files::{
    create_folders_privately, read_bounded, remove_leftovers, write_privately,
};
use sordino_host::ledger::contributions::{Contributions, ContributionsError};
use sordino_host::prior::PriorFile;

pub use self::error::JoinError;
use crate::admission::{self, Admitted, EPSILON_UNASKED, Inadmissible};
use crate::agent::attempts::{Attempts, Then, gave_up};
use crate::agent::masks::{MaskError, Masks};
use crate::agent::replay::AGENT;
use crate::agent::{AgentEnd, Awaited, Best, HostAgent, Query};
use crate::authority;
use crate::beside::beside;
use crate::data::{self, Before, Data, DataError};
use crate::folder::TERMS;
pub use crate::identity::Certified;
use crate::identity::{Identity, IdentityError, lock_folder};
use crate::invitation::Invitation;
use crate::link::{Link, LinkError};
use crate::party::{Number, Party, Served, Standing, dispatch};
use crate::progress::note;
use crate::shares;
use crate::terms::{TERMS_BYTES_MAX, Terms, TermsError};

/// After a failed request: this long at first, twice as long each time
/// ([`attempts`](crate::agent::attempts)).
const RETRY: Duration = Duration::from_millis(50);

/// The longest that a question waits: less than the time for which a server keeps it, or a proxy a
/// silent connection.
pub const WAIT_MAX: Duration = Duration::from_secs(25);

/// How an agent takes part.
#[derive(Clone, Debug)]
pub struct Joining {
    /// What it was given.
    pub invitation: Invitation,
    /// Where its key and its state are kept; the same folder again goes on where it was.
    pub folder: PathBuf,
    /// Its certificate, where the terms name an authority; otherwise it makes a key in its folder
    /// and shows the token.
    pub certified: Option<Certified>,
    /// The largest ε up to which it contributes, never more than the terms' own limit. If none, the
    /// terms' limit, and an agent agrees only to terms whose releases cost at most
    /// [`EPSILON_UNASKED`], or to what `asked` agrees to; again if that is more than it agreed to
    /// so far.
    pub epsilon_max: Option<f64>,
    /// Asks the owner whether to agree to this sentence, where `epsilon_max` is none and the terms
    /// cost more than [`EPSILON_UNASKED`]; may block. If none, such terms are refused.
    pub asked: Option<fn(&str) -> bool>,
    /// The largest δ of terms that it agrees to; 1/(10 N) if none, and never more than that.
    pub delta_max: Option<f64>,
    /// Evaluations that it makes in all, of a campaign, where each site says how many; those that
    /// it was begun with, or 30, if none.
    pub evaluations: Option<u32>,
    /// The data that its values come from: what it gives is counted together with what other
    /// federations got of the same data. If none, nothing is counted outside its folder.
    pub data: Option<Data>,
    /// How long a question to the server may wait for an answer; at most [`WAIT_MAX`].
    pub wait: Duration,
    /// How long it waits for a server that does not answer; for ever if none.
    pub give_up: Option<Duration>,
}

/// What an agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Index of the agent.
    pub agent: u32,
    /// Rounds it gave an upload to.
    pub given: Vec<u32>,
    /// Points it evaluated.
    pub observations: u32,
    /// The best of them.
    pub best: Option<Best>,
    /// The file of all releases, of a campaign.
    pub file: Option<PriorFile>,
    /// The digest of all broadcasts it received.
    pub chain: sordino_core::digest::Digest,
}

/// Takes part until the federation is over; `evaluate` gives the value at a point of the unit box.
/// Killed at any moment and called again with the same folder, it goes on where it was.
///
/// **Errors**: [`JoinError`]. A server that cannot be reached is not an error: it is tried again.
pub async fn join<F: Future<Output = Result<f64, String>>>(
    joining: &Joining,
    evaluate: impl FnMut(Query) -> F,
) -> Result<Joined, JoinError> {
    let folder = &joining.folder;
    let invitation = &joining.invitation;
    // It holds what was observed.
    create_folders_privately(folder)?;
    let Some(_lock) = lock_folder(folder)? else {
        return Err(JoinError::Busy {
            path: folder.clone(),
        });
    };
    remove_leftovers(folder)?;
    let over = match finished(joining)? {
        Some((joined, true)) => {
            // It may have been killed before it wrote so.
            settled(joining)?;
            return Ok(joined);
        }
        untold => untold.map(|(joined, _)| joined),
    };
    let identity = identity(joining)?;
    let tls = identity.client(&invitation.pins)?;
    let mut link = Link::new(
        &invitation.address,
        invitation.deployment,
        tls,
        joining.wait.min(WAIT_MAX),
    );
    // Nobody counts as joined who does not agree.
    let Some(terms) = terms(joining, &mut link, over.is_some()).await? else {
        return left(joining, over);
    };
    trusted(&terms, invitation)?;
    let count = counted(joining)?;
    let count = if over.is_none() {
        agree(joining, &terms, count).await?
    } else {
        count
    };
    let agreed = count.clone();
    let part = Part {
        joining,
        terms: &terms,
        link: &mut link,
        over,
        count,
    };
    let done = dispatch!(terms.agreement, take_part<F>(part, evaluate).await);
    // It was not let in, and nothing left it. What a process before this one, or another folder,
    // agreed to is not its to free.
    if done.is_err()
        && !folder.join(AGENT).exists()
        && let Some(mut agreed) = agreed
    {
        beside(|| agreed.withdraw()).map_err(DataError::from)?;
    }
    done
}

/// What an agent did that needs its server no more, and did not reach it. It gives nothing more.
fn left(joining: &Joining, over: Option<Joined>) -> Result<Joined, JoinError> {
    let joined = over.ok_or(LinkError::Silence)?;
    settled(joining)?;
    Ok(joined)
}

/// Writes into the count of the agent's data that it gives nothing more.
fn settled(joining: &Joining) -> Result<(), DataError> {
    counted(joining)?.map_or(Ok(()), |mut count| Ok(beside(|| count.settle())?))
}

/// The count of the agent's data, if it has one.
fn counted(joining: &Joining) -> Result<Option<Contributions>, DataError> {
    let Some(data) = &joining.data else {
        return Ok(None);
    };
    let mut count = data.open(&joining.folder, &joining.invitation)?;
    // It is not in yet, and another folder with the same invitation may be.
    if !joining.folder.join(AGENT).exists() {
        count.only_add();
    }
    Ok(Some(count))
}

/// Refuses what nobody should agree to, and tells in one sentence what is agreed to. What it may
/// give is in the count from then on.
async fn agree(
    joining: &Joining,
    terms: &Terms,
    count: Option<Contributions>,
) -> Result<Option<Contributions>, JoinError> {
    let admitted = admission::admit(terms)?;
    let Admitted {
        delta,
        releases,
        epsilon,
        ..
    } = admitted;
    if let Some(most) = joining.delta_max.filter(|most| !(delta <= *most)) {
        return Err(JoinError::Delta { delta, most });
    }
    let slot = joining.invitation.slot;
    let pins = &joining.invitation.pins;
    let key = pins
        .iter()
        .map(|pin| pin.to_string())
        .collect::<Vec<_>>()
        .join(" or ");
    let cost = admission::cost(terms)?;
    let fits = joining
        .epsilon_max
        .map_or(Ok(releases), |most| cost.fitting(most, delta));
    let fits = fits.map_err(Inadmissible::from)?.min(releases);
    let own = match joining.epsilon_max {
        Some(most) if fits < releases => {
            format!("; its own limit of ε = {most} admits {fits} of them")
        }
        _ => String::new(),
    };
    let made = joining.evaluations.map_or(String::new(), |evaluations| {
        format!("; this site makes {evaluations} evaluations")
    });
    let plan = data::plan(&cost, fits);
    let before = count
        .as_ref()
        .map(|count| {
            Ok(Before {
                called: count.called(),
                weighed: count.weigh(&plan, delta)?,
            })
        })
        .transpose()
        .map_err(|error: ContributionsError| DataError::from(error))?;
    let ledgers = count.as_ref().map_or(Vec::new(), Contributions::charged);
    let ledgers = beside_the_sum(&ledgers);
    let weighed = before.as_ref().map(|before| before.weighed);
    // What somebody who is asked agrees to, also where there are no others yet.
    let together = weighed.map(|weighed| weighed.together);
    let before = before.filter(|before| before.weighed.federations > 0);
    let others = before
        .as_ref()
        .map_or(String::new(), |before| format!("; {before}"));
    let sentence = format!(
        "{admitted}{made}; {}{own}{others}{ledgers}",
        seen(&joining.invitation, &key)
    );
    // Who has begun has agreed to as much as was admitted then, and to no more.
    let is_more = !joining.folder.join(AGENT).exists()
        || match &weighed {
            Some(weighed) => weighed.is_more,
            None => agreement::releases(&joining.folder)? < fits,
        };
    let most = joining.epsilon_max.unwrap_or(EPSILON_UNASKED);
    let refused = match before {
        Some(before)
            if before.weighed.is_more && !plan.is_empty() && !(before.weighed.together <= most) =>
        {
            Some(JoinError::Others { before, most })
        }
        _ if is_more && joining.epsilon_max.is_none() && !(epsilon <= EPSILON_UNASKED) => {
            Some(JoinError::Epsilon { epsilon, delta })
        }
        _ => None,
    };
    let admitted = match refused {
        None => most,
        Some(refused) => {
            let Some(ask) = joining.asked.filter(|_| joining.epsilon_max.is_none()) else {
                return Err(refused);
            };
            let question = format!("agent {slot}: {sentence}");
            // A person may take a while: signals are heard meanwhile.
            if !tokio::task::spawn_blocking(move || ask(&question))
                .await
                .unwrap_or(false)
            {
                return Err(refused);
            }
            together.unwrap_or(most)
        }
    };
    let count = match count {
        Some(count) => Some(agreed(joining, count, &plan, delta, admitted)?),
        None => {
            agreement::remember(&joining.folder, fits)?;
            None
        }
    };
    note(&format!("agent {slot} agrees: {sentence}"));
    terms
        .work()
        .iter()
        .for_each(|work| note(&format!("agent {slot}: {work}")));
    Ok(count)
}

/// Writes the plan into the count, if all federations together cost no more than `admitted`: what
/// was admitted in advance, or what a person was told.
fn agreed(
    joining: &Joining,
    mut count: Contributions,
    plan: &[(Event, u32)],
    delta: f64,
    admitted: f64,
) -> Result<Contributions, JoinError> {
    let written = beside(|| count.agree(plan, delta, admitted)).map_err(DataError::from)?;
    if written.is_none() {
        // Another federation of the same data was joined since.
        let weighed = count.weigh(plan, delta).map_err(DataError::from)?;
        return Err(JoinError::Others {
            before: Before {
                called: count.called(),
                weighed,
            },
            most: admitted,
        });
    }
    data::remember(&joining.folder, &count)?;
    Ok(count)
}

/// What ledgers of the same data set hold, for the sentence that is agreed to.
fn beside_the_sum(ledgers: &[String]) -> String {
    match ledgers {
        [] => String::new(),
        ledgers => format!(
            "; under the name of its data set {}, from `publish`, `tune` or a server, which is not in this sum",
            ledgers.join(", ")
        ),
    }
}

/// Who sees what an agent contributes, in words.
fn seen(invitation: &Invitation, key: &str) -> String {
    match &invitation.helper {
        None => format!("the server with the key {key} sees what it contributes"),
        Some(helper) => format!(
            "what it contributes is hidden from the server with the key {key} and from the helper with the key {helper}, unless both \
             work together; noise of both is in every release"
        ),
    }
}

/// Attempts to reach the server before the agent takes part, and what its owner is told of them.
struct Reaching<'a> {
    joining: &'a Joining,
    attempts: Attempts,
}

impl<'a> Reaching<'a> {
    fn new(joining: &'a Joining) -> Self {
        Reaching {
            joining,
            attempts: Attempts::new(RETRY, Duration::ZERO, joining.give_up),
        }
    }

    /// The server has answered.
    fn reached(&mut self) {
        if let Some(silent) = self.attempts.reached() {
            let address = self.joining.invitation.address.clone();
            Awaited::Back { address, silent }.tell(self.joining.invitation.slot);
        }
    }

    /// Waits before the next attempt; false if there is to be none.
    ///
    /// **Errors**: what trying again will not change.
    async fn again(&mut self, link: &Link, error: LinkError) -> Result<bool, JoinError> {
        if error.is_refusal() && !self.attempts.is_last_word() {
            return Err(error.into());
        }
        let invitation = &self.joining.invitation;
        let (then, told) = self.attempts.failed(&error, link.due());
        match then {
            Then::Leave => Ok(false),
            Then::GiveUp(silent) => Err(gave_up(&invitation.address, silent, &error).into()),
            Then::Again(next) => {
                if let Some(silent) = told {
                    let awaited = Awaited::Server {
                        address: invitation.address.clone(),
                        silent,
                        next,
                        error: chain(&error),
                    };
                    awaited.tell(invitation.slot);
                }
                tokio::time::sleep(next).await;
                Ok(true)
            }
        }
    }
}

/// Shows the token, with the key of its masks where there are two servers, or the certificate.
/// False if the server of an agent that is over is gone.
async fn enrolled(
    joining: &Joining,
    link: &mut Link,
    masks: Option<&PublicKey>,
    is_over: bool,
) -> Result<bool, JoinError> {
    let invitation = &joining.invitation;
    let mut reaching = Reaching::new(joining);
    loop {
        let enrolling = link.enrol_with(invitation.slot, invitation.token.as_ref(), masks);
        match reaching.attempts.attempt(is_over, enrolling).await {
            Ok(()) => break,
            Err(error) => {
                if !reaching.again(link, error).await? {
                    return Ok(false);
                }
            }
        }
    }
    reaching.reached();
    Ok(true)
}

/// What an agent with the last frame did, and whether the server knows that it has it: if so, no
/// server is needed; if not, the agent tries for a few seconds to tell it.
fn finished(joining: &Joining) -> Result<Option<(Joined, bool)>, JoinError> {
    let [file, terms] = [AGENT, TERMS].map(|name| joining.folder.join(name));
    if !file.exists() || !terms.exists() {
        return Ok(None);
    }
    let bytes = read_bounded(&terms, TERMS_BYTES_MAX)?;
    let terms = kept(terms, &bytes)?;
    if terms.digest() != joining.invitation.terms {
        // Which field differs is told once the server has said what it is now.
        return Ok(None);
    }
    dispatch!(terms.agreement, finished_in(joining, &terms, file))
}

fn finished_in<T: Number, P: Served<T>>(
    joining: &Joining,
    terms: &Terms,
    file: PathBuf,
) -> Result<Option<(Joined, bool)>, JoinError> {
    // Never used: the file is there.
    let unused = RunSeed::new(0, 0);
    let mut agent =
        HostAgent::<T, P>::open(&P::new(terms)?, joining.invitation.slot, unused, Some(file))?;
    evaluates(&mut agent, joining)?;
    if !agent.is_done() {
        return Ok(None);
    }
    Ok(Some((joined(&agent)?, agent.has_all())))
}

/// Refuses fewer evaluations than these terms admit: more were made without a word.
fn enough<T: Number, P: Party<T>>(party: &P, joining: &Joining) -> Result<(), JoinError> {
    let least = party.evaluations_min();
    match joining.evaluations {
        Some(evaluations) if evaluations < least => {
            Err(JoinError::FewEvaluations { evaluations, least })
        }
        _ => Ok(()),
    }
}

/// Sets how many evaluations the agent makes, if its owner says so.
fn evaluates<T: Number, P: Party<T>>(
    agent: &mut HostAgent<T, P>,
    joining: &Joining,
) -> Result<(), JoinError> {
    match joining.evaluations {
        Some(evaluations) if !agent.evaluate(evaluations)? => {
            Err(JoinError::Evaluations { evaluations })
        }
        _ => Ok(()),
    }
}

fn joined<T: Number, P: Party<T>>(agent: &HostAgent<T, P>) -> Result<Joined, JoinError> {
    let Standing {
        agent: slot,
        observations,
        ..
    } = agent.standing();
    let given = agent.given().to_vec();
    let chain = agent.exchange().have().chain;
    Ok(Joined {
        agent: slot,
        given,
        observations,
        best: agent.best(),
        file: agent.learned()?,
        chain,
    })
}

/// Who this agent is: what its certificate says, or a key of its own.
fn identity(joining: &Joining) -> Result<Identity, JoinError> {
    let invitation = &joining.invitation;
    let own = joining.folder.join("agent.key");
    match (&invitation.token, &joining.certified) {
        (Some(_), None) => Ok(Identity::open(&own)?),
        (Some(_), Some(_)) => Err(JoinError::TokenAndCertificate),
        (None, None) => Err(JoinError::NoCertificate {
            name: authority::name_of(invitation.deployment, invitation.slot),
        }),
        (None, Some(certified)) => {
            let identity = Identity::certified(certified)?;
            let path = certified.certificate.clone();
            let own = identity.chain().first().ok_or(IdentityError::Signature)?;
            match authority::slot_named(own, invitation.deployment) {
                Ok(slot) if slot == invitation.slot => Ok(identity),
                Ok(found) => Err(JoinError::OtherAgent {
                    path,
                    found,
                    expected: invitation.slot,
                }),
                Err(refused) => Err(JoinError::Certificate { path, refused }),
            }
        }
    }
}

/// The terms that an agent's folder has.
///
/// **Errors**: [`JoinError::Kept`] for what nobody should have kept.
fn kept(path: PathBuf, bytes: &[u8]) -> Result<Terms, JoinError> {
    Terms::from_bytes(bytes, None).map_err(|error| match error {
        // A newer program reads it.
        TermsError::Version(_) => error.into(),
        error => JoinError::Kept {
            path,
            error: Box::new(error),
        },
    })
}

/// The terms, fetched once; always compared with the invitation. None if the server of an agent
/// that is over is gone.
async fn terms(
    joining: &Joining,
    link: &mut Link,
    is_over: bool,
) -> Result<Option<Terms>, JoinError> {
    let path = joining.folder.join(TERMS);
    let invitation = &joining.invitation;
    match read_bounded(&path, TERMS_BYTES_MAX) {
        Ok(bytes) => {
            let begun = kept(path.clone(), &bytes)?;
            if begun.digest() == invitation.terms {
                return Ok(Some(begun));
            }
            let found = begun.digest();
            let expected = invitation.terms;
            // A server that cannot be reached leaves no more to say than this.
            let now = link
                .terms()
                .await
                .map_err(|_unreached| TermsError::Other { found, expected })?;
            let now = Terms::from_bytes(&now, Some(&expected))?;
            let difference = begun
                .difference(&now)
                .ok_or(TermsError::Other { found, expected })?;
            return Err(AgentEnd::OtherTerms { path, difference }.into());
        }
        Err(error) if !error.is_missing() => return Err(error.into()),
        Err(_missing) => {}
    }
    let mut reaching = Reaching::new(joining);
    let bytes = loop {
        match reaching.attempts.attempt(is_over, link.terms()).await {
            Ok(bytes) => break bytes,
            Err(error) => {
                if !reaching.again(link, error).await? {
                    return Ok(None);
                }
            }
        }
    };
    reaching.reached();
    let terms = Terms::from_bytes(&bytes, Some(&invitation.terms))?;
    write_privately(&path, &terms.to_stored()?)?;
    Ok(Some(terms))
}

/// The terms of an invitation, fetched by a stranger: no token is shown, and nothing is kept.
///
/// **Errors**: [`JoinError`], if the server cannot be reached too.
pub async fn fetched(invitation: &Invitation, wait: Duration) -> Result<Terms, JoinError> {
    let tls = Identity::generate()?.client(&invitation.pins)?;
    let mut link = Link::new(
        &invitation.address,
        invitation.deployment,
        tls,
        wait.min(WAIT_MAX),
    );
    Ok(Terms::from_bytes(
        &link.terms().await?,
        Some(&invitation.terms),
    )?)
}

/// Refuses an invitation whose servers are not those of the terms: one, or two.
///
/// **Errors**: `MaskError::NoHelper`, `MaskError::OneServer`.
pub fn trusted(terms: &Terms, invitation: &Invitation) -> Result<(), MaskError> {
    match (shares::trust(&terms.agreement.protocol), &invitation.helper) {
        (Trust::OneServer, None) | (Trust::TwoServers, Some(_)) => Ok(()),
        (Trust::OneServer, Some(_)) => Err(MaskError::OneServer),
        (Trust::TwoServers, None) => Err(MaskError::NoHelper),
    }
}

/// What hides its contributions; nothing where there is one server.
fn masks(joining: &Joining, terms: &Terms) -> Result<Option<Masks>, MaskError> {
    trusted(terms, &joining.invitation)?;
    let helper = joining.invitation.helper.map(|key| key.public());
    helper
        .map(|helper| Masks::open(&joining.folder, &terms.agreement, &helper))
        .transpose()
}

/// What an agent takes part with.
struct Part<'a> {
    joining: &'a Joining,
    terms: &'a Terms,
    link: &'a mut Link,
    /// What it did, of one that may go on without its server.
    over: Option<Joined>,
    count: Option<Contributions>,
}

async fn take_part<T: Number, P: Served<T>, F: Future<Output = Result<f64, String>>>(
    part: Part<'_>,
    evaluate: impl FnMut(Query) -> F,
) -> Result<Joined, JoinError> {
    let Part {
        joining,
        terms,
        link,
        over,
        count,
    } = part;
    // What cannot be computed is refused before the token is used and anybody counts on this agent.
    let shared = P::new(terms)?;
    enough(&*shared, joining)?;
    // Its own draws, from its own entropy; only a new agent uses it.
    let seed = RunSeed::new(deployment()?, joining.invitation.slot);
    let file = joining.folder.join(AGENT);
    let open =
        || HostAgent::<T, P>::open(&shared, joining.invitation.slot, seed, Some(file.clone()));
    // One that has all frames goes on without its server, whatever queries are left.
    let kept = if file.exists() {
        Some(open()?).filter(HostAgent::has_last)
    } else {
        None
    };
    // One that needs its server no more needs no masks either.
    let masks = if kept.is_none() {
        masks(joining, terms)?
    } else {
        None
    };
    let public = masks.as_ref().map(Masks::public);
    if kept.is_none() && !enrolled(joining, link, public.as_ref(), over.is_some()).await? {
        return left(joining, over);
    }
    let mut agent = kept.map_or_else(open, Ok)?;
    agent.mask(masks);
    evaluates(&mut agent, joining)?;
    let most = [joining.epsilon_max, terms.agreement.announced.epsilon_max];
    agent.limit(most.into_iter().flatten().reduce(f64::min));
    count.map_or(Ok(()), |count| agent.counting(count))?;
    let slot = joining.invitation.slot;
    agent.telling(move |awaited| awaited.tell(slot));
    agent.give_up_after(joining.give_up);
    agent.run(link, evaluate).await?;
    agent.settle()?;
    joined(&agent)
}
