//! What a campaign's terms say in words. It comes from the server, so that it is bounded, and held
//! against the agreement, before anything of it is read or shown.

use sha2::{Digest as _, Sha256};
use sordino_core::digest::Digest;
use sordino_core::federated::exchange::Protocol;
use sordino_host::campaign::TEXT_BYTES_MAX;
use sordino_host::prior::publish::Publication;
use sordino_host::space::{CHOICES_MAX, PARAMETERS_MAX, Values, is_name};
use sordino_host::text::cut;

/// A name of the server's is shown up to this many characters.
const NAME_SHOWN: usize = 60;

/// Why what the terms say in words was refused.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// More bytes than any campaign needs.
    #[error(
        "what is searched and published has {bytes} bytes; at most {TEXT_BYTES_MAX} are admissible"
    )]
    Length {
        /// Bytes of the text.
        bytes: usize,
    },
    /// Another text than the one whose digest the agreement holds.
    #[error(
        "what is searched and published is not what the agreement names: its text has SHA-256 {found}, {expected} was expected"
    )]
    Other {
        /// The digest of what came.
        found: Digest,
        /// The digest in the agreement.
        expected: Digest,
    },
    /// More parameters than a space has.
    #[error("{count} parameters; at most {PARAMETERS_MAX} are admissible")]
    Parameters {
        /// How many there are.
        count: usize,
    },
    /// A parameter's name that could pass for a sentence.
    #[error(
        "`{}` is no name of a parameter; admissible: 1 to 64 letters, digits and underscores",
        cut(.name, NAME_SHOWN)
    )]
    Name {
        /// The name as it came.
        name: String,
    },
    /// More choices than a parameter has.
    #[error(
        "`{}` has {count} choices; at most {CHOICES_MAX} are admissible",
        cut(.name, NAME_SHOWN)
    )]
    Choices {
        /// Name of the parameter.
        name: String,
        /// How many there are.
        count: usize,
    },
}

/// Refuses a text that is longer than admissible, or not the one of the agreement.
///
/// **Errors**: [`TextError::Length`], [`TextError::Other`].
pub(super) fn agreed(text: &str, protocol: &Protocol) -> Result<(), TextError> {
    let Protocol::Campaign(campaign) = protocol else {
        return Ok(());
    };
    few_bytes(text)?;
    let found = Digest(Sha256::digest(text.as_bytes()).into());
    let expected = campaign.publication;
    match found == expected {
        true => Ok(()),
        false => Err(TextError::Other { found, expected }),
    }
}

/// Refuses a text that is longer than admissible.
///
/// **Errors**: [`TextError::Length`].
pub(super) fn few_bytes(text: &str) -> Result<(), TextError> {
    match text.len() {
        bytes if bytes > TEXT_BYTES_MAX => Err(TextError::Length { bytes }),
        _ => Ok(()),
    }
}

/// Refuses more parameters, or choices of one, than a space has, and names that are none: before
/// they are written in words.
///
/// **Errors**: [`TextError::Parameters`], [`TextError::Name`], [`TextError::Choices`].
pub(super) fn few_choices(publication: &Publication) -> Result<(), TextError> {
    let parameters = publication.space.parameters();
    let count = parameters.len();
    if count > PARAMETERS_MAX {
        return Err(TextError::Parameters { count });
    }
    for parameter in parameters {
        if !is_name(&parameter.name) {
            let name = parameter.name.clone();
            return Err(TextError::Name { name });
        }
        if let Values::Choices { choices, .. } = &parameter.values
            && choices.len() > CHOICES_MAX
        {
            return Err(TextError::Choices {
                name: parameter.name.clone(),
                count: choices.len(),
            });
        }
    }
    Ok(())
}
