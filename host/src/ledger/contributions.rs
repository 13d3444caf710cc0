//! What the data of a site gave to federations: a count for each data set, by name, outside every
//! agent's folder.
//!
//! An agent knows what its own federation costs. Two federations that get vectors made of the same
//! data cost more together than either says, so an agent writes down under the name of its data
//! what it *agrees* to give, before anything is sent, and what it *gave*, before each vector
//! leaves. What other federations of the same name may still get counts like what they got.
//!
//! | moment | on disk | counts as |
//! |---|---|---|
//! | agreed | the events of all releases that its owner admits | all of them |
//! | before a vector leaves | its release among those that were given; once, however often it is sent again | the same |
//! | it has the last frame | what was given alone | what was given |
//!
//! **How it adds up.** Gaussians on everybody by Σ1/z², exactly; as soon as one event is sampled,
//! all by Rényi divergences. δ is the smallest that any of these federations announced. Multipliers
//! of the second federation may depend on what the first released where all are Gaussians: Σ1/z² is
//! a filter (Smith, Thakurta 2022, theorem 1). The Rényi sum is read at its best order, which is no
//! filter: it holds where the second federation's events were not chosen from the first's releases.
//! (One order named ahead would be one: Feldman, Zrnic 2021, theorem 4.3.)
//!
//! **Data without a name.** All federations that are joined without a name, under one `place`,
//! count as if they got the same data, and agents of one federation as if theirs were different,
//! because one data set is one agent there. Of each other federation what the agents gave is
//! joined: no assignment of data to agents costs more. Under a *name* a second agent of one
//! federation is refused: its two vectors would move a sum twice as far as one.
//!
//! **Not in the sum**: ledgers of `tune`, `publish` and servers. What those beside this count hold
//! under the same name, [`Contributions::charged`] tells; to them [`given`] tells what is here.
//!
//! **Not seen**: other state folders, other machines, other names for the same data, and older
//! copies of these files.
//!
//! **Example**: that of [`Contributions`].

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sordino_core::privacy::Event;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, GaussianAccountant, PrivacySpent, RdpAccountant,
};

use super::counter::{LEDGERS, digest, ledgers_of};
use super::terms::{NAME_ADMISSIBLE, is_name};
use super::{Contents, CounterPlace, LedgerError, looks};
use crate::files::{
    self, FileError, create_folders_privately, if_there, io_at, open_regular, read_bounded,
    write_privately,
};
use crate::text::significant_up;

/// Version of the files; a reader refuses every other.
const VERSION: u16 = 1;
/// Files are read up to this length.
const BYTES_MAX: u64 = 16 << 20;
/// How long the lock of a folder is waited for: many agents of one machine may begin together.
const WAIT: Duration = Duration::from_secs(30);
/// The folder of these counts, beside that of the second counts of ledgers.
const CONTRIBUTIONS: &str = "contributions";
/// The folder of data without a name; no digest is it.
const UNNAMED: &str = "unnamed";

/// Why nothing may be sent.
#[derive(Debug, thiserror::Error)]
pub enum ContributionsError {
    /// A name that no data set can have.
    #[error("the data set's name {name:?}: admissible: {NAME_ADMISSIBLE}")]
    Name {
        /// The name that was given.
        name: String,
    },
    /// A file could not be read or written, or another process holds it.
    #[error("the count of what data sets gave: {0}")]
    File(#[from] FileError),
    /// A name that people take for another; no state folder.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Other agents write it for a long time.
    #[error("{path}: in use by another process for more than {} s", WAIT.as_secs())]
    Busy {
        /// The file whose lock is held.
        path: PathBuf,
    },
    /// A file is not what this program wrote there.
    #[error(
        "{path}: is no count of this version; put it back, because what it counted is not known otherwise"
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// The data set takes part in this federation as another agent.
    #[error(
        "the data set {name:?} takes part in this federation as agent {slot} already: one data set is one agent, because two \
         would move a sum twice as far as ε counts"
    )]
    Twice {
        /// Name of the data set.
        name: String,
        /// The other agent.
        slot: u32,
    },
    /// The losses do not add up.
    #[error("the loss of all federations of this data: {0}")]
    Accountant(#[from] AccountantError),
}

