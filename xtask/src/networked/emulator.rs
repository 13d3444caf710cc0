//! The emulated device: how it is started, how long anything may take, and what it must say at its
//! end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::target_folder;
use crate::tools;

/// Bytes of RAM, stack and all, that the device may take.
const RAM_MAX: u32 = 64 << 10;
/// The longest that one federation may take, connecting and resets included.
const LIMIT: Duration = Duration::from_secs(120);
/// Boots that a device which is reset must come to, or the test is none.
const BOOTS_MIN: u32 = 10;
/// Where the image reads what it is given, and the number of steps between resets.
const PROVISION: &str = "0x380000";
const RESETS: u32 = 0x3f_0000;
/// Where it keeps its state, and bytes of a slot; its observations begin at slot 12.
const FLASH: u32 = 0x2100_0000;
const SLOT: u32 = 192;

pub(super) fn image_path() -> PathBuf {
    target_folder()
        .join("networked")
        .join(tools::M4F)
        .join("release/firmware-networked")
}

/// A process that ends with the step, at the latest.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts it with its output in a file.
    pub(super) fn start(command: &mut Command, output: &Path) -> Result<Self, String> {
        let file = std::fs::File::create(output)
            .map_err(|error| format!("{}: {error}", output.display()))?;
        let child = command.stdin(Stdio::null()).stdout(file).spawn();
        child
            .map(Running)
            .map_err(|error| format!("{:?}: {error}", command.get_program()))
    }

    /// Waits until this is there.
    pub(super) fn has_made(&mut self, path: &Path, start: Instant) -> Result<(), String> {
        match self.ended(start, || path.exists())? {
            None => Ok(()),
            Some(_) => Err(format!("{} was not made", path.display())),
        }
    }

    /// Waits for its end by itself, or until `over` says that it is no longer awaited; whether it
    /// ended with success.
    pub(super) fn ended(
        &mut self,
        start: Instant,
        over: impl Fn() -> bool,
    ) -> Result<Option<bool>, String> {
        loop {
            match self.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(Some(status.success())),
                None if over() => return Ok(None),
                None if start.elapsed() > LIMIT => {
                    return Err(format!("not over within {} s", LIMIT.as_secs()));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// What the flash of a device holds that it did not write itself.
pub(super) enum Flash<'f> {
    /// Nothing, and it ends with the emulator.
    Empty,
    /// A word in this slot, which the emulator writes again at every reset.
    Begun(u32),
    /// What is in this file: it outlives the emulator.
    Kept(&'f Path),
}

/// The device that was given this file.
pub(super) fn device(
    provision: &Path,
    cuts: u32,
    flash: &Flash<'_>,
    output: &Path,
) -> Result<Running, String> {
    let mut command = Command::new("qemu-system-arm");
    command.args([
        "-machine",
        "mps2-an386",
        "-nographic",
        "-nic",
        "user,model=lan9118",
    ]);
    let slot = match flash {
        Flash::Empty => None,
        Flash::Begun(slot) => Some(slot),
        Flash::Kept(path) => {
            let file = format!(
                "memory-backend-file,id=flash,size=16M,share=on,mem-path={}",
                path.display()
            );
            command.args(["-object", &file, "-machine", "memory-backend=flash"]);
            None
        }
    };
    command.args(["-semihosting-config", "enable=on,target=native", "-device"]);
    command.arg(format!(
        "loader,file={},addr={PROVISION},force-raw=on",
        provision.display()
    ));
    let begun = slot.map(|slot| (FLASH + SLOT * slot, 1));
    for (place, word) in begun.into_iter().chain([(RESETS, cuts)]) {
        command.args([
            "-device",
            &format!("loader,addr={place:#x},data={word},data-len=4"),
        ]);
    }
    command.arg("-kernel");
    Running::start(command.arg(image_path()), output)
}

/// Bytes of RAM and boots of a device, which must be as they should.
pub(super) fn weighed(heard: &str, cuts: u32) -> Result<(u32, u32), String> {
    let ram = number_before(heard, " bytes of RAM").ok_or("the device does not say its RAM")?;
    let boots = number_before(heard, " boots").ok_or("the device does not say its boots")?;
    if ram > RAM_MAX || (cuts > 0) != (boots >= BOOTS_MIN) {
        return Err(format!(
            "{ram} bytes of RAM ({RAM_MAX} are allowed), {boots} boots"
        ));
    }
    Ok((ram, boots))
}

/// The number in front of these words.
pub(super) fn number_before(text: &str, words: &str) -> Option<u32> {
    text.split(words)
        .next()
        .filter(|before| before.len() < text.len())?
        .rsplit([' ', '\n', '\r'])
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_numbers_before_words() {
        let text = "agent 0: 6 rounds, 29 boots, chain\n43560 bytes of RAM: 19988 static";
        assert_eq!(
            (
                number_before(text, " boots"),
                number_before(text, " bytes of RAM")
            ),
            (Some(29), Some(43560))
        );
        assert_eq!(number_before(text, " legs"), None);
    }
}
