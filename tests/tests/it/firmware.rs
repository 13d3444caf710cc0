//! The firmware's agent, on this host: the scenario `firmware`, its script and its player agree to
//! the last bit. The same player runs on a Cortex-M4F and as M0 code in `cargo xtask firmware`.

use firmware_example::federation::{self, SCRIPT, ScriptError};
use sordino_core::digest::Digest;
use sordino_tests::firmware_script;

const NUMBERS: usize = 8192;

fn play(script: &[u8]) -> Result<Digest, ScriptError> {
    federation::play(script, &mut [0.0; NUMBERS], |_| {})
}

#[test]
fn the_script_is_what_the_simulator_writes() {
    assert!(
        firmware_script::script() == SCRIPT,
        "after an intended change: cargo xtask firmware --write"
    );
}

#[test]
fn the_player_ends_with_the_digest_of_the_simulator() {
    let host = firmware_script::host_run();
    let mut chain = Vec::new();
    let digest = federation::play(SCRIPT, &mut [0.0; NUMBERS], |round| chain.push(round.chain));
    assert_eq!(digest, Ok(host.digest));
    assert_eq!(chain, host.chain);
}

#[test]
fn a_changed_or_shortened_script_does_not() {
    let host = firmware_script::host_run();
    let mut changed = SCRIPT.to_vec();
    // The last bit of the last observation; 7 leaves of 32 bytes follow it.
    let last = changed.len() - 7 * 32 - 4;
    changed[last] ^= 1;
    assert_ne!(play(&changed), Ok(host.digest));
    assert_eq!(play(&SCRIPT[..SCRIPT.len() - 1]), Err(ScriptError::Length));
    assert_eq!(play(&[SCRIPT, &[0]].concat()), Err(ScriptError::Length));
    assert_eq!(play(&[]), Err(ScriptError::Header));
    assert!(matches!(
        federation::play(SCRIPT, &mut [0.0; 100], |_| {}),
        Err(ScriptError::Storage { .. })
    ));
}
