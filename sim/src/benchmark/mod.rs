//! Functions by which the field measures optimisers, and designs of points in the unit box.
//!
//! | module | what it holds |
//! |---|---|
//! | [`function`] | Branin, Hartmann, Ackley, Levy, Rosenbrock over the unit box, turned so that more is better |
//! | [`design`] | a grid, Sobol' points, a Latin hypercube |

pub mod design;
pub mod function;

pub use design::Design;
pub use function::TestFunction;
