//! The first line of every stored file that is not text: what it is, and in which version.
//!
//! `sordino NAME VERSION`, and a line feed. Version 1 is that of files that have no such line: it
//! is read, and what is written next has one. Files of text (`*.jsonl`, `agent.journal`) refuse
//! unknown keys by themselves; frames have the version of [`sordino_core::wire`].

/// What every first line begins with.
const MAGIC: &[u8] = b"sordino ";
/// A first line is no longer.
const LINE_MAX: usize = 64;
/// The version of files without a first line.
const BARE: u16 = 1;
/// The version that this program writes.
pub const VERSION: u16 = 2;

/// A file that this program does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Of a newer program.
    #[error(
        "{name}: version {found}, this program (sordino-net {}) reads versions {BARE} and {VERSION}: use the program that wrote it, or a \
         newer one; update the server first, then its agents", env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// What the file should be.
        name: &'static str,
        /// The version that it says.
        found: u16,
    },
    /// Something else.
    #[error("{name}: is {found:?}, another kind of file")]
    Other {
        /// What the file should be.
        name: &'static str,
        /// What its first line says.
        found: String,
    },
}

/// The content with its first line.
pub fn with_version(name: &str, content: &[u8]) -> Vec<u8> {
    [format!("sordino {name} {VERSION}\n").as_bytes(), content].concat()
}

/// The content behind the first line, and its version.
///
/// **Errors**: [`VersionError`].
pub fn content<'b>(name: &'static str, bytes: &'b [u8]) -> Result<(&'b [u8], u16), VersionError> {
    let head = &bytes[..bytes.len().min(LINE_MAX)];
    let line = head
        .iter()
        .position(|byte| *byte == b'\n')
        .map(|end| &head[..end]);
    let Some((line, said)) =
        line.and_then(|line| Some((line, std::str::from_utf8(line.strip_prefix(MAGIC)?).ok()?)))
    else {
        return Ok((bytes, BARE));
    };
    let version = said
        .split_once(' ')
        .filter(|(found, _)| *found == name)
        .and_then(|(_, version)| version.parse().ok());
    match version {
        Some(VERSION) => Ok((&bytes[line.len() + 1..], VERSION)),
        Some(found) => Err(VersionError::Newer { name, found }),
        None => Err(VersionError::Other {
            name,
            found: said.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_and_of_which_version() {
        let whole = with_version("round", b"content\nand more");
        assert_eq!(
            content("round", &whole),
            Ok((&b"content\nand more"[..], VERSION))
        );
        // Version 1 had no first line.
        for bare in [
            &b"{\"round\":0}\nframe"[..],
            b"",
            b"sordino without an end",
            &[0xff; 200],
        ] {
            assert_eq!(content("round", bare), Ok((bare, BARE)));
        }
        let newer = content("round", b"sordino round 3\nx").unwrap_err();
        assert_eq!(
            newer,
            VersionError::Newer {
                name: "round",
                found: 3
            }
        );
        let said = newer.to_string();
        assert!(
            said.contains("reads versions 1 and 2") && said.contains(env!("CARGO_PKG_VERSION")),
            "{said}"
        );
        for other in [
            &b"sordino agent 2\nx"[..],
            b"sordino round\nx",
            b"sordino round two\nx",
        ] {
            assert!(matches!(
                content("round", other),
                Err(VersionError::Other { .. })
            ));
        }
    }
}
