//! What a device of a campaign is given and offered: a file before its first boot, frames that fit
//! a small radio, and no final word of a server that is beginning.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sordino_core::federated::prior::opening_len;
use sordino_core::federated::shares::Trust;
use sordino_core::prior::numbers_len;
use sordino_core::random::RunSeed;
use sordino_core::wire::{self, Header, Kind, ScalarTag, fragments};
use sordino_host::campaign::{Campaign, search_seed};
use sordino_host::prior::publish::Publication;
use sordino_host::search::scramble;
use sordino_net::door::{self, Counts, Door, Limits, Offered};
use sordino_net::enrolment::Enrolment;
use sordino_net::identity::Identity;
use sordino_net::invitation::Invitation;
use sordino_net::keys;
use sordino_net::link::Link;
use sordino_net::provision::{self, ProvisionError};
use sordino_net::terms::{ConstantsError, Terms};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::devices::{example, frames, status};
use super::util::{Place, bounded, runtime};

#[test]
fn what_a_device_is_given_before_its_first_boot_is_written_once() {
    let place = Place::new("device-given");
    let path = place.0.join("device.bin");
    let (campaign, terms) = example();
    let pins = vec![Identity::generate().unwrap().fingerprint().unwrap()];
    let invitation = Invitation {
        address: "server.example:8443".to_owned(),
        deployment: terms.agreement.deployment,
        slot: 7,
        terms: terms.digest(),
        pins,
        token: Some([5; 16]),
        helper: None,
    };
    let write = |terms: &Terms, server| provision::write(&path, terms, &invitation, server);
    // A device asks no name service.
    for server in [
        None,
        Some("server.example:8443"),
        Some("0.0.0.0:8443"),
        Some("10.0.0.1"),
    ] {
        assert!(
            matches!(write(&terms, server), Err(ProvisionError::Address { .. })),
            "{server:?}"
        );
    }
    let many = Publication {
        features: 60,
        ..campaign.publication().clone()
    };
    let many = Terms::of_campaign(
        &Campaign::new(many, 30).unwrap(),
        1,
        terms.agreement.announced,
    )
    .unwrap();
    assert!(matches!(
        write(&many, Some("10.0.0.1:8443")),
        Err(ProvisionError::Features { features: 60 })
    ));
    let two = Campaign::trusting(campaign.publication().clone(), 30, Trust::TwoServers).unwrap();
    let two = Terms::of_campaign(&two, 1, terms.agreement.announced).unwrap();
    assert!(matches!(
        write(&two, Some("10.0.0.1:8443")),
        Err(ProvisionError::Constants(ConstantsError::TwoServers))
    ));
    assert!(!path.exists());
    write(&terms, Some("10.0.0.1:8443")).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(matches!(
        write(&terms, Some("10.0.0.1:8443")),
        Err(ProvisionError::There { .. })
    ));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);

    // What follows lies where a device reads it: landmarks and points at the end, from a multiple
    // of eight on.
    let landmarks = campaign.context().landmarks();
    let points = campaign.coordinates();
    let behind = bytes.len() - 8 * landmarks.len() - 4 * points.len();
    assert_eq!(behind % 8, 0);
    let (found, rest) = bytes[behind..].split_at(8 * landmarks.len());
    let found: Vec<f64> = found
        .as_chunks()
        .0
        .iter()
        .map(|x| f64::from_le_bytes(*x))
        .collect();
    let list: Vec<f32> = rest
        .as_chunks()
        .0
        .iter()
        .map(|x| f32::from_le_bytes(*x))
        .collect();
    assert_eq!(found, landmarks);
    assert!(
        list.iter()
            .zip(points)
            .all(|(found, x)| *found == *x as f32)
            && list.len() == points.len()
    );
    type Given<'a> = (
        &'a str,
        [u8; 32],
        RunSeed,
        bool,
        &'a [u8],
        Option<(bool, u32, u32, u32, u32)>,
    );
    let (line, secret, seed, rehearses, sensor, site) =
        postcard::from_bytes::<Given<'_>>(&bytes).unwrap();
    // Its search begins like that of a host with this seed.
    let seed = scramble(search_seed(seed, invitation.slot));
    let parameters = campaign.publication().space.parameters().len() as u32;
    let follows = (
        true,
        parameters,
        seed,
        landmarks.len() as u32,
        points.len() as u32,
    );
    assert_eq!(
        line.parse::<Invitation>().unwrap(),
        Invitation {
            address: "10.0.0.1:8443".to_owned(),
            ..invitation
        }
    );
    assert_eq!((rehearses, sensor, site), (false, &[][..], Some(follows)));
    assert!(secret != [0; 32]);
}

