//! The command line: arguments in, exit code out.
//!
//! | command | what it does |
//! |---|---|
//! | `cluster` | `sordino run` with the agents held by workers |
//! | `worker` | holds agents for a head |
//!
//! Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 2
//! usage or bad input, 130 and 143 interrupted by a signal, 1 anything else.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use sordino_engine::federated::TRUST;
use sordino_engine::hub::Hub;
use sordino_engine::{Model, Options};
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::number::{threads, whole};
use sordino_experiment::command_line::{ended, parsed};
use sordino_experiment::journal;
use sordino_experiment::progress::log::{self, Log};
use sordino_lab::command::run;

use crate::head::{Head, HeadError, Terms};
use crate::link::LinkError;
use crate::worker::{Worker, WorkerError};

/// One simulated federation on many machines.
#[derive(Debug, Parser)]
#[command(name = "sordino-cluster", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Execute a scenario as `sordino run` does, with the agents on workers; the same folder, byte
    /// for byte
    Cluster(Cluster),
    /// Hold agents for a head; may join, leave and come back at any moment
    Worker(WorkerArguments),
}

/// Arguments of `sordino cluster`.
#[derive(Clone, Debug, Args)]
struct Cluster {
    #[command(flatten)]
    run: run::Arguments,
    /// Address that workers connect to; anyone who can reach it is trusted with everything that is
    /// simulated
    #[arg(long, value_name = "ENDPOINT", default_value = "tcp/127.0.0.1:7447")]
    listen: String,
    /// Workers to wait for before the run begins; more may join later
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1, 10_000))]
    workers: u32,
}

/// Arguments of `sordino worker`.
#[derive(Clone, Debug, Args)]
struct WorkerArguments {
    /// Where the head listens; waits for a head that is not there yet
    #[arg(long, value_name = "ENDPOINT", default_value = "tcp/127.0.0.1:7447")]
    connect: String,
    /// Threads for arithmetic; changes no result [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,
    /// Data file of scenarios that read one, or folder of data files: the same as the head's
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Name of this worker in the head's messages [default: name of the machine and number of the
    /// process]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Wait for another run when one is complete
    #[arg(long)]
    stay: bool,
    /// Progress on standard error, for people or as JSON lines
    #[arg(long, value_enum, default_value_t)]
    log: Log,
}

/// Executes one command line, the program's name included.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parsed(arguments) {
        Ok(Arguments {
            command: Command::Cluster(arguments),
        }) => ended(cluster(&arguments)),
        Ok(Arguments {
            command: Command::Worker(arguments),
        }) => ended(worker(arguments)),
        Err(code) => code,
    }
}

fn cluster(arguments: &Cluster) -> Result<(), CliError> {
    arguments.run.for_a_hub()?;
    let mut opened: Option<Arc<Head>> = None;
    run::execute_on(&arguments.run, |model, options| {
        let head = opened
            .insert(Arc::new(head(arguments, model, options)?))
            .clone();
        Ok(Some(head as Arc<dyn Hub>))
    })?;
    opened
        .map_or(Ok(()), |head| head.farewell())
        .map_err(CliError::failure)
}

fn head(arguments: &Cluster, model: &dyn Model, options: &Options) -> Result<Head, CliError> {
    let head = model.head();
    if head.trust != TRUST.name {
        return Err(CliError::input(format!(
            "scenario `{}` is of trust model `{}`, which has no agents to hold; admissible: `{}`; many runs of others go by \
             sordino run --part",
            head.name, head.trust, TRUST.name
        )));
    }
    let scenario = model.resolved();
    let identity = journal::head(&scenario, options.data.as_deref())?.0;
    let listen = arguments.listen.clone();
    let workers = arguments.workers;
    let terms = Terms {
        listen,
        workers,
        scenario,
        identity,
    };
    Head::listen(terms, options.stop.clone()).map_err(|error| match error {
        HeadError::Link(error @ LinkError::Endpoint { .. }) => CliError::input(error),
        error => CliError::failure(error),
    })
}

fn worker(arguments: WorkerArguments) -> Result<(), CliError> {
    arguments.log.begin();
    let WorkerArguments {
        connect,
        threads,
        data,
        name,
        stay,
        ..
    } = arguments;
    let name = name.unwrap_or_else(|| {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .unwrap_or_else(|_| "worker".into());
        format!("{}:{}", host.trim(), std::process::id())
    });
    let done = Worker {
        connect,
        threads,
        data,
        name,
        stay,
    }
    .work();
    done.map_err(|error| match error {
        WorkerError::Link(error @ LinkError::Endpoint { .. }) => CliError::input(error),
        error => CliError::failure(error),
    })?;
    log::done(None, None);
    Ok(())
}
