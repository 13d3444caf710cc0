//! Which library this is, for the header and at run time.

/// Version of this header; the first of three numbers.
pub const SORDINO_VERSION_MAJOR: u32 = 0;
/// The second number: while the first is 0, another one may have other functions and other
/// settings.
pub const SORDINO_VERSION_MINOR: u32 = 1;
/// The third number.
pub const SORDINO_VERSION_PATCH: u32 = 0;

/// The number that a text of digits says.
const fn number(digits: &str) -> u32 {
    let mut rest = digits.as_bytes();
    let mut value = 0;
    while let [digit, tail @ ..] = rest {
        (value, rest) = (10 * value + (*digit - b'0') as u32, tail);
    }
    value
}

const _: () = assert!(SORDINO_VERSION_MAJOR == number(env!("CARGO_PKG_VERSION_MAJOR")));
const _: () = assert!(SORDINO_VERSION_MINOR == number(env!("CARGO_PKG_VERSION_MINOR")));
const _: () = assert!(SORDINO_VERSION_PATCH == number(env!("CARGO_PKG_VERSION_PATCH")));

/// Version of the library that is linked, as SORDINO_VERSION of the header that belongs to it:
/// compare the two once at the start, because sizes and settings of another version differ.
// SAFETY: the name begins with that of the library; it reads nothing.
#[unsafe(no_mangle)]
pub extern "C" fn sordino_version() -> u32 {
    (SORDINO_VERSION_MAJOR * 1000 + SORDINO_VERSION_MINOR) * 1000 + SORDINO_VERSION_PATCH
}
