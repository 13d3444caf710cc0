//! The ledger: every charge, written down before anything that holds its noise leaves, with the
//! budget it is held against.
//!
//! One file of JSON lines. The first says what the ledger is for: kind of noise, data set or run,
//! privacy unit, records, how losses add, budget. Every further line is one charge. A chain of
//! digests runs through them (`line`), so that a line which was edited, removed or moved is
//! refused with its number. Only one program at a time writes: the lock is a file beside the
//! ledger, which stays in place even if the ledger itself is replaced.
//!
//! **One ledger for each data set.** Losses in two ledgers add up, and neither budget knows about
//! the other. So the folder of the second counts (`counter`) has a lock for each data set, held
//! while any ledger for it is open, and a ledger is refused, at every opening and at every charge,
//! if another one has charges for the same data set, unless [`Options::another`] was once given for
//! it. Names that differ only in case or in the amount of white space mean the same data set; a
//! name that begins or ends with white space is refused, and so is a new ledger whose name looks
//! like another (letters of two alphabets, invisible characters, other forms of plain ones). All
//! this is known from one folder on one machine: other state folders, other machines and other
//! names for the same records are not seen, and [`CounterPlace::Nowhere`] sees nothing.
//!
//! | noise | a charge is | the same release again | a torn last line |
//! |---|---|---|---|
//! | secret | synced, then checked again through the path, then acknowledged | charged again: it is another draw | counts as charged |
//! | simulated | written; synced by [`Ledger::sync`] | charged once: the draw is the same | dropped: it was never acted upon |
//!
//! **What a torn line costs.** Nothing leaves before the sync has returned, so a torn line belongs
//! to a release that never left, unless the disk said "durable" too early. It counts all the same.
//! Its cost is known from the second count (`counter`), which holds the line in full and is
//! written before it. Without a second count it is what the torn text still says, or else what the
//! caller says its next charge costs: a party that died while charging asks for the same charge
//! again, because its costs follow from public constants. Each of these is at least the truth,
//! which is nothing.
//!
//! **What an older copy of the ledger does.** It is shorter than the second count says, and
//! refused. The second count is ahead by one line after a crash between the two; that line is then
//! added, and counts.
//!
//! ```
//! use sordino_core::privacy::{Event, NeighboringRelation};
//! use sordino_host::ledger::{Accounting, Ledger, Terms};
//!
//! let terms = Terms {
//!     data: "run 0, dp-fts-de".into(),
//!     unit: "agent".into(),
//!     records: Some(200),
//!     accounting: Accounting::Renyi,
//!     epsilon_max: Some(2.0),
//!     delta: 1e-5,
//! };
//! let mut ledger = Ledger::in_memory(&terms)?;
//! let event = Event::PureEpsilon { epsilon: 1.0, relation: NeighboringRelation::ReplaceOne };
//! ledger.charge(0, &[event])?;
//! ledger.charge(0, &[event])?; // the same simulated release: charged once
//! assert!(ledger.charge(1, &[Event::PureEpsilon { epsilon: 9.0, relation: NeighboringRelation::ReplaceOne }]).is_err());
//! assert_eq!(ledger.len(), 1);
//! # Ok::<(), sordino_host::ledger::LedgerError>(())
//! ```

use std::path::Path;

use sordino_core::privacy::accountant::pld::PldAccountant;
use sordino_core::privacy::accountant::{
    Accountant, AccountantError, GaussianAccountant, RdpAccountant,
};
use sordino_core::privacy::{Charge, Event, NeighboringRelation, Provenance, SourceKind};

mod budget;
mod budgeted;
pub mod contributions;
pub(crate) mod counter;
mod deferred;
mod error;
pub(crate) mod line;
mod log;
mod looks;
mod place;
mod preview;
mod terms;
#[cfg(test)]
mod tests;

pub use budget::{Spent, loss};
pub use budgeted::{Budgeted, Mark};
pub(crate) use counter::meant;
pub use counter::{CounterPlace, means_the_same};
pub use deferred::{Deferred, Planned};
pub use error::LedgerError;
pub use line::{Accounting, Entry};
pub(crate) use looks::alike as look_alike;
pub use place::is_of_ledger;
pub use preview::{Preview, contradicted};
pub use terms::Terms;

