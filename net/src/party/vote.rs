//! One private vote, then every agent for itself.

use std::sync::Arc;

use sordino_core::domain::Candidates;
use sordino_core::features::random_fourier;
use sordino_core::federated::exchange::{Protocol, VoteProtocol};
use sordino_core::federated::{Config, OwnDraw};
use sordino_core::math::Scalar;
use sordino_core::random::Stream;
use sordino_engine::federated::custom::{Chooser, Ground, Sight};
use sordino_engine::federated::vote::voter::Voter;
use sordino_experiment::scenario::KernelConfig;
use sordino_host::server::HostError;

use super::chosen::Chosen;
use super::{Number, Served};
use crate::terms::{Terms, TermsError};

/// The agents of a vote, and the ballot that its server releases.
pub struct Votes {
    voter: Voter,
    ballot: Arc<Config>,
}

/// What the parties of a vote compute with, built from the terms alone.
pub type Voting<T> = Chosen<T, Votes>;

impl Chooser for Votes {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        self.voter.next(sight, coins)
    }

    fn message(&self, sight: &Sight<'_>, coins: &mut Stream) -> Vec<f64> {
        self.voter.message(sight, coins)
    }
}

impl<T: Number> Served<T> for Voting<T> {
    type Hosted = Arc<Config>;

    /// Factors the prior, or evaluates the shared features at every candidate.
    fn new(terms: &Terms) -> Result<Arc<Self>, TermsError> {
        let Protocol::Vote(vote) = &terms.agreement.protocol else {
            return Err(TermsError::Method);
        };
        terms.bounded()?;
        let voter = Voter::of(vote).ok_or(TermsError::Method)?;
        let ground = ground::<T>(terms, vote)?;
        let ballot = Arc::new(vote.ballot.clone());
        Ok(Chosen::of(
            terms.agreement.clone(),
            ground,
            Votes { voter, ballot },
        ))
    }

    fn hosted(self: &Arc<Self>) -> Result<Arc<Config>, HostError> {
        Ok(self.chooser.ballot.clone())
    }
}

/// Numbers in double precision.
fn wide<T: Number>(numbers: Vec<T>) -> Vec<f64> {
    numbers.into_iter().map(Scalar::to_f64).collect()
}

/// What all parties know, in the format of the agents, as the simulator has it.
fn ground<T: Number>(terms: &Terms, vote: &VoteProtocol) -> Result<Ground, TermsError> {
    let dim = terms.agreement.dim as usize;
    let p = vote.ballot.parameters();
    let public = &vote.features;
    let points: Vec<T> = terms.candidates.iter().map(|x| T::from_f64(*x)).collect();
    Candidates::list(&points, dim)?;
    let rows: Vec<T> = match p.own_draw {
        OwnDraw::Joint => terms.factor()?.into_iter().map(T::from_f64).collect(),
        OwnDraw::Features => features(&points, dim, vote)?,
    };
    let columns = rows.len() / terms.points().max(1);
    Ok(Ground {
        agents: p.agents,
        rounds: vote.rounds,
        initial_points: p.initial_points,
        dim,
        candidates: wide(points),
        kernel: KernelConfig {
            kernel: public.kernel,
            lengthscale: public.lengthscale,
            signal_variance: public.signal_variance,
        },
        noise_variance: p.noise_variance,
        constant: p.offset,
        rows: wide(rows),
        columns,
        searched: None,
    })
}

/// The shared features at every candidate, row by row.
fn features<T: Number>(
    points: &[T],
    dim: usize,
    vote: &VoteProtocol,
) -> Result<Vec<T>, TermsError> {
    let count = vote.feature_count as usize;
    let mut storage = vec![T::ZERO; random_fourier::storage_len(dim, count)];
    let map = vote.features.draw(dim, count, &mut storage)?;
    let mut rows = vec![T::ZERO; points.len() / dim * count];
    for (row, point) in rows.chunks_exact_mut(count).zip(points.chunks_exact(dim)) {
        map.features(point, row);
    }
    Ok(rows)
}
