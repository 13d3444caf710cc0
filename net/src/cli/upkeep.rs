//! `sordino-net rotate`, `revoke`: a new key, and an agent that is shut out, in the folder of a
//! server or of a helper.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_host::signature::Fingerprint;

use crate::enrolment;
use crate::folder::{Folder, is_ours};
use crate::help::folder::HelpFolder;
use crate::keys;

/// Arguments of `rotate`.
#[derive(Clone, Debug, Args)]
pub struct Rotate {
    /// The server's folder, or its helper's
    folder: PathBuf,
    /// Rotate even if some agents, or the helper's leader, will no longer recognise it
    #[arg(long)]
    leave_behind: bool,
    /// Ask for another key of a helper's masks, which no run admits: says why, and what to do
    #[arg(long)]
    masks: bool,
}

/// Makes the next key the present one, of a server or of a helper.
pub fn rotate(arguments: &Rotate) -> Result<(), CliError> {
    let is_helper = HelpFolder::is_one(&arguments.folder);
    if arguments.folder.is_dir() {
        is_ours(&arguments.folder).map_err(CliError::failure)?;
    }
    match (is_helper, arguments.masks) {
        (true, true) => Err(CliError::failure(MASKS_STAY)),
        (false, true) => Err(CliError::input(
            "--masks: a server has no key of masks; its helper has",
        )),
        (true, false) => rotate_helper(arguments),
        (false, false) => rotate_server(arguments),
    }
}

/// Why a helper keeps the key of its masks.
const MASKS_STAY: &str = "the key of a helper's masks stays until the end of its run: every agent that has joined makes its masks for it, and \
                          what is masked for one key and opened with another is noise that spoils the release. If somebody else may have it, end \
                          both servers, so that nothing more is released, and begin another run in new folders: a new helper has a new key";

fn rotate_server(arguments: &Rotate) -> Result<(), CliError> {
    let folder = Folder::open(&arguments.folder).map_err(CliError::failure)?;
    let [_, next] = folder.keys.pins().map_err(CliError::failure)?;
    let behind = enrolment::without_key(folder.path(), next).map_err(CliError::failure)?;
    if let (Some(first), Some(last), false) =
        (behind.first(), behind.last(), arguments.leave_behind)
    {
        let who = match behind.len() {
            1 => format!("agent {first} was"),
            count => format!("{count} agents, from {first} to {last}, were"),
        };
        return Err(CliError::failure(format!(
            "{who} given no invitation with the next key, and would no longer recognise the server: invite again (an agent goes \
             on with its folder and the new line), or add --leave-behind"
        )));
    }
    let told = rotated(folder.path(), next, "invitations name both from now on")?;
    print(&told)
}

fn rotate_helper(arguments: &Rotate) -> Result<(), CliError> {
    let folder = HelpFolder::open(&arguments.folder).map_err(CliError::failure)?;
    let [_, next] = keys::pins(folder.path()).map_err(CliError::failure)?;
    // Before anything else: a rotation that was cut off left the old one.
    folder.renew_address().map_err(CliError::failure)?;
    let known = folder.pins_of_leader().map_err(CliError::failure)?;
    let url = folder.path().join("url");
    let doubt = match known {
        Some(known) if known.contains(&next) => None,
        Some(_) => {
            Some("the leader does not know the next key, and would no longer recognise this helper")
        }
        // It may have been handed what `url` said before any number of rotations.
        None => Some(
            "no leader has said yet which keys it knows, so it might no longer recognise this helper",
        ),
    };
    if let Some(doubt) = doubt.filter(|_| !arguments.leave_behind) {
        return Err(CliError::failure(format!(
            "{doubt}: give its owner what {} says (its server starts again with it, in the same folder), or add --leave-behind",
            url.display()
        )));
    }
    let told = rotated(folder.path(), next, "")?;
    folder.renew_address().map_err(CliError::failure)?;
    let masks = folder.mask_key().map_err(CliError::failure)?;
    print(&format!(
        "{told}{} names both: give it to the leader's owner before the next rotation; until then the old one is good\n\
         the key of the masks stays {masks}, and so do invitations\n",
        url.display()
    ))
}

/// Rotates the keys of a folder, and says which they are now.
fn rotated(folder: &Path, next: Fingerprint, named: &str) -> Result<String, CliError> {
    let [present, next] = keys::rotate(folder, next).map_err(CliError::failure)?;
    let named = if named.is_empty() {
        String::new()
    } else {
        format!(": {named}")
    };
    Ok(format!(
        "the key is now {present}; a running process shows it to new connections within a second\nthe next will be {next}{named}\n"
    ))
}

/// Arguments of `revoke`.
#[derive(Clone, Debug, Args)]
pub struct Revoke {
    /// The server's folder, or its helper's: either one shuts an agent out
    folder: PathBuf,
    /// Index of the agent
    agent: u32,
}

/// Shuts an agent out.
pub fn revoke(arguments: &Revoke) -> Result<(), CliError> {
    let path = &arguments.folder;
    let agent = arguments.agent;
    let terms = match HelpFolder::is_one(path) {
        true => {
            let folder = HelpFolder::open(path).map_err(CliError::failure)?;
            let terms = folder.terms().map_err(CliError::failure)?;
            terms.ok_or_else(|| {
                CliError::failure("this helper has no terms yet: nobody takes part")
            })?
        }
        false => Folder::open(path).map_err(CliError::failure)?.terms,
    };
    let count = terms.agreement.protocol.agents();
    if agent >= count {
        return Err(CliError::input(format!(
            "agent {agent}: this federation has {count} agents"
        )));
    }
    let before: BTreeSet<u32> = enrolment::revoked(path).map_err(CliError::failure)?;
    if !before.contains(&agent) {
        is_ours(path).map_err(CliError::failure)?;
        enrolment::revoke(path, agent).map_err(CliError::failure)?;
    }
    let told = match HelpFolder::is_one(path) {
        true => {
            "this helper answers no new question that names it, and its leader shuts it out as well"
        }
        false => {
            "a running server notices within a second; what it gave to the open release before stays in it"
        }
    };
    print(&format!("agent {agent} is shut out; {told}\n"))
}
