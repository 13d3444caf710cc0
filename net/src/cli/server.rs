//! `sordino-net serve`, `invite`: what is done on the server's machine.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use sordino_core::federated::exchange::{Announced, Pace, Protocol};
use sordino_core::federated::shares::Trust;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use sordino_experiment::progress::log::Log;
use sordino_experiment::scenario::{Scenario, method, set_once};
use sordino_experiment::text::significant;
use sordino_host::entropy;
use sordino_host::files::{FileError, create_folders_privately, read_text, write_privately};
use sordino_host::ledger::{CounterPlace, LedgerError};

use super::campaign::{self, Campaign};
use super::common;
use super::fetch;
use super::join::INVITATION_BYTES_MAX;
use super::settings;
use super::signals::{Ends, Signals};
use crate::admin;
use crate::admission;
use crate::authority;
use crate::enrolment::{self, Offer};
use crate::folder::{Folder, LEDGER, PRIOR, is_ours};
use crate::help::address::{HelperAddress, NoHelperAddress};
use crate::invitation::Invitation;
use crate::progress::{done, note};
use crate::serve::leader::KnownHelper;
use crate::serve::{self, Begin, ServeError, Serving};
use crate::shares::{self, MaskKey};
use crate::terms::Terms;

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// What is searched, a space.toml with a goal: a campaign, which chooses every other number. Or
    /// a federated scenario from `sordino list`, or a file of one: numbers, candidates and privacy
    /// of the federation
    #[arg(value_name = "SPACE|SCENARIO|FILE")]
    pub(super) scenario: String,
    #[command(flatten)]
    pub(super) campaign: Campaign,
    /// Folder for everything that must not be lost; start again with the same folder to go on
    #[arg(long)]
    folder: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8443")]
    listen: String,
    /// Address that invitations name [default: --listen]
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Admit agents by certificates that this authority signed, its certificate in PEM or DER, and
    /// not by tokens
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Trust this server and its helper, of which either one is honest, in the place of this server
    /// alone: the helper's address with token and key, as `sordino help-serve` tells it; @FILE
    /// keeps the token from others on this machine
    #[arg(long, value_name = "URL|@FILE")]
    helper: Option<String>,
    /// A certificate for the leader of this run, sordino:RUN/leader, that the authority of the
    /// helper's owner signed, in PEM, for a helper that was started with --ca
    #[arg(long, value_name = "FILE", requires_all = ["key", "helper"])]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// How long a round is open
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = common::duration)]
    deadline: Duration,
    /// End a round when all have answered: everybody then sees that nobody was absent, and how many
    /// have joined, which no ε covers
    #[arg(long)]
    close_early: bool,
    /// The longest that agents are told to wait before they ask again [default: 15m; 10s with
    /// --close-early, where all wait for whoever sleeps]
    #[arg(long, value_name = "TIME", value_parser = common::duration)]
    ask_again: Option<Duration>,
    /// Time from the end of a round to the next announcement
    /// [default: 250ms; 2s in a campaign]
    #[arg(long, value_name = "TIME", value_parser = common::duration)]
    delay: Option<Duration>,
    /// How long the server stays after the last broadcast; with --close-early it leaves as soon as
    /// all have it
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = common::duration)]
    linger: Duration,
    /// Begin when this many agents have joined, and hold a round to which fewer have contributed:
    /// everybody then sees whether so many have, which no ε covers; 0 begins at once [default: all
    /// must have joined, and no round is held]
    #[arg(long, value_name = "AGENTS")]
    min_agents: Option<u32>,
    /// When the first round begins: all (have joined), a number of agents as in --min-agents, or a
    /// time as in --begin-at
    #[arg(long, value_name = "all|AGENTS|TIME", value_parser = begin_when, conflicts_with_all = ["min_agents", "begin_at"])]
    begin_when: Option<Begin>,
    /// Begin no earlier: 2026-12-01T08:00:00Z, or seconds since 1970; the agents of --min-agents
    /// must have joined as well
    #[arg(long, value_name = "TIME", value_parser = common::moment)]
    begin_at: Option<SystemTime>,
    /// Which method [default: the scenario's only one, or dp-fts-de]
    #[arg(long)]
    method: Option<String>,
    /// Replace a value of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Name of the data in the ledger alone, where it is not that of --dataset; a second folder
    /// with the same name is refused
    #[arg(long, value_name = "NAME")]
    data_name: Option<String>,
    /// State folder of the ledger's second count, which is in its folder `ledgers`; that of `join`
    /// on this machine, so that both tell of each other [default: $XDG_STATE_HOME/sordino, or
    /// ~/.local/state/sordino]
    #[arg(long, value_name = "DIR")]
    counter: Option<PathBuf>,
    /// Serve metrics in plain HTTP at this address; for addresses of this machine only
    #[arg(long, value_name = "HOST:PORT")]
    admin: Option<String>,
    /// Progress on standard error: lines for people, or JSON objects
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Serves the federation to its end.
pub fn serve(arguments: &Serve) -> Result<ExitCode, CliError> {
    arguments.log.begin();
    if let Some(address) = &arguments.admin {
        admin::of_this_machine(address).map_err(CliError::input)?;
    }
    let signals = signals(&arguments.folder)?;
    let helper = helper(arguments)?;
    let counter = match &arguments.counter {
        Some(folder) => CounterPlace::under(folder).map_err(CliError::failure)?,
        None => CounterPlace::of_user().map_err(CliError::failure)?,
    };
    let (folder, mut welcome) = begin(arguments, &counter)?;
    welcome.extend(serving_lines(&folder)?);
    let spread_ms = arguments.deadline.as_millis() as u64 / 20;
    let ask_again = arguments.ask_again.unwrap_or(if arguments.close_early {
        ASK_AGAIN_EARLY
    } else {
        ASK_AGAIN
    });
    let delay = arguments
        .delay
        .unwrap_or(match folder.terms.agreement.protocol {
            Protocol::Campaign(_) => DELAY_OF_A_CAMPAIGN,
            _ => DELAY,
        });
    let serving = Serving {
        listen: arguments.listen.clone(),
        admin: arguments.admin.clone(),
        data: data_name(arguments, &folder.terms)?,
        counter,
        delay,
        pace: Pace {
            ask_again_ms: ask_again.as_millis() as u64,
            spread_ms,
        },
        helper,
        certified: common::certified(arguments.certificate.as_ref(), arguments.key.as_ref()),
        begin: arguments.begin_when.unwrap_or(Begin {
            agents: arguments.min_agents,
            at: arguments.begin_at,
        }),
        linger: arguments.linger,
        welcome,
    };
    match signals.or_done(serve::serve(&folder, serving))? {
        ControlFlow::Continue(ended) => ended.map_err(failed)?,
        ControlFlow::Break(code) => return Ok(code),
    }
    let path = folder.path().display();
    let last = format!(
        "{}done; sordino replay {path} checks it\n",
        written(&folder)
    );
    print(&last)?;
    done(&last, folder.path());
    Ok(ExitCode::SUCCESS)
}

