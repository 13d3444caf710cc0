//! The device in a campaign that a real server runs: it contributes to both releases beside sites that join with a command, and
//! goes on with the file. Its unit is another than theirs, its best point is everybody's.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::emulator::{Running, device, number_before, text, weighed};
use crate::process::{self, target_folder};

/// Sites, the device among them.
const SITES: u32 = 5;
const SPACE: &str = "goal = \"minimize\"\nvalue = \"loss\"\n[parameters.x]\nlow = 0\nhigh = 10\n\
    [parameters.rate]\nlow = 1e-3\nhigh = 1\nscale = \"log\"\n";
/// The plant of `firmware-networked`, in a unit that is not the device's.
const COMMAND: &str = "awk 'BEGIN { x = ENVIRON[\"SORDINO_X\"] / 10 - .35; r = log(ENVIRON[\"SORDINO_RATE\"]) / log(1000) + .6; \
    printf \"%.9g\\n\", 3 + x * x + r * r }'";
/// What the device is given: unlike its siblings it is first told where the machine is that emulates it.
const HOST: &str = "10.0.2.2";
/// First points of everybody, and what the device measures with the file.
const POINTS: u32 = 10 + 8;
/// The loss of the device's plant at its best.
const LOSS_MIN: f64 = 100.0;

fn program() -> PathBuf {
    target_folder().join("debug/sordino-net")
}

/// A campaign from its first word to its last.
pub(super) fn run(cuts: u32) -> Result<String, String> {
    let place = target_folder().join("networked/campaign");
    // Of an earlier run.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let (space, folder) = (place.join("space.toml"), place.join("server"));
    std::fs::write(&space, SPACE).map_err(|error| error.to_string())?;
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    let port = port.map_err(|error| error.to_string())?.port();
    let start = Instant::now();
    let mut server = Running::start(&mut served(&place, &space, port), &place.join("server.log"))?;
    server.has_made(&folder.join("round.bin"), start)?;
    let mut invite = Command::new(program());
    invite
        .arg("invite")
        .arg(&folder)
        .args(["--agents", &format!("0..{SITES}"), "--out"])
        .arg(place.join("invitations"));
    process::run(&mut invite)?;
    let provision = place.join("device.bin");
    let invitation = |slot: u32| format!("@{}", place.join(format!("invitations/{slot}.txt")).display());
    let mut terms = Command::new(program());
    terms.args(["terms", &invitation(0), "--server", &format!("{HOST}:{port}"), "--device"]).arg(&provision);
    let said = process::run(&mut terms)?;
    if !said.contains("loss") {
        return Err(format!("the terms do not say what is searched: {said}"));
    }
    let sites: Result<Vec<Running>, String> = (1..SITES).map(|slot| joined(&place, slot, &invitation(slot))).collect();
    let output = place.join("device.log");
    let mut emulated = device(&provision, cuts, None, &output)?;
    let ended = emulated.ended(start, || false);
    let heard = text(&output)?;
    println!("{heard}");
    if ended? != Some(true) {
        return Err("the device ended early".into());
    }
    for (slot, mut site) in (1..).zip(sites?) {
        if site.ended(start, || false)? != Some(true) {
            return Err(format!("site {slot} failed: {}", text(&place.join(format!("{slot}.log")))?));
        }
    }
    if server.ended(start, || false)? != Some(true) {
        return Err(format!("the server failed: {}", text(&place.join("server.log"))?));
    }
    judged(&folder, &heard)?;
    let (ram, boots) = weighed(&heard, cuts)?;
    let ([first, best], seconds) = (losses(&heard)?, start.elapsed().as_secs_f64());
    Ok(format!(
        "two contributions; a loss of {first} in ten points, of {best} in eight with the file; {ram} bytes of RAM with its stack, \
         {boots} boots, {seconds:.1} s"
    ))
}

fn served(place: &Path, space: &Path, port: u16) -> Command {
    let mut command = Command::new(program());
    command.arg("serve").arg(space).arg("--folder").arg(place.join("server"));
    command.args(["--agents", &SITES.to_string(), "--listen", &format!("127.0.0.1:{port}")]);
    command.args("--epsilon 20 --features 50 --deadline 60s --close-early --linger 60s --ask-again 200ms".split(' '));
    command.env("XDG_STATE_HOME", place.join("state"));
    command
}

fn joined(place: &Path, slot: u32, invitation: &str) -> Result<Running, String> {
    let mut command = Command::new(program());
    command.args(["join", invitation, "--max-epsilon", "20", "--evaluations", "12", "--command", COMMAND]);
    command.arg("--folder").arg(place.join(format!("site-{slot}"))).env("XDG_STATE_HOME", place.join("state"));
    Running::start(&mut command, &place.join(format!("{slot}.log")))
}

/// Every release was charged once, and the device's history is the server's.
fn judged(folder: &Path, heard: &str) -> Result<(), String> {
    let replayed = process::run(Command::new(program()).arg("replay").arg(folder))?;
    let chain =
        heard.split("chain ").nth(1).and_then(|rest| rest.get(..64)).ok_or("the device does not say its history")?;
    if !replayed.contains("broadcasts 2, charges 2") || !replayed.contains(chain) {
        return Err(format!("two releases and the history {chain} were expected: {replayed}"));
    }
    if number_before(heard, " observations") != Some(POINTS) || number_before(heard, " rounds") != Some(2) {
        return Err(format!("{POINTS} points and two contributions were expected"));
    }
    let trust =
        heard.split("trust in the file: ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    if trust.is_none_or(|trust| trust < 0.5) {
        return Err(format!("it searched alone: {trust:?}"));
    }
    // The list has points that near.
    let [first, best] = losses(heard)?;
    if best - LOSS_MIN < (first - LOSS_MIN) / 4.0 {
        return Ok(());
    }
    Err(format!(
        "with the file the loss is {best}, in the first points {first}: less than a quarter of it above {LOSS_MIN} was expected"
    ))
}

/// The best losses that the device says: of its first points, and of those with the file.
fn losses(heard: &str) -> Result<[f64; 2], String> {
    let after = |words: &str| {
        let found = heard.split(words).nth(1).and_then(|rest| rest.split(' ').next());
        found.and_then(|number| number.parse().ok()).ok_or(format!("the device does not say its loss in {words}"))
    };
    Ok([after("first points: ")?, after("with the file: ")?])
}