/// What federations get of one data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// Other federations that got something, or may get it.
    pub federations: usize,
    /// ε of these alone, at δ.
    pub before: f64,
    /// ε of these and of what is agreed to now, at δ: whether contributions are used or count as
    /// nothing.
    pub together: f64,
    /// The same between any two things that may have been contributed; infinite where no bound is
    /// known.
    pub together_between: f64,
    /// The smallest δ that any of all these federations announced.
    pub delta: f64,
    /// Whether more is agreed to now than before: what is repeated needs nobody's leave.
    pub is_more: bool,
}

/// Events, and how many there are of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lots(Vec<(Event, u32)>);

impl Lots {
    /// Events that are equal become one lot.
    fn new(lots: &[(Event, u32)]) -> Self {
        let mut made = Lots::default();
        lots.iter()
            .for_each(|(event, count)| made.add(event, *count));
        made
    }

    fn of(event: &Event, lots: &[(Event, u32)]) -> u32 {
        lots.iter()
            .filter(|(other, _)| other == event)
            .map(|(_, count)| count)
            .sum()
    }

    fn add(&mut self, event: &Event, count: u32) {
        match self.0.iter_mut().find(|(other, _)| other == event) {
            Some((_, there)) => *there = there.saturating_add(count),
            None => self.0.push((*event, count)),
        }
    }

    /// At least as many of each as `other` has.
    fn cover(&mut self, other: &Lots) {
        for (event, count) in &other.0 {
            let there = Lots::of(event, &self.0);
            self.add(event, count.saturating_sub(there));
        }
        self.0.retain(|(_, count)| *count > 0);
    }

    fn covers(&self, other: &Lots) -> bool {
        other
            .0
            .iter()
            .all(|(event, count)| Lots::of(event, &self.0) >= *count)
    }
}

/// What one agent agreed to give and gave, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    sordino_contributions: u16,
    data: Option<String>,
    federation: String,
    slot: u32,
    delta: f64,
    agreed: Lots,
    given: BTreeMap<u32, Event>,
    /// Whether it has the last frame, and gives nothing more.
    is_over: bool,
    /// How often somebody agreed: two folders may come with one invitation. Files of before it have
    /// none.
    #[serde(default)]
    agreements: u32,
}

impl Kept {
    fn given_lots(&self) -> Lots {
        let mut lots = Lots::default();
        self.given.values().for_each(|event| lots.add(event, 1));
        lots
    }

    /// What counts: all that it may still give as well.
    fn counted(&self) -> Lots {
        let mut lots = self.given_lots();
        lots.cover(&self.agreed);
        lots
    }
}

/// The count of one agent's data set, for what this agent gives.
///
/// ```
/// use sordino_core::privacy::{Event, NeighboringRelation};
/// use sordino_host::ledger::contributions::Contributions;
///
/// let place = std::env::temp_dir().join(format!("sordino-contributions-{}", std::process::id()));
/// # let _ = std::fs::remove_dir_all(&place);
/// let one = Event::Gaussian { noise_multiplier: 4.0, relation: NeighboringRelation::ReplaceSpecial };
/// let mut first = Contributions::open(&place, Some("wards"), "a campaign", 0)?;
/// first.agree(&[(one, 1)], 1e-5, f64::INFINITY)?;
/// let mut second = Contributions::open(&place, Some("wards"), "another", 7)?;
/// let weighed = second.weigh(&[(one, 1)], 1e-5)?;
/// assert!(weighed.federations == 1 && weighed.together > 1.4 * weighed.before); // √2 in μ
/// assert!(second.agree(&[(one, 1)], 1e-5, 1.01 * weighed.before)?.is_none(), "beyond what is admitted: nothing is written");
/// # std::fs::remove_dir_all(&place)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    folder: PathBuf,
    name: Option<String>,
    federation: String,
    slot: u32,
    own: Option<Kept>,
    /// The number of this agreement, if nothing counted before it: then it may be withdrawn.
    first: Option<u32>,
    /// Whether what was agreed to before stays agreed to.
    only_adds: bool,
}

