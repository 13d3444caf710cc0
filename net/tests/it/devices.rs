//! A device in a campaign of real sites: core's functions, what an export would have put into its
//! flash, and a link. It has no list of candidates, no virtual designs and no posterior of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use sordino_core::federated::exchange::{
    AgentExchange, Announced, Heard, Millis, Protocol, Want, after,
};
use sordino_core::federated::prior::{
    Opening, OwnPoints, Site, opening_len, own_points_len, own_points_scratch_len,
};
use sordino_core::federated::shares::Trust;
use sordino_core::prior::{
    Newcomer, NewcomerSettings, PriorNumbers, PublicPrior, attach_len, numbers_len, storage_len,
};
use sordino_core::wire::{self, Header, Kind, ScalarTag};
use sordino_engine::federated::export::Language;
use sordino_experiment::scenario::{Shipped, method};
use sordino_host::campaign::Campaign;
use sordino_host::prior::PriorFile;
use sordino_host::prior::context::Contributor;
use sordino_host::prior::publish::Publication;
use sordino_host::space::{Goal, SpaceFile};
use sordino_net::agent::Query;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::join::{Joining, join};
use sordino_net::link::{Link, LinkError};
use sordino_net::rounds::Asked;
use sordino_net::terms::{ConstantsError, Terms};

use super::util::{Federation, PATIENCE, bounded, runtime, said};

const AGENTS: u32 = 5;
const SPACE: &str = "goal = \"minimize\"\n[parameters.x]\nlow = 0\nhigh = 10\n[parameters.rate]\nlow = 1e-3\nhigh = 1\nscale = \"log\"\n";
const FEATURES: usize = 20;
/// Points that the device measures, wherever its owner likes; in coordinates of the box.
const POINTS: [f64; 12] = [
    0.05, 0.5, 0.4, 0.1, 0.95, 0.9, 0.5, 0.65, 0.7, 0.3, 0.2, 0.8,
];
const N: usize = POINTS.len() / 2;

/// The loss of everybody, in a unit of each; coordinates are those of the parameters in the order
/// of their names, rate and x.
fn loss(agent: u32, u: [f64; 2]) -> f64 {
    let value = (u[0] - 0.7).powi(2) + 0.5 * (u[1] - 0.4).powi(2);
    1000.0 * f64::from(agent) + 10.0 * f64::from(1 + agent) * value
}

fn of_site(query: &Query) -> f64 {
    let point = query.named.as_ref().unwrap();
    let x = point["x"].as_f64().unwrap();
    let rate = point["rate"].as_f64().unwrap();
    loss(query.agent, [rate.log10() / 3.0 + 1.0, x / 10.0])
}

/// The status of a refusal.
pub fn status(error: Option<LinkError>) -> Option<u16> {
    match error {
        Some(LinkError::Status { status, .. } | LinkError::Busy { status, .. }) => Some(status),
        _ => None,
    }
}

/// What is in its flash.
struct Flash {
    agreement: sordino_core::federated::exchange::Agreement,
    landmarks: Vec<f64>,
}

/// What a device says at its end: the history it saw, what it sent to each release, the file, its
/// numbers in a frame, and when it heard of the first release.
type Told = (String, Vec<Vec<f64>>, [bytes::Bytes; 2], Instant);

