//! A value in a file, between the digest of what it belongs to and a SHA-256 of everything before.
//! Written and read as a stream: a file may be as large as its value in memory, and is never held
//! in memory as well.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use postcard::{de_flavors, ser_flavors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_core::digest::{Digest, Frame};
use sordino_host::files;

use super::error::{JournalError, io_at};

/// Bytes of a digest.
const DIGEST: usize = 32;
/// Size in bytes of the buffer between a value and a file.
const BUFFER: usize = 1 << 16;

/// Writes head, value and seal to a file beside `path`, then moves it there.
///
/// **Errors**: the system's; [`JournalError::Damaged`] for a value that cannot be encoded. The old
/// file is then intact.
pub fn write<V: Serialize>(path: &Path, head: &Digest, value: &V) -> Result<(), JournalError> {
    let mut refused = false;
    let written = files::stream_atomically(path, |file| {
        let mut sealed = Sealing {
            file,
            frame: Frame::leaf(),
            buffer: Vec::with_capacity(BUFFER),
            failed: None,
        };
        sealed.put(&head.0)?;
        if postcard::serialize_with_flavor(value, &mut sealed).is_err() {
            refused = sealed.failed.is_none();
            return Err(sealed
                .failed
                .take()
                .unwrap_or_else(|| io::ErrorKind::InvalidData.into()));
        }
        sealed.end()
    });
    match written {
        Err(_) if refused => Err(JournalError::damaged(path, "cannot be encoded")),
        written => written.map_err(|error| io_at(path)(error.into())),
    }
}

/// Reads the value of a file of at most `bytes_max` bytes; `None` if there is no file.
///
/// **Errors**: [`JournalError::Damaged`] unless the file has the seal it ends with, begins with
/// this head and holds a value; the system's.
pub fn read<V: DeserializeOwned>(
    path: &Path,
    bytes_max: u64,
    head: &Digest,
) -> Result<Option<V>, JournalError> {
    let file = match files::open_regular(path, OpenOptions::new().read(true)) {
        Err(error) if error.is_missing() => return Ok(None),
        file => file.map_err(|error| io_at(path)(error.into()))?,
    };
    let length = file.metadata().map_err(io_at(path))?.len();
    if length > bytes_max {
        let error = files::FileError::TooLong {
            path: path.to_owned(),
            bytes_max,
        };
        return Err(io_at(path)(error.into()));
    }
    let content = length
        .checked_sub(DIGEST as u64)
        .ok_or_else(|| JournalError::damaged(path, "is too short"))?;
    let mut file = BufReader::with_capacity(BUFFER, file);
    // All of it once before anything in it is believed.
    let mut frame = Frame::leaf();
    let mut left = content;
    while left > 0 {
        let bytes = file.fill_buf().map_err(io_at(path))?;
        let own = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if own == 0 {
            return Err(JournalError::damaged(
                path,
                "became shorter while it was read",
            ));
        }
        frame.bytes(&bytes[..own]);
        file.consume(own);
        left -= own as u64;
    }
    let mut seal = [0; DIGEST];
    file.read_exact(&mut seal).map_err(io_at(path))?;
    if frame.end().0 != seal {
        return Err(JournalError::damaged(
            path,
            "is damaged: it does not have the digest it ends with",
        ));
    }
    file.rewind().map_err(io_at(path))?;
    let mut found = [0; DIGEST];
    let belongs =
        content >= DIGEST as u64 && file.read_exact(&mut found).is_ok() && found == head.0;
    if !belongs {
        return Err(JournalError::damaged(
            path,
            "is of another scenario or other data",
        ));
    }
    let opening = Opening {
        file: file.take(content - DIGEST as u64),
        some: Vec::new(),
    };
    let value = V::deserialize(&mut postcard::Deserializer::from_flavor(opening));
    value
        .map(Some)
        .map_err(|_| JournalError::damaged(path, "does not decode"))
}

/// A file that is being written, and the digest of its content so far.
struct Sealing<'f> {
    file: &'f mut dyn Write,
    frame: Frame,
    buffer: Vec<u8>,
    failed: Option<io::Error>,
}

impl Sealing<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() > BUFFER {
            self.frame.bytes(bytes);
            return self.file.write_all(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.frame.bytes(&self.buffer);
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.write_all(&self.frame.end().0)
    }
}

impl ser_flavors::Flavor for &mut Sealing<'_> {
    type Output = ();

    /// Logs are long lists of bytes, which come one by one.
    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        if self.buffer.len() < BUFFER {
            self.buffer.push(byte);
            return Ok(());
        }
        self.try_extend(&[byte])
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.put(bytes).map_err(|error| {
            self.failed = Some(error);
            postcard::Error::SerializeBufferFull
        })
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// A file that is being read. Nothing is borrowed from it: no stored value holds references.
struct Opening<F> {
    file: io::Take<F>,
    some: Vec<u8>,
}

