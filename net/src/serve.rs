//! A real server, not a simulation: secret coins and noise from the system's entropy, a charge and
//! its broadcast durable in one rename before anybody hears of either.
//!
//! | step of a round | what a crash there costs |
//! |---|---|
//! | coins are drawn, the frame is announced, answers are collected while noise is drawn | the round is begun again: new coins, attempt + 1, everybody is asked again; nothing was charged |
//! | the deadline passes; the charge is planned, the noise is added | the same; the noise died with the process |
//! | state, frame and plan in one rename | – |
//! | the ledger is synced, the frame is stored and announced | done again, once, from what the rename left |
//! | a release is refused after its noise was added: its plan in a rename with the frame before, the ledger synced, `stopped` written | charged from what the rename left; a ledger with one charge more than the folder has releases releases nothing |
//! | of two servers: shares are collected, the question is stored, the helper is asked | before the question is stored, the first row; then the same question again, which the helper answers as before |
//!
//! Nothing begins before the agents are there that are needed ([`Begin`]): until then no round is
//! open, and nothing is charged. Rounds close at their deadline, even if answers are missing;
//! earlier only if the terms allow it. The next frame is announced a fixed delay later. The time a
//! sampler takes depends on what it draws, so it must not fall into that delay: another thread
//! draws the noise of a round while its answers are collected ([`sordino_core::federated::Pool`]),
//! from a generator that the system's entropy seeds for this pool alone.

mod around;
mod error;
pub(crate) mod leader;
mod ledger;
mod serving;

use std::sync::Arc;
use std::time::Duration;

use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::{PartialError, Pool, ServerError, ServerState, Wiped};
use sordino_core::privacy::Private;
use sordino_core::wire;
use sordino_host::entropy;
use sordino_host::files::create_privately;
use sordino_host::ledger::{Deferred, Ledger, Planned};
use sordino_host::server::{HostError, Hosted, ServerHost, SystemSources};
use sordino_host::text::chain;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::admin;
use crate::admission::{self, Inadmissible};
use crate::door::{self, Counts, Door, Limits, Offered, Offering};
use crate::enrolment::Enrolment;
use crate::folder::{Folder, FolderError, Found, LEDGER, Open};
use crate::keys;
use crate::party::{Number, Served, dispatch};
use crate::progress::{self, Spent};
use crate::rounds::Rounds;
use crate::shares::{self, Shared};
use crate::status::Watched;
use around::Around;
use leader::Leader;

pub use error::ServeError;
pub use ledger::may_begin;
pub use serving::{Begin, Serving};

/// A server with secret sources whose charges wait until the folder has them.
type PrivateHost<T, P> = ServerHost<T, SystemSources, Deferred, <P as Served<T>>::Hosted>;
/// A host, and the round to begin: (round, attempt).
type Begun<T, P> = (PrivateHost<T, P>, (u32, u16));
/// What its method keeps, as it is stored.
type Kept<T, P> = <<P as Served<T>>::Hosted as Hosted<T>>::Stored;

/// Serves the folder's federation to its end.
///
/// **Errors**: [`ServeError`]; in every case, nothing left that was not charged.
pub async fn serve(folder: &Folder, serving: Serving) -> Result<(), ServeError> {
    admission::admit(&folder.terms)?;
    dispatch!(folder.terms.agreement, serve_in(folder, serving).await)
}
/// Listens at an address.
async fn listening(address: &str) -> Result<TcpListener, ServeError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| ServeError::Listen {
        address: address.to_owned(),
        error,
    })
}