/// What ends a server, and what is kept of it then.
fn signals(folder: &Path) -> Result<Signals, CliError> {
    let folder = folder.to_owned();
    Signals::of(Ends::Well, move || {
        let path = folder.display();
        if folder.join(LEDGER).exists() {
            format!(
                "{path} has every release and its charge, a round that was open begins again: the same command goes on"
            )
        } else {
            "nothing was released or charged: the same command begins again".to_owned()
        }
    })
}

/// Name of the data set in the ledger of these terms.
fn data_name(arguments: &Serve, terms: &Terms) -> Result<String, CliError> {
    let publication = terms.publication().map_err(CliError::failure)?;
    let named = arguments.data_name.clone();
    let dataset = publication.map_or_else(
        || arguments.campaign.dataset().map(str::to_owned),
        |publication| Some(publication.dataset),
    );
    let named = named.or(dataset);
    Ok(named.unwrap_or_else(|| format!("federation {:016x}", terms.agreement.deployment)))
}

/// Where the folder is served, and how others come to it.
fn serving_lines(folder: &Folder) -> Result<Vec<String>, CliError> {
    let address = folder.address().map_err(CliError::failure)?;
    let path = folder.path().display();
    let agents = folder.terms.agreement.protocol.agents();
    let mut lines = vec![format!(
        "serving {path} at {address}; invitations: sordino invite {path} --agents 0..{agents}"
    )];
    if let Protocol::Campaign(_) = folder.terms.agreement.protocol {
        let key = folder.keys.present.fingerprint();
        let key = key.map_err(CliError::failure)?;
        let url = fetch::address(&address, folder.terms.agreement.deployment, &key);
        lines.push(format!(
            "after the first release, while this server runs, anybody begins with its file: sordino optimize --prior {url}"
        ));
    }
    Ok(lines)
}

/// Why a server ended, and what helps where the name of its data set is another folder's.
fn failed(error: ServeError) -> CliError {
    match error {
        ServeError::Ledger(error @ LedgerError::OtherLedger { gone: false, .. }) => {
            CliError::failure(format!(
                "{error}; if these are other data, --dataset gives them a name of their own"
            ))
        }
        error => CliError::failure(error),
    }
}

