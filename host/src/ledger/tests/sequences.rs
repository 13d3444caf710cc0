//! Random lives of a ledger: charges, deaths in every byte, edits and older copies in any order,
//! against a count on paper.

use std::sync::atomic::{AtomicU32, Ordering};

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::Index;
use proptest::test_runner::{Config as Settings, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use proptest::{prop_assert, prop_assert_eq, prop_oneof};

use super::*;

/// What may happen to a ledger next.
#[derive(Clone, Debug)]
enum Happening {
    /// A charge of so many eighths of ε, so that sums are exact.
    Charge(u32),
    /// The program ends and begins again.
    Restart,
    /// The machine dies while the last line is being written: this part of it is there.
    DeathInLine(Index),
    /// A line that the second count does not know was begun.
    Stray(Index),
    /// One byte of one of the lines is another one.
    Edit(Index, u8),
    /// The file is one of those that were there before.
    OlderCopy(Index),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (1..8u32).prop_map(Happening::Charge),
        1 => Just(Happening::Restart),
        1 => any::<Index>().prop_map(Happening::DeathInLine),
        1 => any::<Index>().prop_map(Happening::Stray),
        1 => (any::<Index>(), 1..=255u8).prop_map(|(at, change)| Happening::Edit(at, change)),
        1 => any::<Index>().prop_map(Happening::OlderCopy),
    ]
}

fn runner(cases: u32, seed: u8) -> TestRunner {
    let settings = Settings {
        cases,
        failure_persistence: None,
        ..Settings::default()
    };
    TestRunner::new_with_rng(
        settings,
        TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
    )
}

fn desk(name: &str) -> Desk {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    Desk::new(&format!(
        "{name}-{}",
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ))
}

/// A ledger beside what it must say: eighths of ε, line by line, and every file it ever was.
struct Life {
    desk: Desk,
    ledger: Option<Ledger>,
    eighths: Vec<u32>,
    copies: Vec<String>,
}

impl Life {
    /// ε_max of [`terms`] and what a stray line is charged by [`Desk::options`], in eighths.
    const BUDGET: u32 = 16;
    const NEXT: u32 = 4;

    fn begin() -> Life {
        let desk = desk("sequence");
        let ledger = Some(desk.open().unwrap());
        Life {
            copies: vec![desk.text()],
            desk,
            ledger,
            eighths: Vec::new(),
        }
    }

    fn spent(&self) -> u32 {
        self.eighths.iter().sum()
    }

    /// Opens it again: every charge that was ever acknowledged is there, and the file is what it
    /// was or longer.
    fn reopen(&mut self) -> Result<(), TestCaseError> {
        drop(self.ledger.take());
        let ledger = self
            .desk
            .open()
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let spent = ledger.spent().unwrap();
        prop_assert_eq!(spent.charges, self.eighths.len() as u64);
        prop_assert_eq!(spent.epsilon, f64::from(self.spent()) / 8.0);
        self.ledger = Some(ledger);
        Ok(())
    }

    /// The file is replaced while nobody has it open; opening it is refused, and it is put back.
    fn refused(&mut self, file: &[u8]) -> Result<(), TestCaseError> {
        drop(self.ledger.take());
        let whole = self.desk.text();
        fs::write(&self.desk.path, file).unwrap();
        prop_assert!(
            self.desk.open().is_err(),
            "{}",
            String::from_utf8_lossy(file)
        );
        prop_assert_eq!(
            fs::read(&self.desk.path).unwrap(),
            file,
            "a refused ledger was changed"
        );
        fs::write(&self.desk.path, whole).unwrap();
        self.reopen()
    }

    fn charge(&mut self, eighths: u32) -> Result<(), TestCaseError> {
        let before = self.desk.text();
        let release = self.eighths.len() as u64;
        let Some(ledger) = &mut self.ledger else {
            return Err(TestCaseError::fail("closed"));
        };
        let charged = ledger.charge(release, &[pure(f64::from(eighths) / 8.0)]);
        if self.spent() + eighths > Life::BUDGET {
            prop_assert!(
                matches!(charged, Err(LedgerError::OverBudget { .. })),
                "{:?}",
                charged
            );
            prop_assert_eq!(self.desk.text(), before, "refused before it is written");
            return Ok(());
        }
        prop_assert!(charged.is_ok(), "{:?}", charged);
        self.eighths.push(eighths);
        self.copies.push(self.desk.text());
        Ok(())
    }