impl Contributions {
    /// The user's folder of these counts: `$XDG_STATE_HOME/sordino/contributions`, or
    /// `~/.local/state/sordino/contributions`.
    ///
    /// **Errors**: [`LedgerError::NoStateFolder`].
    pub fn of_user() -> Result<PathBuf, LedgerError> {
        match CounterPlace::of_user()? {
            CounterPlace::Folder(ledgers) => Ok(ledgers.with_file_name(CONTRIBUTIONS)),
            CounterPlace::Nowhere => Err(LedgerError::NoStateFolder),
        }
    }

    /// The count of the data of this name, or of all data without one, in the folder `place`, for
    /// agent `slot` of a federation that is named by the digest of its terms.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn open(
        place: &Path,
        name: Option<&str>,
        federation: &str,
        slot: u32,
    ) -> Result<Self, ContributionsError> {
        if let Some(name) = name {
            if !is_name(name) {
                return Err(ContributionsError::Name {
                    name: name.to_owned(),
                });
            }
            if let Some(character) = looks::alike(name) {
                return Err(LedgerError::LookAlike {
                    name: name.to_owned(),
                    character,
                }
                .into());
            }
        }
        let folder = place.join(name.map_or_else(|| UNNAMED.to_owned(), digest));
        create_folders_privately(&folder)?;
        let name = name.map(str::to_owned);
        let federation = federation.to_owned();
        let mut made = Contributions {
            folder,
            name,
            federation,
            slot,
            own: None,
            first: None,
            only_adds: false,
        };
        made.own = made.read(&made.path())?;
        Ok(made)
    }

    /// Whoever agrees with this count agrees to no less than was agreed to before: another folder
    /// may have come with the same invitation, and be at work.
    pub fn only_add(&mut self) {
        self.only_adds = true;
    }

    /// Name of the data set; nothing for data without one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Ledgers beside this count that hold charges under the same name, with what they hold where
    /// they can be read, a few words each; the words say so if the counts of ledgers cannot be
    /// read. They are in no sum of this count. Data without a name has none.
    pub fn charged(&self) -> Vec<String> {
        let place = self.folder.parent();
        let (Some(name), Some(place)) = (&self.name, place) else {
            return Vec::new();
        };
        let ledgers = ledgers_of(&place.with_file_name(LEDGERS), name);
        // They say something beside the sum: a count of other data that cannot be read must not
        // keep a site from its federation.
        let ledgers = match ledgers {
            Ok(ledgers) => ledgers,
            Err(error) => return vec![format!("ledgers that cannot be read ({error})")],
        };
        let told = ledgers.into_iter().map(|(path, charges)| {
            let spent =
                Contents::counted(&path).map(|found| (found.spent.epsilon, found.spent.delta));
            let holds = match spent {
                Ok((epsilon, delta)) => format!("ε {} at δ = {delta}", significant_up(epsilon, 4)),
                Err(_) => format!("{charges} charges"),
            };
            format!("{} holds {holds}", path.display())
        });
        told.collect()
    }

    /// How the data set is called, for people.
    pub fn called(&self) -> String {
        self.name
            .as_ref()
            .map_or("data without a name, of this folder,".into(), |name| {
                format!("data set \"{name}\"")
            })
    }

    /// What this plan would cost together with what others of the same name got or may get. Nothing
    /// is written.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn weigh(&self, plan: &[(Event, u32)], delta: f64) -> Result<Weighed, ContributionsError> {
        let mut federations: BTreeMap<String, (Lots, f64)> = BTreeMap::new();
        for kept in self.all()? {
            let lots = kept.counted();
            if lots.0.is_empty() {
                continue;
            }
            if kept.federation == self.federation {
                if let Some(name) = &self.name
                    && kept.slot != self.slot
                {
                    return Err(ContributionsError::Twice {
                        name: name.clone(),
                        slot: kept.slot,
                    });
                }
                continue;
            }
            let (of_all, least) = federations
                .entry(kept.federation)
                .or_insert((Lots::default(), kept.delta));
            of_all.cover(&lots);
            *least = least.min(kept.delta);
        }
        let delta = federations
            .values()
            .map(|(_, delta)| *delta)
            .fold(delta, f64::min);
        let others = || federations.values().flat_map(|(lots, _)| &lots.0);
        let [before, _] = losses(others(), delta)?;
        let plan = Lots::new(plan);
        let own = self.own.as_ref();
        let mut agreed = own.map_or_else(Lots::default, Kept::given_lots);
        agreed.cover(&plan);
        let is_more = !own.is_some_and(|own| own.is_over || own.counted().covers(&plan));
        let [together, together_between] = losses(others().chain(&agreed.0), delta)?;
        Ok(Weighed {
            federations: federations.len(),
            before,
            together,
            together_between,
            delta,
            is_more,
        })
    }

    /// Writes down durably that this agent may give what is in the plan, unless that is more than
    /// before, other federations count, and all together would cost more than `epsilon_max`; then
    /// it is none, and nothing is written. An agent that is over keeps what it gave, and so does
    /// another folder that came with the same invitation.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn agree(
        &mut self,
        plan: &[(Event, u32)],
        delta: f64,
        epsilon_max: f64,
    ) -> Result<Option<Weighed>, ContributionsError> {
        let _held = self.hold()?;
        let weighed = self.weigh(plan, delta)?;
        let is_limited = weighed.is_more && weighed.federations > 0 && !plan.is_empty();
        if is_limited && !(weighed.together <= epsilon_max) {
            return Ok(None);
        }
        let mut kept = self.own.clone().unwrap_or_else(|| self.fresh(delta));
        let is_first =
            (!kept.is_over && kept.counted().0.is_empty()) || self.first == Some(kept.agreements);
        if !kept.is_over {
            if !self.only_adds {
                kept.agreed = kept.given_lots();
            }
            kept.agreed.cover(&Lots::new(plan));
        }
        kept.agreements = kept.agreements.saturating_add(1);
        self.first = is_first.then_some(kept.agreements);
        self.write(kept)?;
        Ok(Some(weighed))
    }

    /// Writes down durably that a release is given, before it is; one that was given before counts
    /// once. False if that is more than was agreed to: nothing may be sent then.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn give(&mut self, release: u32, event: &Event) -> Result<bool, ContributionsError> {
        if self
            .own
            .as_ref()
            .is_some_and(|own| own.given.contains_key(&release))
        {
            return Ok(true);
        }
        let _held = self.hold()?;
        let Some(mut kept) = self.own.clone() else {
            return Ok(false);
        };
        kept.given.insert(release, *event);
        if !kept.agreed.covers(&kept.given_lots()) {
            return Ok(false);
        }
        self.write(kept)?;
        Ok(true)
    }

    /// Adds releases that the agent's own file knows and this count does not: it was begun without
    /// one, or elsewhere.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn adopt(
        &mut self,
        given: impl IntoIterator<Item = (u32, Event)>,
    ) -> Result<(), ContributionsError> {
        let _held = self.hold()?;
        let Some(mut kept) = self.own.clone() else {
            return Ok(());
        };
        for (release, event) in given {
            kept.given.entry(release).or_insert(event);
        }
        let given = kept.given_lots();
        kept.agreed.cover(&given);
        if self.own.as_ref() == Some(&kept) {
            Ok(())
        } else {
            self.write(kept)
        }
    }

    /// The agent has the last frame: from now on what it gave counts, and nothing that it might
    /// have given.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn settle(&mut self) -> Result<(), ContributionsError> {
        let _held = self.hold()?;
        let Some(mut kept) = self.own.clone().filter(|kept| !kept.is_over) else {
            return Ok(());
        };
        kept.agreed = kept.given_lots();
        kept.is_over = true;
        self.write(kept)
    }

    /// The agent was not let in: what it agreed to and did not give is free for others, and it may
    /// agree again. Nothing changes if something counted before this agreement, or if another
    /// folder agreed with the same invitation since: that one may be in.
    ///
    /// **Errors**: [`ContributionsError`].
    pub fn withdraw(&mut self) -> Result<(), ContributionsError> {
        let _held = self.hold()?;
        let Some(mut kept) = self
            .own
            .clone()
            .filter(|kept| self.first == Some(kept.agreements))
        else {
            return Ok(());
        };
        kept.agreed = kept.given_lots();
        self.first = None;
        self.write(kept)
    }

    fn fresh(&self, delta: f64) -> Kept {
        Kept {
            sordino_contributions: VERSION,
            data: self.name.clone(),
            federation: self.federation.clone(),
            slot: self.slot,
            delta,
            agreed: Lots::default(),
            given: BTreeMap::new(),
            is_over: false,
            agreements: 0,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder
            .join(format!("{}-{}.json", digest(&self.federation), self.slot))
    }

    fn read(&self, path: &Path) -> Result<Option<Kept>, ContributionsError> {
        let Some(bytes) = if_there(read_bounded(path, BYTES_MAX))? else {
            return Ok(None);
        };
        let kept = serde_json::from_slice::<Kept>(&bytes)
            .ok()
            .filter(|kept| kept.sordino_contributions == VERSION);
        kept.map(Some).ok_or_else(|| ContributionsError::Damaged {
            path: path.to_owned(),
        })
    }

    fn all(&self) -> Result<Vec<Kept>, ContributionsError> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(io_at(&self.folder))? {
            let path = entry.map_err(io_at(&self.folder))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                all.extend(self.read(&path)?);
            }
        }
        Ok(all)
    }

    fn write(&mut self, kept: Kept) -> Result<(), ContributionsError> {
        let path = self.path();
        let text = serde_json::to_vec(&kept).map_err(|error| io_at(&path)(error.into()))?;
        write_privately(&path, &text)?;
        self.own = Some(kept);
        Ok(())
    }

    /// Keeps others from writing until it is dropped, and reads again what they wrote.
    fn hold(&mut self) -> Result<File, ContributionsError> {
        let path = self.folder.join("lock");
        let held = open_regular(
            &path,
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600),
        )?;
        match files::lock(&held, WAIT) {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(ContributionsError::Busy { path }),
            Err(fs::TryLockError::Error(error)) => return Err(io_at(&path)(error).into()),
        }
        self.own = self.read(&self.path())?;
        Ok(held)
    }
}

