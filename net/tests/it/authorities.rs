//! A site with an authority of its own: agents are what their certificates say, and nothing else
//! admits them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use sordino_net::agent::AgentEnd;
use sordino_net::authority::{Authority, AuthorityError, Expected, Refused, name_of, read};
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::join::{Certified, JoinError, Joining};
use sordino_net::link::{Link, LinkError};

use super::util::{Federation, PATIENCE, Place, bounded, runtime, said, take_part};

/// Bytes as PEM holds them.
fn pem(label: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for (i, three) in bytes.chunks(3).enumerate() {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digits = (0..4).map(|i| char::from(DIGITS[(bits >> (18 - 6 * i)) as usize & 63]));
        text.extend(digits.take(three.len() + 1));
        text.push_str(&"=".repeat(3 - three.len()));
        text.push_str(if i % 16 == 15 { "\n" } else { "" });
    }
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        text.trim_end()
    )
}

/// An authority of a test, and where it keeps its files.
pub(super) struct Site {
    place: Place,
    params: CertificateParams,
    key: KeyPair,
}

impl Site {
    pub(super) fn new(name: &str) -> Site {
        let place = Place::new(name);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        params.not_after = date_time_ymd(4000, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(
            place.0.join("ca.pem"),
            pem("CERTIFICATE", certificate.der()),
        )
        .unwrap();
        Site { place, params, key }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.place.0.join("ca.pem")
    }

    /// A certificate with these names, changed by `change`, and its key, under a name of its own.
    pub(super) fn sign(
        &self,
        file: &str,
        names: &[String],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Certified {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.subject_alt_names = names
            .iter()
            .map(|name| SanType::URI(name.as_str().try_into().unwrap()))
            .collect();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let certificate = params
            .signed_by(&key, &Issuer::from_params(&self.params, &self.key))
            .unwrap();
        let at = |end: &str| self.place.0.join(format!("{file}.{end}"));
        fs::write(at("pem"), pem("CERTIFICATE", certificate.der())).unwrap();
        fs::write(at("key"), pem("PRIVATE KEY", &key.serialize_der())).unwrap();
        Certified {
            certificate: at("pem"),
            key: at("key"),
        }
    }
}

fn chain(certified: &Certified) -> Vec<CertificateDer<'static>> {
    let pem = fs::read(&certified.certificate).unwrap();
    CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .unwrap()
}

fn authority(path: &Path, run: u64, agents: u32) -> Arc<Authority> {
    Authority::new(&read(path).unwrap(), run, agents).unwrap()
}

const RUN: u64 = 0x0123_4567_89ab_cdef;

#[test]
fn a_certificate_is_one_agent_of_one_federation_or_nobody() {
    let site = Site::new("site");
    let foreign = Site::new("foreign");
    let ours = authority(&site.ca(), RUN, 5);
    let now = UnixTime::now();
    let judged = |certified: &Certified| ours.slot(&chain(certified), now);
    let plain = |_: &mut CertificateParams| {};
    assert_eq!(judged(&site.sign("3", &[name_of(RUN, 3)], plain)), Ok(3));
    // Names of something else do no harm.
    let beside = ["https://site.example/x".to_owned(), name_of(RUN, 0)];
    assert_eq!(judged(&site.sign("0", &beside, plain)), Ok(0));
    // Signed by another authority of the same name.
    let stranger = foreign.sign("3", &[name_of(RUN, 3)], plain);
    assert!(
        matches!(judged(&stranger), Err(Refused::Foreign(_))),
        "{:?}",
        judged(&stranger)
    );
    // By nobody but itself; by an agent's certificate.
    let own = Identity::generate().unwrap();
    assert!(matches!(
        ours.slot(own.chain(), now),
        Err(Refused::Foreign(_))
    ));
    let agent = site.sign("4", &[name_of(RUN, 4)], plain);
    let key = PrivateKeyDer::from_pem_slice(&fs::read(&agent.key).unwrap()).unwrap();
    let key = KeyPair::try_from(key.secret_der()).unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.subject_alt_names = vec![SanType::URI(name_of(RUN, 2).as_str().try_into().unwrap())];
    let by_agent = params
        .signed_by(
            &KeyPair::generate().unwrap(),
            &Issuer::from_params(&params, &key),
        )
        .unwrap();
    let forged = [vec![by_agent.der().clone()], chain(&agent)].concat();
    assert!(
        matches!(ours.slot(&forged, now), Err(Refused::Foreign(_))),
        "{:?}",
        ours.slot(&forged, now)
    );
    // Dates.
    let old = site.sign("old", &[name_of(RUN, 3)], |params| {
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    });
    assert!(
        matches!(
            judged(&old),
            Err(Refused::Expired {
                until: 1_609_459_200,
                ..
            })
        ),
        "{:?}",
        judged(&old)
    );
    let in_its_time = UnixTime::since_unix_epoch(Duration::from_secs(1_600_000_000));
    assert_eq!(
        ours.slot(&chain(&old), in_its_time),
        Ok(3),
        "negative control: the date is what was wrong"
    );
    let early = site.sign("early", &[name_of(RUN, 3)], |params| {
        (params.not_before, params.not_after) =
            (date_time_ymd(3000, 1, 1), date_time_ymd(3001, 1, 1));
    });
    assert!(
        matches!(judged(&early), Err(Refused::NotYet { .. })),
        "{:?}",
        judged(&early)
    );
    // The authority's own time.
    let late = UnixTime::since_unix_epoch(Duration::from_secs(80_000_000_000));
    let of_ever = site.sign("ever", &[name_of(RUN, 3)], |params| {
        params.not_after = date_time_ymd(9998, 1, 1)
    });
    assert!(matches!(
        ours.slot(&chain(&of_ever), late),
        Err(Refused::Expired { .. })
    ));
    // Uses.
    let server = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]
    };
    let server = site.sign("server", &[name_of(RUN, 3)], server);
    assert!(
        matches!(judged(&server), Err(Refused::Usage(_))),
        "{:?}",
        judged(&server)
    );
    names(&site, &ours);
}