use crate::day::Day;
use crate::entropy;
use crate::files::{FileError, io_at, read_bounded, write_atomically};
use budget::Budget;
use counter::Counter;
use line::{Chain, events_of_torn, seal, unseal};
use log::Log;
use place::{Name, Place, is_begun};

/// Said of a ledger that lacked its last charge, or the end of it.
const COMPLETED: &str =
    "a charge that had not reached the ledger, or was cut off in it, counts as charged";

/// How a ledger of secret noise is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the second count is kept.
    pub counter: CounterPlace,
    /// Admit the ledger although the data set has charges in another one. The second count
    /// remembers this, so it need be given only once for each such ledger.
    pub another: bool,
    /// What the next charge will cost, which is what a torn line counts for if nothing else tells.
    /// If empty, a torn line about which nothing is known is refused.
    pub next: Vec<Event>,
}

/// An open ledger with all its charges so far.
pub struct Ledger {
    terms: Terms,
    kind: SourceKind,
    id: String,
    entries: Vec<Entry>,
    chain: Chain,
    last: String,
    budget: Budget,
    place: Option<Place>,
    counter: Option<Counter>,
    notes: Vec<String>,
    broken: bool,
    name: Option<Name>,
    day: Option<Day>,
}

/// What a ledger of secret noise holds, for those who only look.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What it is for, as its first line says.
    pub terms: Terms,
    /// Every charge in the order in which they were made.
    pub entries: Vec<Entry>,
    /// What they add up to at the δ of the terms.
    pub spent: Spent,
    /// A last charge that was cut off counts among the entries.
    pub completed: bool,
}

impl Contents {
    /// Reads a ledger, line after line, each of which must continue the one before; nothing is
    /// locked, completed or written. A last line without its end is left out. `planned` is the
    /// charge that a journal holds for it, which counts whether the ledger has it already or not.
    ///
    /// **Errors**: [`LedgerError`]; [`LedgerError::Damaged`] names the first line that is wrong.
    pub fn read(path: &Path, planned: Option<&Planned>) -> Result<Contents, LedgerError> {
        let bytes = read_bounded(path, place::BYTES_MAX)?;
        let log = Log::parse(path, &bytes, SourceKind::Secret)?;
        let terms = log.terms(SourceKind::Secret)?;
        let mut entries = log.entries;
        if let Some(Planned { entry, .. }) = planned {
            let release = entry.release;
            let charges = entries.len() as u64;
            match entries.get(entry.sequence as usize) {
                Some(found) if found == entry => {}
                Some(_) => return Err(LedgerError::Changed { release }),
                None if entry.sequence == charges => entries.push(entry.clone()),
                None => return Err(LedgerError::Gap { release, charges }),
            }
        }
        Contents::of(terms, entries, false)
    }

    /// The same for who answers for the data: a last charge that was cut off counts, as it does for
    /// the command that charges next.
    ///
    /// **Errors**: as [`Contents::read`]; [`LedgerError::Damaged`] if nothing tells what it cost.
    pub fn counted(path: &Path) -> Result<Contents, LedgerError> {
        let bytes = read_bounded(path, place::BYTES_MAX)?;
        let log = Log::parse(path, &bytes, SourceKind::Secret)?;
        let terms = log.terms(SourceKind::Secret)?;
        let Some(line) = completion(&log, None, &[])? else {
            return Contents::of(terms, log.entries, false);
        };
        let whole = with_line(&bytes[..log.valid], &line);
        let entries = Log::parse(path, &whole, SourceKind::Secret)?.entries;
        Contents::of(terms, entries, true)
    }

    fn of(terms: Terms, entries: Vec<Entry>, completed: bool) -> Result<Contents, LedgerError> {
        let budget = Budget::replay(&terms, entries.iter().flat_map(|entry| &entry.events))?;
        let (epsilon, delta) = budget.spent()?;
        let charges = entries.len() as u64;
        Ok(Contents {
            terms,
            entries,
            spent: Spent {
                epsilon,
                delta,
                charges,
            },
            completed,
        })
    }