/// Where a campaign's file is, and what it is for; nothing of other methods.
fn written(folder: &Folder) -> String {
    let path = folder.path().join(PRIOR);
    if !path.is_file() {
        return String::new();
    }
    let path = path.display();
    format!(
        "{path} is the file: sordino optimize --prior {path}\nits address answers no longer; the same command serves it for a \
         while, or give the file to whoever wants it\n"
    )
}

/// The longest that agents are sent away for;
const ASK_AGAIN: Duration = Duration::from_secs(15 * 60);
/// and where a round ends with the last answer, so that nobody sleeps while all others wait.
const ASK_AGAIN_EARLY: Duration = Duration::from_secs(10);
/// From the end of a round to the next announcement, where nothing is said;
const DELAY: Duration = Duration::from_millis(250);
/// and in a campaign, whose releases take longer.
const DELAY_OF_A_CAMPAIGN: Duration = Duration::from_secs(2);

/// `all`, a number of agents, or a moment.
fn begin_when(text: &str) -> Result<Begin, String> {
    match text {
        "all" => Ok(Begin::default()),
        number if number.len() < 9 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(Begin {
                agents: number.parse().ok(),
                at: None,
            })
        }
        time => Ok(Begin {
            agents: None,
            at: Some(common::moment(time)?),
        }),
    }
}

/// The address of a helper is read up to this length.
const HELPER_BYTES_MAX: u64 = 1 << 12;

/// The helper that the arguments name.
fn helper(arguments: &Serve) -> Result<Option<HelperAddress>, CliError> {
    let Some(named) = &arguments.helper else {
        return Ok(None);
    };
    let text = match named.strip_prefix('@') {
        Some(path) => read_text(Path::new(path), HELPER_BYTES_MAX).map_err(CliError::failure)?,
        None => named.clone(),
    };
    text.parse()
        .map(Some)
        .map_err(|error: NoHelperAddress| CliError::input(format!("--helper: {error}")))
}

/// Refuses a federation of two servers without a helper, and a helper that nothing would use.
fn judged(arguments: &Serve, terms: &Terms) -> Result<(), CliError> {
    let trust = shares::trust(&terms.agreement.protocol);
    match (trust, &arguments.helper) {
        (Trust::TwoServers, None) => Err(CliError::input(
            "--helper is missing: privacy.trust = \"two-servers\" needs the address of the second, as `sordino help-serve` tells it",
        )),
        (Trust::OneServer, Some(_)) => Err(CliError::input(
            "--helper: this method is one server's; admissible: a campaign, or a federated prior",
        )),
        _ => Ok(()),
    }
}

/// The folder of these arguments, begun if it is new, and what its owner is told when it is served.
fn begin(arguments: &Serve, counter: &CounterPlace) -> Result<(Folder, Vec<String>), CliError> {
    let run = entropy::deployment().map_err(CliError::failure)?;
    let (mut terms, cautions) = match campaign::space(&arguments.scenario)? {
        Some(space) => {
            let none = arguments.method.is_none() && arguments.settings.is_empty();
            if !none {
                return Err(CliError::input(
                    "--method and --set are for scenarios: a campaign is made of its space",
                ));
            }
            let deadline_ms = arguments.deadline.as_millis() as u64;
            let may_close_early = arguments.close_early;
            let announced = Announced {
                epsilon_max: None,
                delta: 0.0,
                deadline_ms,
                may_close_early,
            };
            let trust = if arguments.helper.is_some() {
                Trust::TwoServers
            } else {
                Trust::OneServer
            };
            (
                arguments
                    .campaign
                    .terms(space, trust, &arguments.folder, announced, run)?,
                Vec::new(),
            )
        }
        None => of_scenario(arguments, run)?,
    };
    judged(arguments, &terms)?;
    let agents = terms.agreement.protocol.agents();
    let begin_when = arguments.begin_when.and_then(|begin| begin.agents);
    for (option, least) in [
        ("--min-agents", arguments.min_agents),
        ("--begin-when", begin_when),
    ] {
        if let Some(least) = least.filter(|least| *least > agents) {
            return Err(CliError::input(format!(
                "{option} {least}: this federation has {agents} agents"
            )));
        }
    }
    terms.authority = arguments.ca.as_deref().map(common::authority).transpose()?;
    let admitted = admission::admit(&terms).map_err(CliError::input)?;
    terms.work().iter().for_each(|work| note(work));
    // Every agent will compute it: better refused here.
    terms.factor().map_err(CliError::input)?;
    let ledger = arguments.folder.join(LEDGER);
    if !ledger.exists() {
        let data = data_name(arguments, &terms)?;
        serve::may_begin(&ledger, &terms, &data, counter).map_err(failed)?;
    }
    let folder = Folder::begin(&arguments.folder, terms.clone())
        .map_err(|error| settings::refused(&arguments.folder, error, &terms))?;
    folder
        .set_address(arguments.address.as_ref().unwrap_or(&arguments.listen))
        .map_err(CliError::failure)?;
    let cautions = cautions.iter().map(|caution| format!("warning: {caution}"));
    Ok((
        folder,
        [admitted.cost()].into_iter().chain(cautions).collect(),
    ))
}

