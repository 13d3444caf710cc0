//! Scenarios of the trust model `output`.
