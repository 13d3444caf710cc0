//! The ledgers of all methods, joined once every method is finished.

use std::path::PathBuf;

use super::error::DriverError;
use crate::files::read_to_string_bounded;
use crate::journal::Journal;
use crate::record::{MethodRun, stored_name};

/// A longer ledger is not read.
const BYTES_MAX: u64 = 1 << 34;

/// Where the ledger of a method is, with all it was charged so far.
pub fn path(journal: &Journal, part: &str) -> PathBuf {
    journal.path(part, "ledger.jsonl")
}

/// The charges of all methods in the order of the results, one in each line.
///
/// **Errors**: a ledger that does not have one charge for each release of its method; the system's.
pub fn joined(journal: &Journal, results: &[MethodRun]) -> Result<String, DriverError> {
    let mut lines = String::new();
    for result in results.iter().filter(|result| result.releases > 0) {
        let path = path(journal, &stored_name(result.run, result.method.name()));
        let text = read_to_string_bounded(&path, BYTES_MAX)
            .map_err(|error| DriverError::Unreadable { path: path.clone(), error })?;
        // The first line says what the ledger is for.
        let charges = text.lines().count().saturating_sub(1);
        if charges != result.releases as usize {
            return Err(DriverError::Charges { path, charges, releases: result.releases });
        }
        for line in text.lines().skip(1) {
            // The chain runs through the ledger of one method: nothing could be checked by it among others.
            let charge = line.rsplit_once(",\"chain\":").map_or(line.to_owned(), |(charge, _)| format!("{charge}}}"));
            let fields = format!("{{\"run\":{},\"method\":\"{}\",", result.run, result.method);
            lines.push_str(&charge.replacen('{', &fields, 1));
            lines.push('\n');
        }
    }
    Ok(lines)
}