/// The terms of a scenario, and what it cautions against.
fn of_scenario(arguments: &Serve, run: u64) -> Result<(Terms, Vec<String>), CliError> {
    arguments.campaign.refused()?;
    // What is added below takes the place of what people set.
    set_once(&arguments.settings)?;
    let read = |settings: &[String]| {
        common::scenario(&arguments.scenario, settings, arguments.method.as_deref())
    };
    let mut settings = arguments.settings.clone();
    settings.extend(
        arguments
            .helper
            .iter()
            .map(|_| "privacy.trust=\"two-servers\"".to_owned()),
    );
    let (mut scenario, mut method) = read(&settings)?;
    common::tell_unused(&scenario, method, &arguments.settings);
    let delta = announced_delta(&scenario);
    if delta != scenario.privacy.delta {
        // The plan of a federated prior is solved at the δ that is served.
        settings.push(format!("privacy.delta={delta}"));
        (scenario, method) = read(&settings)?;
    }
    if scenario.privacy.max_epsilon.is_none() {
        return Err(CliError::input(
            "privacy.max_epsilon is not set: a real federation has a budget; say --set privacy.max_epsilon=8",
        ));
    }
    admission::unit_box(&scenario).map_err(CliError::input)?;
    // Only the list of points is used: what agents measure there is their own.
    let functions = sordino_experiment::world::load(&scenario, None)
        .map_err(CliError::input)?
        .realize(scenario.run_seed(0));
    let announced = Announced {
        epsilon_max: scenario.privacy.max_epsilon,
        delta,
        deadline_ms: arguments.deadline.as_millis() as u64,
        may_close_early: arguments.close_early,
    };
    let terms = Terms::new(
        &scenario,
        method,
        functions.candidates(),
        functions.dim(),
        run,
        announced,
    );
    Ok((terms.map_err(CliError::input)?, cautions(scenario, delta)))
}

/// The δ that is announced. If it is not the scenario's, that is told.
fn announced_delta(scenario: &Scenario) -> f64 {
    let delta = scenario.privacy.delta;
    let announced = scenario.privacy.announced_delta(scenario.federation.agents);
    if announced != delta {
        note(&format!(
            "δ = {}, which is 1/(10 N): the scenario sets no privacy.delta, and the {} of simulations is too large to be served",
            significant(announced, 3),
            significant(delta, 3)
        ));
    }
    announced
}

/// What `run` cautions against, at the δ that is served.
fn cautions(mut scenario: Scenario, delta: f64) -> Vec<String> {
    scenario.privacy.delta = delta;
    scenario.federation.methods = vec![method::DP_FTS_DE.named()];
    scenario.own.clear();
    scenario.cautions()
}

/// Arguments of `invite`.
#[derive(Clone, Debug, Args)]
pub struct Invite {
    /// The server's folder
    folder: PathBuf,
    /// Which agents, as in 3 or 0..200
    #[arg(long, value_name = "RANGE", value_parser = common::agents)]
    agents: Range<u32>,
    /// Write each into a file of its own in this folder, 0.txt, 1.txt, …, which only you may read
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Nobody new may come with it after this moment, by the server's clock: 2026-12-01T08:00:00Z,
    /// or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = common::moment)]
    until: Option<SystemTime>,
    /// For sites that lost their folder: whoever comes first with it takes the slot from the key
    /// that it has, and begins anew
    #[arg(long)]
    again: bool,
}

