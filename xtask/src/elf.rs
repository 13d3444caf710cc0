//! How much of a device an image takes, from the section table of its ELF file.

/// Bytes of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Code, constants and the initial values of variables.
    pub flash: u32,
    /// Variables, without the stack.
    pub ram: u32,
}

const SYMTAB: u32 = 2;
const NOBITS: u32 = 8;
const WRITE: u32 = 1;
const ALLOC: u32 = 2;
/// Length of one entry of a symbol table, which begins with the place of its name.
const SYMBOL_BYTES: usize = 16;

/// One entry of the section table.
struct Section {
    kind: u32,
    flags: u32,
    offset: u32,
    bytes: u32,
    link: u32,
}

impl Section {
    /// The bytes of the file that it holds.
    fn of<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        file.get(self.offset as usize..)?.get(..self.bytes as usize)
    }
}

/// Four bytes as a number, the least first.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Two bytes as a number, the least first.
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The section table of a 32-bit little-endian ELF file; nothing if it is none.
fn sections(file: &[u8]) -> Option<Vec<Section>> {
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 1, 1] {
        return None;
    }
    let table = word(file, 0x20)? as usize;
    let entry_len = half(file, 0x2e)? as usize;
    let count = half(file, 0x30)? as usize;
    (0..count)
        .map(|i| {
            let at = table + i * entry_len;
            let kind = word(file, at + 4)?;
            let flags = word(file, at + 8)?;
            let offset = word(file, at + 16)?;
            Some(Section {
                kind,
                flags,
                offset,
                bytes: word(file, at + 20)?,
                link: word(file, at + 24)?,
            })
        })
        .collect()
}

/// Sums the sections that occupy memory; nothing if the file is no 32-bit ELF.
pub fn size(file: &[u8]) -> Option<Size> {
    let mut size = Size { flash: 0, ram: 0 };
    for section in sections(file)?
        .iter()
        .filter(|section| section.flags & ALLOC != 0)
    {
        size.flash += if section.kind == NOBITS {
            0
        } else {
            section.bytes
        };
        size.ram += if section.flags & WRITE == 0 {
            0
        } else {
            section.bytes
        };
    }
    Some(size)
}

/// The names of all symbols of an image; nothing if there is no symbol table.
pub fn symbols(file: &[u8]) -> Option<Vec<String>> {
    let sections = sections(file)?;
    let table = sections.iter().find(|section| section.kind == SYMTAB)?;
    let names = sections.get(table.link as usize)?.of(file)?;
    let entries = table.of(file)?.chunks_exact(SYMBOL_BYTES);
    entries
        .map(|entry| {
            let start = word(entry, 0)? as usize;
            let name = names.get(start..)?.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(name).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these sections (kind, flags, bytes, link), their contents after the table.
    fn file(sections: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
        let mut file = vec![0u8; 52];
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 1]);
        (file[0x20], file[0x2e], file[0x30]) = (52, 40, sections.len() as u8);
        let mut offset = 52 + 40 * sections.len() as u32;
        for (kind, flags, content, link) in sections {
            let mut header = [0u8; 40];
            let bytes = content.len() as u32;
            for (at, value) in [
                (4, *kind),
                (8, *flags),
                (16, offset),
                (20, bytes),
                (24, *link),
            ] {
                header[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            }
            file.extend(header);
            offset += bytes;
        }
        sections
            .iter()
            .for_each(|(_, _, content, _)| file.extend(*content));
        file
    }

    #[test]
    fn sums_sections_by_their_flags() {
        let file = file(&[
            (1, ALLOC, &[0; 100], 0),
            (1, ALLOC | WRITE, &[0; 20], 0),
            (NOBITS, ALLOC | WRITE, &[0; 3000], 0),
            (1, 0, &[0; 7], 0),
        ]);
        assert_eq!(
            size(&file),
            Some(Size {
                flash: 120,
                ram: 3020
            })
        );
        assert_eq!(size(b"no elf"), None);
    }

    #[test]
    fn names_are_those_of_the_symbol_table_only() {
        let mut first = [0u8; 16];
        let mut second = [0u8; 16];
        (first[0], second[0]) = (1, 6);
        let table = [first, second].concat();
        let file = file(&[
            (1, ALLOC, b"panicking in code", 0),
            (SYMTAB, 0, &table, 2),
            (3, 0, b"\0main\0dot\0", 0),
        ]);
        assert_eq!(
            symbols(&file),
            Some(vec!["main".to_owned(), "dot".to_owned()])
        );
        assert_eq!(symbols(b"no elf"), None);
    }
}