/// What is no name of an agent of this federation.
fn names(site: &Site, ours: &Authority) {
    let plain = |_: &mut CertificateParams| {};
    let judged =
        |names: &[String]| ours.slot(&chain(&site.sign("named", names, plain)), UnixTime::now());
    let wanted = Expected::Agent { run: RUN, last: 4 };
    assert_eq!(judged(&[]), Err(Refused::NoName { expected: wanted }));
    assert_eq!(
        judged(&["https://site.example/3".into()]),
        Err(Refused::NoName { expected: wanted })
    );
    assert_eq!(
        judged(&[name_of(RUN, 1), name_of(RUN, 2)]),
        Err(Refused::Names { found: 2 })
    );
    let run = format!("{RUN:016x}");
    for other in [
        name_of(RUN + 1, 3),
        name_of(RUN, 5),
        format!("sordino:{run}"),
        format!("sordino:{run}/"),
        format!("sordino:{run}/03"),
        format!("sordino:{run}/+3"),
        format!("sordino:{run}/3/3"),
        format!("sordino:{}/3", run.to_uppercase()),
        format!("sordino:{run}/4294967296"),
        format!("sordino://{run}/3"),
    ] {
        let refused = judged(std::slice::from_ref(&other));
        let expected = Refused::OtherName {
            found: other.clone(),
            expected: wanted,
        };
        assert_eq!(refused, Err(expected), "{other}");
    }
}

#[test]
fn a_file_without_one_authority_is_refused() {
    let site = Site::new("files");
    let at = |name: &str, text: &[u8]| {
        let path = site.place.0.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let pem = fs::read(site.ca()).unwrap();
    let der = CertificateDer::pem_slice_iter(&pem)
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        read(&at("der", &der)).unwrap(),
        read(&site.ca()).unwrap(),
        "PEM and DER are the same"
    );
    assert!(matches!(
        read(&at("two", &[&pem[..], &pem].concat())),
        Err(AuthorityError::Count { found: 2 })
    ));
    assert!(matches!(
        read(&at("none", b"no certificate")),
        Err(AuthorityError::Count { found: 0 })
    ));
    assert!(matches!(
        read(&at("cut", &der[..der.len() - 1])),
        Err(AuthorityError::Certificate(_))
    ));
    assert!(matches!(
        read(&site.place.0.join("missing")),
        Err(AuthorityError::File(_))
    ));
    // An agent's certificate is one too, but signs nobody: taken for an authority, its key would
    // admit everybody.
    let leaf = site.sign("leaf", &[name_of(RUN, 0)], |_| {});
    assert!(matches!(
        read(&leaf.certificate),
        Err(AuthorityError::Certificate(_))
    ));
    let own = Identity::generate().unwrap();
    assert!(
        matches!(
            read(&at("own", &own.chain()[0])),
            Err(AuthorityError::Certificate(_))
        ),
        "signed by itself"
    );
    let anchor = Authority::new(&chain(&leaf)[0], RUN, 5).unwrap();
    assert!(matches!(
        anchor.slot(&chain(&leaf), UnixTime::now()),
        Err(Refused::Foreign(_))
    ));
}

