//! Who should hold how much: lots in proportion to threads, neighbours together, and no more moves
//! than needed.

use std::collections::BTreeMap;

use super::{Name, Plan, Stage};

impl Plan {
    /// Gives lots without a holder to the workers that have the fewest for their threads,
    /// neighbours together.
    pub(super) fn place(&mut self) {
        let mut free: Vec<usize> = (0..self.lots.len())
            .filter(|i| self.lots[*i].holder.is_none())
            .collect();
        let fair = self.fair();
        // At the beginning those that are just taking up the task are waited for.
        let opening = self
            .members
            .values()
            .any(|member| member.stage == Stage::Scenario);
        if free.is_empty() || opening && self.lots.iter().all(|lot| lot.holder.is_none()) {
            return;
        }
        // Up to the least for all, then up to the most; then every worker gets neighbours.
        let mut left = free.len();
        let mut quotas = BTreeMap::new();
        let shares = fair.iter().map(|(name, (least, _))| (name, least));
        for (name, share) in shares.chain(fair.iter().map(|(name, (_, most))| (name, most))) {
            let quota: &mut usize = quotas.entry(name).or_default();
            let more = share
                .saturating_sub(self.held_by(name).len() + *quota)
                .min(left);
            (*quota, left) = (*quota + more, left - more);
        }
        for (name, quota) in quotas {
            for i in free.drain(..quota) {
                self.lots[i].holder = Some(name.clone());
            }
        }
    }

    /// The lots that a worker has or is told to take.
    pub(super) fn held_by(&self, name: &str) -> Vec<usize> {
        (0..self.lots.len())
            .filter(|i| self.lots[*i].holder.as_deref() == Some(name))
            .collect()
    }

    /// The least and the most lots that a worker should hold, by its threads.
    fn fair(&self) -> BTreeMap<Name, (usize, usize)> {
        let ready = || {
            self.members
                .iter()
                .filter(|(_, member)| member.stage == Stage::Ready)
        };
        let all: usize = ready().map(|(_, member)| member.threads()).sum();
        ready()
            .map(|(name, member)| {
                let least = self.lots.len() * member.threads() / all.max(1);
                let most = (self.lots.len() * member.threads()).div_ceil(all.max(1));
                (name.clone(), (least, most))
            })
            .collect()
    }

    /// Lots that workers hold beyond the most they should, as long as others hold fewer than the
    /// least: the last ones.
    pub(super) fn moves(&self) -> BTreeMap<Name, Vec<usize>> {
        let fair = self.fair();
        let mut lacking: usize = fair
            .iter()
            .map(|(name, (least, _))| least.saturating_sub(self.held_by(name).len()))
            .sum();
        let mut moves = BTreeMap::new();
        // First from those that hold too many, then from those that hold as many as is fair at
        // most.
        for limit in [1, 0] {
            for (name, (least, most)) in &fair {
                let keep = if limit == 1 { *most } else { *least };
                let held = self.held_by(name);
                let given: &mut Vec<usize> = moves.entry(name.clone()).or_default();
                let spare = held
                    .len()
                    .saturating_sub(given.len())
                    .saturating_sub(keep)
                    .min(lacking);
                given.extend(
                    held.iter()
                        .rev()
                        .skip(given.len())
                        .take(spare)
                        .copied()
                        .collect::<Vec<_>>(),
                );
                lacking -= spare;
            }
        }
        moves.retain(|_, lots| !lots.is_empty());
        moves
    }
}
