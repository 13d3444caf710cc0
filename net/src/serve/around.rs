//! What a server works with beside its machine: how it begins, what it publishes, how it ends.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use sordino_core::digest::Digest;
use sordino_experiment::text::chain;
use tokio::sync::watch;

use super::error::ServeError;
use super::serving::Serving;
use crate::door::{Offered, Offering};
use crate::enrolment::{self, Enrolment};
use crate::folder::Folder;
use crate::party::{Number, Party};
use crate::progress::{self, Spent};
use crate::rounds::Rounds;

/// How long the server waits for the last replies to arrive, and for agents that ask again.
const LAST_REPLIES: Duration = Duration::from_secs(3);

/// What a server works with, beside its machine.
pub(super) struct Around<'a> {
    pub(super) folder: &'a Folder,
    pub(super) serving: &'a Serving,
    pub(super) enrolment: &'a Enrolment,
    pub(super) spent: &'a Spent,
    /// What anybody may fetch.
    pub(super) offer: watch::Sender<Option<Offered>>,
}

impl Around<'_> {
    /// What anybody may fetch once `frame`, that of the next round, is announced: the file of the
    /// releases so far, which is written into the folder, signed with the server's key, and what
    /// the next release is made with. Both are functions of what was announced.
    pub(super) fn offered<T: Number, P: Party<T>>(
        &self,
        party: &P,
        offering: &mut Offering<T>,
        frame: &[u8],
    ) -> Result<Offered, ServeError> {
        let (mut offered, file) = offering.after(party, frame)?;
        if let Some(file) = file {
            offered.file = self.folder.publish(file)?;
        }
        Ok(offered)
    }

    /// Waits until it is time for the first round, and tells what for. Who asks meanwhile is sent
    /// away.
    pub(super) async fn begin(&self, rounds: &mut Rounds) -> Result<(), ServeError> {
        // Nothing is announced yet, whatever was kept before a restart.
        self.offer.send_replace(Some(Offered::nothing_yet()));
        let begin = self.serving.begin;
        let agents = self.folder.terms.agreement.protocol.agents();
        let mut told = None;
        let waited = rounds.wait(|| {
            // Who was shut out meanwhile neither counts nor is waited for.
            let trouble = self.enrolment.trouble();
            trouble.iter().for_each(|told| progress::note(told));
            let joined = self.enrolment.count() as u32;
            let revoked = self.enrolment.shut_out() as u32;
            let needed = begin.joined(agents, revoked);
            let left = begin.at.and_then(|at| at.duration_since(SystemTime::now()).ok()).filter(|left| !left.is_zero());
            if joined >= needed && left.is_none() {
                return true;
            }
            if told != Some((joined, needed)) {
                told = Some((joined, needed));
                let until = left.map_or(String::new(), |left| {
                    format!(", and not before {} are over", progress::spoken(left.as_millis() as u64))
                });
                progress::note(&format!(
                    "no round is open and nothing is charged: {joined} of {agents} agents have joined, the first round begins \
                     when {needed} have{until}"
                ));
            }
            false
        });
        Ok(waited.await?)
    }

    /// Announces the last frame, and stays for those who have not fetched it; shorter if it
    /// `was_over` when the server started.
    pub(super) async fn end(
        &self,
        rounds: &mut Rounds,
        (round, attempt): (u32, u16),
        frame: Bytes,
        chain: Digest,
        was_over: bool,
    ) -> Result<(), ServeError> {
        let folder = self.folder;
        let all = self.serving.linger;
        // Agents of a federation that was over long ago are gone.
        let linger = all
            .saturating_sub(folder.since_the_last()?)
            .max(all.min(LAST_REPLIES));
        if was_over && linger < all {
            let left = progress::spoken(linger.as_millis() as u64);
            progress::note(&format!(
                "all rounds were over when this server started: it stays for the rest of --linger, {left}"
            ));
        }
        let linger = linger.as_millis() as u64;
        if was_over {
            rounds.was_over();
        }
        let early = folder.terms.agreement.announced.may_close_early;
        rounds.announce(round, attempt, frame, chain, linger, early)?;
        excuse(rounds, folder.path());
        rounds.need(0);
        // Whoever is there says that it has the last frame. If the terms said so, the end comes
        // when all have; else when it was to come, so that it does not tell that nobody was absent.
        rounds.collect(linger, |_| Ok(())).await?;
        match tokio::time::timeout(all.min(LAST_REPLIES), rounds.linger()).await {
            Ok(stop) => Err(stop.into()),
            Err(_elapsed) => Ok(()),
        }
    }
}

/// Does not wait for agents that were shut out. Who they are, the door goes by what it read last:
/// a list that cannot be read now ends nothing.
pub(super) fn excuse(rounds: &mut Rounds, folder: &Path) {
    match enrolment::revoked(folder) {
        Ok(slots) => rounds.excuse(slots),
        Err(error) => progress::note(&format!(
            "who is shut out cannot be read, and is as it was: {}",
            chain(&error)
        )),
    }
}
