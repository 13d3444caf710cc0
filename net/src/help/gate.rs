//! Who may ask a helper: its leader, by the key of its connections, or by what its certificate
//! says.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::pki_types::{CertificateDer, UnixTime};
use sordino_host::signature::Fingerprint;

use crate::authority::{Leaders, name_of_leader};
use crate::identity::fingerprint_of;
use crate::invitation::Token;

/// Who leads a federation of two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedBy {
    /// The key that showed the token.
    Key(Fingerprint),
    /// Whoever has a certificate for the leader of this run, which an authority of the helper's
    /// owner signed.
    Certificate(u64),
}

impl fmt::Display for LedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedBy::Key(key) => write!(f, "{key}"),
            LedBy::Certificate(run) => f.write_str(&name_of_leader(*run)),
        }
    }
}

impl FromStr for LedBy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(key) = text.parse() {
            return Ok(LedBy::Key(key));
        }
        let run = text
            .split([':', '/'])
            .nth(1)
            .and_then(|run| u64::from_str_radix(run, 16).ok());
        let run = run.filter(|run| name_of_leader(*run) == text);
        run.map(LedBy::Certificate)
            .ok_or("neither a key nor sordino:RUN/leader")
    }
}

/// What makes a server the leader of a helper that has none.
pub enum Admits {
    /// This token, shown once.
    Token(Token),
    /// A certificate of this authority.
    Authority(Leaders),
}

/// Who may ask: the leader, or whoever may become it while there is none.
pub struct Gate {
    admits: Admits,
    leader: Mutex<Option<LedBy>>,
}

/// Whether two tokens are the same: all bytes are compared, whatever the first ones say.
fn is_same(token: &Token, shown: &Token) -> bool {
    shown
        .iter()
        .zip(token)
        .fold(0, |differs, (a, b)| differs | (a ^ b))
        == 0
}

impl Gate {
    /// A gate with the leader that is known, if there is one.
    pub fn new(admits: Admits, leader: Option<LedBy>) -> Self {
        Gate {
            admits,
            leader: Mutex::new(leader),
        }
    }

    /// Who the leader is; held until it is dropped.
    pub(super) fn leader(&self) -> MutexGuard<'_, Option<LedBy>> {
        // It is there or not: a thread that panicked left a whole one.
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is at the other end of a connection, as its handshake showed; nothing for what is no
    /// certificate.
    ///
    /// **Errors**: why an authority's certificate makes it nobody, in the words that it is told.
    pub(super) fn caller(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Option<Result<LedBy, String>> {
        match &self.admits {
            Admits::Token(_) => Some(Ok(LedBy::Key(fingerprint_of(chain.first()?).ok()?))),
            Admits::Authority(leaders) => Some(
                leaders
                    .run(chain, now)
                    .map(LedBy::Certificate)
                    .map_err(|refused| refused.to_string()),
            ),
        }
    }

    /// Whether a caller is the leader, or may become it: that there is none yet says nothing of who
    /// calls.
    pub(super) fn may_lead(&self, caller: &Result<LedBy, String>) -> bool {
        match (*self.leader(), caller) {
            (Some(leader), Ok(caller)) => leader == *caller,
            (None, caller) => caller.is_ok(),
            (Some(_), Err(_)) => false,
        }
    }

    /// Whether a caller may ask, having shown this token.
    pub(super) fn admits(&self, caller: &LedBy, shown: Option<Token>) -> bool {
        match (*self.leader(), &self.admits) {
            (Some(leader), _) => leader == *caller,
            (None, Admits::Token(token)) => shown.is_some_and(|shown| is_same(token, &shown)),
            (None, Admits::Authority(_)) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_comes_back_from_its_text_in_one_spelling() {
        let key: Fingerprint = "ab".repeat(32).parse().unwrap();
        for leader in [
            LedBy::Key(key),
            LedBy::Certificate(0x0123_4567_89ab_cdef),
            LedBy::Certificate(1),
        ] {
            assert_eq!(leader.to_string().parse(), Ok(leader));
        }
        for bad in [
            "",
            "ab",
            "sordino:0123456789ABCDEF/leader",
            "sordino:1/leader",
            "sordino:0123456789abcdef/0",
        ] {
            assert!(bad.parse::<LedBy>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_makes_the_first_leader_and_nothing_makes_a_second() {
        let token = [7; 16];
        let [first, second] = ["ab", "cd"].map(|byte| LedBy::Key(byte.repeat(32).parse().unwrap()));
        let gate = Gate::new(Admits::Token(token), None);
        assert!(
            gate.admits(&first, Some(token))
                && !gate.admits(&first, Some([0; 16]))
                && !gate.admits(&first, None)
        );
        assert!(gate.may_lead(&Ok(second)) && !gate.may_lead(&Err("expired".into())));
        *gate.leader() = Some(first);
        assert!(gate.admits(&first, None) && !gate.admits(&second, Some(token)));
        assert!(gate.may_lead(&Ok(first)) && !gate.may_lead(&Ok(second)));
    }
}