async fn serve_in<T: Number, P: Served<T>>(
    folder: &Folder,
    serving: Serving,
) -> Result<(), ServeError> {
    let limits = Limits::default().within(Limits::default().handles())?;
    folder.lock()?;
    folder.stopped()?;
    let found = folder.found::<Kept<T, P>>()?;
    let agreement = &folder.terms.agreement;
    let listener = listening(&serving.listen).await?;
    let admin = match &serving.admin {
        Some(address) => Some(admin::listening(address).await?),
        None => None,
    };
    let mut leader = Leader::of(folder, &serving).await?;
    let trust = shares::trust(&agreement.protocol);
    let enrolment = Arc::new(Enrolment::open(folder.path())?.trusting(trust));
    let (sender, requests) = mpsc::channel(crate::rounds::QUEUE);
    let counts = Arc::new(Counts::default());
    // What a server that begins again offers follows from its round, which is not found yet.
    let nothing = (!folder.has_frames()?).then(Offered::nothing_yet);
    let (offer, offered) = watch::channel(nothing);
    let door = Door {
        deployment: agreement.deployment,
        terms: folder.terms.to_bytes()?.into(),
        offered,
        body_max: folder.terms.upload_bytes_max(),
        enrolment: enrolment.clone(),
        authority: folder.terms.authority()?,
        tells_joined: agreement.announced.may_close_early,
        requests: sender,
        limits,
        counts: counts.clone(),
    };
    let mut rounds = Rounds::new(agreement, serving.pace, folder.keys.sealer(), 0, requests);
    let planned = found.as_ref().and_then(|found| found.open.planned.clone());
    let party = P::new(&folder.terms).map_err(Inadmissible::from)?;
    // The last frame is announced again.
    let before = found
        .as_ref()
        .and_then(|found| found.frames.split_last())
        .map_or(&[][..], |(_last, before)| before);
    let offering = Offering::resumed(&*party, before)?;
    let (mut host, mut next) = host::<T, P>(
        folder,
        &serving,
        &party,
        found,
        planned.as_ref(),
        &mut rounds,
    )
    .inspect_err(|error| {
        if error.is_final() {
            // It is found again at the next start otherwise.
            drop(folder.stop(&chain(error)));
        }
    })?;
    if let Some(leader) = leader.as_ref().filter(|leader| leader.has_asked(next.0)) {
        next.1 = leader.attempt(next.1);
    }
    // Neither of the addresses nor the ledger refuses any more.
    serving.welcome.iter().for_each(|line| progress::note(line));
    let spent = Spent::default();
    spent.tell(host.ledger().ledger(), Duration::ZERO);
    let mut beside = tokio::task::JoinSet::new();
    let (show, shown) = watch::channel(folder.keys.present.server()?);
    beside.spawn(door::serve(listener, shown, door));
    let keys = folder.path().to_owned();
    let present = folder.keys.present.fingerprint()?;
    beside.spawn(async move { keys::follow(&keys, present, show, progress::told_of_key).await });
    beside.spawn(progress::tell(
        rounds.status(),
        agreement.clone(),
        spent.clone(),
        enrolment.clone(),
    ));
    let watched = Watched {
        status: rounds.status(),
        agreement: agreement.clone(),
        spent: spent.clone(),
        enrolment: enrolment.clone(),
        folder: folder.path().to_owned(),
    };
    beside.spawn(watched.clone().keep());
    if let (Some(listener), Some(address)) = (admin, serving.admin.clone()) {
        let watched = watched.clone();
        beside.spawn(async move { admin::serve(listener, &address, counts, watched).await });
    }
    // Dropped with this function: nothing answers that cannot release.
    let around = Around {
        folder,
        serving: &serving,
        enrolment: &enrolment,
        spent: &spent,
        offer,
    };
    let ended = all_rounds::<T, P>(
        &around,
        &party,
        &mut host,
        &mut rounds,
        leader.as_mut(),
        (offering, next),
    )
    .await;
    // The last word, whatever it is; a full disk is told of by what ended the server.
    drop(watched.standing().write(folder.path()));
    if let Err(error) = ended.as_ref()
        && error.is_final()
    {
        // Restarted it would release until the next agent asks, or ask its helper the same again.
        folder.stop(&chain(error))?;
    }
    ended
}

/// The host as the folder has it, and the round to begin: (round, attempt).
fn host<T: Number, P: Served<T>>(
    folder: &Folder,
    serving: &Serving,
    party: &Arc<P>,
    found: Option<Found<Kept<T, P>>>,
    planned: Option<&Planned>,
    rounds: &mut Rounds,
) -> Result<Begun<T, P>, ServeError> {
    let agreement = &folder.terms.agreement;
    let (terms, options) = ledger::of(&folder.terms, &serving.data, &serving.counter)?;
    let path = folder.path().join(LEDGER);
    // Like everything else in the folder; what is begun keeps its permissions.
    create_privately(&path, b"").map_err(FolderError::File)?;
    let ledger = Ledger::open_secret(&path, &terms, &options)?;
    ledger.notes().iter().for_each(|told| progress::note(told));
    let ledger = Deferred::new(ledger, planned)?;
    let charges = ledger.ledger().len();
    // Settled above: it stays charged.
    if let Some(Found { open, .. }) = found.as_ref().filter(|found| found.open.is_refused()) {
        return Err(ServeError::WasRefused { round: open.round });
    }
    let (stored, vectors, open) = match found {
        None => (None, Vec::new(), None),
        Some(Found {
            open,
            frame,
            history,
            frames,
        }) => {
            let round = open.round;
            let (header, payload) = wire::decode(&frame, agreement.frame_numbers_max())
                .map_err(|error| FolderError::Frame { round, error })?;
            let mut vectors = vec![T::ZERO; header.len as usize];
            payload
                .read(&mut vectors)
                .map_err(|error| FolderError::Frame { round, error })?;
            // Kept before it is announced again: a death may have come between.
            folder.keep(round, &frame)?;
            rounds.restore(history, frames);
            let attempt = open.attempt.checked_add(1).ok_or(ServeError::Attempts)?;
            (Some(open.server), vectors, Some((round, attempt)))
        }
    };
    let method = party.hosted()?;
    let host = ServerHost::new(
        method,
        SystemSources::new()?,
        ledger,
        stored.map(|stored| (stored, &vectors[..])),
    )?;
    let releases = host.state().releases();
    // Every charge belongs to a frame: without one, the folder lost it.
    if charges != releases as usize {
        return Err(ServeError::OlderFolder { releases, charges });
    }
    Ok((host, open.unwrap_or((0, 0))))
}

