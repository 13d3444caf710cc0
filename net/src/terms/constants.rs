//! What a device of a campaign is compiled with, from the terms alone.

use sordino_core::federated::exchange::Protocol;
use sordino_core::federated::shares::Trust;
use sordino_engine::federated::export::{CampaignExport, ExportError, Language};
use sordino_host::space::{Goal, Values};

use super::{Terms, TermsError};

/// Why no device is compiled for some terms.
#[derive(Debug, thiserror::Error)]
pub enum ConstantsError {
    /// Another method.
    #[error(
        "the constants of a device are those of a campaign here; those of a scenario: sordino export"
    )]
    Method,
    /// Terms of two servers.
    #[error(
        "a site on a device hides nothing yet, and in these terms no server sees a contribution"
    )]
    TwoServers,
    /// The terms are none.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// They cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl Terms {
    /// A source file for a device that takes part in a campaign: the agreement with its digest,
    /// landmarks, points to choose from. `said` is what its owner agrees to.
    ///
    /// **Errors**: [`ConstantsError`].
    pub fn constants(&self, said: &str, language: Language) -> Result<String, ConstantsError> {
        let Protocol::Campaign(protocol) = &self.agreement.protocol else {
            return Err(ConstantsError::Method);
        };
        if protocol.config.parameters().trust == Trust::TwoServers {
            return Err(ConstantsError::TwoServers);
        }
        let campaign = self.campaign()?;
        let parameters = campaign.publication().space.parameters();
        let parameters: Vec<_> = parameters
            .iter()
            .map(|one| (one.name.clone(), meaning(&one.values)))
            .collect();
        let export = CampaignExport {
            said,
            minimises: campaign.publication().goal == Goal::Minimize,
            agreement: &self.agreement,
            landmarks: campaign.context().landmarks(),
            points: campaign.coordinates(),
            numbers: campaign.points(),
            parameters: &parameters,
        };
        Ok(export.text(language)?)
    }
}

/// What a number of a parameter means.
fn meaning(values: &Values) -> String {
    match values {
        Values::Number {
            low,
            high,
            log,
            integer,
        } => {
            let kind = if *integer {
                "a whole number"
            } else {
                "a number"
            };
            format!(
                "{kind} from {low} to {high}{}",
                if *log {
                    ", at equal distances of its logarithm"
                } else {
                    ""
                }
            )
        }
        Values::Choices { choices, .. } => {
            let named =
                |(place, choice): (usize, &serde_json::Value)| format!("{place} is {choice}");
            choices
                .iter()
                .enumerate()
                .map(named)
                .collect::<Vec<_>>()
                .join(", ")
        }
    }
}