/// In packets as short as those of a radio at its slowest rates, each piece twice and in another
/// order: the pieces of a frame, and whether it came back.
fn through_packets(frame: &[u8], packet: usize) -> usize {
    let pieces = fragments::count(frame.len(), packet).unwrap();
    let mut buffer = vec![0; frame.len()];
    let mut reassembly = fragments::Reassembly::new(&mut buffer);
    for index in (0..pieces).rev().chain(0..pieces) {
        let mut bytes = vec![0; packet];
        let len = fragments::piece(frame, index, &mut bytes).unwrap();
        if let Poll::Ready(whole) = reassembly.push(&bytes[..len]).unwrap() {
            assert!(whole == frame && len <= packet);
            return pieces;
        }
    }
    panic!("a frame that does not come back");
}

#[test]
fn all_that_a_site_sends_and_hears_goes_through_packets_of_51_bytes() {
    // A site of 50 landmarks in two dimensions.
    let m = 50;
    let header = wire::decode(&frames(&example())[2], 100).unwrap().0;
    let written = |kind, len: usize| {
        let numbers: Vec<f64> = (0..len).map(|i| (i as f64).sin()).collect();
        let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F64, len)];
        let used = wire::encode(
            Header {
                kind,
                round: u32::MAX,
                attempt: u16::MAX,
                ..header
            },
            &numbers,
            &mut bytes,
        );
        bytes.truncate(used.unwrap());
        through_packets(&bytes, 51)
    };
    let file: Vec<f32> = vec![0.5; numbers_len(m, 2)];
    let mut bytes = vec![0; wire::frame_len_max(ScalarTag::F32, file.len())];
    let used = wire::encode(
        Header {
            kind: Kind::Prior,
            ..header
        },
        &file,
        &mut bytes,
    )
    .unwrap();
    let pieces = [
        written(Kind::Broadcast, m + 1),
        written(Kind::Opening, opening_len(m)),
        written(Kind::Upload, m + 1),
    ];
    assert_eq!(pieces, [11, 11, 11]);
    // The file comes once, after the last release; at the very lowest rates in more pieces than a
    // frame may have.
    assert_eq!(
        (
            through_packets(&bytes[..used], 222),
            fragments::count(used, 51)
        ),
        (27, None)
    );
    assert_eq!(
        fragments::count(wire::frame_len_max(ScalarTag::F32, numbers_len(47, 2)), 51),
        Some(123)
    );
}

/// A server that was started again and has not found its round yet says so: an answer that there is
/// nothing would be final.
#[test]
fn a_server_that_is_beginning_says_neither_that_there_is_a_file_nor_that_there_is_none() {
    bounded(|| {
        let (_, terms) = example();
        let deployment = terms.agreement.deployment;
        let place = Place::new("device-beginning");
        runtime().block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let identity = Identity::generate().unwrap();
            let (requests, _kept) = mpsc::channel(1);
            let (offer, offered) = watch::channel(None);
            let door = Door {
                deployment,
                offered,
                terms: terms.to_bytes().unwrap().into(),
                body_max: 1 << 16,
                enrolment: Arc::new(Enrolment::open(&place.0).unwrap()),
                authority: None,
                tells_joined: false,
                requests,
                limits: Limits::default(),
                counts: Arc::new(Counts::default()),
            };
            let serving = tokio::spawn(door::serve(
                listener,
                keys::always(&identity).unwrap(),
                door,
            ));
            let pins = [identity.fingerprint().unwrap()];
            let link = |run| {
                let tls = Identity::generate().unwrap().client(&pins).unwrap();
                Link::new(&address, run, tls, Duration::from_secs(1))
            };
            // Before its first round a server has no file, and does not know whether that round was
            // announced before it was started again.
            for (offers, run, of_file, of_opening) in [
                (None, deployment, 503, 503),
                (None, deployment ^ 1, 404, 404),
                (Some(Offered::nothing_yet()), deployment, 404, 503),
                (Some(Offered::default()), deployment, 404, 404),
            ] {
                offer.send_replace(offers);
                let mut link = link(run);
                let said = [
                    status(link.file().await.err()),
                    status(link.numbers().await.err()),
                    status(link.opening(0, 4096).await.err()),
                ];
                assert_eq!(said, [of_file, of_file, of_opening].map(Some));
            }
            serving.abort();
        });
    });
}