/// The noise of the round that was opened, drawn by a thread of its own.
type Drawing = JoinHandle<Result<Pool<Private>, ServeError>>;

fn drawn_beside<T: Number, P: Served<T>>(
    host: &mut PrivateHost<T, P>,
    open: bool,
) -> Result<Option<Drawing>, ServeError> {
    let recipe = if open { host.recipe()? } else { None };
    Ok(recipe.map(|recipe| {
        tokio::task::spawn_blocking(move || Ok(recipe.draw(&mut entropy::system()?)?))
    }))
}

/// How long an epoch is open: the announced deadline, and where agents have nothing to measure long
/// enough for everybody to ask twice, a tenth of it at least.
fn length_ms(protocol: &Protocol, epoch: u32, deadline_ms: u64, ask_again_ms: u64) -> u64 {
    match epoch
        .checked_sub(1)
        .map(|before| protocol.last_round(before))
    {
        Some(before) if before == protocol.last_round(epoch) => {
            deadline_ms.min((2 * ask_again_ms).max(deadline_ms / 10))
        }
        _ => deadline_ms,
    }
}

/// The round that is open, and how long it lasts at most.
struct OpenRound {
    round: u32,
    length_ms: u64,
}

async fn all_rounds<T: Number, P: Served<T>>(
    around: &Around<'_>,
    party: &P,
    host: &mut PrivateHost<T, P>,
    rounds: &mut Rounds,
    mut leader: Option<&mut Leader>,
    (mut offering, (first, mut attempt)): (Offering<T>, (u32, u16)),
) -> Result<(), ServeError> {
    let Around {
        folder,
        serving,
        spent,
        ..
    } = around;
    let announced = folder.terms.agreement.announced;
    let protocol = &folder.terms.agreement.protocol;
    let last = protocol.epochs();
    let mut planned: Option<Planned> = None;
    // Of the release that was closed last.
    let mut answers: Option<u32> = None;
    let mut announcing = Instant::now();
    for round in first..=last {
        let (frame, chain) = rounds.frame(round, attempt, host.broadcast())?;
        let open: Open<&ServerState, Kept<T, P>> = Open {
            round,
            attempt,
            server: host.stored(),
            planned: planned.take(),
        };
        let start = Instant::now();
        folder.commit(&open, &frame)?;
        host.sync()?;
        folder.keep(round, &frame)?;
        spent.tell(host.ledger().ledger(), start.elapsed());
        if let Some(answers) = answers.take() {
            progress::told_of_release(round, protocol, answers, &spent.read());
        }
        let offered = around.offered(party, &mut offering, &frame)?;
        // Said when all that takes its time is over: what is seen must be the delay, and no draw.
        let say_if_late = |announcing| {
            if round > first && Instant::now() > announcing {
                progress::note(&format!(
                    "release {round}: it took longer than --delay, so its time shows: choose more"
                ));
            }
        };
        if round == 0 {
            around.begin(rounds).await?;
        }
        if round == last {
            say_if_late(announcing);
            tokio::time::sleep_until(announcing).await;
            around.offer.send_replace(Some(offered));
            return around
                .end(rounds, (round, attempt), frame, chain, first == last)
                .await;
        }
        let open = host.open()?;
        say_if_late(announcing);
        tokio::time::sleep_until(announcing).await;
        around.offer.send_replace(Some(offered));
        let length_ms = length_ms(
            protocol,
            round,
            announced.deadline_ms,
            serving.pace.ask_again_ms,
        );
        let announced_frame = frame.clone();
        rounds.announce(
            round,
            attempt,
            frame,
            chain,
            length_ms,
            announced.may_close_early,
        )?;
        around::excuse(rounds, folder.path());
        // A round that the budget skips has no release to hold.
        rounds.need(if open {
            serving.begin.contributions()
        } else {
            0
        });
        let opening = OpenRound { round, length_ms };
        let drawing = drawn_beside::<T, P>(host, open)?;
        match leader.as_deref_mut().filter(|_| open) {
            Some(leader) => shared::<T, P>(around, host, rounds, leader, opening).await?,
            None => collected::<T, P>(host, rounds, opening, open).await?,
        }
        announcing = Instant::now() + serving.delay;
        if open {
            if let Some(drawing) = drawing {
                host.fill(drawing.await.map_err(|_lost| ServeError::Lost)??)?;
            }
            let agents = host.state().counters().received;
            if let Err(error) = host.close() {
                let place = (round, attempt);
                let refused =
                    refused::<T, P>(folder, host, place, agents, &announced_frame, error)?;
                spent.tell(host.ledger().ledger(), Duration::ZERO);
                // Hanging up early would show how long the noise took.
                tokio::time::sleep_until(announcing).await;
                return Err(refused);
            }
            planned = host.ledger().planned().cloned();
            answers = Some(agents);
        }
        attempt = 0;
    }
    Ok(())
}

