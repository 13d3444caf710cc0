//! The device on the wire: `firmware-networked` in QEMU's user network is agent 0 of a rehearsal over HTTPS on this machine,
//! and the federation's digest is the simulator's; of draws under one server and of a federated prior under two, each once as it
//! is and once with resets at random steps; once with a server that its invitation does not name, and once without what says
//! which masks were used: then it must send nothing. And it is a site of a campaign of a real server, among sites that join with
//! a command.

mod campaign;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{self, Report, cargo, root, target_folder};
use crate::{elf, tools};

/// Bytes of flash and of RAM, stack and all, that the device may take.
const FLASH_MAX: u32 = 360_000;
const RAM_MAX: u32 = 64 << 10;
/// The longest that one federation may take, connecting and resets included.
const LIMIT: Duration = Duration::from_secs(120);
/// A device that is reset lives for fewer steps than this.
const CUTS: u32 = 97;
/// Boots that a device which is reset must come to, or the test is none.
const BOOTS_MIN: u32 = 10;
/// Where the image reads what it is given, and the number of steps between resets.
const PROVISION: &str = "0x380000";
const RESETS: u32 = 0x3f_0000;
/// Where it keeps its state, and bytes of a slot; its observations begin at slot 12.
const FLASH: u32 = 0x30_0000;
const SLOT: u32 = 192;

/// A federation that the device takes part in: the scenario `firmware` with these values.
struct Case {
    settings: &'static [&'static str],
    /// Contributions that are hidden: one for each release.
    masks: u32,
}

const DRAWS: Case = Case { settings: &[], masks: 0 };
/// With a budget that holds everything, which a device must count to the end and beyond.
const BUDGET: Case = Case {
    settings: &[
        "federation.methods=[\"dp-prior\"]",
        "federation.initial_points=4",
        "prior.points_per_axis=12",
        "prior.epsilon=20",
        "privacy.max_epsilon=21",
    ],
    masks: 0,
};
const TWO_SERVERS: Case = Case {
    settings: &[
        "federation.methods=[\"dp-prior\"]",
        "federation.initial_points=4",
        "prior.points_per_axis=12",
        "prior.epsilon=20",
        "privacy.trust=\"two-servers\"",
    ],
    masks: 4,
};

impl Case {
    fn set(&self, command: &mut Command) {
        self.settings.iter().for_each(|setting| {
            command.args(["--set", setting]);
        });
    }

    /// The simulator's digest.
    fn digest(&self) -> Result<String, String> {
        let folder = target_folder().join("networked/run");
        // Of an earlier run.
        let _ = std::fs::remove_dir_all(&folder);
        let mut command = Command::new(target_folder().join("debug/sordino"));
        command.args(["run", "firmware", "--format", "json", "--out"]).arg(&folder);
        self.set(&mut command);
        let said = process::run(&mut command)?;
        let found = said.split("\"digest\": \"").nth(1).and_then(|rest| rest.get(..64));
        found.map(str::to_owned).ok_or(format!("no digest: {said}"))
    }
}

/// Lints, builds, weighs and runs the device.
pub fn run(report: &mut Report) {
    report.step("device on the wire: image", image);
    for (method, case) in [("draws", &DRAWS), ("two servers", &TWO_SERVERS)] {
        for (name, cuts) in [("as it is", 0), ("reset at random steps", CUTS)] {
            report.step(&format!("device on the wire, {method}: {name}"), || federation(case, cuts));
        }
    }
    report.step("device on the wire, one server, a budget", || federation(&BUDGET, 0));
    for (name, cuts) in [("as it is", 0), ("reset at random steps", CUTS)] {
        report.step(&format!("device on the wire, campaign: {name}"), || campaign::run(cuts));
    }
    report.step("device on the wire, two servers: masks that are not known", lost);
    report.step("device on the wire: another server", stranger);
}

fn in_folder(words: &[&str]) -> Command {
    let mut command = cargo(words);
    command.current_dir(root().join("firmware-networked")).env("CARGO_TARGET_DIR", target_folder().join("networked"));
    command
}

