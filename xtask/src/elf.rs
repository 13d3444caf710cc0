//! How much of a device an image takes, from the section table of its ELF file.

/// Bytes of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Code, constants and the initial values of variables.
    pub flash: u32,
    /// Variables, without the stack.
    pub ram: u32,
}

const NOBITS: u32 = 8;
const WRITE: u32 = 1;
const ALLOC: u32 = 2;

/// Sums the sections of a 32-bit little-endian ELF file that occupy memory; nothing if it is none.
pub fn size(file: &[u8]) -> Option<Size> {
    let word = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 1, 1] {
        return None;
    }
    let (table, entry_len, count) = (word(0x20)? as usize, half(0x2e)? as usize, half(0x30)? as usize);
    let mut size = Size { flash: 0, ram: 0 };
    for i in 0..count {
        let section = table + i * entry_len;
        let (kind, flags, bytes) = (word(section + 4)?, word(section + 8)?, word(section + 20)?);
        if flags & ALLOC != 0 {
            size.flash += if kind == NOBITS { 0 } else { bytes };
            size.ram += if flags & WRITE == 0 { 0 } else { bytes };
        }
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_sections_by_their_flags() {
        let sections = [(1, ALLOC, 100), (1, ALLOC | WRITE, 20), (NOBITS, ALLOC | WRITE, 3000), (1, 0, 7)];
        let mut file = vec![0u8; 52];
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 1]);
        file[0x20] = 52;
        file[0x2e] = 40;
        file[0x30] = sections.len() as u8;
        for (kind, flags, bytes) in sections {
            let mut section = [0u8; 40];
            for (at, value) in [(4, kind), (8, flags), (20, bytes)] {
                section[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            }
            file.extend(section);
        }
        assert_eq!(size(&file), Some(Size { flash: 120, ram: 3020 }));
        assert_eq!(size(b"no elf"), None);
    }
}