    /// ε, from below, that further releases may still cost together; none where there is no budget,
    /// or where that depends on what is released.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    pub fn left(&self) -> Result<Option<f64>, LedgerError> {
        let budget = Budget::replay(&self.terms, self.events())?;
        budget.left(&self.terms, self.events())
    }

    /// What the events of one charge cost alone, at the δ of the terms.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    pub fn cost(&self, entry: &Entry) -> Result<f64, LedgerError> {
        Ok(Budget::replay(&self.terms, entry.events.iter())?.spent()?.0)
    }

    /// ε of these events at the δ of the terms between any two things that a contributor may have
    /// given, where each is Gaussian noise, on everybody or on a sample, whose own ε compares a
    /// contribution with nothing; nothing for other events. Never below the ε that compares with
    /// nothing, infinite where there is no finite one.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    ///
    /// **Cost**: of samples some milliseconds for each kind of event.
    pub fn between(&self, events: &[Event]) -> Result<Option<f64>, LedgerError> {
        between(&self.terms, events.iter())
    }

    /// All events in the order in which they were charged.
    pub fn events(&self) -> impl Iterator<Item = &Event> + Clone {
        self.entries.iter().flat_map(|entry| &entry.events)
    }
}

/// More kinds of events than this are not composed by privacy-loss distributions, which takes some
/// milliseconds for each.
const KINDS_MAX: usize = 16;

/// [`Contents::between`] of a ledger with these terms.
fn between<'a>(
    terms: &Terms,
    events: impl Iterator<Item = &'a Event> + Clone,
) -> Result<Option<f64>, LedgerError> {
    let mut lots: Vec<(Event, u32)> = Vec::new();
    for event in events.clone() {
        let is_gaussian = matches!(
            event,
            Event::Gaussian { .. } | Event::PoissonSampledGaussian { .. }
        );
        if !is_gaussian || event.relation() != NeighboringRelation::ReplaceSpecial {
            return Ok(None);
        }
        match lots.iter_mut().find(|(known, _)| known == event) {
            Some((_, count)) => *count += 1,
            None => lots.push((*event, 1)),
        }
    }
    let delta = terms.delta;
    let spent = match terms.accounting {
        Accounting::Sum => return Ok(None),
        Accounting::Gaussian => composed(GaussianAccountant::new(), &lots)?.replace_epsilon(delta),
        Accounting::Renyi if lots.len() <= KINDS_MAX => {
            composed(PldAccountant::new(), &lots)?.replace_epsilon(delta)
        }
        Accounting::Renyi => composed(RdpAccountant::new(), &lots)?.replace_epsilon(delta),
    };
    let spent = match spent {
        Ok(spent) => spent.epsilon,
        Err(AccountantError::NoFiniteEpsilon { .. }) => return Ok(Some(f64::INFINITY)),
        Err(error) => return Err(error.into()),
    };
    // Both are upper bounds. Beside the first, which may be of another accountant, the second is no
    // smaller.
    let (first, _) = Budget::replay(terms, events)?.spent()?;
    Ok(Some(spent.max(first)))
}

/// An accountant that has composed these.
fn composed<A: Accountant>(mut accountant: A, lots: &[(Event, u32)]) -> Result<A, AccountantError> {
    for (event, count) in lots {
        accountant.compose(event, *count)?;
    }
    Ok(accountant)
}

impl Ledger {
    /// A ledger of simulated noise without a file.
    ///
    /// **Errors**: [`LedgerError::Terms`].
    pub fn in_memory(terms: &Terms) -> Result<Ledger, LedgerError> {
        terms.check()?;
        let (last, chain) = sealed(Chain::START, &terms.head(SourceKind::Simulation, None))?;
        Self::assemble(
            terms.clone(),
            SourceKind::Simulation,
            Vec::new(),
            chain,
            last,
        )
    }

