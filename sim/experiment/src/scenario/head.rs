//! What every scenario has.

use super::keys::{Documented, keys};
use super::reader::{Problem, Section};
use super::rule::whole;

/// Name of the federated trust model, whose methods are compared by sums over rounds.
pub const FEDERATED: &str = "federated";

keys! {
    /// What every scenario has.
    pub struct Head {
        /// Who may see what: `federated`, `outsourced`, `local` or `output`; decides which sections
        /// there are.
        trust: String [is FEDERATED.to_owned()];
        /// Name in tables and folders.
        name: String [given "my-scenario"];
        /// One line for people.
        description: String [given "what it shows"];
        /// Seed of everything that is simulated; run i draws from hash(seed, i), so ten runs are a
        /// prefix of thirty.
        seed: u64 [is 0];
        /// Paired runs: in one run all methods meet the same functions, initial points and noise.
        runs: u32 [is 10] in whole(1, 100_000);
    }
}

impl Head {
    /// Takes its keys from the root of a scenario of the trust model `trust`, which may also have
    /// these `sections` and nothing else.
    ///
    /// **Errors**: another key, a value that is not admissible, another trust model.
    pub fn take_before(
        root: &mut Section,
        sections: &[&'static str],
        trust: &str,
    ) -> Result<Self, Problem> {
        let keys = Self::tables()
            .into_iter()
            .flat_map(|table| table.keys)
            .map(|key| key.name);
        root.only_names(keys.chain(sections.iter().copied()).collect())?;
        let head = Self::take(root)?;
        if head.trust == trust {
            Ok(head)
        } else {
            Err(root.refuse("trust", head.trust, format!("\"{trust}\"")))
        }
    }
}
