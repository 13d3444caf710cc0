//! The device on the wire: `firmware-networked` in QEMU's user network is agent 0 of a rehearsal
//! over HTTPS on this machine, and the federation's digest is the simulator's; of draws under one
//! server and of a federated prior under two, each once as it is and once with resets at random
//! steps; once with a server that its invitation does not name, and once without what says which
//! masks were used: then it must send nothing. And it is a site of a campaign of a real server,
//! among sites that join with a command.

mod campaign;
mod emulator;
mod proxy;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use self::emulator::{Flash, Running, device, image_path, number_before, weighed};
use crate::process::{self, Report, cargo, root, target_folder, text};
use crate::{elf, once, tools};

/// The most flash of the whole image, in bytes.
const FLASH_MAX: u32 = 496_000;
/// The same of an image without rehearsals.
const FLASH_REAL_MAX: u32 = 416_000;
/// A device that is reset lives for fewer steps than this.
const CUTS: u32 = 97;

/// A federation that the device takes part in: the scenario `firmware` with these values.
struct Case {
    settings: &'static [&'static str],
    /// Contributions that are hidden: one for each release.
    masks: u32,
    /// What the device says that asked for some of its points, in this order.
    asked: &'static [&'static str],
    /// What asked for none of them.
    never: Option<&'static str>,
}

const DRAWS: Case = Case {
    settings: &[],
    masks: 0,
    asked: &[],
    never: None,
};
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
    asked: &[],
    never: None,
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
    asked: &[],
    never: None,
};

/// A site of a campaign, in double precision: with the file, and from fifteen values on with a
/// model of its own beside it.
const SITE: Case = Case {
    settings: &[
        "federation.methods=[\"campaign\"]",
        "federation.initial_points=5",
        "federation.rounds=14",
        "objective.points_per_axis=40",
        "surrogate.scalar=\"f64\"",
        "prior.features=12",
        "prior.epsilon=20",
    ],
    masks: 0,
    asked: &["asked with the file", "asked with a model of its own"],
    never: Some("asked alone"),
};
/// The same where sites have little in common: values speak against the file after a while.
const SITE_TURNS_AWAY: Case = Case {
    settings: &[
        "federation.methods=[\"campaign\"]",
        "federation.initial_points=5",
        "federation.rounds=14",
        "objective.points_per_axis=40",
        "surrogate.scalar=\"f64\"",
        "prior.features=12",
        "prior.epsilon=1",
        "objective.perturbation=2",
        "seed=3",
    ],
    masks: 0,
    asked: &["asked with the file", "asked alone"],
    never: Some("asked with a model of its own"),
};
/// The same where values speak against the file from the first question on, or nothing for it: it
/// searches alone.
const SITE_ALONE: Case = Case {
    settings: &[
        "federation.methods=[\"campaign\"]",
        "federation.initial_points=5",
        "federation.rounds=14",
        "objective.points_per_axis=40",
        "surrogate.scalar=\"f64\"",
        "prior.features=12",
        "prior.epsilon=1",
        "objective.perturbation=2",
        "seed=8",
    ],
    masks: 0,
    asked: &["asked alone"],
    never: Some("asked with"),
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
        command
            .args(["run", "firmware", "--format", "json", "--out"])
            .arg(&folder);
        self.set(&mut command);
        let said = process::run(&mut command)?;
        let found = said
            .split("\"digest\": \"")
            .nth(1)
            .and_then(|rest| rest.get(..64));
        found.map(str::to_owned).ok_or(format!("no digest: {said}"))
    }
}

/// Lints, builds, weighs and runs the device.
pub fn run(report: &mut Report) {
    report.step("device on the wire: image", image);
    for (method, case) in [
        ("draws", &DRAWS),
        ("two servers", &TWO_SERVERS),
        ("a site", &SITE),
    ] {
        for (name, cuts) in [("as it is", 0), ("reset at random steps", CUTS)] {
            report.step(&format!("device on the wire, {method}: {name}"), || {
                federation(case, cuts)
            });
        }
    }
    report.step("device on the wire, one server, a budget", || {
        federation(&BUDGET, 0)
    });
    for (name, case) in [
        ("alone", &SITE_ALONE),
        ("that puts its file away", &SITE_TURNS_AWAY),
    ] {
        report.step(&format!("device on the wire, a site {name}"), || {
            federation(case, 0)
        });
    }
    for (name, cuts) in [("as it is", 0), ("reset at random steps", CUTS)] {
        report.step(&format!("device on the wire, campaign: {name}"), || {
            campaign::run(cuts)
        });
    }
    report.step(
        "device on the wire, campaign: cut off before its last word",
        campaign::cut_off,
    );
    report.step(
        "device on the wire, two servers: masks that are not known",
        lost,
    );
    report.step("device on the wire: another server", stranger);
}

/// How the device is built.
const BUILD: [&str; 5] = ["build", "--locked", "--release", "--target", tools::M4F];

fn in_folder(words: &[&str]) -> Command {
    let mut command = cargo(words);
    command
        .current_dir(root().join("firmware-networked"))
        .env("CARGO_TARGET_DIR", target_folder().join("networked"));
    command
}

/// Lints the device and builds it as a real federation needs it, in a folder of its own.
pub fn lint_and_build() -> Result<(), String> {
    for features in ["--no-default-features", "--all-features"] {
        let clippy = [
            "clippy",
            "--locked",
            "--release",
            features,
            "--target",
            tools::M4F,
            "--",
            "-D",
            "warnings",
        ];
        process::run(&mut in_folder(&clippy))?;
    }
    process::run(in_folder(&BUILD).arg("--no-default-features")).map(|_| ())
}

