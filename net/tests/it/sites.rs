//! Campaigns as their operators meet them: everything is a process, and dies often; clocks jump;
//! folders come back from a backup; somebody comes late.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use sordino_core::random::Stream;
use sordino_host::prior::PriorFile;
use sordino_host::search::{Head, Search};
use sordino_host::space::{Goal, SpaceFile};

use super::deaths::Mortal;
use super::util::{
    Federation, PATIENCE, Place, Process, bounded, copy, free_port, program, said, whole_frames,
};

const SPACE: &str = "goal = \"minimize\"\nvalue = \"validation loss\"\n[parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n\
                     [parameters.kind]\nchoices = [\"adam\", \"sgd\"]\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n";

/// A training: descent on a quadratic with the point's rate, as many steps as its depth says; the
/// loss in a unit of the site.
const TRAIN: &str = "exec awk -v r=\"$SORDINO_RATE\" -v d=\"$SORDINO_DEPTH\" -v k=\"$SORDINO_KIND\" -v s=\"$SITE\" 'BEGIN { \
                     for (i = 0; i < 200 * d; i++) { w -= r * (w - 3); v += r * w } \
                     l = log(r) / log(10) + 2; print s * 100 + (1 + s) * (l * l + .15 * (d - 3) ^ 2 + (k == \"sgd\") / 2) }'";

fn campaign(name: &str, agents: u32, more: &[&str]) -> Federation {
    let usual = [
        ["--epsilon", "20"],
        ["--features", "20"],
        ["--deadline", "170s"],
        ["--linger", "2s"],
    ];
    let usual = usual
        .iter()
        .filter(|[option, _]| !more.contains(option))
        .flatten()
        .copied();
    let all: Vec<&str> = usual
        .chain(["--close-early"])
        .chain(more.iter().copied())
        .collect();
    Federation::campaign(name, agents, SPACE, &all)
}

/// The sites of a campaign, each a process of its own, with what they are started by.
struct Sites<'a> {
    federation: &'a Federation,
    lines: Vec<String>,
    environment: Vec<(&'static str, String)>,
    evaluations: &'static str,
    running: Vec<Mortal<'a>>,
}

