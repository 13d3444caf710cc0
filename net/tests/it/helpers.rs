//! A helper whose leader has a certificate.

use std::fs;

use sordino_net::authority::{name_of, name_of_leader};
use sordino_net::join::{Certified, JoinError, Joining};
use sordino_net::link::LinkError;
use sordino_net::terms::Terms;

use super::authorities::Site;
use super::shares::{Second, campaign_of, site};
use super::util::{Federation, PATIENCE, Process, bounded, runtime};

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
    Terms::from_bytes(&bytes, None).unwrap().agreement.deployment
}

#[test]
fn leader_and_agents_of_two_servers_are_who_their_certificates_say() {
    bounded(|| {
        let [owner, agents, foreign] = ["owner", "agents", "foreign"].map(|name| Site::new(&format!("helpers-{name}")));
        let [ca, ca_of_agents] = [&owner, &agents].map(|site| site.ca().display().to_string());
        let second = Second::new("helpers");
        let mut helper = second.start(&["--delay", "1ms", "--ca", &ca]);
        assert_eq!(second.address().token, None, "nothing in it is secret");
        let more = ["--delay", "50ms", "--deadline", "60s", "--linger", "2s", "--ca", &ca_of_agents];
        let federation = campaign_of("helpers", 3, &second, &more);
        let why = federation.refused();
        let (run, plain) = (run_of(&federation), |_: &mut rcgen::CertificateParams| {});
        assert!(why.contains(&name_of_leader(run)) && why.contains("--certificate"), "{why}");
        let old = |params: &mut rcgen::CertificateParams| {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        };
        let leads = [name_of_leader(run)];
        for (shown, part) in [
            (owner.sign("other", &[name_of_leader(run ^ 1)], plain), "is expected"),
            (owner.sign("agent", &[name_of(run, 0)], plain), "is expected"),
            (foreign.sign("foreign", &leads, plain), "not signed by the authority"),
            (owner.sign("old", &leads, old), "has expired"),
        ] {
            let why = refused(certified(&federation, &shown), || federation.heard());
            assert!(why.contains(part), "{part}: {why}");
        }
        assert!(!second.folder().join("leader").exists(), "nobody leads it");
        let mut server = certified(&federation, &owner.sign("first", &leads, plain));
        let invitations = federation.invite();
        assert!(invitations.iter().all(|line| line.token.is_none() && line.helper.is_some()));
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
        let (enrolled, start) = (federation.place.server().join("enrolled.jsonl"), std::time::Instant::now());
        while !enrolled.exists() {
            assert!(start.elapsed() < PATIENCE && !sites[0].is_finished(), "{}", federation.heard());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Its masks are those that its certificate brought first: others would open nothing.
        let elsewhere = Joining { folder: federation.place.0.join("elsewhere"), ..first };
        let other = runtime.block_on(site(elsewhere));
        let Err(JoinError::Link(LinkError::Status { status: 403, reason })) = &other else { panic!("{other:?}") };
        assert!(reason.contains("the key of its masks is"), "{reason}");
        sites.extend([1, 2].map(|slot| runtime.spawn(site(joining(slot)))));
        let files: Vec<_> = sites
            .into_iter()
            .map(|site| runtime.block_on(async { tokio::time::timeout(PATIENCE, site).await }).unwrap().unwrap())
            .map(|joined| joined.unwrap().file.unwrap().digest())
            .collect();
        assert!(files.iter().all(|file| *file == files[0]));
        assert!(server.ended().success(), "{}", federation.heard());
        let kept = fs::read_to_string(enrolled).unwrap();
        assert!(kept.lines().count() == 3 && kept.contains("masks") && !kept.contains("key"), "{kept}");
        let (led, helped) = (federation.replay(), second.said("replay"));
        assert!(led.contains("broadcasts 2, charges 2") && helped.contains("answers 2, charges 2"), "{led}{helped}");
        let leader = fs::read_to_string(second.folder().join("leader")).unwrap();
        assert_eq!(leader, format!("{}\n", leads[0]));
        // The folder keeps to its authority.
        helper.kill();
        for more in [&[][..], &["--ca", &ca_of_agents]] {
            let why = refused(second.start(more), || second.heard());
            assert!(why.contains("begun with another --ca (authority: then SHA-256 "), "{why}");
        }
    });
}

#[test]
fn who_shows_a_token_shows_no_certificate_and_a_folder_of_a_token_takes_no_authority() {
    bounded(|| {
        let owner = Site::new("helpers-token");
        let second = Second::new("helpers-token");
        let mut helper = second.start(&[]);
        let more = ["--deadline", "60s", "--linger", "2s"];
        let federation = campaign_of("helpers-token", 3, &second, &more);
        let why = refused(certified(&federation, &owner.sign("any", &[name_of_leader(7)], |_| {})), || federation.heard());
        assert!(why.contains("the helper's address has a token"), "{why}");
        helper.kill();
        let why = refused(second.start(&["--ca", &owner.ca().display().to_string()]), || second.heard());
        assert!(why.contains("authority: then none, now SHA-256 "), "{why}");
    });
}