fn image() -> Result<String, String> {
    process::run(&mut in_folder(&["fmt", "--check"]))?;
    lint_and_build()?;
    let real = size()?;
    process::run(&mut in_folder(&BUILD))?;
    once::build()?;
    let elf::Size { flash, ram } = size()?;
    for (flash, max) in [(real.flash, FLASH_REAL_MAX), (flash, FLASH_MAX)] {
        if flash > max {
            return Err(format!("{flash} bytes of flash, {max} are allowed"));
        }
    }
    Ok(format!(
        "{flash} bytes of flash, {} without rehearsals of a campaign, {ram} of statics",
        real.flash
    ))
}

fn size() -> Result<elf::Size, String> {
    let file = std::fs::read(image_path()).map_err(|error| error.to_string())?;
    elf::size(&file).ok_or("the image is no ELF file".to_owned())
}

/// A rehearsal that waits for its agent 0, and the file that makes a device that agent.
struct Rehearsal {
    server: Running,
    provision: PathBuf,
    said: PathBuf,
}

impl Rehearsal {
    fn start(case: &Case) -> Result<Self, String> {
        let [provision, said] =
            ["device.bin", "device.json"].map(|name| target_folder().join("networked").join(name));
        // What an earlier run left there would be read in place of this one's.
        let _ = std::fs::remove_file(&provision);
        let mut command = Command::new(target_folder().join("debug/sordino-net"));
        command
            .args([
                "rehearse",
                "firmware",
                "--format",
                "json",
                "--deadline",
                "100s",
                "--device",
            ])
            .arg(&provision);
        case.set(&mut command);
        let mut server = Running::start(&mut command, &said)?;
        server.has_made(&provision, Instant::now())?;
        Ok(Rehearsal {
            server,
            provision,
            said,
        })
    }

    fn device(&self, cuts: u32, flash: &Flash<'_>, output: &Path) -> Result<Running, String> {
        device(&self.provision, cuts, flash, output)
    }
}

fn federation(case: &Case, cuts: u32) -> Result<String, String> {
    let expected = case.digest()?;
    let mut rehearsal = Rehearsal::start(case)?;
    let start = Instant::now();
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(cuts, &Flash::Empty, &output)?;
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
    let mut lines = heard.lines();
    let asked_in_order = case
        .asked
        .iter()
        .all(|asked| lines.any(|line| line == *asked));
    if !asked_in_order || case.never.is_some_and(|never| heard.contains(never)) {
        let (asked, never) = (case.asked, case.never);
        return Err(format!("{asked:?} and never {never:?} was expected"));
    }
    let (ram, boots) = weighed(&heard, cuts)?;
    let masks = number_before(&heard, " masks").ok_or("the device does not say its masks")?;
    // A reset after a mask was stored and before its share was sent costs that mask, and a
    // contribution another one. Whether one falls there depends on how long the server takes.
    if masks < case.masks || (cuts == 0 && masks > case.masks) {
        return Err(format!(
            "{masks} masks for {} contributions, {boots} boots",
            case.masks
        ));
    }
    Ok(format!(
        "the simulator's digest, {ram} bytes of RAM with its stack, {boots} boots, {masks} masks, {seconds:.1} s"
    ))
}

/// One digit of the pin is another: the device must refuse the server by its key, and the server
/// never hears of it.
fn stranger() -> Result<String, String> {
    let rehearsal = Rehearsal::start(&DRAWS)?;
    let start = Instant::now();
    let mut bytes = std::fs::read(&rehearsal.provision).map_err(|error| error.to_string())?;
    let pin = bytes
        .windows(4)
        .position(|four| four == b"pin=")
        .ok_or("no pin in what the device is given")?
        + 4;
    bytes[pin] = if bytes[pin] == b'0' { b'1' } else { b'0' };
    std::fs::write(&rehearsal.provision, &bytes).map_err(|error| error.to_string())?;
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(0, &Flash::Empty, &output)?;
    let tried =
        || text(&output).is_ok_and(|heard| heard.matches("TLS: InvalidCertificate").count() >= 3);
    let ended = device.ended(start, tried)?;
    let heard = text(&output)?;
    match ended {
        None if !heard.contains("round") => Ok("refused three times, nothing sent".into()),
        _ => Err(format!(
            "the device accepted a key that is not pinned: {heard}"
        )),
    }
}

/// Its flash holds a state, or an observation, and nothing about masks: the device must not use
/// any.
fn lost() -> Result<String, String> {
    [0, 12].into_iter().try_for_each(lost_but)?;
    Ok("refused twice, nothing sent".into())
}

fn lost_but(slot: u32) -> Result<(), String> {
    let rehearsal = Rehearsal::start(&TWO_SERVERS)?;
    let start = Instant::now();
    let output = target_folder().join("networked/device.log");
    let mut device = rehearsal.device(0, &Flash::Begun(slot), &output)?;
    let ended = device.ended(start, || false)?;
    let heard = text(&output)?;
    match ended {
        Some(false)
            if heard.contains("which masks were used is not known any more")
                && !heard.contains("round") =>
        {
            Ok(())
        }
        _ => Err(format!("the device went on: {heard}")),
    }
}