    /// Opens or begins a ledger of simulated noise in a folder that belongs to one program at a
    /// time. A last line without its end was never acted upon and is dropped. Nothing is synced
    /// before [`Ledger::sync`].
    ///
    /// **Errors**: [`LedgerError`]; the ledger is untouched then.
    pub fn open_simulated(path: &Path, terms: &Terms) -> Result<Ledger, LedgerError> {
        terms.check()?;
        let kind = SourceKind::Simulation;
        let (mut place, bytes) = Place::open(path)?;
        let mut log = Log::parse(path, &bytes, kind)?;
        let (line, chain) = sealed(Chain::START, &terms.head(kind, None))?;
        // Nothing, or as much of this very line as a death left: all else is no ledger, and not
        // ours to empty.
        if log.head.is_none() && format!("{line}\n").as_bytes().starts_with(&log.torn) {
            place.truncate(0)?;
            place.append(&line)?;
            (log.chain, log.lines) = (chain, vec![line]);
        } else {
            log.check_head(terms, kind)?;
            place.truncate(log.valid as u64)?;
        }
        let last = log.lines.pop().unwrap_or_default();
        Ok(Ledger {
            place: Some(place),
            ..Self::assemble(terms.clone(), kind, log.entries, log.chain, last)?
        })
    }

    /// Refuses what [`Ledger::open_secret`] would refuse of a new ledger at this path, whose folder
    /// need not exist yet. Nothing is made, so that a program can refuse before it begins anything
    /// else.
    ///
    /// **Errors**: [`LedgerError`].
    pub fn may_begin(path: &Path, terms: &Terms, options: &Options) -> Result<(), LedgerError> {
        terms.check()?;
        may_begin(&place::planned(path)?, terms, options)?;
        // Another ledger of the same data may have no charge yet.
        options.counter.is_free(&terms.data)
    }

    /// Opens or begins a ledger of secret noise.
    ///
    /// **Errors**: [`LedgerError`]; nothing may be released then.
    pub fn open_secret(
        path: &Path,
        terms: &Terms,
        options: &Options,
    ) -> Result<Ledger, LedgerError> {
        terms.check()?;
        let kind = SourceKind::Secret;
        let name = Name::take(path)?;
        let path = name.path.as_path();
        let first = options.counter.first();
        let begun = if is_begun(path)? {
            None
        } else {
            Some(begin(path, terms, options)?)
        };
        let is_new = begun.is_some();
        let first = first.filter(|_| is_new);
        let (mut place, bytes) = Place::open(path)?;
        let mut log = Log::parse(path, &bytes, kind)?;
        let terms = log.check_head(terms, kind)?;
        let id = log
            .head
            .as_ref()
            .and_then(|head| head.id.clone())
            .unwrap_or_default();
        let mut counter = match begun {
            Some(counter) => counter,
            None => options
                .counter
                .open(&id, path, &terms.data, options.another)
                .map_err(|error| explained(error, &terms))?,
        };
        let mut notes = match &counter {
            Some(counter) if !is_new => counter.notes(),
            _ => first.into_iter().collect(),
        };
        let missing = counter
            .as_ref()
            .map(|counter| counter.compare(&log))
            .transpose()?
            .flatten();
        if let Some(line) = completion(&log, missing, &options.next)? {
            write_atomically(path, &with_line(&bytes[..log.valid], &line))?;
            drop(place);
            let (again, bytes) = Place::open(path)?;
            (place, log) = (again, Log::parse(path, &bytes, kind)?);
            notes.push(COMPLETED.into());
        }
        let last = log.lines.pop().unwrap_or_default();
        if let Some(counter) = &mut counter {
            counter.write(&id, path, log.entries.len() as u64, &last)?;
        }
        place.verify(&last)?;
        let ledger = Self::assemble(terms, kind, log.entries, log.chain, last)?;
        Ok(Ledger {
            id,
            place: Some(place),
            counter,
            notes,
            name: Some(name),
            ..ledger
        })
    }

