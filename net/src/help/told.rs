//! Whose keys a leader has told its helper.

use sordino_core::federated::shares::Contributor;

use super::desk::Enrolling;

/// Agents whose keys a helper took, as its leader remembers. It is no promise of the helper: one
/// that lost them says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told(Vec<bool>);

impl Told {
    /// Agents in a set whose keys were not told.
    ///
    /// **Cost**: one look for each agent of the set.
    pub fn untold(&self, set: &[Contributor]) -> Vec<u32> {
        set.iter()
            .map(|contributor| contributor.agent)
            .filter(|agent| !self.0.get(*agent as usize).copied().unwrap_or(false))
            .collect()
    }

    /// The helper took these.
    pub fn add(&mut self, agents: &[Enrolling]) {
        for Enrolling { agent, .. } in agents {
            let at = *agent as usize;
            if self.0.len() <= at {
                self.0.resize(at + 1, false);
            }
            self.0[at] = true;
        }
    }

    /// The helper lost what it was told.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::MaskKey;

    #[test]
    fn nobody_is_told_twice_before_it_is_forgotten() {
        let set = |agents: &[u32]| {
            agents
                .iter()
                .map(|agent| Contributor {
                    agent: *agent,
                    attempt: 0,
                })
                .collect::<Vec<_>>()
        };
        let mut told = Told::default();
        assert_eq!(told.untold(&set(&[1, 4])), [1, 4]);
        told.add(&[1, 4].map(|agent| Enrolling {
            agent,
            key: MaskKey([0; 32]),
        }));
        assert_eq!(told.untold(&set(&[0, 1, 4, 9])), [0, 9]);
        told.forget();
        assert_eq!(told.untold(&set(&[1, 4])), [1, 4]);
    }
}
