//! The widest vector instructions that computations may use: those of the machine, or what
//! `SORDINO_WIDTH` says.
//!
//! No result depends on them ([`sordino_core::dispatch`]); the variable exists to compare times,
//! and to test that no result does.

use sordino_core::dispatch::Width;

/// The variable that is read.
pub const VARIABLE: &str = "SORDINO_WIDTH";

/// Why the width that is asked for cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum WidthError {
    /// Not the name of a width.
    #[error("{VARIABLE} is {name:?}; it may be baseline, avx2 or avx512")]
    Unknown {
        /// What the variable says.
        name: String,
    },
    /// This machine, or this build, has no vectors so wide.
    #[error("{VARIABLE} is {name}, but the widest vectors here are {widest}", name = .asked.name(), widest = .widest.name())]
    Missing {
        /// The width asked for.
        asked: Width,
        /// The widest vectors that there are.
        widest: Width,
    },
}

/// Limits the process to the width that the environment names, if it names one. Call it before
/// anything is computed.
///
/// **Errors**: [`WidthError`]; nothing has changed then.
pub fn from_environment() -> Result<Width, WidthError> {
    match std::env::var_os(VARIABLE) {
        Some(name) => limit(&name.to_string_lossy()),
        None => Ok(Width::used()),
    }
}

fn limit(name: &str) -> Result<Width, WidthError> {
    let asked = Width::named(name).ok_or_else(|| WidthError::Unknown {
        name: name.to_owned(),
    })?;
    let widest = Width::widest();
    if asked > widest {
        return Err(WidthError::Missing { asked, widest });
    }
    Ok(asked.limit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_widths_are_used_or_refused_by_name() {
        assert_eq!(
            limit("wide"),
            Err(WidthError::Unknown {
                name: "wide".to_owned()
            })
        );
        assert!(
            WidthError::Unknown {
                name: String::new()
            }
            .to_string()
            .contains("baseline, avx2 or avx512")
        );
        for asked in Width::ALL {
            let widest = Width::widest();
            if asked > widest {
                assert_eq!(
                    limit(asked.name()),
                    Err(WidthError::Missing { asked, widest })
                );
            } else {
                assert_eq!((limit(asked.name()), Width::used()), (Ok(asked), asked));
            }
        }
        assert_eq!(Width::Avx512.limit(), Width::widest());
    }
}
