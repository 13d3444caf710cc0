//! Arguments of `serve` for a campaign: a space file, N and ε; everything else follows from them.

use std::path::Path;

use clap::Args;
use sordino_core::federated::exchange::Announced;
use sordino_core::federated::shares::Trust;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::scenario::federated::served_delta;
use sordino_experiment::text::significant;
use sordino_host::campaign::{self, SiteError};
use sordino_host::files::read_text;
use sordino_host::prior::PriorFileError;
use sordino_host::prior::doubts::if_few;
use sordino_host::prior::publish::Publication;
use sordino_host::space::{BYTES_MAX, SpaceFile};

use crate::progress::note;
use crate::terms::Terms;

/// Releases of a campaign, unless it says another number.
const RELEASES: u32 = 2;
/// Features of its file, unless it says another number.
const FEATURES: u32 = 100;

/// What a campaign says beside its space.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Campaign")]
pub struct Campaign {
    /// How many agents are enrolled, N, whoever takes part
    #[arg(long, value_name = "AGENTS")]
    agents: Option<u32>,
    /// The most ε that all releases cost together
    #[arg(long, value_name = "EPSILON")]
    epsilon: Option<f64>,
    /// The δ it is counted at [default: 1e-5, or 1/(10 N) if that is less]
    #[arg(long, value_name = "DELTA")]
    delta: Option<f64>,
    /// How many releases: each site contributes to all of them [default: 2]
    #[arg(long, value_name = "RELEASES")]
    releases: Option<u32>,
    /// The most features of the file: 50 makes one of 6 kB, for small devices [default: 100]
    #[arg(long, value_name = "FEATURES")]
    features: Option<u32>,
    /// Who asks, in words, for the label of the file
    #[arg(long, value_name = "TEXT")]
    by: Option<String>,
    /// Name of the data, in the ledger and in the label of a campaign's file; a second folder with
    /// the same name is refused [default: the name of --folder, of a scenario its run]
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,
}

/// The space that this argument names; nothing if it names a scenario.
///
/// **Errors**: a file that is not there; a file with parameters that is no space.
pub fn space(argument: &str) -> Result<Option<SpaceFile>, CliError> {
    let path = Path::new(argument);
    // A scenario of a file has its own words for this.
    if !path.exists()
        && path
            .extension()
            .is_some_and(|extension| extension == "toml")
    {
        return Err(CliError::input(format!(
            "{argument}: no such file, neither of a space nor of a scenario"
        )));
    }
    if !path.is_file() {
        return Ok(None);
    }
    let text = read_text(path, BYTES_MAX).map_err(CliError::failure)?;
    // A scenario has sections of other names.
    let is_space = text
        .lines()
        .any(|line| line.trim_start().starts_with("[parameters"));
    if !is_space {
        return Ok(None);
    }
    SpaceFile::parse(argument, &text)
        .map(Some)
        .map_err(CliError::input)
}

/// The last part of a path.
fn name_of(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    folder.file_name().map_or_else(
        || "campaign".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Campaign {
    /// Name of the data, if one was given: of a scenario for the ledger alone.
    pub fn dataset(&self) -> Option<&str> {
        self.dataset.as_deref()
    }

    /// Refuses what only a campaign has.
    ///
    /// **Errors**: the first option that was given.
    pub fn refused(&self) -> Result<(), CliError> {
        let given = [
            ("--agents", self.agents.is_some()),
            ("--epsilon", self.epsilon.is_some()),
            ("--delta", self.delta.is_some()),
            ("--releases", self.releases.is_some()),
            ("--features", self.features.is_some()),
            ("--by", self.by.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(CliError::input(format!(
                "{option} is for a campaign, which is served from a space file with sections [parameters.NAME]; a scenario \
                 says these numbers itself, or --set"
            ))),
            None => Ok(()),
        }
    }

    /// The terms of the campaign that searches this space; budget and δ of `announced` are the
    /// campaign's own.
    ///
    /// **Errors**: bad input, by the name of the option.
    pub fn terms(
        &self,
        file: SpaceFile,
        trust: Trust,
        folder: &Path,
        announced: Announced,
        run: u64,
    ) -> Result<Terms, CliError> {
        let missing =
            |option: &str, why: &str| CliError::input(format!("{option} is missing: {why}"));
        let agents = self
            .agents
            .ok_or_else(|| missing("--agents", "how many agents are enrolled"))?;
        let why = "what all releases may cost together, as in --epsilon 1";
        let epsilon = self.epsilon.ok_or_else(|| missing("--epsilon", why))?;
        let goal = file.goal.ok_or_else(|| {
            CliError::input(
                "goal is missing in the space: say goal = \"minimize\" or goal = \"maximize\"",
            )
        })?;
        let design = [
            ("design", file.design.is_some()),
            ("candidates", file.candidates.is_some()),
            ("seed", file.seed.is_some()),
            ("points", file.points.iter().any(Option::is_some)),
        ];
        if let Some((key, _)) = design.into_iter().find(|(_, given)| *given) {
            let why =
                format!("`{key}` in the space is for `sordino tune`: a campaign does not use it");
            return Err(CliError::input(why));
        }
        let delta = self
            .delta
            .unwrap_or_else(|| f64::min(1e-5, served_delta(agents)));
        let dataset = self.dataset.clone().unwrap_or_else(|| name_of(folder));
        let publication = Publication {
            space: file.space,
            goal,
            value: file.value,
            epsilon,
            delta,
            releases: self.releases.unwrap_or(RELEASES),
            features: self.features.unwrap_or(FEATURES),
            dataset: dataset.clone(),
            by: self.by.clone(),
            note: None,
            published: None,
        };
        let campaign = campaign::Campaign::trusting(publication, agents, trust).map_err(named)?;
        let announced = Announced {
            epsilon_max: Some(epsilon),
            delta,
            ..announced
        };
        let terms = Terms::of_campaign(&campaign, run, announced).map_err(CliError::input)?;
        if self.delta.is_none() {
            note(&format!(
                "δ = {}, unless --delta says another one",
                significant(delta, 3)
            ));
        }
        if self.dataset.is_none() {
            note(&format!(
                "what this campaign costs is counted under the data set {dataset:?}, the name of its folder, and under no other: if \
                 these sites' data were charged before, say their name by --dataset"
            ));
        }
        if let Some(doubt) = if_few(agents as usize, "sites", epsilon) {
            note(&format!("warning: {doubt}"));
        }
        Ok(terms)
    }
}

/// A refusal with the option that was given, of which the refused number is one.
fn named(error: SiteError) -> CliError {
    let SiteError::Refused(refused) = error else {
        return CliError::input(error);
    };
    let option = match refused.what.as_str() {
        "number of studies" => "--agents",
        "delta" => "--delta",
        "epsilon" => "--epsilon",
        "releases" => "--releases",
        "features" => "--features",
        other => other,
    };
    CliError::input(PriorFileError {
        what: option.to_owned(),
        ..refused
    })
}
