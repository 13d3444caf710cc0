//! Folders that were there before: what is written into them is for its owner alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sordino_core::random::RunSeed;
use sordino_net::agent::HostAgent;
use sordino_net::folder::Folder;
use sordino_net::identity::Identity;
use sordino_net::join::Joining;
use sordino_net::party::{Draws, Served as _};
use sordino_net::terms::Terms;

use super::bodies::terms;
use super::util::{Federation, PATIENCE, Place, bounded, runtime, take_part};

/// Permissions and path of every file below a folder, locks included: whoever may open a lock may
/// hold the server out.
fn files(folder: &Path, found: &mut Vec<(u32, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let known = fs::metadata(&path).unwrap();
        if known.is_dir() {
            files(&path, found);
        } else {
            found.push((
                known.permissions().mode() & 0o777,
                path.display().to_string(),
            ));
        }
    }
}

/// An agent's observations, the seed of its draws and the server's next broadcast were 0644 in such
/// a folder.
#[test]
fn nothing_in_a_folder_that_was_there_is_open_to_others() {
    bounded(|| {
        let federation = Federation::new(
            "open",
            2,
            2,
            &["--close-early", "--deadline", "60s", "--linger", "2s"],
        );
        let folder = federation.place.server();
        let agents = [0, 1].map(|slot| federation.place.0.join(format!("agent-{slot}")));
        for folder in agents.iter().chain([&folder]) {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        // As an older version left it.
        fs::write(folder.join("address"), "localhost:1\n").unwrap();
        fs::set_permissions(folder.join("address"), Permissions::from_mode(0o644)).unwrap();
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let joined: Vec<_> = invitations
            .iter()
            .map(|invitation| runtime.spawn(take_part(federation.joining(invitation))))
            .collect();
        for agent in joined {
            runtime
                .block_on(async { tokio::time::timeout(PATIENCE, agent).await.unwrap() })
                .unwrap()
                .unwrap();
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let mut found = Vec::new();
        let counter = federation.place.0.join("counter");
        assert_eq!(
            fs::metadata(&counter).unwrap().permissions().mode() & 0o777,
            0o700,
            "made by the program"
        );
        agents
            .iter()
            .chain([&folder, &counter])
            .for_each(|folder| files(folder, &mut found));
        for name in [
            "agent.bin",
            "agent.key",
            "terms.bin",
            "round.bin",
            "000002.frame",
            "ledger.jsonl",
            "enrolled.jsonl",
        ] {
            assert!(
                found.iter().any(|(_, path)| path.ends_with(name)),
                "{name} is not there: {found:?}"
            );
        }
        let open: Vec<_> = found.iter().filter(|(mode, _)| mode & 0o077 != 0).collect();
        assert!(open.is_empty(), "{open:?}");
        edits_are_named(&federation);
    });
}

/// What `replay` says of a server's folder that somebody has edited; mended again after each.
fn edits_are_named(federation: &Federation) {
    let folder = federation.place.server();
    let says = |what: &str| {
        let output = federation.command("replay");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!output.status.success(), "{what}: {said}");
        said
    };
    let ledger = folder.join("ledger.jsonl");
    let whole = fs::read_to_string(&ledger).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 3, "a head and two charges: {whole}");
    for (what, text, expected) in [
        (
            "lines that are none",
            format!("{}\nx\ny\n", lines[0]),
            "line 2",
        ),
        (
            "another budget",
            whole.replacen("\"epsilon_max\":100", "\"epsilon_max\":999", 1),
            "line 1",
        ),
        // The last one is in round.bin as well.
        (
            "two charges less",
            format!("{}\n", lines[0]),
            "one is missing",
        ),
    ] {
        fs::write(&ledger, text).unwrap();
        let said = says(what);
        assert!(said.contains(expected), "{what}: {said}");
    }
    fs::write(&ledger, &whole).unwrap();
    // Of the frames the last one is in round.bin as well, those before are not.
    let frame = folder.join("frames/000001.frame");
    let bytes = fs::read(&frame).unwrap();
    fs::remove_file(&frame).unwrap();
    assert!(says("a frame less").contains("000001.frame"));
    fs::write(&frame, bytes).unwrap();
    // Looking makes no key: a copy without them is not another server.
    let key = folder.join("server.key");
    let hidden = federation.place.0.join("hidden");
    fs::rename(&key, &hidden).unwrap();
    assert!(says("no key").contains("server.key") && !key.exists());
    fs::rename(&hidden, &key).unwrap();
    let said = federation.replay();
    assert!(
        said.contains("broadcasts 2, charges 2"),
        "negative control: {said}"
    );
}

/// Two processes that found no key made two.
#[test]
fn a_key_is_made_once_whoever_opens_it_first() {
    let place = Place::new("keys");
    let path = place.0.join("server.key");
    let open = || {
        let path = path.clone();
        std::thread::spawn(move || Identity::open(&path).unwrap().fingerprint().unwrap())
    };
    let opened: Vec<_> = std::iter::repeat_with(open).take(8).collect();
    let keys: Vec<_> = opened
        .into_iter()
        .map(|opened| opened.join().unwrap())
        .collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(
        fs::read_dir(&place.0).unwrap().count(),
        1,
        "the key, and nothing beside it"
    );
}

