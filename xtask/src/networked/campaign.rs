//! The device in a campaign that a real server runs: it contributes to both releases beside sites
//! that join with a command, and goes on with the file. Its unit is another than theirs, its best
//! point is everybody's.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::emulator::{Flash, Running, device, number_before, weighed};
use super::proxy;
use crate::process::{self, target_folder, text};

/// Sites, the device among them.
const SITES: u32 = 5;
const SPACE: &str = "goal = \"minimize\"\nvalue = \"loss\"\n[parameters.x]\nlow = 0\nhigh = 10\n\
    [parameters.rate]\nlow = 1e-3\nhigh = 1\nscale = \"log\"\n";
/// The plant of `firmware-networked`, in a unit that is not the device's.
const COMMAND: &str = "awk 'BEGIN { x = ENVIRON[\"SORDINO_X\"] / 10 - .35; r = log(ENVIRON[\"SORDINO_RATE\"]) / log(1000) + .6; \
    printf \"%.9g\\n\", 3 + x * x + r * r }'";
/// Enough that the file, with noise that is secret, is worth something to the device each time.
const EPSILON: &str = "200";
/// What the device is given: unlike its siblings it is first told where the machine is that
/// emulates it.
const HOST: &str = "10.0.2.2";
/// First points of everybody, and what the device measures with the file.
const POINTS: u32 = 10 + 8;
/// The loss of the device's plant at its best.
const LOSS_MIN: f64 = 100.0;

fn program() -> PathBuf {
    target_folder().join("debug/sordino-net")
}

/// A campaign that is served and joined, with what its device is given.
struct Campaign {
    place: PathBuf,
    start: Instant,
    server: Running,
    sites: Vec<Running>,
}

impl Campaign {
    /// Begins one whose server stays so long after its last frame. `way` says at which port of this
    /// machine the device finds the one that the server listens on.
    fn begin(linger: &str, way: impl FnOnce(u16) -> Result<u16, String>) -> Result<Self, String> {
        let place = target_folder().join("networked/campaign");
        // Of an earlier run.
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        std::fs::write(place.join("space.toml"), SPACE).map_err(|error| error.to_string())?;
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        let start = Instant::now();
        let mut server =
            Running::start(&mut served(&place, linger, port), &place.join("server.log"))?;
        server.has_made(&place.join("server/round.bin"), start)?;
        let mut invite = Command::new(program());
        invite.arg("invite").arg(place.join("server")).args([
            "--agents",
            &format!("0..{SITES}"),
            "--out",
        ]);
        process::run(invite.arg(place.join("invitations")))?;
        let mut terms = Command::new(program());
        terms.args([
            "terms",
            &invitation(&place, 0),
            "--server",
            &format!("{HOST}:{}", way(port)?),
            "--device",
        ]);
        let said = process::run(terms.arg(place.join("device.bin")))?;
        if !said.contains("loss") {
            return Err(format!("the terms do not say what is searched: {said}"));
        }
        let sites: Result<Vec<Running>, String> =
            (1..SITES).map(|slot| joined(&place, slot)).collect();
        Ok(Campaign {
            place,
            start,
            server,
            sites: sites?,
        })
    }

    /// A life of the device, from a boot to its end: what it says. Its flash is what it was at the
    /// end of the life before.
    fn live(&self, cuts: u32) -> Result<String, String> {
        let flash = self.place.join("flash.bin");
        let output = self.place.join("device.log");
        let mut device = device(
            &self.place.join("device.bin"),
            cuts,
            &Flash::Kept(&flash),
            &output,
        )?;
        let ended = device.ended(Instant::now(), || false);
        let heard = text(&output)?;
        println!("{heard}");
        match ended? {
            Some(true) => Ok(heard),
            _ => Err("the device ended early".into()),
        }
    }

    /// Waits for everybody's end, and judges what the device said by what the server has.
    fn end(&mut self, heard: &str) -> Result<(), String> {
        for (slot, site) in (1..).zip(&mut self.sites) {
            if site.ended(self.start, || false)? != Some(true) {
                return Err(format!(
                    "site {slot} failed: {}",
                    text(&self.place.join(format!("{slot}.log")))?
                ));
            }
        }
        if self.server.ended(self.start, || false)? != Some(true) {
            return Err(format!(
                "the server failed: {}",
                text(&self.place.join("server.log"))?
            ));
        }
        judged(&self.place.join("server"), heard)
    }
}

/// A campaign from its first word to its last, and the device once more when nobody is there.
pub(super) fn run(cuts: u32) -> Result<String, String> {
    let mut campaign = Campaign::begin("60s", Ok)?;
    let heard = campaign.live(cuts)?;
    campaign.end(&heard)?;
    // Switched on again, long after the server ended: it needs nobody for what it knows.
    let later = campaign.live(0)?;
    if ends(&later) != ends(&heard) || later.contains("again") {
        return Err("without the server it ends otherwise".into());
    }
    let (ram, boots) = weighed(&heard, cuts)?;
    let [first, best] = losses(&heard)?;
    let seconds = campaign.start.elapsed().as_secs_f64();
    Ok(format!(
        "two contributions; a loss of {first} in ten points, of {best} in eight with the file; {ram} bytes of RAM with its stack, \
         {boots} boots, {seconds:.1} s"
    ))
}