/// Prints invitations, one on each line, or writes them into files. Each is a secret until it is
/// used, unless certificates say who agents are.
pub fn invite(arguments: &Invite) -> Result<(), CliError> {
    let folder = open(&arguments.folder)?;
    is_ours(folder.path()).map_err(CliError::failure)?;
    let agreement = &folder.terms.agreement;
    let count = agreement.protocol.agents();
    if arguments.agents.end > count {
        return Err(CliError::input(format!(
            "--agents {:?}: this federation has {count} agents",
            arguments.agents
        )));
    }
    let revoked = enrolment::revoked(folder.path()).map_err(CliError::failure)?;
    let (shut_out, invited): (Vec<u32>, Vec<u32>) = arguments
        .agents
        .clone()
        .partition(|slot| revoked.contains(slot));
    for slot in shut_out {
        note(&format!(
            "agent {slot} is shut out, for good: no invitation is made for it"
        ));
    }
    let address = folder.address().map_err(CliError::failure)?;
    let pins = folder.keys.pins().map_err(CliError::failure)?;
    let helper = invited_helper(&folder)?;
    let offer = Offer {
        next: Some(pins[1]),
        until: until(arguments, &folder)?,
        again: arguments.again,
    };
    if let Some(out) = &arguments.out {
        create_folders_privately(out).map_err(CliError::failure)?;
        // Before anything is written down.
        for slot in &invited {
            keep_others(&out.join(format!("{slot}.txt")), agreement.deployment)?;
        }
    }
    let mut tokens = Vec::new();
    for slot in invited.iter().copied() {
        let token = match folder.terms.authority {
            Some(_) => None,
            None => {
                let mut token = [0; 16];
                getrandom::fill(&mut token).map_err(CliError::failure)?;
                Some(token)
            }
        };
        tokens.push((slot, token));
    }
    enrolment::invite(folder.path(), &tokens, offer).map_err(CliError::failure)?;
    for (slot, token) in tokens {
        let address = address.clone();
        let deployment = agreement.deployment;
        let terms = folder.terms.digest();
        let pins = pins.into();
        let line = format!(
            "{}\n",
            Invitation {
                address,
                deployment,
                slot,
                terms,
                pins,
                token,
                helper
            }
        );
        match &arguments.out {
            None => print(&line)?,
            Some(out) => write_privately(&out.join(format!("{slot}.txt")), line.as_bytes())
                .map_err(CliError::failure)?,
        }
    }
    let Some(first) = invited.first() else {
        return Ok(());
    };
    if let Some(out) = &arguments.out {
        let count = invited.len();
        let out = out.display();
        note(&format!(
            "{count} invitations in {out}; a site says: sordino join @{out}/{first}.txt --command '…'"
        ));
    }
    if folder.terms.authority.is_some() {
        let run = agreement.deployment;
        note(&format!(
            "the certificate of agent {first} needs the URI {}",
            authority::name_of(run, *first)
        ));
    }
    Ok(())
}

/// Refuses to write over a file that is no invitation of this run: one of another federation may
/// not have been used yet.
fn keep_others(path: &Path, run: u64) -> Result<(), CliError> {
    let text = match read_text(path, INVITATION_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(()),
        // It is something else, whatever it says.
        Err(FileError::TooLong { .. } | FileError::NotText { .. }) => String::new(),
        Err(error) => return Err(CliError::failure(error)),
    };
    let what = match text.trim().parse::<Invitation>() {
        Ok(invitation) if invitation.deployment == run => return Ok(()),
        Ok(_) => "an invitation of another federation",
        Err(_) => "no invitation",
    };
    Err(CliError::input(format!(
        "{}: {what}; --out names another folder, and nobody was invited",
        path.display()
    )))
}

/// The key of the helper's masks, which invitations name where there are two servers.
fn invited_helper(folder: &Folder) -> Result<Option<MaskKey>, CliError> {
    if shares::trust(&folder.terms.agreement.protocol) == Trust::OneServer {
        return Ok(None);
    }
    let known = KnownHelper::read(folder.path()).map_err(CliError::failure)?;
    known.map(|known| Some(known.masks)).ok_or_else(|| {
        CliError::failure(
            "the helper was not reached yet, and invitations name its key: sordino serve does",
        )
    })
}

/// The last second at which somebody new may come, since 1970.
fn until(arguments: &Invite, folder: &Folder) -> Result<Option<u64>, CliError> {
    if folder.terms.authority.is_some() && (arguments.until.is_some() || arguments.again) {
        return Err(CliError::input(
            "--until and --again are for invitations with a token; here a certificate says who an agent is and how long",
        ));
    }
    if arguments.again && shares::trust(&folder.terms.agreement.protocol) == Trust::TwoServers {
        return Err(CliError::input(
            "--again: where there are two servers a slot keeps the key of its masks, which a site that lost its folder lost as well",
        ));
    }
    let Some(until) = arguments.until else {
        return Ok(None);
    };
    if until <= SystemTime::now() {
        return Err(CliError::input(
            "--until: a moment in the future is expected",
        ));
    }
    Ok(Some(
        until
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs(),
    ))
}

fn open(path: &Path) -> Result<Folder, CliError> {
    Folder::open(path).map_err(CliError::failure)
}