#[test]
fn a_folder_says_which_number_differs_from_the_terms_it_was_begun_with() {
    let place = Place::new("other-terms");
    Folder::begin(&place.0, terms()).unwrap();
    let refused = |change: &dyn Fn(&mut Terms)| {
        let mut other = terms();
        change(&mut other);
        Folder::begin(&place.0, other)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let says = |change: &dyn Fn(&mut Terms), expected: &str| {
        let refused = refused(change);
        assert!(
            refused.contains(&format!("begun under other terms ({expected})")),
            "{expected}: {refused}"
        );
    };
    says(
        &|terms| terms.agreement.announced.epsilon_max = Some(9.5),
        "announced.epsilon_max: then 8.0, now 9.5",
    );
    says(
        &|terms| terms.agreement.announced.epsilon_max = None,
        "announced.epsilon_max: then 8.0, now none",
    );
    says(
        &|terms| terms.agreement.announced.deadline_ms += 1,
        "announced.deadline_ms: then 170000, now 170001",
    );
    assert!(
        refused(&|terms| terms.authority = Some(vec![7]))
            .contains("authority: then none, now SHA-256 ")
    );
    // Negative controls: the run alone may differ, and a folder that refused goes on with its own
    // terms.
    assert_eq!(refused(&|terms| terms.agreement.deployment ^= 1), "");
    assert_eq!(refused(&|_| {}), "");
}

/// An agent's file said "of another agent, or under other terms".
#[test]
fn an_agent_s_file_says_in_what_it_differs_from_who_goes_on_with_it() {
    let place = Place::new("other-agent");
    let file = place.0.join("agent.bin");
    let open = |terms: &Terms, slot: u32| {
        let shared = Draws::<f32>::new(terms).unwrap();
        let opened = HostAgent::<f32, Draws<f32>>::open(
            &shared,
            slot,
            RunSeed::new(0, 0),
            Some(file.clone()),
        );
        opened.err().map(|error| error.to_string())
    };
    assert_eq!(open(&terms(), 1), None, "begun");
    let says = |refused: Option<String>, expected: &str| {
        let refused = refused.unwrap_or_default();
        assert!(
            refused.contains(&format!(
                "agent.bin: this agent was begun under other terms ({expected})"
            )),
            "{refused}"
        );
    };
    says(open(&terms(), 2), "agent: then 1, now 2");
    let mut other = terms();
    other.agreement.announced.delta = 1e-6;
    let [then, now] = [&terms(), &other].map(|terms| terms.agreement.digest());
    says(
        open(&other, 1),
        &format!("digest of the agreement: then {then}, now {now}"),
    );
    // With the terms beside it that it was begun under, as `join` keeps them.
    fs::write(place.0.join("terms.bin"), terms().to_stored().unwrap()).unwrap();
    let [before, after] = [1e-5, 1e-6].map(|delta| serde_json::json!(delta).to_string());
    says(
        open(&other, 1),
        &format!("announced.delta: then {before}, now {after}"),
    );
    // Terms of something else beside it tell nothing.
    fs::write(place.0.join("terms.bin"), other.to_stored().unwrap()).unwrap();
    says(
        open(&other, 1),
        &format!("digest of the agreement: then {then}, now {now}"),
    );
    assert_eq!(open(&terms(), 1), None, "it goes on as itself");
}

#[test]
fn a_folder_of_another_federation_says_in_what_its_invitation_differs() {
    bounded(|| {
        let one = Federation::new("differs-one", 2, 2, &["--deadline", "60s"]);
        let two = Federation::new("differs-two", 2, 2, &["--deadline", "61s"]);
        let _first = one.serve();
        let mut second = two.serve();
        let here = one.invite().remove(0);
        let there = two.invite().remove(0);
        let runtime = runtime();
        let joining = one.joining(&here);
        let agent = runtime.spawn(take_part(joining.clone()));
        let start = std::time::Instant::now();
        while !one.has_begun(&here) {
            assert!(start.elapsed() < PATIENCE, "{}", one.heard());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        agent.abort();
        drop(runtime.block_on(agent));
        let elsewhere = Joining {
            invitation: there,
            ..joining
        };
        let refused = || {
            runtime
                .block_on(take_part(elsewhere.clone()))
                .unwrap_err()
                .to_string()
        };
        let expected = "under other terms (announced.deadline_ms: then 60000, now 61000)";
        let said = refused();
        assert!(said.contains(expected), "{said}");
        // Without a server the two digests are all that is known.
        second.kill();
        let said = refused();
        let digest = elsewhere.invitation.terms.to_string();
        assert!(
            said.contains(&digest) && said.contains(&here.terms.to_string()),
            "{said}"
        );
    });
}
