//! `sordino-core` for programs in C: a static library and `include/sordino.h`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`status`] | what a call comes to |
//! | [`version`] | which library this is |
//! | [`memory`] | objects in memory of the caller; pointers of C |
//! | [`settings`] | numbers of settings that name something |
//! | [`callback`] | entropy and flash of the device |
//! | [`agreement`] | what a federation agrees on |
//! | [`journal`] | what an optimizer keeps in its flash |
//! | [`gp`] | exact Gaussian process |
//! | [`optimizer`] | ask and tell |
//! | [`reporter`] | one private report at a time |
//! | [`prior`] | a prior file: what others learned in common |
//! | [`newcomer`] | a search that begins with it |
//! | [`agent`] | agent of a federation that shares draws |
//! | [`frame`] | what it sends and receives |
//! | [`member`] | member of a federated prior, with one server or two |
//! | [`site`] | site of a campaign |
//!
//! No function allocates or panics. Every pointer is checked for NULL and alignment, every length
//! against what is needed, every number of a setting against its range; what cannot be checked is a
//! pointer that is simply wrong. An object is told from other memory by its tag, and one that is at
//! work refuses to be called by its own callbacks.
//!
//! `unsafe` is in this package alone. Its one form: a function of C promises something about its
//! pointers, in its section "Safety"; `memory` turns that word into references, and everything
//! behind it is safe code.
#![cfg_attr(target_os = "none", no_std)]

pub mod agent;
pub mod agreement;
pub mod callback;
pub mod frame;
pub mod gp;
pub mod journal;
pub mod member;
pub mod memory;
pub mod newcomer;
pub mod optimizer;
pub mod prior;
pub mod reporter;
pub mod settings;
pub mod site;
pub mod status;
pub mod version;

/// A device has nobody to tell: it stands still, and its watchdog wakes it up. Nothing but a member
/// links a way to panic, which `cargo xtask c` looks for in an image without it; of a member's none
/// is known that a call reaches.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
