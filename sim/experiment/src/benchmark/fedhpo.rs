//! A small synthetic table in the format of FedHPO-Bench, compiled in;
//! `sim/experiment/data/fedhpo.py` makes it.

/// The table's file name.
pub const FILE: &str = "fedhpo.csv";
/// The file: a line for each federated training.
pub const TABLE: &str = include_str!("../../data/fedhpo.csv");
/// Clients in the lists of its column `result`.
pub const CLIENTS: u32 = 100;

#[cfg(test)]
mod tests {
    use sordino_core::digest::Frame;

    /// By `sha256sum`, of what `sim/experiment/data/fedhpo.py` wrote.
    #[test]
    fn the_table_is_the_one_that_the_script_wrote() {
        let mut digest = Frame::leaf();
        digest.bytes(super::TABLE.as_bytes());
        let expected = "ba475425715cd467f2ac4a854ab2c9b8880eeb2053bd26f5e0026e6e01f26f05";
        assert_eq!(digest.end().to_string(), expected);
    }
}
