//! Where a helper is: `https://HOST:PORT/TOKEN#KEY,NEXT`, with the key that it shows and the one
//! that it will show after a rotation (one is enough); without the token where certificates say who
//! its leader is.

use std::fmt;
use std::str::FromStr;

use sordino_host::hex::{from_hex, hex};
use sordino_host::signature::Fingerprint;

use crate::invitation::Token;
use crate::tunnel::host_and_port;

/// Where a helper is, which keys it may show, and the token that makes a server its leader, if one
/// does: a secret until it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperAddress {
    /// Where it listens, `HOST:PORT`.
    pub address: String,
    /// What the leader shows once; none where its certificate says who it is.
    pub token: Option<Token>,
    /// Keys that the helper may show, one or two.
    pub pins: Vec<Fingerprint>,
}

/// A text that is no address of a helper, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the address of a helper: {0}; https://HOST:PORT/TOKEN#KEY is expected, as `sordino help-serve` tells it"
)]
pub struct NoHelperAddress(pub &'static str);

impl fmt::Display for HelperAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.map(|token| hex(&token)).unwrap_or_default();
        let pins: Vec<String> = self.pins.iter().map(Fingerprint::to_string).collect();
        write!(f, "https://{}/{token}#{}", self.address, pins.join(","))
    }
}

impl FromStr for HelperAddress {
    type Err = NoHelperAddress;

    fn from_str(text: &str) -> Result<Self, NoHelperAddress> {
        let rest = text
            .trim()
            .strip_prefix("https://")
            .ok_or(NoHelperAddress("it does not begin with `https://`"))?;
        let (place, pins) = rest
            .split_once('#')
            .ok_or(NoHelperAddress("it has no key behind `#`"))?;
        let (address, token) = place
            .split_once('/')
            .ok_or(NoHelperAddress("it has no token"))?;
        if host_and_port(address).is_none() {
            return Err(NoHelperAddress("the address is not HOST:PORT"));
        }
        let token = match token {
            "" => None,
            digits => Some(
                from_hex(digits)
                    .ok_or(NoHelperAddress("the token is not 32 hexadecimal digits"))?,
            ),
        };
        let pins: Vec<Fingerprint> = pins
            .split(',')
            .map(|pin| {
                pin.parse()
                    .map_err(|_| NoHelperAddress("a key is not 64 hexadecimal digits"))
            })
            .collect::<Result<_, _>>()?;
        if pins.len() > 2 {
            return Err(NoHelperAddress("more than two keys"));
        }
        Ok(HelperAddress {
            address: address.to_owned(),
            token,
            pins,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_and_what_was_cut_is_refused() {
        let pins = ["ab", "cd"].map(|byte| byte.repeat(32).parse::<Fingerprint>().unwrap());
        let whole = HelperAddress {
            address: "[::1]:8444".into(),
            token: Some([7; 16]),
            pins: pins.into(),
        };
        let text = whole.to_string();
        assert_eq!(text.parse(), Ok(whole.clone()));
        // With one key it is whole as well.
        let one = text.find(',').unwrap();
        assert_eq!(
            text[..one].parse(),
            Ok(HelperAddress {
                pins: vec![pins[0]],
                ..whole
            })
        );
        assert!(
            format!("{text},{}", pins[0])
                .parse::<HelperAddress>()
                .is_err()
        );
        for end in (0..text.len()).filter(|end| *end != one) {
            assert!(
                text[..end].parse::<HelperAddress>().is_err(),
                "{}",
                &text[..end]
            );
        }
        assert!(
            text.replace("https", "http")
                .parse::<HelperAddress>()
                .is_err()
        );
        let certified = HelperAddress {
            token: None,
            ..text.parse().unwrap()
        };
        assert_eq!(
            certified.to_string(),
            format!("https://[::1]:8444/#{},{}", pins[0], pins[1])
        );
        assert_eq!(certified.to_string().parse(), Ok(certified));
    }
}