/// Uploads of a round that this server sees.
async fn collected<T: Number, P: Served<T>>(
    host: &mut PrivateHost<T, P>,
    rounds: &mut Rounds,
    OpenRound { round, length_ms }: OpenRound,
    open: bool,
) -> Result<(), ServeError> {
    let mut vector = None;
    let collected = rounds.collect(length_ms, |upload| {
        if !open || upload.header.len == 0 {
            return Ok(());
        }
        let vector: &mut Vec<T> =
            vector.get_or_insert_with(|| vec![T::ZERO; upload.header.len as usize]);
        upload
            .payload
            .read(vector)
            .map_err(|error| error.to_string())?;
        host.upload(upload.who, round, vector)
            .map_err(|error| error.to_string())
    });
    collected.await?;
    Ok(())
}

/// Shares of a round, and the answer of the helper to them. After a restart no shares are collected
/// for what was asked.
async fn shared<T: Number, P: Served<T>>(
    around: &Around<'_>,
    host: &mut PrivateHost<T, P>,
    rounds: &mut Rounds,
    leader: &mut Leader,
    OpenRound { round, length_ms }: OpenRound,
) -> Result<(), ServeError> {
    if leader.has_asked(round) {
        // Until agents have asked: this folder may be an older copy, which one that has heard more
        // of a later copy shows, and the answer would be released a second time. Twice as long as
        // anybody is sent away: who found nobody here pauses, too.
        let pace = around.serving.pace;
        let away_ms = pace.ask_again_ms.min(length_ms + pace.spread_ms);
        let everybody = Duration::from_millis(2 * away_ms);
        progress::note(&format!(
            "release {round}: its question is stored; agents are heard for {} first, in case this folder is an older copy",
            progress::spoken(2 * away_ms)
        ));
        rounds.meanwhile(tokio::time::sleep(everybody)).await?;
    } else {
        let mut collection = leader.collection(round)?;
        let collected = rounds.collect(length_ms, |upload| match Shared::read(upload.share) {
            Some(Shared { attempt, share }) => collection
                .add(upload.who, attempt, share)
                .map_err(|error| error.to_string()),
            None if upload.share.is_empty() => Ok(()),
            None => Err("shorter than an attempt".into()),
        });
        collected.await?;
        // Stored before the helper hears of it: it answers no other set.
        leader.asks(collection)?;
    }
    rounds.awaits_helper();
    let answer = leader.answer(around.enrolment);
    let answer = rounds.meanwhile(answer).await??;
    let mut opened = Wiped::from(vec![0; leader.numbers()]);
    let opened = leader.open(&answer, opened.as_mut())?;
    Ok(host.take(opened)?)
}

/// A release that is refused after its noise was added is charged for good before anybody hears of
/// it: that it was refused is a function of the noised numbers. The plan goes into the folder
/// first, with the frame that is there, so that whoever finds it charges it.
fn refused<T: Number, P: Served<T>>(
    folder: &Folder,
    host: &mut PrivateHost<T, P>,
    (round, attempt): (u32, u16),
    agents: u32,
    frame: &[u8],
    error: HostError,
) -> Result<ServeError, ServeError> {
    let planned = host.ledger().planned().cloned();
    if planned.is_none() {
        return Ok(error.into());
    }
    let open: Open<&ServerState, Kept<T, P>> = Open {
        round,
        attempt,
        server: host.stored(),
        planned,
    };
    folder.commit(&open, frame)?;
    host.sync()?;
    Ok(match error {
        HostError::Server(ServerError::Partial(PartialError::Bound)) => {
            ServeError::Spoiled { round, agents }
        }
        error => ServeError::Refused { round, error },
    })
}
