//! A helper whose leader has a certificate, whose keys change while it runs, and who shuts agents
//! out.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use sordino_net::agent::AgentEnd;
use sordino_net::authority::{name_of, name_of_leader};
use sordino_net::invitation::Invitation;
use sordino_net::join::{Certified, JoinError, Joined, Joining};
use sordino_net::link::LinkError;
use sordino_net::terms::Terms;

use super::authorities::Site;
use super::shares::{Second, campaign_of, site};
use super::util::{Federation, PATIENCE, Process, bounded, program, runtime, said};

/// A server that shows a certificate to its helper.
fn certified(federation: &Federation, Certified { certificate, key }: &Certified) -> Process {
    let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
    federation.serve_and(&["--certificate", &certificate, "--key", &key])
}

/// The last line of a process that must refuse.
fn refused(process: Process, heard: impl Fn() -> String) -> String {
    assert_eq!(process.ended().code(), Some(1), "{}", heard());
    heard().lines().last().unwrap_or_default().to_owned()
}

/// The run of a server's folder.
fn run_of(federation: &Federation) -> u64 {
    let bytes = fs::read(federation.place.server().join("terms.bin")).unwrap();
    Terms::from_bytes(&bytes, None)
        .unwrap()
        .agreement
        .deployment
}

#[test]
fn leader_and_agents_of_two_servers_are_who_their_certificates_say() {
    bounded(|| {
        let [owner, agents, foreign] =
            ["owner", "agents", "foreign"].map(|name| Site::new(&format!("helpers-{name}")));
        let [ca, ca_of_agents] = [&owner, &agents].map(|site| site.ca().display().to_string());
        let second = Second::new("helpers");
        let mut helper = second.start(&["--delay", "1ms", "--ca", &ca]);
        assert_eq!(second.address().token, None, "nothing in it is secret");
        let more = [
            "--delay",
            "50ms",
            "--deadline",
            "60s",
            "--linger",
            "2s",
            "--ca",
            &ca_of_agents,
        ];
        let federation = campaign_of("helpers", 3, &second, &more);
        let why = federation.refused();
        let (run, plain) = (run_of(&federation), |_: &mut rcgen::CertificateParams| {});
        assert!(
            why.contains(&name_of_leader(run)) && why.contains("--certificate"),
            "{why}"
        );
        let old = |params: &mut rcgen::CertificateParams| {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        };
        let leads = [name_of_leader(run)];
        for (shown, part) in [
            (
                owner.sign("other", &[name_of_leader(run ^ 1)], plain),
                "is expected",
            ),
            (
                owner.sign("agent", &[name_of(run, 0)], plain),
                "is expected",
            ),
            (
                foreign.sign("foreign", &leads, plain),
                "not signed by the authority",
            ),
            (owner.sign("old", &leads, old), "has expired"),
        ] {
            let why = refused(certified(&federation, &shown), || federation.heard());
            assert!(why.contains(part), "{part}: {why}");
        }
        assert!(!second.folder().join("leader").exists(), "nobody leads it");
        let mut server = certified(&federation, &owner.sign("first", &leads, plain));
        let invitations = federation.invite();
        assert!(
            invitations
                .iter()
                .all(|line| line.token.is_none() && line.helper.is_some())
        );
        // Another key under the same name is the same leader.
        server.kill();
        let server = certified(&federation, &owner.sign("renewed", &leads, plain));
        let joining = |slot: usize| Joining {
            certified: Some(agents.sign(&format!("{slot}"), &[name_of(run, slot as u32)], plain)),
            evaluations: Some(12),
            ..federation.joining(&invitations[slot])
        };
        let runtime = runtime();
        let first = joining(0);
        let mut sites = vec![runtime.spawn(site(first.clone()))];
        let enrolled = federation.place.server().join("enrolled.jsonl");
        let start = std::time::Instant::now();
        while !enrolled.exists() {
            assert!(
                start.elapsed() < PATIENCE && !sites[0].is_finished(),
                "{}",
                federation.heard()
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Its masks are those that its certificate brought first: others would open nothing.
        let elsewhere = Joining {
            folder: federation.place.0.join("elsewhere"),
            ..first
        };
        let other = runtime.block_on(site(elsewhere));
        let Err(JoinError::Link(LinkError::Status {
            status: 403,
            reason,
        })) = &other
        else {
            panic!("{other:?}")
        };
        assert!(reason.contains("the key of its masks is"), "{reason}");
        sites.extend([1, 2].map(|slot| runtime.spawn(site(joining(slot)))));
        let files: Vec<_> = sites
            .into_iter()
            .map(|site| {
                runtime
                    .block_on(async { tokio::time::timeout(PATIENCE, site).await })
                    .unwrap()
                    .unwrap()
            })
            .map(|joined| joined.unwrap().file.unwrap().digest())
            .collect();
        assert!(files.iter().all(|file| *file == files[0]));
        assert!(server.ended().success(), "{}", federation.heard());
        let kept = fs::read_to_string(enrolled).unwrap();
        assert!(
            kept.lines().count() == 3 && kept.contains("masks") && !kept.contains("key"),
            "{kept}"
        );
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(
            led.contains("broadcasts 2, charges 2") && helped.contains("answers 2, charges 2"),
            "{led}{helped}"
        );
        let leader = fs::read_to_string(second.folder().join("leader")).unwrap();
        assert_eq!(leader, format!("{}\n", leads[0]));
        helper.kill();
        keeps_to_its_authority(&second, &ca_of_agents);
    });
}

/// A helper's folder that was begun with an authority is used with no other, and not without one.
fn keeps_to_its_authority(second: &Second, other: &str) {
    for more in [&[][..], &["--ca", other]] {
        let why = refused(second.start(more), || second.heard());
        assert!(
            why.contains("begun with another --ca (authority: then SHA-256 "),
            "{why}"
        );
    }
}

#[test]
fn who_shows_a_token_shows_no_certificate_and_a_folder_of_a_token_takes_no_authority() {
    bounded(|| {
        let owner = Site::new("helpers-token-owner");
        let second = Second::new("helpers-token");
        let mut helper = second.start(&[]);
        let more = ["--deadline", "60s", "--linger", "2s"];
        let federation = campaign_of("helpers-token", 3, &second, &more);
        let why = refused(
            certified(
                &federation,
                &owner.sign("any", &[name_of_leader(7)], |_| {}),
            ),
            || federation.heard(),
        );
        assert!(why.contains("the helper's address has a token"), "{why}");
        helper.kill();
        let why = refused(
            second.start(&["--ca", &owner.ca().display().to_string()]),
            || second.heard(),
        );
        assert!(why.contains("authority: then none, now SHA-256 "), "{why}");
        // Nor does it make itself another key, by which its leader would not recognise it.
        fs::remove_file(second.folder().join("server.key")).unwrap();
        let why = refused(second.start(&[]), || second.heard());
        assert!(why.contains("server.key"), "{why}");
    });
}

/// Waits until it is so.
fn wait(federation: &Federation, second: &Second, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < PATIENCE,
            "{}\n{}",
            federation.heard(),
            second.heard()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command on a folder: whether it was done, and what it said.
fn told(command: &str, folder: &std::path::Path, more: &[&str]) -> (bool, String) {
    let output = said(&[&[command, &folder.display().to_string()], more].concat());
    (
        output.status.success(),
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
    )
}

/// Sites that take part, each for itself.
fn sites(
    federation: &Federation,
    invitations: &[Invitation],
    runtime: &tokio::runtime::Runtime,
) -> Vec<tokio::task::JoinHandle<Result<Joined, JoinError>>> {
    let joining = |line| Joining {
        evaluations: Some(12),
        ..federation.joining(line)
    };
    invitations
        .iter()
        .map(|line| runtime.spawn(site(joining(line))))
        .collect()
}

fn ended(
    runtime: &tokio::runtime::Runtime,
    site: tokio::task::JoinHandle<Result<Joined, JoinError>>,
) -> Result<Joined, JoinError> {
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, site).await })
        .unwrap()
        .unwrap()
}