impl<'a> Sites<'a> {
    fn new(
        federation: &'a Federation,
        environment: &[(&'static str, String)],
        evaluations: &'static str,
    ) -> Self {
        let lines = federation
            .invite()
            .iter()
            .map(ToString::to_string)
            .collect();
        Sites {
            federation,
            lines,
            environment: environment.to_vec(),
            evaluations,
            running: Vec::new(),
        }
    }

    fn log(&self, slot: usize) -> String {
        std::fs::read_to_string(self.federation.place.0.join(format!("site-{slot}.log")))
            .unwrap_or_default()
    }

    fn begin(&self, slot: usize) -> Mortal<'a> {
        let place = &self.federation.place.0;
        let line = self.lines[slot].clone();
        let environment = self.environment.clone();
        let evaluations = self.evaluations;
        Mortal::new(move || {
            let folder = place.join(format!("site-{slot}")).display().to_string();
            let arguments = [
                "join",
                &line,
                "--folder",
                &folder,
                "--max-epsilon",
                "20",
                "--command",
                TRAIN,
            ];
            let mut command = program(&[&arguments[..], &["--evaluations", evaluations]].concat());
            let path = place.join(format!("site-{slot}.log"));
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            command
                .env("SITE", slot.to_string())
                .envs(environment.iter().cloned());
            command.stdout(log.try_clone().unwrap()).stderr(log);
            Process::start(command)
        })
    }

    /// Kills this site, if it has not ended by itself, and begins it again.
    fn kill(&mut self, slot: usize) -> bool {
        self.running[slot].falls(Duration::ZERO)
    }

    /// All end well, with the server's file, and their folders replay.
    fn end(mut self) -> PriorFile {
        let running = std::mem::take(&mut self.running);
        let theirs = |slot: usize| self.federation.place.0.join(format!("site-{slot}"));
        for (slot, site) in running.into_iter().enumerate() {
            assert!(
                site.ended().success(),
                "{}\n{}",
                self.log(slot),
                self.federation.heard()
            );
            assert!(
                self.log(slot).contains("sent to 2 rounds"),
                "{}",
                self.log(slot)
            );
        }
        let file =
            PriorFile::load(&self.federation.place.server().join("prior.safetensors")).unwrap();
        for slot in 0..self.lines.len() {
            let own = PriorFile::load(&theirs(slot).join("prior.safetensors")).unwrap();
            assert_eq!(
                own.digest(),
                file.digest(),
                "site {slot} computes another file"
            );
            let output = said(&["replay", &theirs(slot).display().to_string()]);
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        file
    }
}

fn charged_twice(federation: &Federation) {
    let replayed = federation.replay();
    assert!(
        replayed.contains("frames 3, broadcasts 2, charges 2"),
        "{replayed}"
    );
}

#[test]
fn sixty_kills_of_server_and_sites_and_each_release_is_charged_once() {
    const KILLS: u32 = 60;
    bounded(|| {
        let federation = campaign("sites-kills", 6, &["--delay", "200ms"]);
        let mut server = Mortal::new(|| federation.serve());
        let mut sites = Sites::new(&federation, &[], "14");
        // The last comes late, so that the others die before anything is over.
        sites.running = (0..5).map(|slot| sites.begin(slot)).collect();
        let mut stream = Stream::from_seed(21);
        let mut of_sites = 0;
        let start = Instant::now();
        let last = federation.place.server().join("frames/000002.frame");
        while !last.exists() {
            assert!(
                start.elapsed() < Duration::from_secs(150),
                "{of_sites} kills of sites\n{}",
                federation.heard()
            );
            // Once all have died often enough, a machine that others keep busy gets time to come to
            // an end.
            let longer = 1 + (server.kills + of_sites) / KILLS;
            std::thread::sleep(Duration::from_millis(u64::from(
                longer * (20 + stream.below(120)),
            )));
            let slot = stream.below(8) as usize;
            if slot < 5 {
                of_sites += u32::from(sites.kill(slot));
            } else if !last.exists() {
                server.falls(Duration::ZERO);
            }
            if server.kills + of_sites >= KILLS && sites.running.len() == 5 {
                sites.running.push(sites.begin(5));
            }
        }
        sites.end();
        let of_server = server.kills;
        assert!(server.ended().success(), "{}", federation.heard());
        charged_twice(&federation);
        println!("{of_server} kills of the server, {of_sites} of sites");
        assert!(
            of_server + of_sites >= KILLS && of_server >= 10,
            "{of_server} of the server, {of_sites} of sites"
        );
    });
}

/// A library that adds what a file says to the clock that people set.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
  static int (*own)(clockid_t, struct timespec *);
  if (!own) own = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int done = own(id, now);
  const char *path = getenv("CLOCK_OFFSET");
  FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "r") : 0;
  if (file) { long seconds = 0; if (fscanf(file, "%ld", &seconds) == 1) now->tv_sec += seconds; fclose(file); }
  return done;
}
"#;

/// What loads the library, and the file that it reads; none where there is no C compiler.
fn clock(place: &Path) -> Option<Vec<(&'static str, String)>> {
    let [source, library, offset] = ["clock.c", "clock.so", "offset"].map(|name| place.join(name));
    std::fs::write(&source, CLOCK).unwrap();
    std::fs::write(&offset, "0").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl");
    let made = cc.output().ok()?;
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    Some(vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("CLOCK_OFFSET", offset.display().to_string()),
    ])
}

