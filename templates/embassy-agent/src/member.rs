//! A member of a federated prior: its public context, its numbers, its posterior, which it makes of
//! the releases in flash at every boot, and its task.

use core::fmt::Debug;

use embedded_storage_async::nor_flash::NorFlash;
use sequential_storage::cache::CacheImpl;
use sordino_core::digest::{Digest, Frame};
use sordino_core::federated::exchange::Agreement;
use sordino_core::federated::prior::{
    ContextStorage, Member, MemberError, MemberState, MemberStorage, Released, context,
};
use sordino_core::federated::shares::Trust;
use sordino_core::random::RunSeed;
use static_cell::ConstStaticCell;

use crate::agent::{Machine, Party, found, read_log};
use crate::board::{self, Link};
use crate::config::{AGENT, NUMBERS};
use crate::federation::{DIM, RELEASES, SIZES, TRUST, agreement, candidates, landmarks};
use crate::store::{self, Store};

impl Machine for Member<'_, f32> {
    type State = MemberState<f32>;
    const KEEPS_RELEASES: bool = true;

    fn state(&self) -> &MemberState<f32> {
        Member::state(self)
    }

    fn point(&self, candidate: u32) -> [f32; DIM] {
        let mut point = [0.0; DIM];
        candidates()
            .expect("its points")
            .point(candidate, &mut point);
        point.map(|x| x as f32)
    }

    /// All releases up to this one count, whether this device gave to them or not: no reset refills
    /// the budget.
    fn affords(&self, agreement: &Agreement, release: u32) -> bool {
        let announced = agreement.announced;
        let (Some(prior), Some(epsilon_max)) = (agreement.protocol.prior(), announced.epsilon_max)
        else {
            return true;
        };
        prior
            .plan()
            .affords(release, epsilon_max, announced.delta)
            .expect("a budget that can be counted")
    }

    #[cfg(two_servers)]
    fn encoding(&mut self) -> sordino_core::federated::prior::JointVectors {
        Member::encoding(self)
            .expect("terms of its releases")
            .expect("an epoch with a release")
    }
}

/// build.rs reads the module as text, and this is what the compiler reads: nothing leaves in the
/// clear by a comment or a line break.
const _: () = assert!(
    matches!(TRUST, Trust::TwoServers) == cfg!(two_servers),
    "build.rs read another TRUST than the compiler"
);

/// From the boot to the end of the run.
#[embassy_executor::task]
pub async fn agent(link: &'static Link) {
    static NUMBERS: ConstStaticCell<[f32; SIZES.context() + SIZES.storage()]> =
        ConstStaticCell::new([0.0; _]);
    static DESIGNS: ConstStaticCell<[u32; SIZES.designs_len()]> = ConstStaticCell::new([0; _]);
    static DOUBLES: ConstStaticCell<[f64; SIZES.doubles(DIM)]> = ConstStaticCell::new([0.0; _]);
    let agreement = agreement().expect("what `sordino export` wrote");
    let protocol = agreement.protocol.prior().expect("what build.rs read");
    assert_eq!(
        protocol.config.parameters().trust,
        TRUST,
        "src/federation.rs was edited by hand"
    );
    let candidates = candidates().expect("its points");
    let landmarks = landmarks().expect("its landmarks");
    let storage = ContextStorage {
        numbers: NUMBERS.take(),
        designs: DESIGNS.take(),
    };
    let made = context(
        &agreement,
        [&candidates, &landmarks],
        storage,
        DOUBLES.take(),
    );
    let (public, numbers) = made.expect("points that are the agreement's");
    let mut storage = MemberStorage::split(protocol, &public, numbers).expect("SIZES");
    let mut store = board::store(agreement.digest());

    // Before anything else is stored: a device with a past that knows no attempts has lost them.
    #[cfg(two_servers)]
    let masks = crate::masks::Masks::load(&mut store, agreement.digest()).await;
    // Its own draws: secret, from entropy, drawn once in the life of the device.
    let first = || MemberState::new(AGENT, RunSeed::new(board::seed(), 0));
    let (written, mut state, exchange) = found(&mut store, &agreement, first).await;
    read_log(
        &mut store,
        state.agent().observations(),
        protocol.offset,
        storage.log,
    )
    .await;
    let kept = releases(&mut store, state.frames().saturating_sub(1)).await;
    let read = |index: u32, numbers: &mut [f32]| match kept[index as usize]
        .as_ref()
        .map(Released::numbers)
    {
        Some(found) if found.len() == numbers.len() => {
            numbers.copy_from_slice(found);
            Ok(true)
        }
        // Nothing was released.
        _ => Ok::<bool, MemberError>(false),
    };
    storage
        .learn_again(&state, protocol, public, read)
        .expect("the releases that it had learned");
    let models = protocol.models();
    let machine =
        Member::attach(protocol, public, &models, &mut state, storage).expect("what was stored");
    let mut party = Party {
        agreement: &agreement,
        machine,
        exchange,
        written,
        store,
        link,
        #[cfg(two_servers)]
        masks,
    };
    party.take_part().await;
    board::learned(end(&party.machine));
    board::done("agent", party.machine.state().agent().observations());
}

/// The first releases, as they were written before they were learned.
async fn releases<F: NorFlash<Error: Debug>, C: CacheImpl<u16>>(
    store: &mut Store<F, C>,
    count: u32,
) -> [Option<Released<f32, NUMBERS>>; RELEASES] {
    let mut kept = [const { None }; RELEASES];
    for (index, place) in kept.iter_mut().take(count as usize).enumerate() {
        let found = store
            .load(store::RELEASES + index as u16)
            .await
            .expect("flash");
        *place = found.map(|(_, release)| release);
    }
    kept
}

/// What a member ends with: its state, of which the posterior's own numbers are a part, and all
/// that it observed.
fn end(member: &Member<'_, f32>) -> Digest {
    let mut end = Frame::leaf();
    end.digest(&Digest::of(Member::state(member)));
    for (candidate, value) in member.observations() {
        end.u32(candidate);
        end.scalars(&[value]);
    }
    end.end()
}
