//! A NOR flash of two pages, in memory: what is written clears bits, what is erased sets them.

use core::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

/// Bytes of the flash.
pub const LEN: u32 = 2 * PAGE as u32;
const PAGE: usize = 4096;

/// The flash.
pub struct Nor([u8; LEN as usize]);

impl Nor {
    /// An erased one.
    pub const fn new() -> Self {
        Nor([0xff; LEN as usize])
    }
}

impl ErrorType for Nor {
    type Error = Infallible;
}

impl ReadNorFlash for Nor {
    const READ_SIZE: usize = 1;
    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        self.0.len()
    }
}

impl NorFlash for Nor {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;
    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        self.0[from as usize..to as usize].fill(0xff);
        Ok(())
    }
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        self.0[offset as usize..]
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to &= from);
        Ok(())
    }
}