/// The command lines of the book that hold this word.
fn book(word: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/deploying.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let found: Vec<&str> = blocks.filter(|block| block.contains(word)).collect();
    let [block] = found[..] else {
        panic!("{word:?} is in {} blocks", found.len())
    };
    block.to_owned()
}

#[test]
fn the_lines_of_the_book_sign_an_agent_that_is_admitted() {
    bounded(|| {
        let place = Place::new("openssl");
        let run = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            let output = shell
                .args(["-ec", script])
                .current_dir(&place.0)
                .stdin(std::process::Stdio::null())
                .output();
            let output = output.unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{script}\n{said}");
            (String::from_utf8(output.stdout).unwrap(), said)
        };
        run(&book("site-ca.key -out site-ca.pem"));
        let ca = place.0.join("site-ca.pem").display().to_string();
        let more = [
            "--ca",
            &ca,
            "--close-early",
            "--deadline",
            "10s",
            "--linger",
            "600s",
        ];
        let federation = Federation::new("book", 2, 3, &more);
        let server = federation.serve();
        let server_began = std::time::Instant::now();
        let invitation = federation.invite().remove(0);
        // Nobody waits for the other one, from the next round on: neither at a deadline nor in the
        // end.
        let folder = federation.place.server().display().to_string();
        assert!(said(&["revoke", &folder, "1"]).status.success());
        let lines = book("agent-17.csr");
        // The book's agent has another number, another run, and another function.
        let lines = lines
            .replace("17", "0")
            .replace("RUN", &format!("{:016x}", invitation.deployment));
        fs::write(
            place.0.join("agent-0.invitation"),
            format!("{invitation}\n"),
        )
        .unwrap();
        let lines = lines
            .replace("./measure", "echo 0.5")
            .replace("--max-epsilon 2", "--max-epsilon 100");
        let program = env!("CARGO_BIN_EXE_sordino-net");
        let lines = lines.replace(
            "sordino join",
            &format!("chmod 640 agent-0.key\n'{program}' join"),
        );
        let (joined, said) = run(&lines);
        assert!(
            said.contains("agent-0.key: others on this machine may read the key (mode 640"),
            "{said}"
        );
        assert!(
            joined.contains("agent 0: ") && joined.contains("sent to 3 rounds"),
            "{joined}"
        );
        assert!(
            server_began.elapsed() < Duration::from_secs(60),
            "{}",
            federation.heard()
        );
        // What it measured is in its folder, and in nothing that a log keeps.
        let best = place.0.join(format!(
            "sordino-agent-{:016x}-0/best.json",
            invitation.deployment
        ));
        assert!(
            fs::read_to_string(best).unwrap().contains("\"value\":0.5"),
            "{joined}"
        );
        assert!(
            !said.contains("0.5") && !joined.contains("0.5"),
            "{said}{joined}"
        );
        assert!(server.ended().success(), "{}", federation.heard());
    });
}

fn joining(federation: &Federation, invitation: &Invitation, certified: Certified) -> Joining {
    Joining {
        certified: Some(certified),
        ..federation.joining(invitation)
    }
}