    fn live(&mut self, happening: &Happening) -> Result<(), TestCaseError> {
        let whole = self.desk.text().into_bytes();
        match happening {
            Happening::Charge(eighths) => self.charge(*eighths),
            Happening::Restart => self.reopen(),
            Happening::DeathInLine(index) => {
                if self.eighths.is_empty() {
                    // The first line is written whole or not at all.
                    return self.reopen();
                }
                let last = whole[..whole.len() - 1]
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(whole.len(), |at| at + 1);
                fs::write(
                    &self.desk.path,
                    &whole[..last + index.index(whole.len() - last + 1)],
                )
                .unwrap();
                self.reopen()
            }
            Happening::Stray(index) => {
                let begun = "{\"sequence\":";
                let stray = [&whole, &begun.as_bytes()[..1 + index.index(begun.len())]].concat();
                fs::write(&self.desk.path, stray).unwrap();
                self.eighths.push(Life::NEXT);
                self.reopen()?;
                self.copies.push(self.desk.text());
                Ok(())
            }
            Happening::Edit(index, change) => {
                // Its last line feed alone may be missing: that is a death, and mended.
                let mut edited = whole.clone();
                edited[index.index(whole.len() - 1)] ^= change;
                self.refused(&edited)
            }
            Happening::OlderCopy(index) => {
                let copy = index.index(self.copies.len());
                let older = self.copies[copy].clone();
                if copy + 2 <= self.eighths.len() {
                    return self.refused(older.as_bytes());
                }
                // One line behind the second count is what a death between the two leaves: it is
                // added, and counts.
                fs::write(&self.desk.path, older).unwrap();
                self.reopen()
            }
        }
    }
}

#[test]
fn whatever_happens_to_a_ledger_no_charge_is_lost_and_no_budget_exceeded() {
    runner(48, 11)
        .run(&vec(happening(), 1..24), |happenings| {
            let mut life = Life::begin();
            happenings
                .iter()
                .try_for_each(|happening| life.live(happening))?;
            life.reopen()
        })
        .unwrap();
}

/// Simulated noise is the same again: a run that was cut anywhere and repeats its charges writes
/// the file of one that was not.
#[test]
fn a_simulated_ledger_that_is_cut_anywhere_and_charged_again_is_that_of_an_unbroken_run() {
    let cuts = vec(any::<Index>(), 0..4);
    runner(48, 12)
        .run(&(vec(1..4u32, 1..8), cuts), |(eighths, cuts)| {
            let unbroken = desk("unbroken");
            let cut = desk("cut");
            let charge = |desk: &Desk, most: usize| {
                let mut ledger = desk
                    .simulated()
                    .map_err(|error| TestCaseError::fail(error.to_string()))?;
                let mut spent = 0;
                for (release, eighths) in eighths.iter().enumerate().take(most) {
                    let charged = ledger.charge(release as u64, &[pure(f64::from(*eighths) / 8.0)]);
                    let fits = spent + eighths <= Life::BUDGET;
                    prop_assert_eq!(charged.is_ok(), fits, "{:?}", charged);
                    if !fits {
                        break;
                    }
                    spent += eighths;
                }
                ledger
                    .sync()
                    .map_err(|error| TestCaseError::fail(error.to_string()))
            };
            charge(&unbroken, usize::MAX)?;
            for at in cuts {
                charge(&cut, at.index(eighths.len() + 1))?;
                let whole = cut.text();
                fs::write(&cut.path, &whole[..at.index(whole.len() + 1)]).unwrap();
            }
            charge(&cut, usize::MAX)?;
            prop_assert_eq!(cut.text(), unbroken.text());
            Ok(())
        })
        .unwrap();
}