    fn assemble(
        terms: Terms,
        kind: SourceKind,
        entries: Vec<Entry>,
        chain: Chain,
        last: String,
    ) -> Result<Ledger, LedgerError> {
        let budget = Budget::replay(&terms, entries.iter().flat_map(|entry| &entry.events))?;
        Ok(Ledger {
            terms,
            kind,
            id: String::new(),
            entries,
            chain,
            last,
            budget,
            place: None,
            counter: None,
            notes: Vec::new(),
            broken: false,
            name: None,
            day: None,
        })
    }

    /// From now on charges say that they were made on this day.
    #[must_use]
    pub const fn on(mut self, day: Day) -> Ledger {
        self.day = Some(day);
        self
    }

    /// Writes a charge down: release number `release` of its party costs these events. Under secret
    /// noise an `Ok` means that they are durable, in the file that the path names. Prefer
    /// [`sordino_core::privacy::Ledger::append`], which takes a party's [`Charge`] and gives the
    /// receipt.
    ///
    /// **Errors**: [`LedgerError::OverBudget`], [`LedgerError::Gap`], [`LedgerError::Changed`],
    /// [`LedgerError::Accountant`], [`LedgerError::OtherLedger`]: nothing was written. Any other:
    /// the charge may count.
    pub fn charge(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        self.plan(release, events)?
            .map_or(Ok(()), |planned| self.settle(&planned))
    }

    /// A charge as it would be written, if the budget admits it; nothing is. None if it is there
    /// already, which only simulated noise allows.
    ///
    /// **Errors**: as [`Ledger::charge`]; nothing was written.
    pub fn plan(&mut self, release: u64, events: &[Event]) -> Result<Option<Planned>, LedgerError> {
        if self.broken {
            return Err(LedgerError::Broken);
        }
        let charges = self.entries.len() as u64;
        if let Some(before) = self
            .entries
            .get(release as usize)
            .filter(|_| self.kind == SourceKind::Simulation)
        {
            return if before.events == events {
                Ok(None)
            } else {
                Err(LedgerError::Changed { release })
            };
        }
        if release > charges {
            return Err(LedgerError::Gap { release, charges });
        }
        self.admits(events)?;
        let noise = self.kind.to_string();
        let entry = Entry {
            sequence: charges,
            release,
            events: events.to_vec(),
            noise,
            note: None,
            day: self.day.map(|day| day.to_string()),
        };
        let chain = sealed(self.chain, &entry)?.1;
        Ok(Some(Planned {
            mark: Mark {
                charges: charges + 1,
                chain,
            },
            entry,
        }))
    }

    /// Writes down what was planned, by this ledger or by an earlier opening of it; what is there
    /// already, once.
    ///
    /// **Errors**: [`LedgerError::Changed`] if something else was charged in its place, or it
    /// follows something else; any other: the charge may count.
    pub fn settle(&mut self, planned: &Planned) -> Result<(), LedgerError> {
        if self.broken {
            return Err(LedgerError::Broken);
        }
        let changed = LedgerError::Changed {
            release: planned.entry.release,
        };
        let charges = self.entries.len() as u64;
        if planned.entry.sequence < charges {
            return if self.holds(&planned.mark)? {
                Ok(())
            } else {
                Err(changed)
            };
        }
        let (line, chain) = sealed(self.chain, &planned.entry)?;
        if planned.entry.sequence != charges || chain != planned.mark.chain {
            return Err(changed);
        }
        if let (SourceKind::Secret, Some(place)) = (self.kind, &self.place) {
            place.verify(&self.last)?;
        }
        // Hours may have gone by since it was opened.
        self.counter
            .as_ref()
            .map_or(Ok(()), Counter::refuse_others)
            .map_err(|error| explained(error, &self.terms))?;
        // Until all of it is done, what is in memory and what is on disk may differ.
        self.broken = true;
        if let (Some(counter), Some(name)) = (&mut self.counter, &self.name) {
            counter.write(&self.id, &name.path, charges + 1, &line)?;
        }
        if let Some(place) = &mut self.place {
            place.append(&line)?;
            if self.kind == SourceKind::Secret {
                place.sync_with_name()?;
                place.verify(&line)?;
            }
        }
        self.budget.charge(&planned.entry.events)?;
        self.entries.push(planned.entry.clone());
        (self.chain, self.last, self.broken) = (chain, line, false);
        Ok(())
    }

