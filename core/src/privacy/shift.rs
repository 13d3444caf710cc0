//! How large a shift is protected, in the units of the person whose data it is.
//!
//! A mechanism knows a distance of 1 in the numbers it is given. Those were scaled: what one unit
//! is for the data owner only the scaling constants tell, and two releases of one table at two
//! scales protect two different things. So the unit travels in the event, and accountants refuse to
//! add what differs in it.
//!
//! **Example**: that of [`ShiftUnit`].

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Frame;

/// The distance by which one record may move under [`super::NeighboringRelation::ShiftOne`].
///
/// Measured in the owner's own units, or, where columns were divided by lengthscales or their
/// logarithm was taken, in those: then a fingerprint of the columns tells which ones.
///
/// ```
/// use sordino_core::privacy::ShiftUnit;
///
/// // Both columns were divided by 20 kg: a distance of 1 in the numbers is one of 20 kg.
/// assert_eq!(ShiftUnit::ONE.of_columns(&[20.0, 20.0], &[false, false])?, ShiftUnit::new(20.0)?);
/// // 20 kg and 3 m have no common unit: the distance counts lengthscales, and a fingerprint says which.
/// let mixed = ShiftUnit::ONE.of_columns(&[20.0, 3.0], &[false, false])?;
/// assert_eq!(mixed.distance(), 1.0);
/// assert_ne!(mixed.columns(), ShiftUnit::ONE.of_columns(&[3.0, 20.0], &[false, false])?.columns());
/// assert!(ShiftUnit::new(0.0).is_err()); // `NotAShift`
/// # Ok::<(), sordino_core::privacy::shift::NotAShift>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ShiftUnit {
    distance: f64,
    columns: u64,
}

/// No distance is NaN: equality is one.
impl Eq for ShiftUnit {}

/// A number that is not the distance of a shift.
///
/// **Example**: that of [`ShiftUnit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAShift {
    /// The distance as given.
    pub distance: f64,
}

impl fmt::Display for NotAShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the distance {} of a shift is not in (0, inf)",
            self.distance
        )
    }
}

impl core::error::Error for NotAShift {}

/// What a unit is stored as, before it is believed.
#[derive(Deserialize)]
struct Stored {
    distance: f64,
    columns: u64,
}

impl TryFrom<Stored> for ShiftUnit {
    type Error = NotAShift;
    fn try_from(stored: Stored) -> Result<Self, NotAShift> {
        Ok(ShiftUnit {
            columns: stored.columns,
            ..Self::new(stored.distance)?
        })
    }
}

impl ShiftUnit {
    /// A distance of 1 in the numbers as they are.
    pub const ONE: Self = ShiftUnit {
        distance: 1.0,
        columns: 0,
    };

    /// A distance in the owner's own units, the same in every column.
    ///
    /// **Errors**: [`NotAShift`] if it is not positive and finite.
    pub fn new(distance: f64) -> Result<Self, NotAShift> {
        if !(distance > 0.0 && distance.is_finite()) {
            return Err(NotAShift { distance });
        }
        Ok(ShiftUnit {
            distance,
            columns: 0,
        })
    }

    /// The same number of lengthscales: `lengthscales` what each column was divided by,
    /// `logarithms` where the logarithm was taken before. If every column was treated alike and
    /// without logarithm, the distance in the owner's own units.
    ///
    /// **Errors**: [`NotAShift`] if that distance is not positive and finite.
    pub fn of_columns(self, lengthscales: &[f64], logarithms: &[bool]) -> Result<Self, NotAShift> {
        let alike =
            lengthscales.windows(2).all(|pair| pair[0] == pair[1]) && !logarithms.contains(&true);
        if alike && self.columns == 0 {
            return Self::new(
                self.distance * lengthscales.first().map_or(1.0, |lengthscale| *lengthscale),
            );
        }
        let mut frame = Frame::leaf();
        frame.u64(self.columns);
        lengthscales
            .iter()
            .for_each(|lengthscale| frame.u64(lengthscale.to_bits()));
        logarithms
            .iter()
            .for_each(|logarithm| frame.bytes(&[u8::from(*logarithm)]));
        let mut first = [0; 8];
        first
            .iter_mut()
            .zip(frame.end().0)
            .for_each(|(to, from)| *to = from);
        Ok(ShiftUnit {
            distance: self.distance,
            columns: u64::from_le_bytes(first).max(1),
        })
    }

    /// The distance, positive and finite.
    pub const fn distance(&self) -> f64 {
        self.distance
    }

    /// Fingerprint of the columns' lengthscales and logarithms; 0 if the distance is in the owner's
    /// own units.
    pub const fn columns(&self) -> u64 {
        self.columns
    }
}

impl fmt::Display for ShiftUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.columns {
            0 => write!(f, "{}", self.distance),
            columns => write!(
                f,
                "{} lengthscales of the columns {columns:016x}",
                self.distance
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_judged_wherever_it_comes_from() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(ShiftUnit::new(bad).is_err());
            let mut bytes = [0u8; 20];
            let used = postcard::to_slice(&(bad, 7u64), &mut bytes).unwrap().len();
            assert!(
                postcard::from_bytes::<ShiftUnit>(&bytes[..used]).is_err(),
                "{bad}"
            );
        }
        let unit = ShiftUnit::new(0.25)
            .unwrap()
            .of_columns(&[1.0, 2.0], &[false, false])
            .unwrap();
        let mut bytes = [0u8; 20];
        let used = postcard::to_slice(&unit, &mut bytes).unwrap().len();
        assert_eq!(postcard::from_bytes::<ShiftUnit>(&bytes[..used]), Ok(unit));
    }

    #[test]
    fn columns_that_differ_are_other_units_and_equal_ones_are_the_owner_s() {
        let quarter = ShiftUnit::new(0.25).unwrap();
        let of = |lengthscales: &[f64], logarithms: &[bool]| {
            quarter.of_columns(lengthscales, logarithms).unwrap()
        };
        assert_eq!(of(&[2.0, 2.0], &[false; 2]), ShiftUnit::new(0.5).unwrap());
        let units = [
            of(&[1.0, 2.0], &[false; 2]),
            of(&[2.0, 1.0], &[false; 2]),
            of(&[1.0, 2.0], &[true, false]),
            of(&[1.0; 2], &[true; 2]),
        ];
        for (i, a) in units.iter().enumerate() {
            assert!(a.columns() != 0 && units[..i].iter().all(|b| b != a));
        }
        assert!(quarter.of_columns(&[1e308 * 10.0], &[false]).is_err());
    }
}
