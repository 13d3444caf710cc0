//! Leader and helper of a campaign under kill −9, at every step of every release.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use sordino_core::federated::shares::{Modulus, SecretKey, Trust};
use sordino_core::random::Stream;
use sordino_core::wire::{self, ScalarTag};
use sordino_net::invitation::Invitation;

use super::deaths::Mortal;
use super::kills::bare;
use super::shares::{Second, campaign_of, site};
use super::util::{Federation, PATIENCE, bounded, runtime, said};

const RELEASES: u32 = 6;
/// What leader and helper are killed, at least, in all of them.
const KILLS: u32 = 40;
/// How many agents take part; `SORDINO_SHARE_AGENTS` asks for more, and for the time that they
/// take.
const AGENTS: u32 = 5;

/// The two servers of a campaign.
struct Servers<'a> {
    federation: &'a Federation,
    second: &'a Second,
    leader: Mortal<'a>,
    helper: Mortal<'a>,
    stream: Stream,
}

impl Servers<'_> {
    /// Some time, shorter than this.
    fn moment(&mut self, milliseconds: u32) -> Duration {
        Duration::from_millis(u64::from(self.stream.below(milliseconds)))
    }

    fn wait(&self, until: impl Fn() -> bool) {
        let start = Instant::now();
        while !until() {
            let heard = || format!("{}\n{}", self.federation.heard(), self.second.heard());
            assert!(
                start.elapsed() < patience(),
                "it does not get on: {}",
                heard()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn has_frame(&self, frame: u32) -> bool {
        self.federation
            .place
            .server()
            .join(format!("frames/{frame:06}.frame"))
            .exists()
    }

    /// Whether the question of this release is stored.
    fn has_asked(&self, release: u32) -> bool {
        let asked = json(&self.federation.place.server().join("asked.json"));
        asked.is_some_and(|asked| asked["question"]["epoch"] == release)
    }

    /// How many answers the helper stored.
    fn answered(&self) -> u32 {
        let answers = json(&self.second.folder().join("answers.json"));
        answers.map_or(0, |stored| {
            stored["answers"].as_array().map_or(0, Vec::len) as u32
        })
    }

    /// Deaths at every step of one release, which goes on all the same.
    fn die_at_every_step(&mut self, release: u32) {
        // While shares come in: the leader, and the helper, which stays dead.
        self.wait(|| self.has_frame(release));
        std::thread::sleep(self.moment(40));
        let pause = self.moment(20);
        self.leader.falls(pause);
        assert!(
            self.helper.dies() && self.answered() == release,
            "the helper ended by itself"
        );
        // The question is stored, and nobody answers it: the same is asked whenever the leader
        // comes back.
        self.wait(|| self.has_asked(release));
        for _ in 0..3 {
            std::thread::sleep(self.moment(200));
            assert!(!self.has_frame(release + 1), "a release without an answer");
            let pause = self.moment(20);
            assert!(self.leader.falls(pause), "{}", self.federation.heard());
        }
        // The answer is stored and charged, and has not left, or just has.
        self.helper.returns();
        self.wait(|| self.answered() > release);
        let pause = self.moment(20);
        assert!(self.helper.falls(pause), "{}", self.second.heard());
        // The leader opens, charges, stores and keeps what it has to tell; the last frame is left
        // alone.
        for _ in 0..2 {
            std::thread::sleep(self.moment(400));
            if !self.has_frame(release + 1) {
                let pause = self.moment(20);
                self.leader.falls(pause);
            }
        }
        let pause = self.moment(20);
        self.helper.falls(pause);
    }
}

fn json(path: &Path) -> Option<Value> {
    // Files are replaced as a whole: what is there can be read.
    std::fs::read(path)
        .ok()
        .map(|bytes| serde_json::from_slice(&bytes).unwrap())
}

fn agents() -> u32 {
    std::env::var("SORDINO_SHARE_AGENTS").map_or(AGENTS, |count| count.parse().unwrap())
}

/// Many agents in one process take their time.
fn patience() -> Duration {
    PATIENCE * agents().div_ceil(20)
}

#[test]
fn leader_and_helper_killed_forty_times_charge_each_release_once_in_each_ledger() {
    bounded(|| {
        let agents = agents();
        let second = Second::new("shares-kills");
        let releases = RELEASES.to_string();
        let slow = ["--delay", "150ms"];
        let helper = Mortal::new(|| second.start(&slow));
        // Many agents wait up to ten seconds before they ask a server again that was not there.
        let linger = if agents > AGENTS { "40s" } else { "2s" };
        let more = [
            "--delay",
            "400ms",
            "--releases",
            &releases,
            "--deadline",
            "1h",
            "--linger",
            linger,
        ];
        let federation = campaign_of("shares-kills", agents, &second, &more);
        let leader = Mortal::new(|| federation.serve());
        let invitations = federation.invite();
        let runtime = runtime();
        let sites: Vec<_> = invitations
            .iter()
            .map(|invitation| {
                let mut joining = federation.joining(invitation);
                joining.evaluations = Some(12);
                runtime.spawn(site(joining))
            })
            .collect();
        let federation = &federation;
        let second = &second;
        let mut servers = Servers {
            federation,
            second,
            leader,
            helper,
            stream: Stream::from_seed(6),
        };
        for release in 0..RELEASES {
            servers.die_at_every_step(release);
        }
        let mut files = Vec::new();
        for (slot, site) in (0..).zip(sites) {
            let joined = runtime.block_on(async { tokio::time::timeout(patience(), site).await });
            let joined = joined.unwrap().unwrap().unwrap();
            assert_eq!(
                (joined.given, joined.observations),
                ((0..RELEASES).collect(), 12),
                "agent {slot}"
            );
            let file = joined.file.unwrap();
            assert_eq!(
                file.label.trust,
                Trust::TwoServers,
                "the label says whose hands contributions were in"
            );
            files.push(file.digest());
        }
        let Servers { leader, helper, .. } = servers;
        let kills = [leader.kills, helper.kills];
        assert!(leader.ended().success(), "{}", federation.heard());
        assert!(
            files.iter().all(|file| *file == files[0]),
            "a site computes another file"
        );
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(
            led.contains("frames 7, broadcasts 6, charges 6"),
            "{led} after {kills:?} kills"
        );
        assert!(
            helped.contains("helper: answers 6, charges 6"),
            "{helped} after {kills:?} kills"
        );
        for invitation in invitations.iter().take(AGENTS as usize) {
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
        promised(federation, second, &invitations[0]);
        println!(
            "{} kills of the leader, {} of the helper, {agents} agents: {}",
            kills[0], kills[1], files[0]
        );
        assert!(
            kills.iter().sum::<u32>() >= KILLS && kills[1] >= 2 * RELEASES,
            "only {kills:?} kills"
        );
        drop(helper);
    });
}

/// An agent that was changed, and sends numbers that no norm bounds.
async fn liar(invitation: Invitation) -> String {
    let key = SecretKey::new([5; 32]).public_key();
    bare(invitation, Some(key), |header, agreement| {
        let mut message = vec![0; wire::frame_len_max(ScalarTag::F64, 0)];
        let used = wire::encode::<f64>(header, &[], &mut message).unwrap();
        message.truncate(used);
        // Attempt 0, and a share.
        message.extend([0; 4]);
        message.extend(vec![
            0x5a;
            Modulus::Bits32
                .share_len(agreement.protocol.upload_len())
        ]);
        message
    })
    .await
}

/// Where the second line begins.
fn end_of_line(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.unwrap() + 1
}

#[test]
fn a_share_beyond_the_norm_is_named_releases_nothing_and_stops_the_folder_for_good() {
    bounded(|| {
        let second = Second::new("shares-liar");
        let _helper = second.start(&["--delay", "1ms"]);
        let federation = campaign_of(
            "shares-liar",
            3,
            &second,
            &["--delay", "50ms", "--deadline", "60s", "--linger", "2s"],
        );
        let server = federation.serve();
        let mut invitations = federation.invite();
        let runtime = runtime();
        let lies = runtime.spawn(liar(invitations.remove(0)));
        let honest = invitations
            .iter()
            .map(|invitation| runtime.spawn(site(federation.joining(invitation))));
        let honest: Vec<_> = honest.collect();
        assert_eq!(server.ended().code(), Some(1), "{}", federation.heard());
        let why = "release 0: the shares of 3 agents open to numbers that no 3 agents within the norm can have sent";
        assert!(federation.heard().contains(why), "{}", federation.heard());
        // Asked again, the helper would say the same again: nothing more is released from here.
        let refused = federation.refused();
        assert!(
            refused.contains("stopped for good") && refused.contains(why),
            "{refused}"
        );
        lies.abort();
        honest.iter().for_each(|agent| agent.abort());
        let led = federation.replay();
        let helped = second.said("replay");
        assert!(led.contains("frames 1, broadcasts 0, charges 1"), "{led}");
        assert!(
            led.contains("the last charge is of a release that was refused: release 0"),
            "{led}"
        );
        assert!(helped.contains("helper: answers 1, charges 1"), "{helped}");
        let standing = || String::from_utf8(federation.command("status").stdout).unwrap();
        let status = standing();
        assert!(
            status.contains("stopped for good") && status.contains("in 1 release"),
            "the charge counts, and no server goes on: {status}"
        );
        // A death before it was written down why: the charge in the round says what it is of.
        let stopped = federation.place.server().join("stopped");
        fs::remove_file(&stopped).unwrap();
        let led = federation.replay();
        assert!(
            led.contains("of a release that was refused: its server died"),
            "{led}"
        );
        let refused = federation.refused();
        assert!(
            refused.contains("release 0 was refused after its noise was added"),
            "{refused}"
        );
        assert!(stopped.exists(), "it is written down now");
        // Without such a charge nothing that is written there excuses a broadcast that is missing.
        let round = federation.place.server().join("round.bin");
        let bytes = fs::read(&round).unwrap();
        let (head, rest) = bytes.split_at(end_of_line(&bytes));
        let (open, frame) = rest.split_at(end_of_line(rest));
        let mut open: Value = serde_json::from_slice(open).unwrap();
        open["planned"] = Value::Null;
        let edited = [head, open.to_string().as_bytes(), b"\n", frame].concat();
        fs::write(&round, edited).unwrap();
        let output = federation.command("replay");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && told.contains("a broadcast is missing"),
            "{told}"
        );
    });
}

/// Both promises name two servers and the same key, each signed with a key of its own.
fn promised(federation: &Federation, second: &Second, invitation: &Invitation) {
    let masks = invitation.helper.unwrap().to_string();
    let leader = String::from_utf8(federation.command("promise").stdout).unwrap();
    let helper = second.said("promise");
    for (promise, role) in [(&leader, "leader"), (&helper, "helper")] {
        let text: serde_json::Value =
            serde_json::from_str(promise.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&text["signed_by"], &text["trust"]),
            (&role.into(), &"two-servers".into()),
            "{promise}"
        );
        assert_eq!(text["helper_masks_key"], masks.as_str());
        assert!(
            text["not_covered"][0]
                .as_str()
                .unwrap()
                .starts_with("leader and helper together"),
            "{promise}"
        );
    }
    let key = second.address().pins[0].to_string();
    assert!(helper.contains(&key) && !leader.contains(&key));
}