async fn device(invitation: Invitation, flash: Flash) -> Told {
    let Flash {
        agreement,
        landmarks,
    } = &flash;
    let Protocol::Campaign(protocol) = &agreement.protocol else {
        panic!("no campaign")
    };
    let site = Site::new(protocol, landmarks, 2).unwrap();
    let m = site.features();
    let tls = Identity::generate()
        .unwrap()
        .client(&invitation.pins)
        .unwrap();
    let mut link = Link::new(
        &invitation.address,
        invitation.deployment,
        tls,
        Duration::from_secs(5),
    );
    while link
        .enrol(invitation.slot, invitation.token.as_ref())
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Larger is better for the method, smaller for this goal.
    let (pairs, _) = POINTS.as_chunks::<2>();
    let values: Vec<f64> = pairs.iter().map(|u| -loss(invitation.slot, *u)).collect();
    let mut storage = vec![0.0; own_points_len(N, m)];
    let mut scratch = vec![0.0; own_points_scratch_len(N, m)];
    let own = OwnPoints::compute(site, &POINTS, &values, &mut storage, &mut scratch).unwrap();

    let mut exchange = AgentExchange::new(agreement, invitation.slot);
    let mut given = Vec::new();
    let mut upload = vec![0.0; m + 1];
    let mut announced = Instant::now();
    loop {
        let waits = match exchange.want(Millis(0)) {
            Want::Done => break,
            Want::Refused => panic!("refused"),
            Want::Wait(_) => {
                exchange.later(0, Millis(0));
                true
            }
            Want::Ask(have) => match link.ask(&have).await {
                Ok(Asked::Frame {
                    bytes,
                    current,
                    seal,
                }) => {
                    let (header, payload) =
                        wire::decode(&bytes, agreement.frame_numbers_max()).unwrap();
                    let heard = exchange.frame(&header, &payload, current, seal);
                    assert!(matches!(heard, Ok(Heard::Enter | Heard::Again)));
                    if header.round == 1 {
                        announced = Instant::now();
                    }
                    false
                }
                Ok(Asked::Later { .. }) | Err(_) => true,
                Ok(other) => panic!("{other:?}"),
            },
            Want::Work => {
                let round = exchange.have().frames - 1;
                if round < protocol.releases() {
                    let bytes = link.opening(round, 4096).await.unwrap();
                    let (header, payload) = wire::decode(&bytes, opening_len(m) as u32).unwrap();
                    let history = wire::prefix(&exchange.have().chain);
                    assert_eq!(
                        (header.kind, header.round, header.chain),
                        (Kind::Opening, round, history)
                    );
                    let mut numbers = vec![0.0; opening_len(m)];
                    payload.read(&mut numbers).unwrap();
                    own.contribution(&Opening::read(&numbers).unwrap(), &mut scratch, &mut upload)
                        .unwrap();
                    given.push(upload.clone());
                }
                exchange.made();
                false
            }
            Want::Give(header) => {
                let numbers: &[f64] = if header.round < protocol.releases() {
                    &upload
                } else {
                    &[]
                };
                let mut frame = vec![0; wire::frame_len_max(ScalarTag::F64, m + 1)];
                let len = wire::encode(header, numbers, &mut frame).unwrap();
                frame.truncate(len);
                let reply = link
                    .give(header.round, invitation.slot, frame.into())
                    .await
                    .unwrap();
                exchange.told(header.round, reply, Millis(0));
                false
            }
        };
        if waits {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    (
        exchange.have().chain.to_string(),
        given,
        files(&mut link, &exchange).await,
        announced,
    )
}

/// The file at the end, and its numbers in a frame of the same history.
async fn files(link: &mut Link, exchange: &AgentExchange) -> [bytes::Bytes; 2] {
    let numbers = link.numbers().await.unwrap();
    let frame = wire::decode(&numbers, 2000).unwrap().0;
    assert_eq!((frame.kind, frame.scalar), (Kind::Prior, ScalarTag::F32));
    assert_eq!(
        (frame.round, frame.chain),
        (2, wire::prefix(&exchange.have().chain))
    );
    [link.file().await.unwrap(), numbers]
}

/// When anybody could have the file of the first release.
async fn first_seen(slot: Invitation) -> Instant {
    let tls = Identity::generate().unwrap().client(&slot.pins).unwrap();
    let mut link = Link::new(&slot.address, slot.deployment, tls, Duration::from_secs(1));
    loop {
        let is_open = link.opening(1, 4096).await.is_ok();
        if link.file().await.is_ok() {
            return Instant::now();
        }
        assert!(
            !is_open,
            "a release is open whose file before it is not there"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_device_that_holds_no_posterior_contributes_and_goes_on_with_the_file() {
    bounded(|| {
        let more = "--epsilon 20 --features 20 --deadline 60s --close-early --linger 5s --delay 3s";
        let more: Vec<&str> = more.split(' ').collect();
        let federation = Federation::campaign("device-campaign", AGENTS, SPACE, &more);
        let server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let sites: Vec<_> = invitations[1..]
            .iter()
            .map(|invitation| {
                let joining = Joining {
                    evaluations: Some(12),
                    ..federation.joining(invitation)
                };
                runtime.spawn(async move {
                    join(&joining, |query| std::future::ready(Ok(of_site(&query)))).await
                })
            })
            .collect();
        let slot = &invitations[0];
        let found = runtime.block_on(async {
            // What its owner reads before the program is built.
            let tls = Identity::generate().unwrap().client(&slot.pins).unwrap();
            let mut link = Link::new(&slot.address, slot.deployment, tls, Duration::from_secs(5));
            let bytes = loop {
                match link.terms().await {
                    Ok(bytes) => break bytes,
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            let terms = Terms::from_bytes(&bytes, Some(&slot.terms)).unwrap();
            let campaign = terms.campaign().unwrap();
            let landmarks = campaign.context().landmarks().to_vec();
            let flash = Flash {
                agreement: terms.agreement.clone(),
                landmarks,
            };
            let first = tokio::spawn(first_seen(slot.clone()));
            let told = tokio::time::timeout(PATIENCE, device(slot.clone(), flash))
                .await
                .unwrap();
            // Half of the delay is more than a busy machine takes, and less than what the time of
            // the noise would show.
            assert!(
                first.await.unwrap() + Duration::from_millis(1500) > told.3,
                "the file was there before its frame"
            );
            // No release follows the last frame, and none before it is open.
            for round in [0, 1, 2, 7] {
                assert_eq!(
                    status(link.opening(round, 4096).await.err()),
                    Some(404),
                    "{round}"
                );
            }
            (campaign, told)
        });
        let (campaign, (history, given, [file, frame], _)) = found;
        for site in sites {
            let joined = runtime.block_on(async { tokio::time::timeout(PATIENCE, site).await });
            assert_eq!(joined.unwrap().unwrap().unwrap().given, [0, 1]);
        }
        assert!(server.ended().success(), "{}", federation.heard());
        let replayed = federation.replay();
        assert!(replayed.contains("broadcasts 2, charges 2"), "{replayed}");
        assert!(
            replayed.contains(&history),
            "the device's history is the server's: {replayed}"
        );
        compared(&campaign, &federation, &given);
        newcomer(&PriorFile::parse(&file).unwrap(), &frame);
    });
}

/// What the device sent is what a host with these values would have sent, to the bit.
fn compared(campaign: &Campaign, federation: &Federation, given: &[Vec<f64>]) {
    let server = sordino_net::folder::Folder::open(&federation.place.server()).unwrap();
    let mut released: Vec<f64> = Vec::new();
    let (pairs, _) = POINTS.as_chunks::<2>();
    let values: Vec<f64> = pairs.iter().map(|u| -loss(0, *u)).collect();
    let contributor = Contributor::new(campaign.context(), &POINTS, &values).unwrap();
    for (frame, given) in server.frames().unwrap().iter().zip(given) {
        let (header, payload) = wire::decode(frame, 1000).unwrap();
        if header.kind == Kind::Broadcast {
            let mut sums = vec![0.0; header.len as usize];
            payload.read(&mut sums).unwrap();
            released.extend(sums);
        }
        let opening = campaign.releases().opening(&released).unwrap().unwrap();
        let opening = Opening::read(&opening).unwrap();
        let host = contributor
            .vector(campaign.context(), &opening.terms(), opening.weights())
            .unwrap()
            .unwrap();
        assert_eq!(&host, given);
        assert!(given[..FEATURES].iter().any(|x| x.abs() > 1e-3));
    }
    assert_eq!((given.len(), released.len()), (2, FEATURES + 1));
}

/// The same device searches with the numbers of the file, in single precision.
fn newcomer(file: &PriorFile, frame: &[u8]) {
    let payload = wire::decode(frame, numbers_len(FEATURES, 2) as u32)
        .unwrap()
        .1;
    let mut numbers = vec![0f32; numbers_len(FEATURES, 2)];
    payload.read(&mut numbers).unwrap();
    let numbers = PriorNumbers::read(2, &numbers).unwrap();
    let of_file = PriorNumbers {
        dim: 2,
        landmarks: &file.landmarks,
        lengthscale: file.label.lengthscale,
        weights: &file.weights,
        covariance: &file.covariance,
        self_test: file.label.self_test as f32,
    };
    assert_eq!(numbers, of_file);
    let mut factor = vec![0f32; attach_len(file.features())];
    let prior = PublicPrior::attach(numbers, &mut factor).unwrap();
    let candidates: Vec<f32> = (0..400)
        .flat_map(|i| [(i % 20) as f32 / 19.0, (i / 20) as f32 / 19.0])
        .collect();
    let storage = vec![0f32; storage_len(file.features(), 8, 16)];
    let mut search = Newcomer::new(
        &candidates,
        2,
        Some(&prior),
        NewcomerSettings::default(),
        8,
        storage,
    )
    .unwrap();
    let value = |place: usize| {
        -loss(
            0,
            [0, 1].map(|axis| f64::from(candidates[2 * place + axis])),
        ) as f32
    };
    for _ in 0..8 {
        let place = search.suggest();
        search.observe(place, value(place)).unwrap();
    }
    let (best, found) = search.best().unwrap();
    assert!(
        found > -0.5,
        "{found} at {:?}",
        &candidates[2 * best..2 * best + 2]
    );
}

/// The campaign of the example in C, which was never served: sums of its first release are made up.
pub fn example() -> (Campaign, Terms) {
    let publication = Publication {
        space: SpaceFile::parse("s", SPACE).unwrap().space,
        goal: Goal::Minimize,
        value: Some("loss".to_owned()),
        epsilon: 8.0,
        delta: 1e-3,
        releases: 2,
        features: 16,
        dataset: "example".to_owned(),
        by: None,
        note: None,
        published: None,
    };
    let campaign = Campaign::new(publication, 30).unwrap();
    let announced = Announced {
        epsilon_max: Some(8.0),
        delta: 1e-3,
        deadline_ms: 3_600_000,
        may_close_early: false,
    };
    let terms = Terms::of_campaign(&campaign, 0x5eed_0000_0000_0001, announced).unwrap();
    (campaign, terms)
}

/// The server's frames of that campaign, and its openings, each after the frame of its round; then
/// its last frame and the file.
pub fn frames((campaign, terms): &(Campaign, Terms)) -> [Vec<u8>; 6] {
    let agreement = &terms.agreement;
    let len = agreement.protocol.upload_len();
    let sums: Vec<f64> = (0..len)
        .map(|i| {
            if i + 1 == len {
                20.0
            } else {
                (i % 5) as f64 - 2.0
            }
        })
        .collect();
    let mut history = agreement.digest();
    let mut frame = |kind, round, numbers: &[f64]| {
        let marks = Header {
            version: wire::VERSION,
            kind,
            scalar: ScalarTag::F64,
            deployment: agreement.deployment,
            config: wire::prefix(&agreement.digest()),
            chain: wire::prefix(&history),
            agent: 0,
            round,
            attempt: 0,
            len: 0,
        };
        let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F64, numbers.len())];
        let mut write = |marks| {
            let used = wire::encode(marks, numbers, &mut bytes).unwrap();
            bytes[..used].to_vec()
        };
        let written = write(marks);
        if kind == Kind::Opening {
            return written;
        }
        let (header, payload) = wire::decode(&written, 100).unwrap();
        history = after(&history, &header, &payload);
        write(Header {
            chain: wire::prefix(&history),
            ..header
        })
    };
    let opening = |released: &[f64]| campaign.releases().opening(released).unwrap().unwrap();
    let [start, first, middle, second, last] = [
        frame(Kind::NoBroadcast, 0, &[]),
        frame(Kind::Opening, 0, &opening(&[])),
        frame(Kind::Broadcast, 1, &sums),
        frame(Kind::Opening, 1, &opening(&sums)),
        frame(Kind::Broadcast, 2, &sums),
    ];
    let numbers = campaign
        .file(
            &[&sums[..], &sums].concat(),
            sordino_core::privacy::SourceKind::Simulation,
        )
        .unwrap()
        .unwrap()
        .numbers();
    let (marks, _) = wire::decode(&last, 100).unwrap();
    let mut file = vec![0; wire::frame_len_max(ScalarTag::F32, numbers.len())];
    let used = wire::encode(
        Header {
            kind: Kind::Prior,
            ..marks
        },
        &numbers,
        &mut file,
    )
    .unwrap();
    file.truncate(used);
    [start, first, middle, second, last, file]
}

#[test]
fn what_the_example_in_c_is_compiled_with_is_what_the_terms_say() {
    let example = example();
    let terms = &example.1;
    let said = "The campaign of an example; `sordino terms` says here what its owner agrees to";
    let arrays = frames(&example).into_iter().zip([
        "FRAME_0",
        "OPENING_0",
        "FRAME_1",
        "OPENING_1",
        "FRAME_2",
        "FILE_2",
    ]);
    let arrays = arrays.map(|(bytes, name)| {
        let rows = bytes.chunks(16).map(|row| {
            let row: Vec<String> = row.iter().map(|byte| format!("0x{byte:02x}")).collect();
            format!("    {},\n", row.join(", "))
        });
        format!(
            "static const unsigned char {name}[{}] = {{\n{}}};\n",
            bytes.len(),
            rows.collect::<String>()
        )
    });
    let frames = format!(
        "/* What a server of the campaign of campaign.h sends, written by a test of sordino-net. */\n#ifndef CAMPAIGN_FRAMES_H\n\
         #define CAMPAIGN_FRAMES_H\n\n{}\n#endif\n",
        arrays.collect::<String>()
    );
    for (file, text) in [
        ("campaign.h", terms.constants(said, Language::C).unwrap()),
        ("campaign_frames.h", frames),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../capi/examples")
            .join(file);
        if std::env::var_os("SORDINO_WRITE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(
            written == text,
            "{file}: SORDINO_WRITE=1 cargo test -p sordino-net --test it devices"
        );
    }
    // What a module for Rust holds is the same.
    let module = terms.constants(said, Language::Rust).unwrap();
    let points = example.0.coordinates().len();
    for line in [
        "//! The campaign of an example; `sordino terms` says here what its owner agrees to",
        "//!   rate: a number from 0.001 to 1, at equal distances of its logarithm",
        "pub const FEATURES: usize = 16;",
        "pub static LANDMARKS: [f64; 32] = [",
        "    Agreement::from_bytes(&AGREEMENT)",
        &format!("pub static POINTS: [f32; {points}] = ["),
    ] {
        assert!(module.lines().any(|found| found == line), "{line}");
    }
}

#[test]
fn constants_of_other_methods_and_of_two_servers_are_refused() {
    let (campaign, terms) = example();
    let two = Campaign::trusting(campaign.publication().clone(), 30, Trust::TwoServers).unwrap();
    let two = Terms::of_campaign(&two, 1, terms.agreement.announced).unwrap();
    assert!(matches!(
        two.constants("", Language::C),
        Err(ConstantsError::TwoServers)
    ));
    let scenario = Shipped::find("firmware").unwrap().parse(&[]).unwrap();
    let draws = Terms::new(
        &scenario,
        method::DP_FTS_DE,
        &[0.0, 0.5, 1.0],
        1,
        1,
        terms.agreement.announced,
    )
    .unwrap();
    assert!(matches!(
        draws.constants("", Language::Rust),
        Err(ConstantsError::Method)
    ));
}

#[test]
fn what_a_server_publishes_ends_no_comment_of_a_device() {
    let (campaign, terms) = example();
    let hostile = "a */ int x; /* \\\u{202e}";
    let choices = serde_json::to_string(hostile).unwrap();
    let space = SPACE.to_owned() + &format!("[parameters.kind]\nchoices = [{choices}, \"b\"]\n");
    let space = SpaceFile::parse("s", &space).unwrap().space;
    let publication = Publication {
        space,
        dataset: "d */ int y;".into(),
        ..campaign.publication().clone()
    };
    let hostile = Terms::of_campaign(
        &Campaign::new(publication, 30).unwrap(),
        1,
        terms.agreement.announced,
    )
    .unwrap();
    for (language, begin) in [
        (Language::C, "#ifndef"),
        (Language::Rust, "use sordino_core"),
    ] {
        let text = hostile
            .constants("told */ int z; ε ≤ 1\n", language)
            .unwrap();
        let comment = text.split(begin).next().unwrap();
        assert_eq!(
            comment.matches("*/").count(),
            usize::from(matches!(language, Language::C)),
            "{comment}"
        );
        assert!(comment.is_ascii() && !comment.contains("\\\n"), "{comment}");
        assert!(
            comment.contains("int x;") && comment.contains("int z; epsilon <= 1\n"),
            "{comment}"
        );
    }
}

/// A round that is begun again has the same answer, which caches keep for ever.
#[test]
fn an_opening_is_the_same_after_a_restart_and_constants_are_printed_for_an_invitation() {
    bounded(|| {
        let more = [
            "--epsilon",
            "20",
            "--features",
            "20",
            "--deadline",
            "60s",
            "--close-early",
            "--linger",
            "1s",
        ];
        let federation = Federation::campaign("device-restart", AGENTS, SPACE, &more);
        let mut server = federation.serve();
        let invitations = federation.invite();
        let runtime = runtime();
        let slot = &invitations[0];
        // The first round begins when all have joined.
        runtime.block_on(async {
            for invitation in &invitations {
                let tls = Identity::generate()
                    .unwrap()
                    .client(&invitation.pins)
                    .unwrap();
                let mut link =
                    Link::new(&slot.address, slot.deployment, tls, Duration::from_secs(1));
                while link
                    .enrol(invitation.slot, invitation.token.as_ref())
                    .await
                    .is_err()
                {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
        let fetch = |again: bool| {
            let tls = Identity::generate().unwrap().client(&slot.pins).unwrap();
            let mut link = Link::new(&slot.address, slot.deployment, tls, Duration::from_secs(1));
            runtime.block_on(async {
                loop {
                    match link.opening(0, 4096).await {
                        Ok(bytes) => {
                            assert_eq!(status(link.opening(1, 4096).await.err()), Some(404));
                            break bytes;
                        }
                        // A server that has not found its round yet does not say that the release
                        // is over.
                        Err(error) => assert!(!again || status(Some(error)) != Some(404)),
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
        };
        let before = fetch(false);
        for (format, begins) in [
            ("c", "/*\n * A site of a campaign"),
            ("rust", "//! A site of a campaign"),
        ] {
            let printed = said(&["terms", &slot.to_string(), "--format", format]);
            let text = String::from_utf8(printed.stdout).unwrap();
            assert!(
                printed.status.success() && text.starts_with(begins) && text.is_ascii(),
                "{text:.300}"
            );
            assert!(
                text.contains("epsilon = 20.0 at delta") && !text.contains(" * .\n"),
                "{text:.900}"
            );
        }
        server.kill();
        let _again = federation.serve();
        assert_eq!(fetch(true), before);
    });
}
