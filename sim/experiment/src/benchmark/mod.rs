//! The field's test functions for optimisers, tables of real values, and designs of points in the
//! unit box.
//!
//! | module | what it holds |
//! |---|---|
//! | `function` | Branin, Hartmann, Ackley, Levy, Rosenbrock over the unit box, turned so that more is better |
//! | `measured` | values measured on real data, compiled in |
//! | `fedhpo` | a synthetic table of federated trainings, compiled in |
//! | [`design`] | a grid, Sobol' points, a Latin hypercube |

pub mod design;
pub(crate) mod fedhpo;
pub(crate) mod function;
pub(crate) mod measured;

pub use design::Design;
pub use function::TestFunction;
pub use measured::Measured;
