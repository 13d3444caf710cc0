//! A campaign that is served: real units, killed at any moment, one file that everybody computes
//! alike.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use sordino_core::random::Stream;
use sordino_host::prior::PriorFile;
use sordino_net::agent::Query;
use sordino_net::join::{JoinError, Joined, Joining, join};

use super::util::{Federation, PATIENCE, Place, Process, bounded, program, runtime, said};

const AGENTS: u32 = 6;
const RELEASES: u32 = 2;
const SPACE: &str = "goal = \"minimize\"\nvalue = \"validation loss\"\n[parameters.depth]\nlow = 1\nhigh = 8\ninteger = true\n\
                     [parameters.kind]\nchoices = [\"adam\", \"sgd\"]\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = \"log\"\n";

fn campaign(name: &str, more: &[&str]) -> Federation {
    let usual = [
        "--epsilon",
        "20",
        "--features",
        "20",
        "--deadline",
        "60s",
        "--close-early",
    ];
    let linger: &[&str] = if more.contains(&"--linger") {
        &[]
    } else {
        &["--linger", "2s"]
    };
    Federation::campaign(name, AGENTS, SPACE, &[&usual, linger, more].concat())
}

/// A loss in a unit of each site's own.
fn loss(query: &Query) -> f64 {
    let point = query.named.as_ref().unwrap();
    let depth = point["depth"].as_i64().unwrap();
    let rate = point["rate"].as_f64().unwrap();
    let kind = if point["kind"] == "sgd" { 0.5 } else { 0.0 };
    let value = (rate.log10() + 2.0).powi(2) + 0.15 * (depth as f64 - 3.0).powi(2) + kind;
    assert!(
        (1..=8).contains(&depth) && (1e-4..=1.0).contains(&rate),
        "{point:?}"
    );
    100.0 * f64::from(query.agent) + f64::from(1 + query.agent) * value
}

async fn site(joining: Joining) -> Result<Joined, JoinError> {
    join(&joining, |query| std::future::ready(Ok(loss(&query)))).await
}

fn file(federation: &Federation) -> PriorFile {
    PriorFile::load(&federation.place.server().join("prior.safetensors")).unwrap()
}

