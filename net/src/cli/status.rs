//! `sordino-net status`: how a federation stands.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use sordino_experiment::command_line::Format;
use sordino_experiment::command_line::error::CliError;
use sordino_experiment::command_line::print;
use tokio::net::TcpStream;

use super::common;
use crate::agent::replay::AGENT;
use crate::folder::TERMS;
use crate::help::folder::{ANSWERS, LEDGER, MASKS};
use crate::status::Standing;

/// An answer is read up to this length,
const BYTES_MAX: usize = 16 << 20;
/// and awaited for so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of `status`.
#[derive(Clone, Debug, Args)]
pub struct Status {
    /// The server's folder, or the address of its admin port, as in http://127.0.0.1:9464
    #[arg(value_name = "FOLDER|URL")]
    place: String,
    /// Text for people or one JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints how the federation stands.
pub fn execute(arguments: &Status) -> Result<(), CliError> {
    let standing = match arguments.place.strip_prefix("http://") {
        Some(host) => {
            let host = host.trim_end_matches('/');
            common::wait(in_time(host, PATIENCE))?.map_err(CliError::failure)?
        }
        None => of_folder(Path::new(&arguments.place))?,
    };
    match arguments.format {
        Format::Text => print(&standing.to_string()),
        Format::Json => print(&format!(
            "{}\n",
            standing.to_json().map_err(CliError::failure)?
        )),
    }
}

fn of_folder(folder: &Path) -> Result<Standing, CliError> {
    let shown = folder.display();
    if [AGENT, "agent.key"]
        .iter()
        .any(|name| folder.join(name).is_file())
    {
        return Err(CliError::input(format!(
            "{shown}: the folder of a site, which `sordino join` goes on with; the folder that `sordino serve` was given is needed"
        )));
    }
    if folder.join(ANSWERS).is_file() || folder.join(MASKS).is_file() {
        return Err(CliError::input(format!(
            "{shown}: the folder of a helper, whose standing its leader has; what it charged is in {}, which `sordino ledger` shows",
            folder.join(LEDGER).display()
        )));
    }
    if !folder.join(TERMS).is_file() {
        return Err(CliError::input(format!(
            "{shown}: no folder of a server; one has terms.bin"
        )));
    }
    match Standing::read(folder).map_err(|error| CliError::failure(format!("{shown}: {error}")))? {
        Some(standing) => standing.looked(folder).map_err(CliError::failure),
        None => Err(CliError::failure(format!(
            "{shown}: no server has written anything yet; sordino serve does"
        ))),
    }
}

/// What went wrong at an address.
fn failed(host: &str, error: impl std::fmt::Display) -> String {
    format!("http://{host}: {error}")
}

/// The standing that a server's admin port tells within this time.
async fn in_time(host: &str, patience: Duration) -> Result<Standing, String> {
    tokio::time::timeout(patience, asked(host))
        .await
        .unwrap_or_else(|_elapsed| {
            let seconds = patience.as_secs();
            Err(failed(host, format!("no answer within {seconds} s")))
        })
}

/// The standing that a server's admin port tells.
async fn asked(host: &str) -> Result<Standing, String> {
    let tcp = TcpStream::connect(host)
        .await
        .map_err(|error| failed(host, error))?;
    let io = TokioIo::new(tcp);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
        .await
        .map_err(|error| failed(host, error))?;
    tokio::spawn(async move { drop(connection.await) });
    let request = Request::get("/status")
        .header(hyper::header::HOST, host)
        .body(Empty::<Bytes>::new());
    let answer = sender
        .send_request(request.map_err(|error| failed(host, error))?)
        .await
        .map_err(|error| failed(host, error))?;
    if answer.status() != hyper::StatusCode::OK {
        let what = "not the admin port of a server of this version";
        return Err(failed(host, format!("{}: {what}", answer.status())));
    }
    let body = Limited::new(answer.into_body(), BYTES_MAX)
        .collect()
        .await
        .map_err(|error| failed(host, error))?;
    serde_json::from_slice(&body.to_bytes()).map_err(|error| failed(host, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that takes connections and says nothing was awaited for ever.
    #[test]
    fn an_address_that_says_nothing_is_not_awaited_for_ever() {
        let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let host = silent.local_addr().unwrap().to_string();
        let said = common::wait(in_time(&host, Duration::from_millis(50))).unwrap();
        assert_eq!(
            said.unwrap_err(),
            format!("http://{host}: no answer within 0 s")
        );
    }
}