#[test]
fn a_helper_s_key_is_rotated_in_a_running_campaign_and_no_leader_is_left_behind_unasked() {
    bounded(|| {
        let second = Second::new("helper-rotation");
        let mut helper = second.start(&["--delay", "1ms"]);
        let more = [
            "--releases",
            "3",
            "--delay",
            "400ms",
            "--deadline",
            "60s",
            "--linger",
            "2s",
        ];
        let federation = campaign_of("helper-rotation", 3, &second, &more);
        // Whoever was given the address knows the two keys that it names, and nobody has said so
        // yet.
        let (done, why) = told("rotate", &second.folder(), &[]);
        assert!(
            !done && why.contains("no leader has said yet which keys it knows"),
            "{why}"
        );
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let (folder, rotate) = (second.folder(), |more: &[&str]| {
            told("rotate", &second.folder(), more)
        });
        let masks = invitations[0].helper.unwrap();
        // The key of the masks is another matter.
        let (done, why) = rotate(&["--masks"]);
        assert!(
            !done && why.contains("stays until the end of its run"),
            "{why}"
        );
        let (done, why) = told("rotate", &federation.place.server(), &["--masks"]);
        assert!(
            !done && why.contains("a server has no key of masks"),
            "{why}"
        );
        let first = second.address().pins;
        assert_eq!(first.len(), 2);
        let (done, says) = rotate(&[]);
        assert!(
            done && says.contains(&format!("the key is now {}", first[1]))
                && says.contains(&masks.to_string()),
            "{says}"
        );
        assert_eq!(
            second.address().pins[0],
            first[1],
            "the address of its owner's file is that of now"
        );
        wait(&federation, &second, || {
            second
                .heard()
                .contains(&format!("connections are shown the key {}", first[1]))
        });
        // The leader has the old address, which is good for one rotation.
        let (done, why) = rotate(&[]);
        assert!(
            !done && why.contains("the leader does not know the next key"),
            "{why}"
        );
        let now = second.address().pins;
        assert_eq!(now[0], first[1], "nothing was done");
        // With the new one it knows it, before it has anything to ask.
        server.kill();
        let server = federation.serve();
        let line = |pins: &[_]| {
            pins.iter()
                .map(|pin| format!("{pin}\n"))
                .collect::<String>()
        };
        let known = || fs::read_to_string(folder.join("pins")).unwrap();
        wait(&federation, &second, || known() == line(&now));
        let (done, says) = rotate(&[]);
        assert!(done, "{says}");
        // And while agents contribute: a helper that was begun again shows nothing but its new key.
        let sites = sites(&federation, &invitations, &runtime);
        wait(&federation, &second, || {
            federation
                .place
                .server()
                .join("frames/000001.frame")
                .exists()
        });
        helper.kill();
        helper = second.start(&["--delay", "1ms"]);
        assert!(
            !first.contains(&second.address().pins[0]),
            "negative control: the first address names no key of now"
        );
        let files: Vec<_> = sites
            .into_iter()
            .map(|site| ended(&runtime, site).unwrap().file.unwrap().digest())
            .collect();
        assert!(files.iter().all(|file| *file == files[0]));
        assert!(server.ended().success(), "{}", federation.heard());
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(
            led.contains("broadcasts 3, charges 3") && helped.contains("answers 3, charges 3"),
            "{led}{helped}"
        );
        let promise = second.said("promise");
        assert!(
            promise.contains(&format!("signed by {}", now[1]))
                && promise.contains(&masks.to_string()),
            "{promise}"
        );
        // Who asks for it may leave its leader behind.
        let (done, says) = rotate(&["--leave-behind"]);
        assert!(done, "{says}");
        drop(helper);
    });
}

