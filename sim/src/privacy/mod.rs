//! Does the shipped release path lose more than is claimed? The accountants themselves are core's.

pub mod audit;