fn image_path() -> PathBuf {
    target_folder().join("networked").join(tools::M4F).join("release/firmware-networked")
}

fn image() -> Result<String, String> {
    process::run(&mut in_folder(&["fmt", "--check"]))?;
    process::run(&mut in_folder(&["clippy", "--locked", "--release", "--target", tools::M4F, "--", "-D", "warnings"]))?;
    process::run(&mut in_folder(&["build", "--locked", "--release", "--target", tools::M4F]))?;
    process::run(&mut cargo(&["build", "-q", "-p", "sordino-net", "-p", "sordino-sim"]))?;
    let file = std::fs::read(image_path()).map_err(|error| error.to_string())?;
    let size = elf::size(&file).ok_or("the image is no ELF file")?;
    let elf::Size { flash, ram } = size;
    if flash > FLASH_MAX {
        return Err(format!("{flash} bytes of flash, {FLASH_MAX} are allowed"));
    }
    Ok(format!("{flash} bytes of flash, {ram} of statics"))
}

/// A process that ends with the step, at the latest.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts it with its output in a file.
    fn start(command: &mut Command, output: &Path) -> Result<Self, String> {
        let file = std::fs::File::create(output).map_err(|error| format!("{}: {error}", output.display()))?;
        let child = command.stdin(Stdio::null()).stdout(file).spawn();
        child.map(Running).map_err(|error| format!("{:?}: {error}", command.get_program()))
    }

    /// Waits until this is there.
    fn has_made(&mut self, path: &Path, start: Instant) -> Result<(), String> {
        match self.ended(start, || path.exists())? {
            None => Ok(()),
            Some(_) => Err(format!("{} was not made", path.display())),
        }
    }

    /// Waits for its end by itself, or until `over` says that it is no longer awaited; whether it ended with success.
    fn ended(&mut self, start: Instant, over: impl Fn() -> bool) -> Result<Option<bool>, String> {
        loop {
            match self.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(Some(status.success())),
                None if over() => return Ok(None),
                None if start.elapsed() > LIMIT => return Err(format!("not over within {} s", LIMIT.as_secs())),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// A rehearsal that waits for its agent 0, and the file that makes a device that agent.
struct Rehearsal {
    server: Running,
    provision: PathBuf,
    said: PathBuf,
}

impl Rehearsal {
    fn start(case: &Case) -> Result<Self, String> {
        let [provision, said] = ["device.bin", "device.json"].map(|name| target_folder().join("networked").join(name));
        // What an earlier run left there would be read in place of this one's.
        let _ = std::fs::remove_file(&provision);
        let mut command = Command::new(target_folder().join("debug/sordino-net"));
        command.args(["rehearse", "firmware", "--format", "json", "--deadline", "100s", "--device"]).arg(&provision);
        case.set(&mut command);
        let mut server = Running::start(&mut command, &said)?;
        server.has_made(&provision, Instant::now())?;
        Ok(Rehearsal { server, provision, said })
    }

    fn device(&self, cuts: u32, slot: Option<u32>, output: &Path) -> Result<Running, String> {
        device(&self.provision, cuts, slot, output)
    }
}

/// The device that was given this file, with a word in this slot of the flash that it writes. The emulator writes it again at
/// every reset.
fn device(provision: &Path, cuts: u32, slot: Option<u32>, output: &Path) -> Result<Running, String> {
    let mut command = Command::new("qemu-system-arm");
    command.args(["-machine", "mps2-an386", "-nographic", "-nic", "user,model=lan9118"]);
    command.args(["-semihosting-config", "enable=on,target=native", "-device"]);
    command.arg(format!("loader,file={},addr={PROVISION},force-raw=on", provision.display()));
    let begun = slot.map(|slot| (FLASH + SLOT * slot, 1));
    for (place, word) in begun.into_iter().chain([(RESETS, cuts)]) {
        command.args(["-device", &format!("loader,addr={place:#x},data={word},data-len=4")]);
    }
    command.arg("-kernel");
    Running::start(command.arg(image_path()), output)
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn federation(case: &Case, cuts: u32) -> Result<String, String> {
    let expected = case.digest()?;
    let (mut rehearsal, start) = (Rehearsal::start(case)?, Instant::now());
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(cuts, None, &output)?;
    let ended = device.ended(start, || false);
    let heard = text(&output)?;
    println!("{heard}");
    if ended? != Some(true) {
        return Err("the device ended early".into());
    }
    let seconds = start.elapsed().as_secs_f64();
    if rehearsal.server.ended(start, || false)? != Some(true) {
        return Err("the rehearsal failed".into());
    }
    let said = text(&rehearsal.said)?;
    if !said.contains(&expected) {
        return Err(format!("digest {expected} was expected: {said}"));
    }
    let (ram, boots) = weighed(&heard, cuts)?;
    let masks = number_before(&heard, " masks").ok_or("the device does not say its masks")?;
    // A reset after a mask was stored and before its share was sent costs that mask, and a contribution another one. Whether one
    // falls there depends on how long the server takes.
    if masks < case.masks || (cuts == 0 && masks > case.masks) {
        return Err(format!("{masks} masks for {} contributions, {boots} boots", case.masks));
    }
    Ok(format!(
        "the simulator's digest, {ram} bytes of RAM with its stack, {boots} boots, {masks} masks, {seconds:.1} s"
    ))
}

/// Bytes of RAM and boots of a device, which must be as they should.
fn weighed(heard: &str, cuts: u32) -> Result<(u32, u32), String> {
    let ram = number_before(heard, " bytes of RAM").ok_or("the device does not say its RAM")?;
    let boots = number_before(heard, " boots").ok_or("the device does not say its boots")?;
    if ram > RAM_MAX || (cuts > 0) != (boots >= BOOTS_MIN) {
        return Err(format!("{ram} bytes of RAM ({RAM_MAX} are allowed), {boots} boots"));
    }
    Ok((ram, boots))
}

/// One digit of the pin is another: the device must refuse the server by its key, and the server never hears of it.
fn stranger() -> Result<String, String> {
    let (rehearsal, start) = (Rehearsal::start(&DRAWS)?, Instant::now());
    let mut bytes = std::fs::read(&rehearsal.provision).map_err(|error| error.to_string())?;
    let pin = bytes.windows(4).position(|four| four == b"pin=").ok_or("no pin in what the device is given")? + 4;
    bytes[pin] = if bytes[pin] == b'0' { b'1' } else { b'0' };
    std::fs::write(&rehearsal.provision, &bytes).map_err(|error| error.to_string())?;
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(0, None, &output)?;
    let tried = || text(&output).is_ok_and(|heard| heard.matches("TLS: InvalidCertificate").count() >= 3);
    let ended = device.ended(start, tried)?;
    let heard = text(&output)?;
    match ended {
        None if !heard.contains("round") => Ok("refused three times, nothing sent".into()),
        _ => Err(format!("the device accepted a key that is not pinned: {heard}")),
    }
}

/// Its flash holds a state, or an observation, and nothing about masks: the device must not use any.
fn lost() -> Result<String, String> {
    [0, 12].into_iter().try_for_each(lost_but)?;
    Ok("refused twice, nothing sent".into())
}

fn lost_but(slot: u32) -> Result<(), String> {
    let (rehearsal, start) = (Rehearsal::start(&TWO_SERVERS)?, Instant::now());
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(0, Some(slot), &output)?;
    let ended = device.ended(start, || false)?;
    let heard = text(&output)?;
    match ended {
        Some(false) if heard.contains("which masks were used is not known any more") && !heard.contains("round") => {
            Ok(())
        }
        _ => Err(format!("the device went on: {heard}")),
    }
}

/// The number in front of these words.
fn number_before(text: &str, words: &str) -> Option<u32> {
    text.split(words).next().filter(|before| before.len() < text.len())?.rsplit([' ', '\n', '\r']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_numbers_before_words() {
        let text = "agent 0: 6 rounds, 29 boots, chain\n43560 bytes of RAM: 19988 static";
        assert_eq!((number_before(text, " boots"), number_before(text, " bytes of RAM")), (Some(29), Some(43560)));
        assert_eq!(number_before(text, " legs"), None);
    }
}
