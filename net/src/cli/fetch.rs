//! `sordino-net fetch`: the file of a campaign, for a newcomer who has nothing but its address.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use sordino_experiment::command_line::error::CliError;
use sordino_host::hex::from_hex;
use sordino_host::prior::PriorFile;
use sordino_host::signature::Fingerprint;

use super::signals::{Ends, Signals};
use crate::folder::PRIOR;
use crate::identity::Identity;
use crate::join::WAIT_MAX;
use crate::link::{Link, LinkError};
use crate::progress::note;
use crate::tunnel::host_and_port;

/// The form of an address.
const FORM: &str = "https://HOST:PORT/v1/RUN/prior.safetensors#KEY";

/// Arguments of `fetch`.
#[derive(Clone, Debug, Args)]
pub struct Fetch {
    /// The address that `sordino serve` prints; what follows # is the fingerprint of its key, or
    /// two with a comma
    #[arg(value_name = "URL")]
    url: String,
    /// Where the file goes; - for standard output
    #[arg(long, value_name = "FILE|-", default_value = PRIOR)]
    out: PathBuf,
}

/// An address, taken apart.
struct Address {
    host: String,
    run: u64,
    pins: Vec<Fingerprint>,
}

/// The refusal of an address.
fn wrong(url: &str) -> String {
    format!("{url:?}: admissible: {FORM}")
}

/// Takes an address apart.
///
/// **Errors**: what is wrong with it.
fn parsed(url: &str) -> Result<Address, String> {
    let (rest, keys) = url
        .strip_prefix("https://")
        .ok_or_else(|| wrong(url))?
        .split_once('#')
        .ok_or_else(|| {
            format!("{url:?} names no key: admissible: {FORM}, as `sordino serve` prints it")
        })?;
    let mut parts = rest.split('/');
    let (Some(host), Some("v1"), Some(run), Some(PRIOR), None) = (
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
    ) else {
        return Err(wrong(url));
    };
    if host_and_port(host).is_none() {
        return Err(wrong(url));
    }
    let run = from_hex(run)
        .map(u64::from_be_bytes)
        .ok_or_else(|| wrong(url))?;
    let pins = keys
        .split(',')
        .map(|key| {
            key.parse()
                .map_err(|_| format!("{key:?} is no key: 64 hexadecimal digits are expected"))
        })
        .collect::<Result<Vec<Fingerprint>, _>>()?;
    if pins.len() > 2 {
        return Err(wrong(url));
    }
    Ok(Address {
        host: host.to_owned(),
        run,
        pins,
    })
}

/// The address of a server's file.
pub fn address(host: &str, run: u64, key: &Fingerprint) -> String {
    format!("https://{host}/v1/{run:016x}/{PRIOR}#{key}")
}

/// Fetches the file, checks it and its signature, and writes it.
pub fn execute(arguments: &Fetch) -> Result<ExitCode, CliError> {
    let signals = Signals::of(Ends::Unfinished, || "nothing was written".to_owned())?;
    let Address { host, run, pins } = parsed(&arguments.url).map_err(CliError::input)?;
    let tls = Identity::generate()
        .and_then(|stranger| stranger.client(&pins))
        .map_err(CliError::failure)?;
    let fetching = async { Link::new(&host, run, tls, WAIT_MAX).file().await };
    let bytes = match signals.or_done(fetching)? {
        ControlFlow::Continue(bytes) => bytes,
        ControlFlow::Break(code) => return Ok(code),
    };
    let bytes = bytes.map_err(|error| match error {
        LinkError::Status { status: 404, .. } => CliError::failure(
            "the server says 404: there is no file, of this run or not before its first release",
        ),
        LinkError::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused => CliError::failure(format!(
            "no connection: {error}; the address answers while its server runs, which leaves after --linger, and with --close-early once all sites have the \
             file: ask who serves it for {PRIOR} of the server's folder, or to start `sordino serve` again"
        )),
        error => CliError::failure(error),
    })?;
    let file = PriorFile::parse(&bytes).map_err(CliError::failure)?;
    let Some(signer) = file.signer().filter(|signer| pins.contains(signer)) else {
        return Err(CliError::failure(
            "the file is not signed by the key in its address",
        ));
    };
    if arguments.out == Path::new("-") {
        std::io::stdout()
            .write_all(&bytes)
            .map_err(CliError::failure)?;
        return Ok(ExitCode::SUCCESS);
    }
    file.save(&arguments.out).map_err(CliError::failure)?;
    note(&format!(
        "{}: digest {} of label and numbers, signed by {signer}",
        arguments.out.display(),
        file.digest()
    ));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `https:///v1/…` was an address, and its server the empty name.
    #[test]
    fn an_address_without_host_or_port_is_refused() {
        let key = "00".repeat(32).parse().unwrap();
        for host in ["", ":8443", "wards", "wards:", "wards:http", "wards:65536"] {
            let refused = parsed(&address(host, 7, &key)).err();
            assert!(refused.is_some_and(|why| why.contains(FORM)), "{host}");
        }
        for host in ["wards:8443", "[::1]:8443"] {
            let known = parsed(&address(host, 7, &key)).unwrap();
            assert_eq!((known.host.as_str(), known.run), (host, 7));
        }
    }
}
