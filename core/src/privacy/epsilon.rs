//! Pure ε as an exact rational, and budgets of it that add without rounding.
//!
//! **Example**: that of [`Epsilon`].

use core::fmt;

use serde::{Deserialize, Serialize};

/// A pure ε that samplers and budgets can handle in integers: a multiple of 2⁻²⁰ in (0, 256].
///
/// **Privacy**: what is asked for is rounded *down*, so that what is used is never more.
///
/// ```
/// use sordino_core::privacy::Epsilon;
///
/// let tenth = Epsilon::new(0.1)?; // 0.1·2²⁰ = 104857.6, rounded down
/// assert_eq!(tenth.numerator(), 104_857);
/// assert!(tenth.value() < 0.1);
/// assert_eq!(Epsilon::new(-1.0).unwrap_err().value, -1.0); // `NotAnEpsilon`
/// # Ok::<(), sordino_core::privacy::epsilon::NotAnEpsilon>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Epsilon(u32);

/// A number that is not an ε.
///
/// **Example**: that of [`Epsilon`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NotAnEpsilon {
    /// The number as given.
    pub value: f64,
}

impl fmt::Display for NotAnEpsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epsilon {} is not in [2^-20, 256]", self.value)
    }
}

impl core::error::Error for NotAnEpsilon {}

impl Epsilon {
    /// The common denominator.
    pub const DENOMINATOR: u64 = 1 << 20;
    /// The largest numerator: ε = 256.
    const NUMERATOR_MAX: u64 = 1 << 28;

    /// The largest multiple of 2⁻²⁰ that is not above `value`.
    ///
    /// **Errors**: [`NotAnEpsilon`] if that is 0 (also for −0.0 and subnormals), above 256, or
    /// `value` is NaN.
    pub fn new(value: f64) -> Result<Self, NotAnEpsilon> {
        let scaled = value * Self::DENOMINATOR as f64; // exact: a power of two
        if (1.0..=268_435_456.0).contains(&scaled) {
            Ok(Epsilon(scaled as u32))
        } else {
            Err(NotAnEpsilon { value })
        }
    }

    /// The integer ε·2²⁰.
    pub const fn numerator(self) -> u64 {
        self.0 as u64
    }

    /// The number ε; exact.
    pub fn value(self) -> f64 {
        f64::from(self.0) / Self::DENOMINATOR as f64
    }
}

impl TryFrom<f64> for Epsilon {
    type Error = NotAnEpsilon;
    fn try_from(value: f64) -> Result<Self, NotAnEpsilon> {
        Self::new(value)
    }
}

impl From<Epsilon> for f64 {
    fn from(epsilon: Epsilon) -> f64 {
        epsilon.value()
    }
}

/// Why a report was refused. Nothing was charged.
///
/// **Example**: that of [`UserBudgets`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum UserBudgetError {
    /// The user's budget does not hold this report.
    Exhausted {
        /// Identifier of the user.
        user: u32,
        /// What is left of the budget.
        epsilon_left: f64,
    },
    /// No budget is kept for this user.
    UnknownUser(u32),
}

impl fmt::Display for UserBudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserBudgetError::Exhausted { user, epsilon_left } => {
                write!(
                    f,
                    "user {user} has epsilon {epsilon_left} left: the report is refused"
                )
            }
            UserBudgetError::UnknownUser(user) => write!(f, "no budget is kept for user {user}"),
        }
    }
}

impl core::error::Error for UserBudgetError {}

/// The budget of one person under pure ε: k reports cost k·ε, across algorithms; exact integers.
/// For a device.
///
/// Neither `Copy` nor `Clone`: what is charged to a copy is charged nowhere.
///
/// ```
/// use sordino_core::privacy::{Epsilon, epsilon::PureBudget};
///
/// let (budget, report) = (Epsilon::new(1.0)?, Epsilon::new(0.25)?);
/// let mut device = PureBudget::new(budget);
/// for _ in 0..4 {
///     device.charge(report)?;
/// }
/// assert_eq!((device.spent(), device.left()), (1.0, 0.0));
/// assert!(!device.admits(report));
/// // After a restart, from a durable count of the reports:
/// assert_eq!(PureBudget::with_spent(budget, 4, report), device);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct PureBudget {
    spent: u64,
    max: u64,
}

