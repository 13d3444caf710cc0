//! What an agent of two servers sends in place of numbers.

use sordino_core::federated::shares::Trust;

use super::masks::{MaskError, Masks};
use super::{AgentEnd, HostAgent};
use crate::party::{Number, Party};
use crate::shares;

impl<T: Number, P: Party<T>> HostAgent<T, P> {
    /// What hides its contributions where there are two servers: without it nothing is given to
    /// them.
    pub fn mask(&mut self, masks: Option<Masks>) {
        self.masks = masks;
    }

    /// What goes behind an upload's frame, and the numbers in it: none where there are two servers.
    ///
    /// **Errors**: [`MaskError`], before anything leaves.
    pub(super) fn hidden<'u>(
        &mut self,
        epoch: u32,
        upload: &'u [T],
    ) -> Result<(&'u [T], Vec<u8>), AgentEnd> {
        let agreement = self.shared.agreement();
        match (shares::trust(&agreement.protocol), &self.masks) {
            (Trust::OneServer, None) => return Ok((upload, Vec::new())),
            (Trust::OneServer, Some(_)) => return Err(MaskError::OneServer.into()),
            // Nothing is hidden in nothing: what says that the last frame is there needs no masks.
            (Trust::TwoServers, _) if upload.is_empty() => return Ok((&[], Vec::new())),
            (Trust::TwoServers, None) => return Err(MaskError::NoHelper.into()),
            (Trust::TwoServers, Some(_)) => {}
        }
        let numbers = [&mut self.log[..], &mut self.workspace[..]];
        let encoding = self
            .shared
            .encoding(&mut self.state, numbers)?
            .ok_or(MaskError::NoRelease)?;
        let mut behind = Vec::new();
        let masks = self.masks.as_mut().ok_or(MaskError::NoHelper)?;
        masks.append(epoch, &encoding, upload, &mut behind)?;
        Ok((&[], behind))
    }
}
