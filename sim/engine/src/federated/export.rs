//! What a device that takes part must be compiled with: constants of a scenario as a Rust module or
//! a C header.
//!
//! Everything follows from the [`Agreement`](sordino_core::federated::exchange::Agreement), whose
//! bytes and digest are in both languages; the rest is the sizes that a compiler must know before
//! it can read them. No agent's seed is among the constants: a device draws its seed from entropy.

mod c;
mod campaign;
mod constants;
mod rust;

use clap::ValueEnum;

pub use campaign::CampaignExport;
pub use constants::{Export, ExportError};

/// The language of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// A module that uses sordino-core
    Rust,
    /// A header that includes nothing
    C,
}

/// The constants as a source file.
pub fn text(export: &Export, language: Language) -> String {
    match language {
        Language::Rust => rust::text(export),
        Language::C => c::text(export),
    }
}
