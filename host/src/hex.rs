//! Bytes as hexadecimal text, for people, headers and labels.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal digits, two for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

/// The value of a hexadecimal digit, if it is one.
fn digit(character: u8) -> Option<u32> {
    (character as char).to_digit(16)
}

/// Exactly N bytes from 2N hexadecimal digits of either case; nothing else is read.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(out)
}

/// Bytes of any number from hexadecimal digits.
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().as_chunks::<2>();
    if !pairs.1.is_empty() {
        return None;
    }
    pairs
        .0
        .iter()
        .map(|pair| from_hex::<1>(std::str::from_utf8(pair).ok()?).map(|[byte]| byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back_and_nothing_else_is_read() {
        assert_eq!(from_hex(&hex(&[0, 15, 255])), Some([0, 15, 255]));
        assert_eq!(from_hex("00FFab"), Some([0, 255, 171]));
        for bad in ["", "00ff", "00ffa", "00ffag", "+0ffab", "00ffabcd", "äöü"] {
            assert_eq!(from_hex::<3>(bad), None, "{bad}");
        }
    }
}