impl<'de, F: BufRead + 'de> de_flavors::Flavor<'de> for Opening<F> {
    type Remainder = ();
    type Source = ();

    #[inline]
    fn pop(&mut self) -> postcard::Result<u8> {
        let byte = self
            .file
            .fill_buf()
            .ok()
            .and_then(|bytes| bytes.first().copied());
        self.file.consume(usize::from(byte.is_some()));
        byte.ok_or(postcard::Error::DeserializeUnexpectedEnd)
    }

    fn try_take_n(&mut self, _count: usize) -> postcard::Result<&'de [u8]> {
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, count: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        // Nothing is longer than what is left.
        if count as u64 > self.file.limit() {
            return Err(postcard::Error::DeserializeUnexpectedEnd);
        }
        self.some.resize(count, 0);
        self.file
            .read_exact(&mut self.some)
            .map_err(|_| postcard::Error::DeserializeUnexpectedEnd)?;
        Ok(&self.some)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEAD: Digest = Digest([5; 32]);

    type Value = (Vec<u64>, Vec<f64>, String, Option<(u32, Vec<u8>)>);

    fn value(count: usize) -> Value {
        let numbers = (0..count).map(|i| (i * i) as u64).collect();
        let others = (0..count).map(|i| 1.0 / (i as f64 + 0.5)).collect();
        (
            numbers,
            others,
            "a name".into(),
            Some((3, vec![1; count % 1000])),
        )
    }

    fn scratch(name: &str) -> std::path::PathBuf {
        let folder =
            std::env::temp_dir().join(format!("sordino-sealed-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The bytes are the same as when the whole file was built in memory: head, value, SHA-256 of
    /// both.
    #[test]
    fn the_form_is_head_value_and_seal_and_reads_back() {
        let folder = scratch("form");
        let path = folder.join("a");
        for count in [0, 1, 5000, 40_000] {
            let mut expected = HEAD.0.to_vec();
            expected.extend(postcard::to_allocvec(&value(count)).unwrap());
            let mut frame = Frame::leaf();
            frame.bytes(&expected);
            expected.extend(frame.end().0);
            write(&path, &HEAD, &value(count)).unwrap();
            assert!(fs::read(&path).unwrap() == expected, "{count}");
            assert_eq!(
                read::<Value>(&path, u64::MAX, &HEAD).unwrap(),
                Some(value(count))
            );
        }
        assert_eq!(read::<Value>(&folder.join("none"), 9, &HEAD).unwrap(), None);
        // Nothing half written is left beside it.
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_damaged_foreign_too_long_or_of_another_form_is_refused_by_name() {
        let folder = scratch("refused");
        let path = folder.join("a");
        write(&path, &HEAD, &value(20_000)).unwrap();
        let good = fs::read(&path).unwrap();
        let said = |bytes: &[u8], head: &Digest, most: u64| {
            fs::write(&path, bytes).unwrap();
            read::<Value>(&path, most, head).unwrap_err().to_string()
        };
        for place in [0, 32, good.len() / 2, good.len() - 33, good.len() - 1] {
            let mut bent = good.clone();
            bent[place] ^= 1;
            assert!(
                said(&bent, &HEAD, u64::MAX).contains("does not have the digest"),
                "{place}"
            );
        }
        assert!(
            said(&good[..good.len() - 1], &HEAD, u64::MAX).contains("does not have the digest")
        );
        assert!(said(&good[..31], &HEAD, u64::MAX).contains("too short"));
        assert!(said(&good, &Digest([6; 32]), u64::MAX).contains("another scenario"));
        assert!(said(&good, &HEAD, good.len() as u64 - 1).contains("longer than"));
        // A seal that fits, around a value that ends too early, and around no head at all.
        for content in [&good[..40], &good[..10]] {
            let mut frame = Frame::leaf();
            frame.bytes(content);
            let bytes = [content, &frame.end().0].concat();
            let expected = if content.len() > 32 {
                "does not decode"
            } else {
                "another scenario"
            };
            assert!(said(&bytes, &HEAD, u64::MAX).contains(expected));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// A value that cannot be encoded leaves the old file in place.
    #[test]
    fn a_value_that_cannot_be_encoded_leaves_the_old_file() {
        struct Refuses;
        impl Serialize for Refuses {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("no"))
            }
        }
        let folder = scratch("old");
        let path = folder.join("a");
        write(&path, &HEAD, &1u8).unwrap();
        let error = write(&path, &HEAD, &(vec![0u8; 3 * BUFFER], Refuses)).unwrap_err();
        assert!(error.to_string().contains("cannot be encoded"), "{error}");
        assert_eq!(read::<u8>(&path, 100, &HEAD).unwrap(), Some(1));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
