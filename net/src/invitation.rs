//! What an agent needs to find its server, to recognise it, and to be recognised: one line of text.
//!
//! `sordino://HOST:PORT/RUN/SLOT?terms=…&pin=…&pin=…&token=…`: the run in 16 hexadecimal digits,
//! the digest of the terms, two fingerprints, of the key that the server has and of the one that it
//! will have after a rotation (one is enough), and a token that is good for one key. The line is a
//! secret until it is used. Where the terms name an authority, an agent's certificate says who it
//! is: there is no token, and nothing in the line is secret. Where there are two servers,
//! `helper=…` before the token is the key of the helper's masks.

use std::fmt;
use std::str::FromStr;

use sordino_core::digest::Digest;

use crate::shares::MaskKey;
use crate::tunnel::host_and_port;
use sordino_host::hex::{from_hex, hex};
use sordino_host::signature::Fingerprint;

/// Random bytes that bind a slot to the first key that shows them.
pub type Token = [u8; 16];

/// All that an invitation says.
#[derive(Clone, Debug, PartialEq)]
pub struct Invitation {
    /// Where the server is: `HOST:PORT`.
    pub address: String,
    /// The public number of the run.
    pub deployment: u64,
    /// Which agent of the federation this is.
    pub slot: u32,
    /// The digest of the terms.
    pub terms: Digest,
    /// Keys that the server may have, one or two.
    pub pins: Vec<Fingerprint>,
    /// What to show once; none where an authority signs for agents.
    pub token: Option<Token>,
    /// The key of the helper's masks, where there are two servers: whoever has its secret half and
    /// the leader's disk sees vectors.
    pub helper: Option<MaskKey>,
}

/// A line that is not an invitation, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an invitation: {0}; the whole line that `sordino invite` printed is needed")]
pub struct NoInvitation(pub &'static str);

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sordino://{}/{:016x}/{}?terms={}",
            self.address, self.deployment, self.slot, self.terms
        )?;
        self.pins
            .iter()
            .try_for_each(|pin| write!(f, "&pin={pin}"))?;
        self.helper
            .iter()
            .try_for_each(|helper| write!(f, "&helper={helper}"))?;
        self.token
            .iter()
            .try_for_each(|token| write!(f, "&token={}", hex(token)))
    }
}

impl FromStr for Invitation {
    type Err = NoInvitation;

    fn from_str(text: &str) -> Result<Self, NoInvitation> {
        let rest = text
            .trim()
            .strip_prefix("sordino://")
            .ok_or(NoInvitation("it does not begin with `sordino://`"))?;
        let (path, query) = rest
            .split_once('?')
            .ok_or(NoInvitation("it ends before `?`"))?;
        let mut parts = path.split('/');
        let (Some(address), Some(run), Some(slot), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NoInvitation("HOST:PORT/RUN/SLOT is expected"));
        };
        if host_and_port(address).is_none() {
            return Err(NoInvitation("the address is not HOST:PORT"));
        }
        let run = from_hex(run).ok_or(NoInvitation("the run is not 16 hexadecimal digits"))?;
        let slot = slot
            .parse()
            .map_err(|_| NoInvitation("the slot is not a number"))?;
        let mut terms = None;
        let mut pins = Vec::new();
        let mut token = None;
        let mut helper = None;
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("terms", value)) => terms = from_hex(value).map(Digest),
                Some(("pin", value)) => {
                    pins.push(
                        value
                            .parse()
                            .map_err(|_| NoInvitation("a pin is not 64 hexadecimal digits"))?,
                    );
                }
                Some(("token", value)) if token.is_none() => {
                    token = Some(
                        from_hex(value)
                            .ok_or(NoInvitation("the token is not 32 hexadecimal digits"))?,
                    );
                }
                Some(("helper", value)) if helper.is_none() => {
                    let key = value
                        .parse()
                        .map_err(|_| NoInvitation("the helper is not 64 hexadecimal digits"))?;
                    helper = Some(key);
                }
                _ => {
                    return Err(NoInvitation(
                        "it has a part that is not terms, pin, helper or token",
                    ));
                }
            }
        }
        if !(1..=2).contains(&pins.len()) {
            return Err(NoInvitation("one or two pins are expected"));
        }
        Ok(Invitation {
            address: address.to_owned(),
            deployment: u64::from_be_bytes(run),
            slot,
            terms: terms.ok_or(NoInvitation("terms are not 64 hexadecimal digits"))?,
            pins,
            token,
            helper,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_and_what_was_cut_is_refused() {
        let pin: Fingerprint = "ab".repeat(32).parse().unwrap();
        let address = "[::1]:8443".to_owned();
        let token = Some([9; 16]);
        let pins = vec![pin, pin];
        let whole = Invitation {
            address,
            deployment: 0x12,
            slot: 3,
            terms: Digest([7; 32]),
            pins,
            token,
            helper: None,
        };
        let two = Invitation {
            helper: Some(MaskKey([5; 32])),
            ..whole.clone()
        };
        assert!(
            two.to_string()
                .contains(&format!("&helper={}&token=", "05".repeat(32)))
        );
        assert_eq!(two.to_string().parse(), Ok(two));
        let line = whole.to_string();
        assert_eq!(line.parse(), Ok(whole.clone()));
        // Without its token it is a line for a certificate, and with one pin it is whole as well.
        let certified = line.find("&token").unwrap();
        let one_pin = line.find("&pin").unwrap() + "&pin=".len() + 64;
        for end in (0..line.len()).filter(|end| ![certified, one_pin].contains(end)) {
            assert!(
                line[..end].parse::<Invitation>().is_err(),
                "{}",
                &line[..end]
            );
        }
        assert_eq!(
            line[..certified].parse(),
            Ok(Invitation {
                token: None,
                ..whole
            })
        );
        for more in [
            "&x=1",
            "&helper=05",
            "&token=09090909090909090909090909090909",
        ] {
            assert!(
                format!("{line}{more}").parse::<Invitation>().is_err(),
                "{more}"
            );
        }
    }
}