/// A leader that names another helper by mistake binds nobody.
#[test]
fn another_helper_in_the_place_of_the_one_that_is_known_is_refused_and_stays_free() {
    bounded(|| {
        let [second, third] = ["helper-known", "helper-other"].map(Second::new);
        let _helpers = [&second, &third].map(|helper| helper.start(&[]));
        let federation = campaign_of(
            "helper-known",
            3,
            &second,
            &["--deadline", "60s", "--linger", "2s"],
        );
        let mut server = federation.serve();
        let helper = federation.invite()[0].helper;
        server.kill();
        let url = format!("@{}", third.folder().join("url").display());
        let other = federation.serve_with(program(&[]), &["--helper", &url]);
        let why = refused(other, || federation.heard());
        assert!(why.contains("not the leader of this helper"), "{why}");
        assert!(
            !third.folder().join("leader").exists() && !third.folder().join("terms.bin").exists()
        );
        let _server = federation.serve();
        assert_eq!(
            federation.invite()[0].helper,
            helper,
            "it goes on with its own"
        );
    });
}

#[test]
fn an_agent_that_either_owner_shuts_out_is_in_no_later_release_of_both_servers() {
    bounded(|| {
        let second = Second::new("helper-revokes");
        let helper = second.start(&["--delay", "1ms"]);
        let (none, why) = told("revoke", &second.folder(), &["0"]);
        assert!(!none && why.contains("no terms yet"), "{why}");
        // Long enough for both commands between a release and the next question.
        let more = ["--delay", "3s", "--deadline", "60s", "--linger", "2s"];
        let federation = campaign_of("helper-revokes", 4, &second, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let leads = federation.place.server();
        let sites = sites(&federation, &invitations, &runtime);
        wait(&federation, &second, || {
            leads.join("frames/000001.frame").exists()
        });
        for (folder, agent) in [(&leads, "1"), (&second.folder(), "2")] {
            let (done, says) = told("revoke", folder, &[agent]);
            assert!(
                done && says.contains(&format!("agent {agent} is shut out")),
                "{says}"
            );
        }
        let (done, says) = told("revoke", &second.folder(), &["4"]);
        assert!(
            !done && says.contains("this federation has 4 agents"),
            "{says}"
        );
        // The question named agent 2: the helper answers nothing and charges nothing, and the
        // leader forgets it.
        let why = refused(server, || federation.heard());
        assert!(
            why.contains("epoch 1: the helper's owner shut out agents [2]"),
            "{why}"
        );
        assert!(!leads.join("asked.json").exists());
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(
            led.contains("broadcasts 1, charges 1") && helped.contains("answers 1, charges 1"),
            "{led}{helped}"
        );
        let shut = fs::read_to_string(leads.join("revoked.jsonl")).unwrap();
        assert_eq!(
            shut.lines().collect::<Vec<_>>(),
            ["{\"slot\":1}", "{\"slot\":2}"]
        );
        // Begun again, it asks everybody else.
        let server = federation.serve();
        for (slot, site) in sites.into_iter().enumerate() {
            match (slot, ended(&runtime, site)) {
                (0 | 3, Ok(joined)) => assert_eq!(joined.given, [0, 1], "agent {slot}"),
                (1 | 2, Err(JoinError::Agent(AgentEnd::Refused))) => {}
                (_, other) => panic!("agent {slot}: {other:?}"),
            }
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let asked: Value =
            serde_json::from_slice(&fs::read(leads.join("asked.json")).unwrap()).unwrap();
        let set = asked["question"]["set"]
            .as_array()
            .unwrap()
            .iter()
            .map(|who| who["agent"].as_u64().unwrap());
        assert_eq!(
            (asked["question"]["epoch"].as_u64(), set.collect::<Vec<_>>()),
            (Some(1), vec![0, 3])
        );
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(
            led.contains("broadcasts 2, charges 2") && helped.contains("answers 2, charges 2"),
            "{led}{helped}"
        );
        drop(helper);
    });
}
