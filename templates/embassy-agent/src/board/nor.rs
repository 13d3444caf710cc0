//! A NOR flash in memory: what is written clears bits, what is erased sets them.

use core::convert::Infallible;

use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

const PAGE: usize = 4096;

/// The flash.
pub struct Nor<const PAGES: usize>([[u8; PAGE]; PAGES]);

impl<const PAGES: usize> Nor<PAGES> {
    /// Bytes of the flash.
    pub const LEN: u32 = (PAGES * PAGE) as u32;

    /// An erased one.
    pub const fn new() -> Self {
        Nor([[0xff; PAGE]; PAGES])
    }
}

impl<const PAGES: usize> ErrorType for Nor<PAGES> {
    type Error = Infallible;
}

impl<const PAGES: usize> ReadNorFlash for Nor<PAGES> {
    const READ_SIZE: usize = 1;
    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0.as_flattened()[offset as usize..][..bytes.len()]);
        Ok(())
    }
    fn capacity(&self) -> usize {
        Self::LEN as usize
    }
}

impl<const PAGES: usize> NorFlash for Nor<PAGES> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;
    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        self.0.as_flattened_mut()[from as usize..to as usize].fill(0xff);
        Ok(())
    }
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.as_flattened_mut()[offset as usize..]
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to &= from);
        Ok(())
    }
}