#[test]
fn a_campaign_that_is_killed_charges_each_release_once_and_all_have_one_file() {
    bounded(|| {
        let federation = campaign("campaign-kills", &["--delay", "500ms"]);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let sites: Vec<_> = invitations
            .iter()
            .map(|invitation| {
                let mut joining = federation.joining(invitation);
                joining.evaluations = Some(14 + invitation.slot % 3);
                runtime.spawn(site(joining))
            })
            .collect();
        let mut stream = Stream::from_seed(4);
        let mut kills = 0;
        // At any moment first, then at every frame.
        while !federation.lives(
            RELEASES,
            kills >= 3,
            Duration::from_millis(u64::from(30 + stream.below(90))),
        ) {
            server.kill();
            kills += 1;
            server = federation.serve();
        }
        let mut files = Vec::new();
        for (slot, site) in (0..).zip(sites) {
            let joined = runtime.block_on(async { tokio::time::timeout(PATIENCE, site).await });
            let joined = joined.unwrap().unwrap().unwrap();
            assert_eq!(
                (joined.given, joined.observations),
                (vec![0, 1], 14 + slot % 3),
                "agent {slot}"
            );
            let best = joined.best.unwrap();
            let query = Query {
                agent: slot,
                candidate: 0,
                number: 0,
                evaluations: 0,
                point: best.point,
                named: best.named,
                value_max: 1e135,
            };
            assert_eq!(loss(&query), best.value, "the best point is told in units");
            files.push(joined.file.unwrap());
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let theirs = file(&federation);
        let keys = String::from_utf8(federation.command("promise").stdout).unwrap();
        assert!(
            keys.contains(&theirs.signer().unwrap().to_string()),
            "{keys}"
        );
        assert!(
            files.iter().all(|file| file.digest() == theirs.digest()),
            "a site computes another file"
        );
        let label = &theirs.label;
        assert_eq!(
            (label.contributors, label.releases, label.simulated),
            (AGENTS, RELEASES, false)
        );
        assert_eq!(
            (label.dataset.as_str(), label.value.as_deref()),
            ("server", Some("validation loss"))
        );
        assert!(
            label.epsilon <= 20.0 && label.epsilon > 19.99,
            "{}",
            label.epsilon
        );
        let replayed = federation.replay();
        assert!(
            replayed.contains("frames 3, broadcasts 2, charges 2"),
            "{replayed} after {kills} kills"
        );
        for invitation in &invitations {
            let output = said(&[
                "replay",
                &federation.joining(invitation).folder.display().to_string(),
            ]);
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert!(kills >= 3, "only {kills} kills");
    });
}

/// A server whose disk is gone takes nothing along that was paid for: every site has the file of
/// the releases that it heard of.
#[test]
fn sites_keep_the_file_of_a_server_that_is_gone() {
    bounded(|| {
        let federation = campaign("campaign-gone", &["--delay", "500ms"]);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let joinings: Vec<Joining> = invitations
            .iter()
            .map(|invitation| federation.joining(invitation))
            .collect();
        // Where it cannot be written the site goes on all the same.
        fs::create_dir_all(joinings[0].folder.join("prior.safetensors")).unwrap();
        let sites: Vec<_> = joinings
            .iter()
            .map(|joining| runtime.spawn(site(joining.clone())))
            .collect();
        let kept = || {
            joinings
                .iter()
                .skip(1)
                .map(|joining| PriorFile::load(&joining.folder.join("prior.safetensors")))
        };
        let begun = Instant::now();
        while !kept().all(|file| file.is_ok()) {
            assert!(begun.elapsed() < PATIENCE, "{}", federation.heard());
            std::thread::sleep(Duration::from_millis(20));
        }
        server.kill();
        assert!(
            !sites[0].is_finished(),
            "a site ended where a folder is in the way of the file"
        );
        sites.iter().for_each(|site| site.abort());
        let theirs = file(&federation);
        fs::remove_dir_all(federation.place.server()).unwrap();
        for (slot, file) in (1..).zip(kept()) {
            let file = file.unwrap();
            assert!(
                file.signer().is_none() && !file.label.simulated,
                "site {slot} has no key of the server"
            );
            assert!(
                (1..=theirs.label.releases).contains(&file.label.releases),
                "site {slot}"
            );
            if file.label.releases == theirs.label.releases {
                assert_eq!(file.digest(), theirs.digest(), "site {slot}");
            }
            assert!(file.label.epsilon <= theirs.label.epsilon, "site {slot}");
        }
    });
}

/// A site as its owner runs it: a process with a command.
fn process(place: &Place, slot: u32, evaluations: u32) -> Process {
    let command = "read point; echo \"$point\" >> seen-$SITE.txt; awk -v r=\"$SORDINO_RATE\" -v d=\"$SORDINO_DEPTH\" -v k=\"$SORDINO_KIND\" \
                   'BEGIN { l = log(r) / log(10) + 2; print 5 + l * l + .15 * (d - 3) * (d - 3) + (k == \"sgd\") / 2 }'";
    let invitation = format!("@invitations/{slot}.txt");
    let folder = format!("site-{slot}");
    let evaluations = evaluations.to_string();
    let mut started = program(&[
        "join",
        &invitation,
        "--folder",
        &folder,
        "--max-epsilon",
        "20",
        "--evaluations",
        &evaluations,
    ]);
    started
        .args(["--command", command])
        .current_dir(&place.0)
        .env("SITE", slot.to_string());
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(place.0.join(format!("site-{slot}.log")))
        .unwrap();
    started.stdout(log.try_clone().unwrap()).stderr(log);
    Process::start(started)
}

fn invited(federation: &Federation) -> PathBuf {
    // Waits for the server's folder, and invites by lines; files are what a site is given.
    drop(federation.invite());
    let folder = federation.place.server().display().to_string();
    let out = federation.place.0.join("invitations");
    let range = format!("0..{AGENTS}");
    let output = said(&[
        "invite",
        &folder,
        "--agents",
        &range,
        "--out",
        &out.display().to_string(),
    ]);
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    out
}

/// One folder for two federations would lose the invitations of the first, which nobody may have
/// used yet.
#[test]
fn invitations_of_another_federation_are_not_written_over() {
    bounded(|| {
        let federation = campaign("campaign-invites", &[]);
        let _server = federation.serve();
        let out = invited(&federation);
        let ours = out.join("0.txt");
        let last = out.join(format!("{}.txt", AGENTS - 1));
        let first = fs::read_to_string(&ours).unwrap();
        let text = fs::read_to_string(&last).unwrap();
        let run = text.split('/').nth(3).unwrap();
        let other = text.replace(
            run,
            if run == "00000000000000aa" {
                "00000000000000ab"
            } else {
                "00000000000000aa"
            },
        );
        let list = fs::read(federation.place.server().join("invitations.jsonl")).unwrap();
        let folder = federation.place.server().display().to_string();
        let range = format!("0..{AGENTS}");
        let again = || {
            said(&[
                "invite",
                &folder,
                "--agents",
                &range,
                "--out",
                &out.display().to_string(),
            ])
        };
        for (found, what) in [
            (&other[..], "an invitation of another federation"),
            ("notes", "no invitation"),
            (&"notes".repeat(1000), "no invitation"),
        ] {
            fs::write(&last, found).unwrap();
            let refused = again();
            let error = String::from_utf8(refused.stderr).unwrap();
            assert!(!refused.status.success() && error.contains(what), "{error}");
            // Nothing was written anywhere.
            assert_eq!(fs::read_to_string(&ours).unwrap(), first);
            assert_eq!(fs::read_to_string(&last).unwrap(), found);
            assert_eq!(
                fs::read(federation.place.server().join("invitations.jsonl")).unwrap(),
                list
            );
        }
        // Those of this federation are made anew.
        fs::write(&last, &text).unwrap();
        assert!(again().status.success());
        assert_ne!(fs::read_to_string(&ours).unwrap(), first);
    });
}

/// Where nobody can say what the round plans, nobody says what is spent.
fn of_a_damaged_round_nothing_is_told(federation: &Federation) {
    let round = federation.place.server().join("round.bin");
    let whole = std::fs::read(&round).unwrap();
    std::fs::write(&round, &whole[..whole.len() / 2]).unwrap();
    let status = federation.command("status");
    let told = String::from_utf8(status.stderr).unwrap();
    assert!(!status.status.success() && status.stdout.is_empty());
    assert!(
        told.contains("round.bin: ") || told.contains("frame of round 2"),
        "{told}"
    );
    std::fs::write(&round, whole).unwrap();
}

/// Nor who takes part, where the list of those shut out may name anybody.
fn nor_of_a_damaged_list(federation: &Federation) {
    let list = federation.place.server().join("revoked.jsonl");
    std::fs::write(&list, "{\"slot\":5}\n").unwrap();
    let status = federation.command("status");
    let told = String::from_utf8(status.stdout).unwrap();
    assert!(
        told.contains("shut out  5\n") && told.contains("joined    5 of 6: 0 to 4\n"),
        "{told}"
    );
    std::fs::write(&list, "{\"sl\n").unwrap();
    let status = federation.command("status");
    let told = String::from_utf8(status.stderr).unwrap();
    assert!(!status.status.success() && status.stdout.is_empty());
    assert!(told.contains("revoked.jsonl: line 1: "), "{told}");
    std::fs::remove_file(&list).unwrap();
}

#[test]
fn sites_are_processes_that_are_killed_asked_for_more_and_told_their_best_in_units() {
    bounded(|| {
        let federation = campaign("campaign-sites", &["--delay", "100ms"]);
        let server = federation.serve();
        let invitations = invited(&federation);
        let place = &federation.place;
        let asked = said(&[
            "terms",
            &format!("@{}", invitations.join("2.txt").display()),
        ]);
        let told = String::from_utf8(asked.stdout).unwrap();
        for part in [
            "you would be agent 2 of 6",
            "rate (a number from 0.0001 to 1, on a logarithmic scale)",
            "you make    30 evaluations, or as many as you say by --evaluations, 200 at most",
            "smaller values of \"validation loss\"",
            "ε = 20.0",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let mut sites: Vec<Process> = (0..AGENTS).map(|slot| process(place, slot, 13)).collect();
        let mut stream = Stream::from_seed(9);
        // Deaths while there is somebody to die: a site that is over has ended by itself.
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(u64::from(20 + stream.below(80))));
            let slot = stream.below(AGENTS) as usize;
            if !sites[slot].is_over() {
                sites[slot].kill();
                sites[slot] = process(place, slot as u32, 13);
            }
        }
        let log =
            |slot: u32| std::fs::read_to_string(place.0.join(format!("site-{slot}.log"))).unwrap();
        for (slot, site) in (0..).zip(sites) {
            assert!(site.ended().success(), "{}", log(slot));
        }
        assert!(server.ended().success(), "{}", federation.heard());
        for slot in 0..AGENTS {
            let folder = place.0.join(format!("site-{slot}"));
            let best: serde_json::Value =
                serde_json::from_slice(&std::fs::read(folder.join("best.json")).unwrap()).unwrap();
            assert!(
                best["point"]["rate"].is_number() && best["point"]["kind"].is_string(),
                "{best}"
            );
            assert!(best["value"].as_f64().unwrap() >= 5.0, "{best}");
            assert_eq!(
                PriorFile::load(&folder.join("prior.safetensors"))
                    .unwrap()
                    .digest(),
                file(&federation).digest()
            );
            let seen = std::fs::read_to_string(place.0.join(format!("seen-{slot}.txt"))).unwrap();
            // A command whose site was killed before it said the point reads an empty line.
            let points: Vec<serde_json::Value> = seen
                .lines()
                .filter(|line| !line.is_empty())
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert!(
                points.len() >= 13 && points.iter().all(|point| point["depth"].is_i64()),
                "{seen}"
            );
        }
        let status = federation.command("status");
        let told = String::from_utf8(status.stdout).unwrap();
        for part in [
            "all 2 are over",
            "joined    6 of 6: 0 to 5",
            "ε = 20.0 of 20 at δ = 0.00001, in 2 releases",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let json = said(&[
            "status",
            &federation.place.server().display().to_string(),
            "--format",
            "json",
        ]);
        assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).unwrap()["charges"] == 2);
        // Of a server that was killed before it wrote how it stands, the ledger says what is spent.
        let standing = federation.place.server().join("status.json");
        let text = std::fs::read(&standing).unwrap();
        let mut stale: serde_json::Value = serde_json::from_slice(&text).unwrap();
        (stale["epsilon_spent"], stale["charges"]) = (0.0.into(), 0.into());
        // Nor is the round that was charged said to begin again.
        stale["round"] = 1.into();
        std::fs::write(&standing, stale.to_string()).unwrap();
        let status = federation.command("status");
        let told = String::from_utf8(status.stdout).unwrap();
        assert!(
            told.contains("ε = 20.0 of 20 at δ = 0.00001, in 2 releases")
                && told.contains("all 2 are over"),
            "{told}"
        );
        // And of one that was killed between its round and its ledger, what the round plans.
        let ledger = federation.place.server().join("ledger.jsonl");
        let charges = std::fs::read_to_string(&ledger).unwrap();
        let last = charges.trim_end().rfind('\n').unwrap() + 1;
        std::fs::write(&ledger, &charges[..last]).unwrap();
        let status = federation.command("status");
        let told = String::from_utf8(status.stdout).unwrap();
        assert!(
            told.contains("ε = 20.0 of 20 at δ = 0.00001, in 2 releases"),
            "{told}"
        );
        of_a_damaged_round_nothing_is_told(&federation);
        std::fs::write(&ledger, charges).unwrap();
        nor_of_a_damaged_list(&federation);
        std::fs::write(&standing, text).unwrap();
        let said = federation.heard();
        assert!(
            said.contains(
                "release 2 of 2 is made of the contributions of 6 of 6 agents; ε 20.0 is spent"
            ),
            "{said}"
        );
        // The server is gone; a site that wants more goes on by itself.
        assert!(process(place, 3, 17).ended().success(), "{}", log(3));
        assert!(
            log(3).contains("agent 3: 17 points measured, sent to 2 rounds"),
            "{}",
            log(3)
        );
        let replayed = federation.replay();
        assert!(
            replayed.contains("frames 3, broadcasts 2, charges 2"),
            "{replayed}"
        );
    });
}

