//! A federated prior: what is asked of its agents, and what its server makes of the answers.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use sordino_core::federated::prior::Draw;
use sordino_core::federated::{ServerError, ServerPhase, ServerState, Wiped};
use sordino_core::linalg::packed_len;
use sordino_core::math::Scalar;
use sordino_core::random::{Party, Purpose};
use sordino_experiment::progress::Stage;
use sordino_experiment::record::Left;
use sordino_experiment::scenario::Guarantee;
use sordino_host::server::{
    Hosted, Population, ServerHost, SimulatedSources, StoredPosterior, StoredServer,
};

use super::super::collective::Partial;
use super::super::error::DriverError;
use super::super::host;
use super::super::run::{Federated, Released};
use super::context::PriorContext;
use super::helper::{Helper, Host};
use super::shard::{CommonDraw, Last, PriorOrder};

/// The server, and the helper that it leads if there are two.
pub struct Servers<T: Scalar> {
    leader: Host<T>,
    helper: Option<Helper>,
}

impl<T: Scalar> Federated for PriorContext<T> {
    type Server = Servers<T>;
    type Stored = StoredServer<ServerState, StoredPosterior>;

    fn server(
        self: &Arc<Self>,
        path: Option<&Path>,
        stored: Option<Self::Stored>,
    ) -> Result<Servers<T>, DriverError> {
        let sources = SimulatedSources::new(self.base.run.seed);
        let ledger = host::ledger(&self.base, path)?;
        let mut population =
            Population::new(self.clone(), self.plan()).map_err(ServerError::from)?;
        // A checkpoint holds the posterior, not the sums that led to it.
        if stored.is_none() {
            population = population.that_sends_sums();
        }
        let leader = ServerHost::new(
            population,
            sources,
            ledger,
            stored.map(|stored| (stored, &[][..])),
        )?;
        Ok(Servers {
            leader,
            helper: Helper::of(self, path)?,
        })
    }

    fn releases_after(&self, server: &Servers<T>, round: u32) -> bool {
        next_round(&server.leader) == Some(round)
    }

    fn query(&self, server: &mut Servers<T>, round: u32) -> Result<PriorOrder<T>, DriverError> {
        let server = &server.leader;
        Ok(PriorOrder::Query {
            round,
            draw: draw(self, server, round)?,
            last: last(server),
        })
    }

    fn contribute(
        &self,
        server: &mut Servers<T>,
        round: u32,
    ) -> Result<Option<PriorOrder<T>>, DriverError> {
        let server = &mut server.leader;
        // Opening the next release is the end of the last.
        let last = last(server);
        while next_round(server) == Some(round) {
            let release = server.state().broadcast();
            // A release that the budget refuses does not take place; the server then stands before
            // the next.
            if server.open()? {
                let unopened = DriverError::Check("a release that is open without its terms");
                let (terms, noise_multiplier) =
                    server.method().open_terms(release).ok_or(unopened)?;
                let share = Some(server.share()?);
                let source = server.kind();
                let weights = Arc::from(server.method().posterior().weights());
                let order = PriorOrder::Release {
                    round,
                    release,
                    terms,
                    weights,
                    noise_multiplier,
                    share,
                    source,
                    last,
                };
                return Ok(Some(order));
            }
        }
        Ok(None)
    }

    /// Nothing comes with the answers to a query: releases have orders of their own.
    fn close<'s>(
        &self,
        server: &'s mut Servers<T>,
        _: u32,
        partials: &mut [Partial],
    ) -> Result<Released<'s, T>, DriverError> {
        let Servers {
            leader: server,
            helper,
        } = server;
        if server.state().phase() != ServerPhase::Collecting {
            return Ok(None);
        }
        host::merge(server, partials)?;
        match (
            helper,
            partials
                .iter_mut()
                .find_map(|partial| partial.answered.take()),
        ) {
            (Some(_), Some((asked, answer))) => {
                let mut opened = Wiped::from(vec![0; self.config().contribution_len()]);
                server.take(asked.open(&answer, opened.as_mut())?)?;
            }
            (Some(helper), None) => helper.answer(server, self)?,
            (None, None) => {}
            (None, Some(_)) => {
                return Err(DriverError::Check(
                    "an answer of a helper where there is one server",
                ));
            }
        }
        let counters = server.close()?;
        Ok(server.broadcast().map(|released| (released, counters)))
    }

    fn store(&self, server: &mut Servers<T>) -> Result<impl Serialize, DriverError> {
        server.sync_helper()?;
        Ok(server.leader.store()?)
    }

    fn leaves(
        &self,
        server: &Servers<T>,
        released: &[f64],
    ) -> Result<Option<Result<Left, String>>, DriverError> {
        self.file(released, server.leader.method().posterior())
            .map(Some)
    }

    fn spent(&self, server: &Servers<T>) -> Result<Stage, DriverError> {
        let server = &server.leader;
        let private = self.base.method.guarantee() == Guarantee::DifferentialPrivacy;
        let releases = if private {
            server.state().releases()
        } else {
            0
        };
        host::spent(&self.base, server.ledger(), releases)
    }

    fn sync(&self, server: &mut Servers<T>) -> Result<(), DriverError> {
        server.sync_helper()?;
        Ok(server.leader.sync()?)
    }
}

impl<T: Scalar> Servers<T> {
    fn sync_helper(&mut self) -> Result<(), DriverError> {
        self.helper.as_mut().map_or(Ok(()), Helper::sync)
    }
}

/// The round after which the next release is made; nothing after the last.
fn next_round<T: Scalar>(server: &Host<T>) -> Option<u32> {
    server.method().round_of(server.state().broadcast())
}

/// The last release that took place, if that was in this process.
fn last<T: Scalar>(server: &Host<T>) -> Option<Last<T>> {
    let (index, sums) = server
        .last_release()
        .filter(|(_, sums)| server.method().broadcast_len() == sums.len())?;
    Some((index, sums.into()))
}

/// The common draw w_t of round t, from a public stream, and Φw_t; nothing in round 0 and before
/// the first release.
fn draw<T: Scalar>(
    context: &PriorContext<T>,
    server: &Host<T>,
    round: u32,
) -> Result<Option<CommonDraw<T>>, DriverError> {
    if round == 0 || server.state().releases() == 0 {
        return Ok(None);
    }
    let posterior = server.method().posterior();
    let mut draw = posterior.weights().to_vec();
    if context.base.method.parts().follows_draws {
        let stream = &mut context
            .base
            .run
            .seed
            .stream(Party::World, Purpose::WeightDraw, round);
        let mut scratch = vec![T::ZERO; packed_len(draw.len())];
        posterior
            .draw(stream, &mut scratch, &mut draw)
            .map_err(ServerError::from)?;
    }
    let public = context.public()?;
    let mut values = vec![T::ZERO; public.candidates()];
    Draw::values_of(&public, &draw, &mut values).map_err(ServerError::from)?;
    Ok(Some(Arc::new((draw, values))))
}
