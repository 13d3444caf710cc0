//! Finite feature maps φ with φ(x)·φ(x') ≈ k(x, x').
//!
//! | module | features | best when |
//! |---|---|---|
//! | [`random_fourier`] | cosines at random frequencies | any stationary kernel, any dimension; shared by all agents of a federation |

pub mod random_fourier;

pub use random_fourier::{FeatureError, RandomFourier};
