//! What the cross-crate tests share: where the known answers lie and how a number is compared.
