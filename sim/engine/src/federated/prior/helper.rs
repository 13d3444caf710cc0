//! The helper of a simulated federated prior: noise and ledger of its own. Masks are left out: they
//! cancel, and the integers that a leader opens are the same without them.

use std::path::Path;
use std::sync::Arc;

use sordino_core::digest::Digest;
use sordino_core::federated::prior::Mechanism;
use sordino_core::federated::shares::{HelperRelease, Modulus, Opened, ShareSum, Trust};
use sordino_core::federated::{ServerError, Wiped};
use sordino_core::math::Scalar;
use sordino_core::privacy::Ledger as _;
use sordino_host::ledger::Ledger;
use sordino_host::server::{Population, ServerHost, SimulatedSources, Sources};

use super::super::error::DriverError;
use super::super::host;
use super::context::PriorContext;

/// The server of one simulated federated prior: alone, or the leader of two.
pub type Host<T> = ServerHost<T, SimulatedSources, Ledger, Population<T, Arc<PriorContext<T>>>>;

/// The second of two servers.
pub struct Helper {
    sources: SimulatedSources,
    ledger: Ledger,
}

impl Helper {
    /// The helper of a method, with its ledger beside the leader's; none where there is one server.
    ///
    /// **Errors**: a ledger that cannot be used.
    pub fn of<T: Scalar>(
        method: &PriorContext<T>,
        path: Option<&Path>,
    ) -> Result<Option<Self>, DriverError> {
        if method.config().parameters().trust == Trust::OneServer {
            return Ok(None);
        }
        let path = path.map(|path| path.with_extension("helper.jsonl"));
        let ledger = host::ledger(&method.base, path.as_deref())?;
        Ok(Some(Helper {
            sources: SimulatedSources::of_helper(method.base.run.seed),
            ledger,
        }))
    }

    /// Charges, draws and answers; the leader takes it.
    ///
    /// **Errors**: [`DriverError`]; the leader's release is not made then.
    pub fn answer<T: Scalar>(
        &mut self,
        leader: &mut Host<T>,
        method: &PriorContext<T>,
    ) -> Result<(), DriverError> {
        let epoch = leader.state().broadcast();
        let release = u64::from(leader.state().releases());
        let unopened = DriverError::Check("an answer to a release that is not open");
        let (terms, noise_multiplier) = leader.method().open_terms(epoch).ok_or(unopened)?;
        let config = method.config();
        let mechanism = *Mechanism::new(config, &terms, noise_multiplier)
            .map_err(ServerError::from)?
            .grid();
        let len = config.contribution_len();
        let modulus = Modulus::fitting(&mechanism, config.parameters().agents);
        let source = self.sources.of_broadcast(epoch);
        let mut sums = vec![0; len];
        let mut noise = vec![0; len];
        let mut answer = vec![0; modulus.share_len(len)];
        let open = HelperRelease::open(
            mechanism,
            Digest::default(),
            epoch,
            modulus,
            source,
            &mut sums,
            &mut noise,
        )?;
        let (charge, charged) = open.close(release);
        charged.answer(self.ledger.append(charge)?, source, &mut answer)?;
        let mut shares = vec![0; len];
        let mut opened = Wiped::from(vec![0; len]);
        let shares = ShareSum::new(&mut shares, modulus);
        Ok(leader.take(Opened::new(&shares, &answer, epoch, 0, opened.as_mut())?)?)
    }

    /// Makes its charges durable.
    ///
    /// **Errors**: the ledger's.
    pub fn sync(&mut self) -> Result<(), DriverError> {
        Ok(self.ledger.sync()?)
    }
}