    /// Whether a charge of these events fits the budget; nothing is written.
    ///
    /// **Errors**: [`LedgerError::OverBudget`], [`LedgerError::Accountant`].
    pub fn admits(&mut self, events: &[Event]) -> Result<(), LedgerError> {
        let before = self.entries.iter().flat_map(|entry| &entry.events);
        self.budget.admits(&self.terms, before, events)
    }

    /// [`Ledger::admits`] for release number `release`: one that a simulated ledger holds already
    /// costs nothing more.
    ///
    /// **Errors**: as [`Ledger::admits`].
    pub fn admits_release(&mut self, release: u64, events: &[Event]) -> Result<(), LedgerError> {
        let again = self.kind == SourceKind::Simulation && release < self.entries.len() as u64;
        if again { Ok(()) } else { self.admits(events) }
    }

    /// How far it is written.
    pub const fn mark(&self) -> Mark {
        Mark {
            charges: self.entries.len() as u64,
            chain: self.chain,
        }
    }

    /// Whether it begins with what another reading of it was marked with: the same first line, the
    /// same charges.
    ///
    /// **Errors**: [`LedgerError::File`] if a line of it cannot be written again.
    pub fn holds(&self, mark: &Mark) -> Result<bool, LedgerError> {
        let Some(before) = self
            .entries
            .get(..usize::try_from(mark.charges).unwrap_or(usize::MAX))
        else {
            return Ok(false);
        };
        let id = Some(self.id.clone()).filter(|id| !id.is_empty());
        let mut chain = sealed(Chain::START, &self.terms.head(self.kind, id))?.1;
        for entry in before {
            chain = sealed(chain, entry)?.1;
        }
        Ok(chain == mark.chain)
    }

    /// Makes every charge durable; those of secret noise are already.
    ///
    /// **Errors**: [`LedgerError::File`].
    pub fn sync(&mut self) -> Result<(), LedgerError> {
        self.place.as_ref().map_or(Ok(()), Place::sync_with_name)
    }

    /// What was spent so far.
    ///
    /// **Errors**: [`LedgerError::Accountant`] if no finite ε holds at the ledger's δ.
    pub fn spent(&self) -> Result<Spent, LedgerError> {
        let (epsilon, delta) = self.budget.spent()?;
        Ok(Spent {
            epsilon,
            delta,
            charges: self.entries.len() as u64,
        })
    }

    /// ε of all charges at the δ of the terms between any two things that a contributor may have
    /// given, as [`Contents::between`] has it; 0 where nothing was charged.
    ///
    /// **Errors**: [`LedgerError::Accountant`].
    pub fn between(&self) -> Result<Option<f64>, LedgerError> {
        between(
            &self.terms,
            self.entries.iter().flat_map(|entry| &entry.events),
        )
    }

    /// What it is for; records and ε_max as its first line says.
    pub const fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Every charge in the order in which they were made.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Number of charges.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is charged.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Secret noise or a simulation.
    pub const fn kind(&self) -> SourceKind {
        self.kind
    }

    /// What a person should know about how it was found, in sentences.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Takes charges of the kind of noise it was opened for, and refuses the other by name.
impl<P: Provenance> sordino_core::privacy::Ledger<P> for Ledger {
    type Error = LedgerError;