/// What a budget is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    spent: u64,
    max: u64,
}

/// A stored budget beyond the largest ε there is.
///
/// A format that keeps the reason shows it; postcard only says that the bytes hold no budget:
///
/// ```
/// use sordino_core::privacy::epsilon::{PureBudget, StoredPureBudgetError};
///
/// let mut bytes = [0; 16];
/// let stored = postcard::to_slice(&(0u64, 1u64 << 29), &mut bytes).unwrap(); // nothing spent of ε = 512
/// assert!(postcard::from_bytes::<PureBudget>(stored).is_err());
/// let reason = StoredPureBudgetError { max: 1 << 29 };
/// assert_eq!(reason.to_string(), "stored budget 536870912 / 2^20 is not in [0, 256]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StoredPureBudgetError {
    /// ε·2²⁰, admissible up to 2²⁸.
    pub max: u64,
}

impl fmt::Display for StoredPureBudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stored budget {} / 2^20 is not in [0, 256]", self.max)
    }
}

impl core::error::Error for StoredPureBudgetError {}

impl TryFrom<Stored> for PureBudget {
    type Error = StoredPureBudgetError;
    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { spent, max } = stored;
        if max > Epsilon::NUMERATOR_MAX {
            Err(StoredPureBudgetError { max })
        } else {
            Ok(PureBudget { spent, max })
        }
    }
}

impl PureBudget {
    /// A budget with nothing spent.
    pub const fn new(epsilon_max: Epsilon) -> Self {
        PureBudget {
            spent: 0,
            max: epsilon_max.numerator(),
        }
    }

    /// A budget of which `reports` at `epsilon` each are known to be spent, however much that is:
    /// the way back from a durable record of the reports.
    pub const fn with_spent(epsilon_max: Epsilon, reports: u32, epsilon: Epsilon) -> Self {
        PureBudget {
            spent: reports as u64 * epsilon.numerator(),
            max: epsilon_max.numerator(),
        }
    }

    /// Whether a report fits. Nothing is spent.
    pub const fn admits(&self, epsilon: Epsilon) -> bool {
        match self.spent.checked_add(epsilon.numerator()) {
            Some(spent) => spent <= self.max,
            None => false,
        }
    }

    /// Charges a report before its noise is drawn, or refuses and stays as it was.
    pub fn charge(&mut self, epsilon: Epsilon) -> Result<(), UserBudgetError> {
        if !self.admits(epsilon) {
            return Err(UserBudgetError::Exhausted {
                user: 0,
                epsilon_left: self.left(),
            });
        }
        self.spent += epsilon.numerator();
        Ok(())
    }

    /// The ε spent so far.
    pub fn spent(&self) -> f64 {
        self.spent as f64 / Epsilon::DENOMINATOR as f64
    }

    /// The ε that is left.
    pub fn left(&self) -> f64 {
        self.max.saturating_sub(self.spent) as f64 / Epsilon::DENOMINATOR as f64
    }
}

/// The budgets of many users, one place each in the caller's storage; composition is per user id.
///
/// Two users' losses do not add: each report is about one person. A user who reports k times spends
/// k·ε, whichever algorithms asked.
///
/// ```
/// use sordino_core::privacy::Epsilon;
/// use sordino_core::privacy::epsilon::{PureBudget, UserBudgetError, UserBudgets};
///
/// let (budget, report) = (Epsilon::new(1.0)?, Epsilon::new(0.5)?);
/// let mut users = UserBudgets::new([PureBudget::new(budget), PureBudget::new(budget)]);
/// for user in [0, 1, 0] {
///     users.charge(user, report)?;
/// }
/// assert_eq!(users.spent_max(), 1.0); // that of user 0, who reported twice
/// assert_eq!(users.get(1).map(PureBudget::left), Some(0.5));
/// assert_eq!(users.charge(0, report), Err(UserBudgetError::Exhausted { user: 0, epsilon_left: 0.0 }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UserBudgets<S> {
    budgets: S,
}

