//! The server that a member's emulator plays, one or two: contributions are summed, charged, noised
//! and learned by core's own machines, as sordino-net calls them. Its noise is simulated, from
//! seeds that a host can repeat.

use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{
    ContextStorage, Filter, PriorProtocol, Public, PublicState, context, scratch_len, storage_len,
};
use sordino_core::federated::{Server, ServerInput, ServerOutput, ServerState, ServerStorage};
use sordino_core::privacy::Simulated;
use sordino_core::privacy::charge::Unwritten;
use sordino_core::random::{Party, Purpose, RunSeed};
use static_cell::ConstStaticCell;

use crate::config::NUMBERS;
use crate::federation::{DIM, FEATURES, INITIAL_POINTS, SIZES, candidates, landmarks};

/// Of the noise of both servers.
const SEED: RunSeed = RunSeed::new(9, 0);
const POSTERIOR: usize = storage_len(FEATURES);
const SCRATCH: usize = scratch_len(FEATURES, INITIAL_POINTS);

#[cfg(two_servers)]
pub use helper::secret as helper_secret;

/// The releases of this federation.
pub struct Served<'a> {
    protocol: &'a PriorProtocol,
    public: Public<'a, f32>,
    posterior: PublicState<f32, &'a mut [f32]>,
    scratch: &'a mut [f32],
    state: ServerState,
    #[cfg(two_servers)]
    run: sordino_core::digest::Digest,
}

fn source(party: Party, release: u32) -> Simulated {
    Simulated::new(SEED.stream(party, Purpose::Release, release))
}

impl<'a> Served<'a> {
    /// Before the first release.
    pub fn new(agreement: &'a Agreement) -> Self {
        static NUMBERS: ConstStaticCell<[f32; SIZES.context() + POSTERIOR + SCRATCH]> =
            ConstStaticCell::new([0.0; _]);
        static DESIGNS: ConstStaticCell<[u32; SIZES.designs_len()]> = ConstStaticCell::new([0; _]);
        static DOUBLES: ConstStaticCell<[f64; SIZES.doubles(DIM)]> = ConstStaticCell::new([0.0; _]);
        let protocol = agreement.protocol.prior().expect("what build.rs read");
        let candidates = candidates().expect("its points");
        let landmarks = landmarks().expect("its landmarks");
        let storage = ContextStorage {
            numbers: NUMBERS.take(),
            designs: DESIGNS.take(),
        };
        let made = context(
            agreement,
            [&candidates, &landmarks],
            storage,
            DOUBLES.take(),
        );
        let (public, numbers) = made.expect("points that are the agreement's");
        let (posterior, scratch) = numbers.split_at_mut(POSTERIOR);
        let posterior = PublicState::new(protocol.config, posterior).expect("POSTERIOR");
        let state = ServerState::new();
        Served {
            protocol,
            public,
            posterior,
            scratch,
            state,
            #[cfg(two_servers)]
            run: agreement.digest(),
        }
    }

    /// Takes the answer of this device to a release, and says what is released.
    pub fn release(&mut self, release: u32, given: &[f32], behind: &[u8]) -> [f32; NUMBERS] {
        #[cfg(two_servers)]
        let opened = &mut [0; NUMBERS];
        #[cfg(two_servers)]
        let opened = helper::open(self.protocol, (self.run, release), behind, opened);
        let mut sums = [0; NUMBERS];
        let mut noise = [0; NUMBERS];
        let mut flags = [0; 256];
        let mut vectors = [0.0; NUMBERS];
        let flags = &mut flags[..self.protocol.config.parameters().agents as usize];
        let storage = ServerStorage {
            sums: &mut sums,
            noise: &mut noise,
            flags,
            vectors: &mut vectors,
        };
        let filter = Filter::new(
            self.protocol.plan(),
            self.public,
            &mut self.posterior,
            self.scratch,
        )
        .expect("SCRATCH");
        let mut server = Server::attach(filter, &mut self.state, storage).expect("as it was left");
        let source = &mut source(Party::Server, release);
        server
            .handle(ServerInput::Open, source)
            .expect("a release of the plan");
        #[cfg(two_servers)]
        {
            assert!(given.is_empty(), "a number in the clear");
            server.take(opened).expect("shares of this release");
        }
        #[cfg(not(two_servers))]
        {
            assert!(behind.is_empty(), "one server takes no shares");
            let input = ServerInput::Upload {
                agent: crate::config::AGENT,
                broadcast: release,
                vector: given,
            };
            server.handle(input, source).expect("a contribution");
        }
        let Ok(ServerOutput::Charge(charge)) = server.handle(ServerInput::Close, source) else {
            panic!("no charge")
        };
        match server.handle(ServerInput::Charged(Unwritten::receipt(charge)), source) {
            Ok(ServerOutput::Broadcast { release, .. }) => {
                release.value()[..].try_into().expect("M + 1 numbers")
            }
            _ => panic!("no release"),
        }
    }
}

/// The second server, and what the first makes of its answer.
#[cfg(two_servers)]
mod helper {
    use sordino_core::digest::Digest;
    use sordino_core::federated::prior::PriorProtocol;
    use sordino_core::federated::shares::{
        ATTEMPT_LEN, Contributor, HelperRelease, Modulus, Opened, SecretKey, ShareSum,
    };
    use sordino_core::privacy::charge::Unwritten;
    use sordino_core::privacy::mechanism::gaussian::GridGaussian;
    use sordino_core::random::Party;

    use super::source;
    use crate::board;
    use crate::config::{AGENT, NUMBERS};

    /// The key of the emulator's helper.
    pub fn secret() -> SecretKey {
        SecretKey::new([2; 32])
    }

    /// Attempt and share of this device, opened: the share is the leader's, the mask the helper's.
    pub fn open<'o>(
        protocol: &PriorProtocol,
        (run, epoch): (Digest, u32),
        behind: &[u8],
        out: &'o mut [i64; NUMBERS],
    ) -> Opened<'o> {
        let parameters = protocol.config.parameters();
        let multiplier = protocol.noise_multipliers[epoch as usize];
        let mechanism =
            GridGaussian::unsampled(parameters.grid_exponent, multiplier, parameters.agents)
                .expect("of a plan");
        let modulus = Modulus::fitting(&mechanism, parameters.agents);
        let (attempt, share) = behind
            .split_first_chunk::<ATTEMPT_LEN>()
            .expect("an attempt");
        let contributor = Contributor {
            agent: AGENT,
            attempt: u32::from_le_bytes(*attempt),
        };
        let mut sum = [0; NUMBERS];
        let mut sum = ShareSum::new(&mut sum, modulus);
        sum.add(share).expect("a share of this length");

        let mut masks = [0; NUMBERS];
        let mut noise = [0; NUMBERS];
        let source = &mut source(Party::Helper, epoch);
        let opened = HelperRelease::open(
            mechanism, run, epoch, modulus, source, &mut masks, &mut noise,
        );
        let mut helper = opened.expect("an epoch that is not sampled");
        // The leader told it the public half of the device's key when the device enrolled.
        let key = secret()
            .with_agent(&SecretKey::new(board::secret()).public_key())
            .expect("an agent's key");
        helper.add(contributor, &key).expect("one agent");
        let (charge, charged) = helper.close(epoch.into());
        let mut answer = [0; Modulus::Bits64.share_len(NUMBERS)];
        let answer = &mut answer[..modulus.share_len(NUMBERS)];
        charged
            .answer(Unwritten::receipt(charge), source, answer)
            .expect("its own receipt");
        Opened::new(&sum, answer, epoch, 1, out).expect("as many numbers as shares")
    }
}