#[test]
fn anybody_fetches_the_file_and_only_from_the_server_that_is_named() {
    bounded(|| {
        let federation = campaign("campaign-fetch", &["--delay", "10ms", "--linger", "60s"]);
        let server = federation.serve();
        let invitations = federation.invite();
        // It made as many as the first release is made of, without a word.
        let mut few = federation.joining(&invitations[0]);
        few.evaluations = Some(3);
        let refused = runtime().block_on(site(few)).unwrap_err();
        let JoinError::FewEvaluations {
            evaluations: 3,
            least,
        } = refused
        else {
            panic!("{refused}")
        };
        assert!(least > 3);
        let address = &invitations[0].address;
        let run = invitations[0].deployment;
        let url = |pin: &str| format!("https://{address}/v1/{run:016x}/prior.safetensors#{pin}");
        let pins = &invitations[0].pins;
        let fetched = |url: &str| said(&["fetch", url, "--out", "-"]);
        let early = fetched(&url(&pins[0].to_string()));
        assert_eq!(early.status.code(), Some(1));
        assert!(
            String::from_utf8_lossy(&early.stderr).contains("404"),
            "there is no file yet"
        );
        let runtime = runtime();
        let sites: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(site(federation.joining(invitation))))
            .collect();
        for site in sites {
            let joined = runtime.block_on(async { tokio::time::timeout(PATIENCE, site).await });
            joined.unwrap().unwrap().unwrap();
        }
        let theirs = file(&federation);
        for pin in [pins[0].to_string(), format!("{},{}", pins[1], pins[0])] {
            let output = fetched(&url(&pin));
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(PriorFile::parse(&output.stdout).unwrap() == theirs);
        }
        let out = federation
            .place
            .0
            .join("fetched.safetensors")
            .display()
            .to_string();
        let output = said(&["fetch", &url(&pins[0].to_string()), "--out", &out]);
        assert!(output.status.success() && PriorFile::load(out.as_ref()).unwrap() == theirs);
        // Another key, no key, no such run, no such address.
        let other = "00".repeat(32);
        for (url, code, part) in [
            (url(&other), 1, "no connection"),
            (url("").replace('#', ""), 2, "#KEY"),
            (url("12"), 2, "64 hexadecimal digits"),
            (
                url(&pins[0].to_string()).replace("https", "http"),
                2,
                "https://HOST:PORT/v1/RUN/prior.safetensors#KEY",
            ),
            (
                url(&pins[0].to_string()).replace(&format!("{run:016x}"), &other[..16]),
                1,
                "404",
            ),
        ] {
            let output = fetched(&url);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{told}");
            assert!(told.contains(part), "{part}: {told}");
        }
        drop(server);
        let output = fetched(&url(&pins[0].to_string()));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("the address answers while its server runs"),
            "{told}"
        );
    });
}