#[test]
fn agents_with_certificates_take_part_and_others_are_told_why_not() {
    bounded(|| {
        let site = Site::new("pki");
        let foreign = Site::new("other-pki");
        let ca = site.ca().display().to_string();
        let more = [
            "--ca",
            &ca,
            "--close-early",
            "--deadline",
            "60s",
            "--linger",
            "2s",
        ];
        let federation = Federation::new("authority", 2, 4, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        assert!(
            invitations
                .iter()
                .all(|invitation| invitation.token.is_none())
        );
        let run = invitations[0].deployment;
        let runtime = runtime();
        let plain = |_: &mut CertificateParams| {};
        let take = |joining| {
            runtime.block_on(async {
                tokio::time::timeout(PATIENCE, take_part(joining))
                    .await
                    .unwrap()
            })
        };
        let status = |ended: Result<_, JoinError>| match ended {
            Err(JoinError::Link(LinkError::Status { status, reason })) => (status, reason),
            other => panic!("{other:?}"),
        };
        // What an agent notices itself.
        let without = take(federation.joining(&invitations[0]));
        assert!(
            matches!(&without, Err(JoinError::NoCertificate { name }) if *name == name_of(run, 0)),
            "{without:?}"
        );
        let of_one = take(joining(
            &federation,
            &invitations[0],
            site.sign("1", &[name_of(run, 1)], plain),
        ));
        assert!(
            matches!(
                of_one,
                Err(JoinError::OtherAgent {
                    found: 1,
                    expected: 0,
                    ..
                })
            ),
            "{of_one:?}"
        );
        let of_other = take(joining(
            &federation,
            &invitations[0],
            site.sign("x", &[name_of(run ^ 1, 0)], plain),
        ));
        assert!(
            matches!(
                of_other,
                Err(JoinError::Certificate {
                    refused: Refused::OtherName { .. },
                    ..
                })
            ),
            "{of_other:?}"
        );
        // What the server says.
        let (code, reason) = status(take(joining(
            &federation,
            &invitations[0],
            foreign.sign("0", &[name_of(run, 0)], plain),
        )));
        assert!(
            code == 403 && reason.contains("not signed by the authority"),
            "{code} {reason}"
        );
        let expired = site.sign("expired", &[name_of(run, 0)], |params| {
            (params.not_before, params.not_after) =
                (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        });
        let (code, reason) = status(take(joining(&federation, &invitations[0], expired)));
        assert!(
            code == 403 && reason.contains("has expired"),
            "{code} {reason}"
        );
        // Its certificate says another agent than its requests.
        runtime.block_on(async {
            let one = site.sign("one", &[name_of(run, 1)], plain);
            let tls = Identity::certified(&one)
                .unwrap()
                .client(&invitations[0].pins)
                .unwrap();
            let mut link = Link::new(&invitations[0].address, run, tls, Duration::from_secs(1));
            let refused = link.enrol(0, None).await;
            assert!(
                matches!(&refused, Err(LinkError::Status { status: 403, .. })),
                "{refused:?}"
            );
        });
        // Both, each with a certificate of its own; one is renewed in the middle of the federation.
        let one = site.sign("1", &[name_of(run, 1)], plain);
        let other = runtime.spawn(take_part(joining(&federation, &invitations[1], one)));
        let zero = take(joining(
            &federation,
            &invitations[0],
            site.sign("0", &[name_of(run, 0)], plain),
        ))
        .unwrap();
        let other = runtime.block_on(other).unwrap().unwrap();
        assert_eq!((zero.given.len(), zero.chain), (4, other.chain));
        assert!(server.ended().success(), "{}", federation.heard());
        assert!(
            !federation.place.server().join("enrolled.jsonl").exists(),
            "nobody is bound to a key"
        );
        let said = federation.replay();
        assert!(said.contains("broadcasts 4, charges 4"), "{said}");
    });
}

#[test]
fn a_renewed_certificate_is_the_same_agent_and_a_revoked_slot_is_nobody() {
    bounded(|| {
        let site = Site::new("renewal");
        let ca = site.ca().display().to_string();
        let federation = Federation::new(
            "renewed",
            2,
            300,
            &["--ca", &ca, "--deadline", "300ms", "--linger", "1s"],
        );
        let mut server = federation.serve();
        let invitation = federation.invite().remove(1);
        let run = invitation.deployment;
        let runtime = runtime();
        let plain = |_: &mut CertificateParams| {};
        let once = |file: &str, rounds: usize| {
            let certified = site.sign(file, &[name_of(run, 1)], plain);
            let agent = runtime.spawn(take_part(joining(&federation, &invitation, certified)));
            let start = std::time::Instant::now();
            while !federation.has_begun(&invitation) || federation.given(&invitation).len() < rounds
            {
                assert!(
                    start.elapsed() < PATIENCE && !agent.is_finished(),
                    "{}",
                    federation.heard()
                );
                std::thread::sleep(Duration::from_millis(10));
            }
            agent
        };
        let agent = once("first", 1);
        agent.abort();
        drop(runtime.block_on(agent));
        // Another key under the same name.
        let before = federation.given(&invitation).len();
        let agent = once("second", before + 1);
        let folder = federation.place.server().display().to_string();
        assert!(said(&["revoke", &folder, "1"]).status.success());
        let ended = runtime
            .block_on(async { tokio::time::timeout(PATIENCE, agent).await.unwrap() })
            .unwrap();
        let Err(JoinError::Agent(AgentEnd::Link(LinkError::Status {
            status: 403,
            reason,
        }))) = &ended
        else {
            panic!("{ended:?}")
        };
        assert!(reason.contains("agent 1 was shut out"), "{reason}");
        // A third certificate changes nothing.
        let certified = site.sign("third", &[name_of(run, 1)], plain);
        let again = runtime.block_on(take_part(joining(&federation, &invitation, certified)));
        assert!(
            matches!(
                &again,
                Err(JoinError::Link(LinkError::Status { status: 403, .. }))
            ),
            "{again:?}"
        );
        server.kill();
    });
}
