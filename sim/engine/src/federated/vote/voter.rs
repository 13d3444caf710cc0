//! An agent of a vote: its ballot, what it makes of the released shares, and its own draws. The
//! simulator runs it, and so does a program on a network.

use std::sync::{Mutex, PoisonError};

use sordino_core::federated::exchange::VoteProtocol;
use sordino_core::linalg::{packed_len, root};
use sordino_core::math::Scalar;
use sordino_core::random::Stream;

use super::super::custom::builtin::{largest, own_draw};
use super::super::custom::{Chooser, Ground, Sight};

/// How the agents of a vote choose and vote: the winner where shares arrived, a draw of the agent's
/// own posterior elsewhere.
pub struct Voter {
    noise_std: f64,
    /// The last shares and their winner, which is the same for all agents.
    found: Mutex<Option<(Vec<f64>, u32)>>,
}

impl Voter {
    /// The agents of these terms; none of a ballot without noise.
    pub fn of(protocol: &VoteProtocol) -> Option<Self> {
        Some(Voter {
            noise_std: protocol.noise_std()?,
            found: Mutex::new(None),
        })
    }

    /// The candidate that everybody plays first: the largest mean of a Gaussian process with the
    /// scenario's kernel, up to its scale, that was fitted to the released shares; the first of
    /// equals.
    ///
    /// **Equation**: sharesᵢ = 1/K + f(xᵢ) + N(0, τ²), f ~ GP(0, s²k/k(0)), s² = max(mean (sharesᵢ
    /// − 1/K)² − τ², τ²/100): a function of public numbers alone.
    ///
    /// **Cost**: 1.5·K·columns² multiply-adds, once for all agents of a process.
    pub fn winner(&self, ground: &Ground, shares: &[f64]) -> u32 {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, winner)) = found.as_ref().filter(|(known, _)| known == shares) {
            return *winner;
        }
        let count = shares.len().max(1) as f64;
        let noise = self.noise_std * self.noise_std;
        let spread = shares
            .iter()
            .map(|share| (share - 1.0 / count) * (share - 1.0 / count) / count)
            .sum::<f64>();
        let scale = Scalar::max(spread - noise, noise / 100.0) / ground.kernel.signal_variance;
        let mut numbers = vec![0.0; packed_len(ground.columns) + ground.columns];
        let (factor, rhs) = numbers.split_at_mut(packed_len(ground.columns));
        root::reset(factor, rhs, noise / scale);
        for (candidate, share) in (0..).zip(shares) {
            root::rotate_in(
                factor,
                rhs,
                &mut ground.row(candidate).to_vec(),
                share - 1.0 / count,
            );
        }
        let mut weights = rhs.to_vec();
        root::solve(factor, &mut weights);
        let winner = largest(ground, &weights);
        *found = Some((shares.to_vec(), winner));
        winner
    }
}

impl Chooser for Voter {
    fn next(&self, sight: &Sight<'_>, coins: &mut Stream) -> u32 {
        match sight.broadcast {
            Some(shares) => self.winner(sight.ground, shares),
            None => own_draw(sight, coins),
        }
    }

    /// An agent's vote: 1 for the best of what it has observed, the first of equals, 0 for all
    /// others; norm 1. All zeros before the first observation.
    fn message(&self, sight: &Sight<'_>, _coins: &mut Stream) -> Vec<f64> {
        let mut ballot = vec![0.0; sight.ground.count() as usize];
        let mut best: Option<(u32, f64)> = None;
        for (candidate, y) in sight.log {
            match best {
                Some((_, value)) if value >= *y => {}
                _ => best = Some((*candidate, *y)),
            }
        }
        if let Some(mark) = best.and_then(|(candidate, _)| ballot.get_mut(candidate as usize)) {
            *mark = 1.0;
        }
        ballot
    }
}