/// The way to the server ends when the device has the file: it gives up saying so, searches with
/// the file, and does the same when it is switched on again.
pub(super) fn cut_off() -> Result<String, String> {
    let mut is_cut = None;
    let mut campaign = Campaign::begin("10s", |port| {
        let (proxy, cut) = proxy::begin(port).map_err(|error| error.to_string())?;
        is_cut = Some(cut);
        Ok(proxy)
    })?;
    let heard = campaign.live(0)?;
    let is_cut = is_cut.is_some_and(|is_cut| is_cut());
    if !is_cut || heard.contains("round 2: ") || heard.matches("the server is gone").count() != 1 {
        return Err(format!(
            "the device was not cut off before its last word ({is_cut})"
        ));
    }
    campaign.end(&heard)?;
    let later = campaign.live(0)?;
    if ends(&later) != ends(&heard) || !later.contains("the server is gone") {
        return Err("when it is switched on again it ends otherwise".into());
    }
    Ok("it gives up on its last word, and goes on with the file, twice".to_owned())
}

/// What a device ends with: the last lines of what its search and its history say, but for the
/// boots.
fn ends(heard: &str) -> Vec<String> {
    let lines = heard.lines().filter(|line| {
        ["first points", "with the file", "asked with"]
            .iter()
            .any(|said| line.starts_with(said))
    });
    let chain = heard.split("chain ").nth(1).and_then(|rest| rest.get(..64));
    lines
        .map(str::to_owned)
        .chain(chain.map(str::to_owned))
        .collect()
}

/// The invitation of a slot, as an argument.
fn invitation(place: &Path, slot: u32) -> String {
    format!(
        "@{}",
        place.join(format!("invitations/{slot}.txt")).display()
    )
}

fn served(place: &Path, linger: &str, port: u16) -> Command {
    let mut command = Command::new(program());
    command
        .arg("serve")
        .arg(place.join("space.toml"))
        .arg("--folder")
        .arg(place.join("server"));
    command.args([
        "--agents",
        &SITES.to_string(),
        "--listen",
        &format!("127.0.0.1:{port}"),
        "--linger",
        linger,
    ]);
    command
        .args("--features 50 --deadline 60s --close-early --ask-again 200ms --epsilon".split(' '))
        .arg(EPSILON);
    command.env("XDG_STATE_HOME", place.join("state"));
    command
}

fn joined(place: &Path, slot: u32) -> Result<Running, String> {
    let mut command = Command::new(program());
    command.args([
        "join",
        &invitation(place, slot),
        "--max-epsilon",
        EPSILON,
        "--evaluations",
        "12",
        "--command",
        COMMAND,
    ]);
    command
        .arg("--folder")
        .arg(place.join(format!("site-{slot}")))
        .env("XDG_STATE_HOME", place.join("state"));
    Running::start(&mut command, &place.join(format!("{slot}.log")))
}

/// Every release was charged once, and the device's history is the server's.
fn judged(folder: &Path, heard: &str) -> Result<(), String> {
    let replayed = process::run(Command::new(program()).arg("replay").arg(folder))?;
    let chain = heard
        .split("chain ")
        .nth(1)
        .and_then(|rest| rest.get(..64))
        .ok_or("the device does not say its history")?;
    if !replayed.contains("broadcasts 2, charges 2") || !replayed.contains(chain) {
        return Err(format!(
            "two releases and the history {chain} were expected: {replayed}"
        ));
    }
    if number_before(heard, " observations") != Some(POINTS)
        || number_before(heard, " rounds") != Some(2)
    {
        return Err(format!(
            "{POINTS} points and two contributions were expected"
        ));
    }
    // How long values speak for a file hangs on the server's noise, which is secret; at first they
    // do.
    let guided = heard
        .split("asked with the file: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    if guided.is_none_or(|guided| guided == 0) {
        return Err(format!("it searched alone: {guided:?}"));
    }
    // The list has points that near.
    let [first, best] = losses(heard)?;
    if best - LOSS_MIN < (first - LOSS_MIN) / 4.0 || best - LOSS_MIN < 0.01 {
        return Ok(());
    }
    Err(format!(
        "with the file the loss is {best}, in the first points {first}: less than a quarter of it above {LOSS_MIN} was expected"
    ))
}

/// The loss that the device says behind these words.
fn loss_after(heard: &str, words: &str) -> Result<f64, String> {
    let found = heard
        .split(words)
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    found
        .and_then(|number| number.parse().ok())
        .ok_or(format!("the device does not say its loss in {words}"))
}

/// The best losses that the device says: of its first points, and of those with the file.
fn losses(heard: &str) -> Result<[f64; 2], String> {
    Ok([
        loss_after(heard, "first points: ")?,
        loss_after(heard, "with the file: ")?,
    ])
}