impl<S: AsRef<[PureBudget]> + AsMut<[PureBudget]>> UserBudgets<S> {
    /// Budgets by user id: user n at place n.
    pub const fn new(budgets: S) -> Self {
        UserBudgets { budgets }
    }

    /// Charges a report of `user`, or refuses.
    pub fn charge(&mut self, user: u32, epsilon: Epsilon) -> Result<(), UserBudgetError> {
        let budget = self
            .budgets
            .as_mut()
            .get_mut(user as usize)
            .ok_or(UserBudgetError::UnknownUser(user))?;
        let epsilon_left = budget.left();
        budget
            .charge(epsilon)
            .map_err(|_| UserBudgetError::Exhausted { user, epsilon_left })
    }

    /// The budget of `user`.
    pub fn get(&self, user: u32) -> Option<&PureBudget> {
        self.budgets.as_ref().get(user as usize)
    }

    /// The largest ε any user has spent: the guarantee of the whole, per person.
    pub fn spent_max(&self) -> f64 {
        self.budgets.as_ref().iter().fold(0.0, |most, budget| {
            if budget.spent() > most {
                budget.spent()
            } else {
                most
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_down_and_refuses_nonsense() {
        assert_eq!(Epsilon::new(0.5).unwrap().value(), 0.5);
        assert!(Epsilon::new(0.1).unwrap().value() <= 0.1);
        assert_eq!(Epsilon::new(256.0).unwrap().numerator(), 1 << 28);
        for bad in [
            0.0,
            -0.0,
            -1.0,
            5e-324,
            9e-7,
            256.01,
            f64::NAN,
            f64::INFINITY,
            1e308,
        ] {
            assert!(Epsilon::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn stored_budgets_are_judged() {
        let stored = |spent: u64, max: u64| {
            let mut bytes = [0u8; 30];
            let used = postcard::to_slice(&(spent, max), &mut bytes).unwrap().len();
            let read = postcard::from_bytes::<PureBudget>(&bytes[..used]).ok();
            assert_eq!(read, PureBudget::try_from(Stored { spent, max }).ok());
            read.is_some()
        };
        assert!(stored(0, 1 << 20) && stored(u64::MAX, 1 << 28) && stored(0, 0));
        assert!(!stored(0, (1 << 28) + 1) && !stored(0, u64::MAX));
        for bad in [0.0, 257.0, f64::NAN, f64::INFINITY] {
            let mut bytes = [0u8; 8];
            postcard::to_slice(&bad, &mut bytes).unwrap();
            assert!(postcard::from_bytes::<Epsilon>(&bytes).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets_are_per_user_and_exact() {
        const MAX: Epsilon = Epsilon(1 << 20);
        let tenth = Epsilon::new(0.125).unwrap();
        let mut users = UserBudgets::new([const { PureBudget::new(MAX) }; 3]);
        // A record of nine reports of an eighth is beyond the budget, and stays so.
        let recorded = PureBudget::with_spent(MAX, 9, tenth);
        assert!(
            !recorded.admits(Epsilon(1)) && (recorded.spent(), recorded.left()) == (1.125, 0.0)
        );
        (0..8).for_each(|_| users.charge(1, tenth).unwrap());
        assert_eq!(
            users.charge(1, tenth),
            Err(UserBudgetError::Exhausted {
                user: 1,
                epsilon_left: 0.0
            })
        );
        users.charge(2, tenth).unwrap();
        assert_eq!(users.charge(3, tenth), Err(UserBudgetError::UnknownUser(3)));
        assert_eq!(
            (
                users.spent_max(),
                users.get(2).unwrap().spent(),
                users.get(0).unwrap().left()
            ),
            (1.0, 0.125, 1.0)
        );
    }
}