    fn write(&mut self, charge: &Charge<P>) -> Result<(), LedgerError> {
        if P::KIND != self.kind {
            return Err(LedgerError::OtherKind {
                ledger: self.kind,
                release: P::KIND,
            });
        }
        self.charge(charge.release(), charge.events())
    }
}

/// Refuses a new ledger for which there are charges elsewhere, as one that was lost has, before it
/// refuses terms that no new ledger has. Nothing is made.
fn may_begin(path: &Path, terms: &Terms, options: &Options) -> Result<(), LedgerError> {
    // No ledger has this name.
    options
        .counter
        .look("new", path, &terms.data, options.another)
        .map_err(|error| explained(error, terms))?;
    check_new(terms)
}

/// The refusal of a second ledger, which sends nobody to one that refuses as well: its head is
/// looked at. Where it cannot be read nothing more is known.
fn explained(error: LedgerError, terms: &Terms) -> LedgerError {
    match error {
        LedgerError::OtherLedger {
            gone: false,
            data,
            path,
            charges,
            counter,
            ..
        } => {
            let log = read_bounded(&path, place::BYTES_MAX)
                .map_err(LedgerError::from)
                .and_then(|bytes| Log::parse(&path, &bytes, SourceKind::Secret));
            let other = log.map_or(None, |log| log.counts_else(terms));
            LedgerError::OtherLedger {
                gone: false,
                data,
                other: other.map(Into::into),
                path,
                charges,
                counter,
            }
        }
        other => other,
    }
}

/// A ledger with one line more.
fn with_line(bytes: &[u8], line: &str) -> Vec<u8> {
    [bytes, line.as_bytes(), b"\n"].concat()
}

/// Writes the first line of a new ledger, once its second count is known to be possible.
fn begin(path: &Path, terms: &Terms, options: &Options) -> Result<Option<Counter>, LedgerError> {
    may_begin(path, terms, options)?;
    let id = entropy::name().map_err(LedgerError::NoEntropy)?;
    let counter = options
        .counter
        .open(&id, path, &terms.data, options.another)
        .map_err(|error| explained(error, terms))?;
    let (line, _) = sealed(Chain::START, &terms.head(SourceKind::Secret, Some(id)))?;
    write_atomically(path, format!("{line}\n").as_bytes())?;
    Ok(counter)
}

/// Refuses terms that no new ledger has.
fn check_new(terms: &Terms) -> Result<(), LedgerError> {
    if terms.epsilon_max.is_none() {
        return Err(LedgerError::Terms {
            key: "max_epsilon",
            admissible: "a number above 0, the most that the data may give in all: a new ledger needs one",
        });
    }
    // Only a new ledger: one that was begun keeps its budget.
    if let Some(character) = looks::alike(&terms.data) {
        return Err(LedgerError::LookAlike {
            name: terms.data.clone(),
            character,
        });
    }
    Ok(())
}

/// The line that completes the ledger, if one is missing or torn.
fn completion(
    log: &Log,
    missing: Option<&str>,
    next: &[Event],
) -> Result<Option<String>, LedgerError> {
    if let Some(line) = missing {
        return Ok(Some(line.to_owned()));
    }
    if log.torn.is_empty() {
        return Ok(None);
    }
    let sequence = log.entries.len() as u64;
    let whole = std::str::from_utf8(&log.torn).ok().filter(|line| {
        unseal::<Entry>(log.chain, line).is_ok_and(|(entry, _)| entry.sequence == sequence)
    });
    if let Some(line) = whole {
        // Only its line feed is missing.
        return Ok(Some(line.to_owned()));
    }
    let known = events_of_torn(&log.torn).unwrap_or_else(|| next.to_vec());
    if known.is_empty() {
        let problem = "is cut off, and nothing tells what it cost";
        return Err(LedgerError::damaged(
            &log.path,
            log.lines.len() + 1,
            problem,
        ));
    }
    let noise = SourceKind::Secret.to_string();
    let note = Some("was cut off: counts as charged".to_owned());
    let entry = Entry {
        sequence,
        release: sequence,
        events: known,
        noise,
        note,
        day: None,
    };
    Ok(Some(sealed(log.chain, &entry)?.0))
}

fn sealed(chain: Chain, value: &impl serde::Serialize) -> Result<(String, Chain), LedgerError> {
    seal(chain, value).map_err(|error| {
        // A number that JSON has no word for; the terms and events are checked, so this is a fault
        // of the program.
        let error: FileError = io_at(Path::new("a line of the ledger"))(error.into());
        LedgerError::File(error)
    })
}