#[test]
fn clocks_that_jump_by_years_change_nothing() {
    bounded(|| {
        let federation = campaign("sites-clocks", 3, &["--delay", "300ms"]);
        let Some(clock) = clock(&federation.place.0) else {
            println!(
                "skipped: there is no C compiler, cc, to make the library that moves the clock"
            );
            return;
        };
        let offset = federation.place.0.join("offset");
        let serve = || {
            let mut command = program(&[]);
            command.envs(clock.iter().cloned());
            federation.serve_as(command)
        };
        let shown = |offset_of: &str| {
            std::fs::write(&offset, offset_of).unwrap();
            let year = Command::new("date")
                .arg("+%Y")
                .envs(clock.iter().cloned())
                .output()
                .unwrap()
                .stdout;
            String::from_utf8(year)
                .unwrap()
                .trim()
                .parse::<u32>()
                .unwrap()
        };
        // Negative control: the library does what it says.
        let now = shown("0");
        assert!(shown("63072000") > now && shown("-315360000") < now);
        let mut server = Mortal::new(serve);
        let mut sites = Sites::new(&federation, &clock, "13");
        sites.running = (0..3).map(|slot| sites.begin(slot)).collect();
        let mut stream = Stream::from_seed(3);
        let start = Instant::now();
        let last = federation.place.server().join("frames/000002.frame");
        for jump in ["34560000", "-315360000", "3600", "-86400", "630720000", "0"]
            .iter()
            .cycle()
        {
            if last.exists() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{}", federation.heard());
            // Each process writes under one clock and reads under another.
            std::fs::write(&offset, jump).unwrap();
            if stream.below(3) == 0 {
                server.falls(Duration::ZERO);
            } else {
                sites.kill(stream.below(3) as usize);
            }
            std::thread::sleep(Duration::from_millis(150));
        }
        sites.end();
        assert!(server.ended().success(), "{}", federation.heard());
        charged_twice(&federation);
    });
}

