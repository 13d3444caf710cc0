//! The data that an agent's values come from: its name, and what it gave to other federations.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::privacy::Event;
use sordino_experiment::text::{significant, significant_up};
use sordino_host::files::{FileError, if_there, read_bounded, write_privately};
use sordino_host::ledger::contributions::{Contributions, ContributionsError, Weighed};

use crate::cost::Cost;
use crate::invitation::Invitation;

/// The file of an agent's folder that has the name.
const FILE: &str = "data.json";
/// It is read up to this length.
const BYTES_MAX: u64 = 4096;

/// The data of a site, and where what it gave is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its name; without one, that which the agent was begun with, or else that of all data without
    /// a name.
    pub name: Option<String>,
    /// Folder of the counts, the same for all federations of a site; not the agent's own.
    pub place: PathBuf,
    /// Whose data they are where they have no name: all that is begun in this folder.
    pub here: PathBuf,
}

/// Why the count cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The count refuses.
    #[error(transparent)]
    Count(#[from] ContributionsError),
    /// The agent's file of the name cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The agent's file of the name is not what this program wrote.
    #[error("{}: is not what this program wrote there", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
    /// The agent was begun with data of another name.
    #[error(
        "--dataset {asked:?}: this agent was begun {}, and goes on with that: leave --dataset out, or join with another invitation",
        match begun { Some(name) => format!("with the data set {name:?}"), None => "without a name of its data".to_owned() }
    )]
    Renamed {
        /// The name it was begun with.
        begun: Option<String>,
        /// The name that is given now.
        asked: String,
    },
}

/// What the agent's folder keeps.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    dataset: Option<String>,
}

impl Data {
    /// The count of this data for what the agent of this invitation gives. Nothing is written.
    ///
    /// **Errors**: [`DataError`].
    pub fn open(&self, folder: &Path, invitation: &Invitation) -> Result<Contributions, DataError> {
        let begun = begun(&folder.join(FILE))?;
        let name = match (&self.name, begun) {
            (Some(asked), Some(begun)) if begun.as_ref() != Some(asked) => {
                return Err(DataError::Renamed {
                    begun,
                    asked: asked.clone(),
                });
            }
            (None, Some(begun)) => begun,
            (asked, _) => asked.clone(),
        };
        // The name decides where it is counted, and the agent may know it from before.
        let place = match &name {
            Some(_) => self.place.clone(),
            None => of_folder(&self.place, &self.here),
        };
        Ok(Contributions::open(
            &place,
            name.as_deref(),
            &invitation.terms.to_string(),
            invitation.slot,
        )?)
    }
}

/// The name that an agent's folder keeps; none of one that was not begun with a count.
fn begun(path: &Path) -> Result<Option<Option<String>>, DataError> {
    let Some(bytes) = if_there(read_bounded(path, BYTES_MAX))? else {
        return Ok(None);
    };
    let named = serde_json::from_slice::<Named>(&bytes);
    named
        .map(|named| Some(named.dataset))
        .map_err(|_| DataError::Damaged {
            path: path.to_owned(),
        })
}

/// Where data without a name is counted that belongs to a folder: beside the counts of data with
/// names.
pub fn of_folder(place: &Path, folder: &Path) -> PathBuf {
    let name = Digest(Sha256::digest(folder.as_os_str().as_encoded_bytes()).into());
    place.join("by-folder").join(name.to_string())
}

/// Writes down in the agent's folder under which name its data is counted, once it has agreed.
///
/// **Errors**: [`DataError::File`].
pub(crate) fn remember(folder: &Path, count: &Contributions) -> Result<(), DataError> {
    let text = serde_json::json!({ "dataset": count.name() }).to_string();
    Ok(write_privately(
        &folder.join(FILE),
        format!("{text}\n").as_bytes(),
    )?)
}

/// The first so many releases, as the count of a data set has them.
pub(crate) fn plan(cost: &Cost, releases: u32) -> Vec<(Event, u32)> {
    match cost {
        _ if releases == 0 => Vec::new(),
        Cost::Alike { event, .. } => vec![(*event, releases)],
        Cost::Plan(events) => events
            .iter()
            .take(releases as usize)
            .map(|event| (*event, 1))
            .collect(),
    }
}

/// What other federations got, and what all cost together, in words.
#[derive(Clone, Debug)]
pub struct Before {
    /// How the data set is called.
    pub called: String,
    /// The numbers of it.
    pub weighed: Weighed,
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weighed {
            federations,
            before,
            together,
            together_between,
            delta,
            ..
        } = self.weighed;
        write!(
            f,
            "{} gave, or agreed to give, ε = {} to {federations} other federation{}, and with this one it is ε = {} (used or counted as \
             nothing; between two contributions ε = {}), at δ = {}",
            self.called,
            significant_up(before, 4),
            if federations == 1 { "" } else { "s" },
            significant_up(together, 4),
            significant_up(together_between, 4),
            significant(delta, 3)
        )
    }
}
