//! A user's device reports one private reward at a time: a power cut after a charge, a budget that
//! ends. The generator is an LFSR and protects nobody.
#![cfg_attr(target_os = "none", no_std, no_main)]

use core::fmt::Error;

use firmware_example::program::Say;
use firmware_example::reset::{Flash, SLOT, Stop};
use sordino_core::digest::Digest;
use sordino_core::local::{Reporter, ReporterInput, ReporterOutput, ReporterState};
use sordino_core::privacy::mechanism::laplace::ClampedLaplace;
use sordino_core::privacy::{Charge, Epsilon, Ledger, Private};
use sordino_core::rand_core::{TryCryptoRng, TryRng};
use sordino_core::random::Secret;

/// A fake of a hardware generator: its register, and words until its health test fails.
struct Generator(u32, u32);

impl TryRng for Generator {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        self.1 = self.1.checked_sub(1).ok_or(Error)?;
        (0..32)
            .for_each(|_| self.0 = (self.0 >> 1) ^ if self.0 & 1 == 1 { 0xa300_0000 } else { 0 });
        Ok(self.0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from(self.try_next_u32()?) | u64::from(self.try_next_u32()?) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.chunks_mut(4).try_for_each(|some| {
            let word = self.try_next_u32()?.to_le_bytes();
            some.copy_from_slice(&word[..some.len()]);
            Ok(())
        })
    }
}

impl TryCryptoRng for Generator {}

/// The ledger that the stored state is.
struct Stored<'a, 'f>(
    &'a mut Flash<'f>,
    &'a ReporterState,
    &'a mut u32,
    &'a Digest,
);

impl Ledger<Private> for Stored<'_, '_> {
    type Error = Stop;

    fn write(&mut self, _: &Charge<Private>) -> Result<(), Stop> {
        self.0.save(self.1, self.2, self.3)
    }
}

fn run(say: Say<'_>) -> Result<(), Stop> {
    let epsilon = |value| Epsilon::new(value).map_err(|_| Stop::Refused("epsilon"));
    let mechanism =
        ClampedLaplace::new(1.5, 16, epsilon(0.5)?).map_err(|_| Stop::Refused("mechanism"))?;
    let budget = epsilon(2.5)?;
    let agreement = Digest::of(&"reports");
    let source = &mut Secret::new(Generator(0xace1_1234, 70));
    let mut flash = Flash {
        bytes: &mut [0xff; 2 * SLOT],
        grain: SLOT,
        power: &mut || Ok(()),
    };
    let (mut number, mut state) = flash.load(ReporterState::new(7, budget), &agreement)?;
    for candidate in 0..7 {
        let asked = Reporter::attach(&mechanism, &mut state)
            .handle::<f32, _>(ReporterInput::Query { candidate }, source);
        let charge = match asked {
            Ok(ReporterOutput::Charge(charge)) => charge,
            refused => {
                say(format_args!("{candidate}: {refused:?}"));
                continue;
            }
        };
        let receipt = Stored(&mut flash, &state, &mut number, &agreement).append(charge)?;
        if candidate == 1 {
            (number, state) = flash.load(ReporterState::new(7, budget), &agreement)?;
            say(format_args!(
                "{candidate}: power cut after the charge, epsilon {} left",
                state.budget().left()
            ));
            continue;
        }
        let mut reporter = Reporter::attach(&mechanism, &mut state);
        let mut input = ReporterInput::Charged(receipt);
        let report = loop {
            input = match reporter.handle(input, source) {
                Ok(ReporterOutput::Evaluate { candidate }) => {
                    ReporterInput::Reward(0.1 * candidate as f32)
                }
                other => break other,
            };
        };
        match report {
            Ok(ReporterOutput::Report(release)) => {
                say(format_args!("{candidate}: {} leaves", release.value()))
            }
            other => say(format_args!("{candidate}: {other:?}")),
        }
    }
    Ok(())
}

firmware_example::program!(run);