/// Waits until the server's folder has so many frames.
fn wait_for_frames(federation: &Federation, count: usize) {
    let folder = federation.place.server();
    let start = Instant::now();
    while whole_frames(&folder) < count {
        assert!(
            start.elapsed() < PATIENCE,
            "{} frames: {}",
            whole_frames(&folder),
            federation.heard()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_campaign_s_folder_from_yesterday_is_refused_by_the_ledger_and_by_its_sites() {
    bounded(|| {
        let federation = campaign(
            "sites-yesterday",
            3,
            &["--releases", "6", "--delay", "700ms"],
        );
        let mut server = federation.serve();
        let mut sites = Sites::new(&federation, &[], "12");
        sites.running = (0..3).map(|slot| sites.begin(slot)).collect();
        let folder = federation.place.server();
        let counter = federation.place.0.join("counter");
        wait_for_frames(&federation, 2);
        server.kill();
        let old = federation.place.0.join("old");
        copy(&folder, &old.join("server"));
        copy(&counter, &old.join("counter"));
        let known = whole_frames(&folder);
        let mut server = federation.serve();
        wait_for_frames(&federation, known + 2);
        // Until a site has heard of it.
        std::thread::sleep(Duration::from_millis(400));
        server.kill();
        std::fs::remove_dir_all(&folder).unwrap();
        copy(&old.join("server"), &folder);
        let told = federation.refused();
        assert!(told.contains("ledger"), "{told}");
        std::fs::remove_dir_all(&counter).unwrap();
        copy(&old.join("counter"), &counter);
        let told = federation.refused();
        assert!(
            told.contains("its folder is older than what it released"),
            "{told}"
        );
        sites.running.iter_mut().for_each(|site| {
            site.dies();
        });
        sites.running.clear();
        let told = federation.refused();
        assert!(told.contains("stopped for good"), "{told}");
    });
}

/// Loss of a site that is none of the campaign's, best of its first evaluations.
fn best_of(mut search: Search, evaluations: u32) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..evaluations {
        let point = serde_json::Value::Object(search.ask(&json!({})).unwrap());
        let rate = point["rate"].as_f64().unwrap().log10() + 2.0;
        let depth = point["depth"].as_f64().unwrap() - 3.0;
        let loss =
            rate * rate + 0.15 * depth * depth + if point["kind"] == "sgd" { 0.5 } else { 0.0 };
        search.tell(&point, 40.0 + 7.0 * loss).unwrap();
        best = best.min(loss);
    }
    best
}

#[test]
fn who_comes_late_with_the_address_alone_finds_more_in_five_evaluations() {
    const NEWCOMERS: u64 = 12;
    bounded(|| {
        let federation = campaign("sites-late", 6, &["--delay", "10ms", "--linger", "60s"]);
        let server = federation.serve();
        let mut sites = Sites::new(&federation, &[], "10");
        sites.running = (0..6).map(|slot| sites.begin(slot)).collect();
        let theirs = sites.end();
        // What `serve` prints is all that a newcomer has.
        let heard = federation.heard();
        let url = heard
            .split_whitespace()
            .find(|word| word.starts_with("https://"))
            .expect("serve prints the address");
        let out = federation.place.0.join("fetched.safetensors");
        // A server that starts again stays for a while, for those who come late.
        drop(server);
        let server = federation.serve();
        let start = Instant::now();
        loop {
            let output = said(&["fetch", url, "--out", &out.display().to_string()]);
            if output.status.success() {
                break;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let fetched = PriorFile::load(&out).unwrap();
        assert_eq!(fetched.digest(), theirs.digest());
        drop(server);
        let space = SpaceFile::parse("space.toml", SPACE).unwrap().space;
        let mut with = 0.0;
        let mut alone = 0.0;
        for seed in 0..NEWCOMERS {
            let head = Head::new(space.clone(), Goal::Minimize, seed);
            with += best_of(Search::guided(head.clone(), &fetched).unwrap(), 5);
            alone += best_of(Search::new(head).unwrap(), 5);
        }
        println!(
            "regret after five evaluations: {} with the file, {} alone",
            with / 12.0,
            alone / 12.0
        );
        assert!(
            with < 0.7 * alone,
            "{with} with the file, {alone} alone, summed over {NEWCOMERS} newcomers"
        );
    });
}

/// Every command of the compose file, as it stands there but for places and addresses: a server,
/// invitations, five sites.
#[test]
fn the_commands_of_the_compose_file_run_a_campaign() {
    bounded(|| {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
        let text = std::fs::read_to_string(deploy.join("compose.yaml")).unwrap();
        let place = Place::new("sites-compose");
        let listen = format!("127.0.0.1:{}", free_port());
        let commands: Vec<Vec<String>> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line.trim().strip_prefix("command: ")?).ok())
            .collect();
        assert_eq!(commands.len(), 7, "a server, invitations, five sites");
        let begin = |number: usize| {
            let own = place.0.join(number.to_string()).display().to_string();
            let shared = place.0.join("invitations").display().to_string();
            // The server's folder is also that of who invites.
            let folder = if number < 2 {
                place.0.join("0").display().to_string()
            } else {
                own
            };
            let words = commands[number].iter().map(|word| {
                let word = word
                    .replace("/var/lib/sordino-invitations", &shared)
                    .replace("/var/lib/sordino", &folder);
                let word = word
                    .replace("0.0.0.0:8443", &listen)
                    .replace("server:8443", &listen);
                word.replace("127.0.0.1:9464", "127.0.0.1:0")
                    .replace("/campaign/", &format!("{}/campaign/", deploy.display()))
            });
            let mut words: Vec<String> = words.collect();
            if number == 0 {
                let linger = words
                    .iter()
                    .position(|word| word == "2m")
                    .expect("--linger 2m");
                words[linger] = "3s".into();
            }
            let log = std::fs::File::create(place.0.join(format!("{number}.log"))).unwrap();
            let mut command = program(&words.iter().map(String::as_str).collect::<Vec<_>>());
            command
                .env("SITE", number.saturating_sub(2).to_string())
                .stdout(log.try_clone().unwrap())
                .stderr(log);
            Process::start(command)
        };
        let log =
            |number: usize| std::fs::read_to_string(place.0.join(format!("{number}.log"))).unwrap();
        let server = begin(0);
        let start = Instant::now();
        while !place.0.join("0/wards/round.bin").exists() {
            assert!(start.elapsed() < PATIENCE, "{}", log(0));
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(begin(1).ended().success(), "{}", log(1));
        let sites: Vec<Process> = (2..7).map(begin).collect();
        for (number, site) in (2..).zip(sites) {
            assert!(site.ended().success(), "{}", log(number));
            assert!(
                log(number).contains("20 points measured, sent to 2 rounds"),
                "{}",
                log(number)
            );
        }
        assert!(server.ended().success(), "{}", log(0));
    });
}