/// Starts a server that must refuse its input: what it says.
fn refused(federation: &Federation, mut command: Command) -> String {
    command.stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        !federation.place.server().join("terms.bin").exists(),
        "nothing is begun"
    );
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_a_campaign_cannot_be_is_refused_before_anything_is_begun() {
    bounded(|| {
        for (space, more, part) in [
            (
                SPACE,
                &["--epsilon", "0"][..],
                "--epsilon is 0; admissible: a positive number",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--delta", "0.1"],
                "a tenth of 1 by the number of studies",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--releases", "65"],
                "--releases is 65; admissible: 1 to 64",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--features", "1"],
                "--features is 1",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--by", "a\u{202e}b"],
                "without characters that are not seen",
            ),
            (
                SPACE,
                &[],
                "--epsilon is missing: what all releases may cost together",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--set", "privacy.delta=1e-5"],
                "--method and --set are for scenarios",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--begin-when", "7"],
                "--begin-when 7: this federation has 6 agents",
            ),
            (
                SPACE,
                &["--epsilon", "1", "--min-agents", "7"],
                "--min-agents 7: this federation has 6 agents",
            ),
            (
                &SPACE.replace("goal = \"minimize\"\n", ""),
                &["--epsilon", "1"],
                "goal is missing in the space",
            ),
            (
                &SPACE.replace("integer = true", "context = true"),
                &["--epsilon", "1"],
                "context = true is depth",
            ),
            (
                &format!("seed = 3\n{SPACE}"),
                &["--epsilon", "1"],
                "`seed` in the space is for `sordino tune`",
            ),
            (
                &SPACE.replace("high = 8", "high = 0"),
                &["--epsilon", "1"],
                "space.toml:5:1: `parameters.depth.high`",
            ),
        ] {
            let federation = Federation::campaign("campaign-refused", AGENTS, space, more);
            let said = refused(&federation, federation.command_of());
            assert!(said.contains(part), "{part}\n{said}");
            // Of what is refused for itself nothing else is told.
            let is_campaign = ["--begin-when", "--min-agents"]
                .iter()
                .any(|option| part.starts_with(option));
            assert_eq!(said.contains("warning: 6 sites"), is_campaign, "{said}");
        }
        // Numbers of a campaign are not those of a scenario.
        let federation = Federation::new("campaign-scenario", 4, 3, &["--agents", "4"]);
        let said = refused(&federation, federation.command_of());
        assert!(
            said.contains("--agents is for a campaign, which is served from a space file"),
            "{said}"
        );
    });
}

#[test]
fn a_scenario_says_how_many_evaluations_there_are() {
    bounded(|| {
        let federation = Federation::new(
            "campaign-evaluations",
            2,
            3,
            &["--deadline", "2s", "--linger", "1s"],
        );
        let _server = federation.serve();
        let invitations = federation.invite();
        let mut joining = federation.joining(&invitations[0]);
        joining.evaluations = Some(9);
        let refused = runtime().block_on(site(joining)).unwrap_err();
        assert!(
            matches!(refused, JoinError::Evaluations { evaluations: 9 }),
            "{refused}"
        );
    });
}