/// What federations got, or may get, of the data of this name, as the counts beside those of
/// ledgers say: a sentence. They are in no ledger's sum. Nothing is made.
///
/// **Errors**: [`ContributionsError`].
pub fn given(counter: &CounterPlace, name: &str) -> Result<Option<String>, ContributionsError> {
    let CounterPlace::Folder(ledgers) = counter else {
        return Ok(None);
    };
    let folder = ledgers.with_file_name(CONTRIBUTIONS).join(digest(name));
    if !folder.try_exists().map_err(io_at(&folder))? {
        return Ok(None);
    }
    let count = Contributions {
        folder,
        name: Some(name.to_owned()),
        federation: String::new(),
        slot: 0,
        own: None,
        first: None,
        only_adds: false,
    };
    let Weighed {
        federations,
        before,
        delta,
        ..
    } = count.weigh(&[], 1.0)?;
    let word = if federations == 1 {
        "federation"
    } else {
        "federations"
    };
    Ok((federations > 0).then(|| {
        format!(
            "the data set {name:?} gave, or may give, ε {} at δ = {delta} to {federations} {word}; that is counted apart, and is not in \
             this budget",
            significant_up(before, 4)
        )
    }))
}

/// ε of these at δ against nothing and between two contributions, infinite where there is no finite
/// one: exactly if all are Gaussians on everybody, else by Rényi divergences.
fn losses<'e>(
    lots: impl Iterator<Item = &'e (Event, u32)> + Clone,
    delta: f64,
) -> Result<[f64; 2], AccountantError> {
    if lots.clone().all(|(_, count)| *count == 0) {
        return Ok([0.0; 2]);
    }
    let mut exact = GaussianAccountant::new();
    let mut renyi = RdpAccountant::new();
    let accountant: &mut dyn Accountant = if lots.clone().all(|(event, _)| exact.supports(event)) {
        &mut exact
    } else {
        &mut renyi
    };
    for (event, count) in lots {
        accountant.compose(event, *count)?;
    }
    Ok([
        or_infinite(accountant.epsilon(delta))?,
        or_infinite(accountant.replace_epsilon(delta))?,
    ])
}

/// ε, infinite where there is no finite bound.
fn or_infinite(spent: Result<PrivacySpent, AccountantError>) -> Result<f64, AccountantError> {
    match spent {
        Ok(spent) => Ok(spent.epsilon),
        Err(AccountantError::NoFiniteEpsilon { .. } | AccountantError::OneUnitOnly) => {
            Ok(f64::INFINITY)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
