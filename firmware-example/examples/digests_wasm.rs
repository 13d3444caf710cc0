//! The digest table in WebAssembly, as text that JavaScript fetches byte by byte: no imports, no
//! memory shared.

use std::fmt::Write as _;
use std::sync::OnceLock;

use firmware_example::operations;

fn text() -> &'static [u8] {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let mut text = String::from("--- digests\n");
        let all = operations::table(|row| {
            let _ = writeln!(text, "{row}");
        });
        format!("{text}{all}\n---\n")
    });
    text.as_bytes()
}

/// Length of the text.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn table_length() -> u32 {
    text().len() as u32
}

/// One byte of it, 0 beyond its end.
// SAFETY: no other symbol of this name exists in the module.
#[unsafe(no_mangle)]
pub extern "C" fn table_byte(index: u32) -> u32 {
    text().get(index as usize).copied().unwrap_or(0).into()
}
