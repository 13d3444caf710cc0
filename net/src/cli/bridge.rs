//! `sordino-net bridge`: connections between agents and a server, carried by an MQTT 5 broker.

use clap::Args;
use sordino_experiment::command_line::error::CliError;
use tokio::net::TcpListener;

use super::common;
use crate::bridge::{self, Broker};
use crate::tunnel::host_and_port;

/// The environment variable that holds the broker's password: everybody on a machine can see
/// arguments.
const PASSWORD: &str = "SORDINO_BROKER_PASSWORD";

/// Which broker, for all commands that use one.
#[derive(Clone, Debug, Args)]
pub struct Via {
    /// Carry connections over this MQTT 5 broker, which need not be trusted
    #[arg(long, value_name = "HOST:PORT")]
    pub broker: Option<String>,
    /// User name at the broker; the password is taken from SORDINO_BROKER_PASSWORD
    #[arg(long, value_name = "USER", requires = "broker")]
    pub broker_user: Option<String>,
    /// Distinguishes this federation from others on the broker: letters, digits and `-`
    #[arg(long, value_name = "NAME", default_value = "federation")]
    pub bridge: String,
}

impl Via {
    /// The broker, if there is one.
    pub fn broker(&self) -> Result<Option<Broker>, CliError> {
        let Some(address) = &self.broker else {
            return Ok(None);
        };
        let (host, port) = host_and_port(address)
            .ok_or_else(|| CliError::input(format!("--broker {address}: HOST:PORT is expected")))?;
        let host = host.to_owned();
        let name = self.bridge.clone();
        if name.is_empty()
            || !name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(CliError::input(format!(
                "--bridge {name:?}: letters, digits and `-` are expected"
            )));
        }
        let credentials = match &self.broker_user {
            Some(user) => {
                let password = std::env::var(PASSWORD);
                let missing =
                    |error| CliError::input(format!("--broker-user {user}: {PASSWORD}: {error}"));
                Some((user.clone(), password.map_err(missing)?))
            }
            None => None,
        };
        Ok(Some(Broker {
            host,
            port,
            credentials,
            name,
        }))
    }
}

/// Arguments of `bridge`.
#[derive(Clone, Debug, Args)]
pub struct Bridge {
    #[command(flatten)]
    via: Via,
    /// At the server's end: the address at which the server listens
    #[arg(
        long,
        value_name = "HOST:PORT",
        required_unless_present = "listen",
        conflicts_with = "listen"
    )]
    to: Option<String>,
    /// At the agents' end: the address that agents connect to in place of the server's
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

/// Executes the command; it never ends by itself.
pub fn execute(arguments: &Bridge) -> Result<(), CliError> {
    let broker = arguments
        .via
        .broker()?
        .ok_or_else(|| CliError::input("--broker HOST:PORT is needed"))?;
    let carried = common::wait(async {
        match (&arguments.listen, &arguments.to) {
            (Some(address), _) => {
                let listener = TcpListener::bind(address).await;
                let listener = listener
                    .map_err(|error| CliError::failure(format!("--listen {address}: {error}")))?;
                bridge::near(listener, broker)
                    .await
                    .map_err(CliError::failure)
            }
            (None, Some(to)) => bridge::far(to.clone(), broker)
                .await
                .map_err(CliError::failure),
            (None, None) => Err(CliError::input("--to or --listen is needed")),
        }
    });
    carried?
}
