//! One release of an audited federation, the same steps for every method: open, collect, charge,
//! release.

use sordino_core::federated::{
    Collector, CollectorStorage, Counters, Estimator, Server, ServerInput, ServerOutput,
};
use sordino_core::privacy::{Ledger, NoiseSource};

use super::error::RunError;
use super::ledger::AuditLedger;

/// The numbers of a collector: sums, flags, counts.
pub(super) type Shard = (Vec<i64>, Vec<u8>, Counters);

/// One release of one run.
pub(super) struct Step<'s, 'a, M: Estimator<f64>, S> {
    pub(super) server: &'s mut Server<'a, f64, M>,
    /// Index of the release, 0-based.
    pub(super) index: u32,
    pub(super) source: &'s mut S,
}

impl<M: Estimator<f64>, S: NoiseSource> Step<'_, '_, M, S> {
    /// Opens the release: draws the sample, if there is one.
    pub(super) fn open(&mut self) -> Result<(), RunError> {
        self.wait(ServerInput::Open)
    }

    /// Takes the uploads of all agents: to the server or, in odd releases, from agent 1 on to a
    /// collector.
    pub(super) fn collect<V: AsRef<[f64]>>(
        &mut self,
        (sums, flags, counters): &mut Shard,
        upload: impl Fn(u32) -> Option<V>,
    ) -> Result<(), RunError> {
        let index = self.index;
        let agents = self.server.method().agents();
        let mut own = 0..agents;
        if index % 2 == 1 {
            own = 0..1;
            let unopened = RunError::Answer {
                expected: "an open release",
            };
            let encoding = self.server.method().encoding(index)?.ok_or(unopened)?;
            let share = self.server.share(1..agents)?;
            let mut collector = Collector::new(
                encoding,
                &share,
                CollectorStorage {
                    sums,
                    flags,
                    counters,
                },
            )?;
            for agent in 1..agents {
                if let Some(vector) = upload(agent) {
                    collector.upload(agent, index, vector.as_ref())?;
                }
            }
            self.server.merge(&collector.finish())?;
        }
        for agent in own {
            if let Some(vector) = upload(agent) {
                self.wait(ServerInput::Upload {
                    agent,
                    broadcast: index,
                    vector: vector.as_ref(),
                })?;
            }
        }
        Ok(())
    }

    /// Closes the release with charge and receipt; returns `along` of what was released.
    pub(super) fn release(
        &mut self,
        ledger: &mut AuditLedger,
        along: impl FnOnce(&[f64]) -> f64,
    ) -> Result<f64, RunError> {
        let ServerOutput::Charge(charge) = self.server.handle(ServerInput::Close, self.source)?
        else {
            return Err(RunError::Answer {
                expected: "a charge",
            });
        };
        let receipt = ledger.append(charge)?;
        match self
            .server
            .handle(ServerInput::Charged(receipt), self.source)?
        {
            ServerOutput::Broadcast { broadcast, release } if broadcast == self.index => {
                let x = along(release.value());
                if x.is_finite() {
                    Ok(x)
                } else {
                    Err(RunError::NotFinite(x))
                }
            }
            _ => Err(RunError::Answer {
                expected: "a release",
            }),
        }
    }

    fn wait(&mut self, input: ServerInput<'_, f64, S::Provenance>) -> Result<(), RunError> {
        match self.server.handle(input, self.source)? {
            ServerOutput::Wait => Ok(()),
            _ => Err(RunError::Answer {
                expected: "to wait",
            }),
        }
    }
}
