//! What every scenario has.

use super::keys::{Documented, keys};
use super::reader::{Problem, Section};
use super::rule::whole;
use super::trust::Trust;

keys! {
    /// What every scenario has.
    pub struct Head {
        /// Who may see what; decides which sections there are.
        trust: Trust [is Trust::Federated];
        /// Name in tables and folders.
        name: String [given "my-scenario"];
        /// One line for people.
        description: String [given "what it shows"];
        /// Seed of everything that is simulated; run i draws from hash(seed, i), so ten runs are a prefix of thirty.
        seed: u64 [is 0];
        /// Paired runs: in one run all methods meet the same functions, initial points and noise.
        runs: u32 [is 10] in whole(1, 100_000);
    }
}

impl Head {
    /// Takes its keys from the root, which may have these sections beside them and nothing else.
    pub(super) fn take_before(root: &mut Section, sections: &[&'static str]) -> Result<Self, Problem> {
        let keys = Self::tables().into_iter().flat_map(|table| table.keys).map(|key| key.name);
        root.only_names(keys.chain(sections.iter().copied()).collect())?;
        Self::take(root)
    }
}
