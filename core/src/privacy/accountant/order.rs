//! The grid of Rényi orders and the conversion to (ε, δ).
//!
//! **Example**: that of [`Row`].

use core::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AccountantError;
use crate::math::{self, Scalar};

/// Number of orders in [`ORDERS`].
pub const ORDER_COUNT: usize = 156;

/// The orders: 1.1, 1.2, …, 10.9; 11, 12, …, 63; 128, 256, 512, 1024. Each is the `f64` nearest to
/// its decimal.
pub static ORDERS: [f64; ORDER_COUNT] = {
    let mut orders = [0.0; ORDER_COUNT];
    let mut i = 0;
    while i < ORDER_COUNT {
        orders[i] = match i {
            0..99 => (11 + i) as f64 / 10.0, // a quotient of integers, correctly rounded
            99..152 => (i - 99 + 11) as f64,
            _ => (128 << (i - 152)) as f64,
        };
        i += 1;
    }
    orders
};

/// One number for each order of [`ORDERS`].
///
/// ```
/// use sordino_core::privacy::accountant::order::{ORDERS, Row};
/// use sordino_core::privacy::accountant::rdp::divergences;
/// use sordino_core::privacy::{Event, NeighboringRelation};
///
/// let mut row = Row::ZERO;
/// divergences(&Event::Gaussian { noise_multiplier: 2.0, relation: NeighboringRelation::ReplaceOne }, &mut row)?;
/// for (order, divergence) in ORDERS.iter().zip(row.0) {
///     assert!((divergence / (order / 8.0) - 1.0).abs() < 1e-9); // α/(2z²)
/// }
/// # Ok::<(), sordino_core::privacy::accountant::AccountantError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row(pub [f64; ORDER_COUNT]);

impl Row {
    /// The row of no event: zero at every order.
    pub const ZERO: Self = Row([0.0; ORDER_COUNT]);
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(ORDER_COUNT)?;
        self.0.iter().try_for_each(|x| tuple.serialize_element(x))?;
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;
        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{ORDER_COUNT} numbers ≥ 0")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Row, A::Error> {
                let mut row = Row::ZERO;
                for (i, slot) in row.0.iter_mut().enumerate() {
                    *slot = seq
                        .next_element()?
                        .ok_or_else(|| A::Error::invalid_length(i, &self))?;
                    if !(*slot >= 0.0) {
                        return Err(A::Error::custom("a Rényi divergence is never negative"));
                    }
                }
                Ok(row)
            }
        }
        deserializer.deserialize_tuple(ORDER_COUNT, RowVisitor)
    }
}

/// How far results are pushed up so that rounding never lowers a guarantee; errors are below a
/// tenth of it.
pub(super) const ROUND_UP: f64 = 1.0 + 1e-11;

/// ε at δ for a mechanism of Rényi divergence `divergence` at `order` > 1; +∞ if there is none.
///
/// **Equation**: ε = max(0, r + ln((α−1)/α) − (ln δ + ln α)/(α−1)); and ε = 0 if δ² > 1 − e^(−r),
/// because the total variation distance is at most √(1 − e^(−KL)) (Bretagnolle, Huber) and KL ≤ r.
///
/// **Parameters**: δ in (0, 1), checked by callers. **Source**: Canonne, Kamath, Steinke 2020,
/// Proposition 12.
pub fn epsilon(order: f64, divergence: f64, delta: f64) -> f64 {
    if divergence.is_nan() {
        return f64::INFINITY;
    }
    if delta * delta + math::exp_m1(-divergence) > 0.0 {
        return 0.0;
    }
    let epsilon = divergence + math::ln_1p(-1.0 / order)
        - (Scalar::ln(delta) + Scalar::ln(order)) / (order - 1.0);
    if epsilon > 0.0 {
        epsilon * ROUND_UP
    } else {
        0.0
    }
}

/// δ at ε, the same equation solved for δ: ln δ = (α−1)(r + ln((α−1)/α) − ε) − ln α; never above
/// √(1 − e^(−r)).
pub fn delta(order: f64, divergence: f64, epsilon: f64) -> f64 {
    if divergence.is_nan() {
        return 1.0;
    }
    let ln_delta =
        (order - 1.0) * (divergence + math::ln_1p(-1.0 / order) - epsilon) - Scalar::ln(order);
    let variation = Scalar::sqrt(-math::exp_m1(-divergence));
    let delta = if ln_delta < 0.0 {
        Scalar::exp(ln_delta)
    } else {
        1.0
    };
    let delta = if variation < delta { variation } else { delta } * ROUND_UP;
    if delta < 1.0 { delta } else { 1.0 }
}

/// δ is in (0, 1) or an error.
pub(super) fn check_delta(delta: f64) -> Result<(), AccountantError> {
    if delta > 0.0 && delta < 1.0 {
        Ok(())
    } else {
        Err(AccountantError::Delta(delta))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn orders_are_the_nearest_numbers_to_their_decimals() {
        for (i, order) in ORDERS.iter().enumerate().take(99) {
            let decimal = format!("{}.{}", (11 + i) / 10, (11 + i) % 10);
            assert_eq!(*order, decimal.parse::<f64>().unwrap());
        }
        assert_eq!(
            (
                ORDERS[98],
                ORDERS[99],
                ORDERS[151],
                ORDERS[152],
                ORDERS[155]
            ),
            (10.9, 11.0, 63.0, 128.0, 1024.0)
        );
        assert!(ORDERS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn epsilon_and_delta_are_inverse_and_monotone() {
        for order in [1.1, 2.0, 7.3, 1024.0] {
            for divergence in [1e-3, 0.1, 3.0, 40.0] {
                for d in [1e-10, 1e-5, 0.003] {
                    let e = epsilon(order, divergence, d);
                    if e > 0.0 {
                        let back = delta(order, divergence, e);
                        assert!(
                            (back / d - 1.0).abs() < 1e-6,
                            "{order} {divergence} {d}: {back}"
                        );
                    }
                    assert!(
                        epsilon(order, divergence, d * 2.0) <= e
                            && epsilon(order, divergence * 1.1, d) >= e
                    );
                }
            }
        }
        assert_eq!(epsilon(2.0, 0.0, 1e-10), 0.0);
        assert_eq!(epsilon(2.0, 1e-12, 1e-5), 0.0, "δ² > 1 − e^(−r)");
        assert_eq!(epsilon(2.0, f64::NAN, 0.1), f64::INFINITY);
        assert_eq!(delta(2.0, f64::INFINITY, 1.0), 1.0);
    }
}
