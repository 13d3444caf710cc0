//! All numbers of the firmware, in one static: nothing large is ever on the stack.

use sordino_core::privacy::accountant::RdpAccountant;

/// Largest storage of an operation, in `f32`.
pub const NUMBERS: usize = 36_000;
/// Largest public context of an operation, in `f32`: a device keeps it in flash.
pub const PUBLIC: usize = 12_800;
/// Coordinates of the largest vector in integers.
pub const INTEGERS: usize = 128;

/// Numbers of a site of a campaign, in double precision.
pub const DOUBLES: usize = 2_400;
/// Candidates of all virtual designs of a member.
pub const DESIGNS: usize = 2560;

/// What operations borrow, one after the other.
pub struct Memory {
    /// Storage of the object under work.
    pub numbers: [f32; NUMBERS],
    /// Public context: rows of features.
    pub public: [f32; PUBLIC],
    /// Frequencies and phases of the shared features.
    pub features: [f32; 320],
    /// Vectors: points, weights, scratch.
    pub vectors: [f32; 512],
    /// A site of a campaign: landmarks, points, storage, what goes over its link.
    pub doubles: [f64; DOUBLES],
    /// Virtual designs.
    pub designs: [u32; DESIGNS],
    /// Sums of a release.
    pub integers: [i64; INTEGERS],
    /// What was spent.
    pub accountant: RdpAccountant,
}

impl Memory {
    /// All zero, so that it costs no flash.
    pub const fn new() -> Self {
        Memory {
            numbers: [0.0; NUMBERS],
            public: [0.0; PUBLIC],
            features: [0.0; 320],
            vectors: [0.0; 512],
            doubles: [0.0; DOUBLES],
            designs: [0; DESIGNS],
            integers: [0; INTEGERS],
            accountant: RdpAccountant::new(),
        }
    }
}
