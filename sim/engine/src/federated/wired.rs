//! Orders and partials as bytes, for members elsewhere. Only for simulated sources: a secret sample
//! stays in its process.
//!
//! Numbers travel as the bytes of the format used to compute, little-endian, so that nothing is
//! rounded; flags of agents take two bits each. What arrives is checked, never trusted: a partial
//! goes through the server's own door ([`sordino_core::federated::PartialError`]).

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sordino_core::federated::prior::Terms;
use sordino_core::federated::{Packed, Partial as Sums, Share, Wiped};
use sordino_core::math::{Scalar, read_all_le, write_all_le};
use sordino_core::privacy::SourceKind;
use sordino_experiment::record::Observed;
use sordino_experiment::world::fault::FaultCounts;

use super::super::hub::EncodedOrder;
use super::arena::State;
use super::blocks::Piece;
use super::campaign::context::CampaignContext;
use super::campaign::shard::CampaignOrder;
use super::collective::{AgentGroup, Order, Partial};
use super::context::MethodContext;
use super::custom::context::CustomContext;
use super::custom::shard::CustomOrder;
use super::error::RemoteError;
use super::message::Message;
use super::prior::context::PriorContext;
use super::prior::shard::PriorOrder;
use super::regret_counts::RegretCounts;
use super::shard::Shard;
use super::vote::context::VoteContext;

/// A group whose orders may leave the process: written once for all members, and a part for each
/// range of agents.
pub trait Travels: AgentGroup<State: State + Serialize + DeserializeOwned> {
    /// What all members are told.
    type Common: Sync;

    /// Writes an order for members that hold these ranges.
    ///
    /// **Errors**: [`RemoteError::Secret`].
    fn write(order: &Self::Order, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError>;

    /// Reads the part of an order that is the same for all members.
    ///
    /// **Errors**: [`RemoteError::Undecodable`].
    fn open(common: &[u8]) -> Result<Self::Common, RemoteError>;

    /// The order for one member, with the part about its own agents.
    ///
    /// **Errors**: [`RemoteError::Undecodable`].
    fn order(common: &Self::Common, part: &[u8]) -> Result<Self::Order, RemoteError>;
}

/// The bytes of a value.
///
/// **Errors**: [`RemoteError::Unsendable`]; none for the values of this file.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, RemoteError> {
    postcard::to_allocvec(value).map_err(|_| RemoteError::Unsendable("a value"))
}

/// A value from all of the bytes.
pub fn decode<V: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<V, RemoteError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(RemoteError::Undecodable(what)),
    }
}

fn to_bytes<T: Scalar>(numbers: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; numbers.len() * T::BYTES];
    write_all_le(numbers, &mut bytes);
    bytes
}

fn from_bytes<T: Scalar, A: FromIterator<T>>(bytes: &[u8]) -> Result<A, RemoteError> {
    if !bytes.len().is_multiple_of(T::BYTES) {
        return Err(RemoteError::Undecodable("a vector of numbers"));
    }
    Ok(read_all_le(bytes).collect())
}

/// The share of each range, in two bits for each agent; empty for every range if there is no share.
fn shares(
    share: Option<&Share<Wiped<u8>>>,
    source: SourceKind,
    ranges: &[Range<u32>],
) -> Result<Vec<Vec<u8>>, RemoteError> {
    let Some(share) = share else {
        return Ok(vec![Vec::new(); ranges.len()]);
    };
    if source != SourceKind::Simulation {
        return Err(RemoteError::Secret(source));
    }
    ranges
        .iter()
        .map(|range| {
            let packed = share.part(range.clone()).and_then(|part| part.packed());
            encode(&packed.ok_or(RemoteError::Unsendable("a share of other agents"))?)
        })
        .collect()
}

fn share(part: &[u8]) -> Result<Arc<Share<Wiped<u8>>>, RemoteError> {
    let packed: Share<Packed> = decode("a share", part)?;
    Ok(Arc::new(
        packed
            .unpacked()
            .ok_or(RemoteError::Undecodable("a share"))?,
    ))
}

/// [`Order`] without its share.
#[derive(Serialize, Deserialize)]
struct WiredOrder {
    round: u32,
    broadcast: Option<Vec<u8>>,
    maximum: Option<u32>,
}

impl<T: Scalar> Travels for Shard<MethodContext<T>> {
    type Common = Order<T>;

    fn write(order: &Order<T>, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError> {
        let Order { round, maximum, .. } = *order;
        let parts = shares(order.share.as_deref(), order.source, ranges)?;
        let broadcast = order.broadcast.as_deref().map(to_bytes);
        Ok(EncodedOrder {
            common: encode(&WiredOrder {
                round,
                broadcast,
                maximum,
            })?,
            parts,
        })
    }

    fn open(common: &[u8]) -> Result<Order<T>, RemoteError> {
        let WiredOrder {
            round,
            broadcast,
            maximum,
        } = decode("an order", common)?;
        let broadcast = broadcast
            .as_deref()
            .map(from_bytes::<T, Arc<[T]>>)
            .transpose()?;
        Ok(Order {
            round,
            broadcast,
            maximum,
            share: None,
            source: SourceKind::Simulation,
        })
    }

    fn order(common: &Order<T>, part: &[u8]) -> Result<Order<T>, RemoteError> {
        let share = if part.is_empty() {
            None
        } else {
            Some(share(part)?)
        };
        Ok(Order {
            share,
            ..common.clone()
        })
    }
}

/// An order of a vote is one of draws, with the winner in the place of the vectors.
impl<T: Scalar> Travels for Shard<VoteContext<T>> {
    type Common = Order<T>;

    fn write(order: &Order<T>, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError> {
        <Shard<MethodContext<T>> as Travels>::write(
            &Order {
                broadcast: None,
                ..order.clone()
            },
            ranges,
        )
    }

    fn open(common: &[u8]) -> Result<Order<T>, RemoteError> {
        <Shard<MethodContext<T>> as Travels>::open(common)
    }

    fn order(common: &Order<T>, part: &[u8]) -> Result<Order<T>, RemoteError> {
        <Shard<MethodContext<T>> as Travels>::order(common, part)
    }
}

/// [`PriorOrder`] without its share; numbers as bytes, terms in double precision, which holds them
/// exactly.
#[derive(Serialize, Deserialize)]
enum WiredPrior {
    Query {
        round: u32,
        draw: Option<(Vec<u8>, Vec<u8>)>,
    },
    Release {
        round: u32,
        release: u32,
        terms: [f64; 3],
        weights: Vec<u8>,
        noise_multiplier: f64,
    },
}

impl<T: Scalar> Travels for Shard<PriorContext<T>> {
    type Common = PriorOrder<T>;

    fn write(order: &PriorOrder<T>, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError> {
        match order {
            PriorOrder::Query { round, draw, .. } => {
                let draw = draw
                    .as_deref()
                    .map(|(weights, values)| (to_bytes(weights), to_bytes(values)));
                let common = encode(&WiredPrior::Query {
                    round: *round,
                    draw,
                })?;
                Ok(EncodedOrder {
                    common,
                    parts: vec![Vec::new(); ranges.len()],
                })
            }
            PriorOrder::Release {
                round,
                release,
                terms,
                weights,
                noise_multiplier,
                share,
                source,
                ..
            } => {
                let parts = shares(share.as_deref(), *source, ranges)?;
                let terms = [terms.ridge, terms.clip_radius, terms.response].map(|x| x.to_f64());
                let round = *round;
                let release = *release;
                let weights = to_bytes(weights);
                let noise_multiplier = *noise_multiplier;
                let common = encode(&WiredPrior::Release {
                    round,
                    release,
                    terms,
                    weights,
                    noise_multiplier,
                })?;
                Ok(EncodedOrder { common, parts })
            }
        }
    }

    fn open(common: &[u8]) -> Result<PriorOrder<T>, RemoteError> {
        Ok(match decode("an order", common)? {
            WiredPrior::Query { round, draw } => {
                let draw = match draw {
                    Some((weights, values)) => Some(Arc::new((
                        from_bytes::<T, Vec<T>>(&weights)?,
                        from_bytes::<T, Vec<T>>(&values)?,
                    ))),
                    None => None,
                };
                PriorOrder::Query {
                    round,
                    draw,
                    last: None,
                }
            }
            WiredPrior::Release {
                round,
                release,
                terms,
                weights,
                noise_multiplier,
            } => {
                let [ridge, clip_radius, response] = terms.map(T::from_f64);
                let (terms, weights) = (
                    Terms {
                        ridge,
                        clip_radius,
                        response,
                    },
                    from_bytes::<T, Arc<[T]>>(&weights)?,
                );
                let share = None;
                let source = SourceKind::Simulation;
                let last = None;
                PriorOrder::Release {
                    round,
                    release,
                    terms,
                    weights,
                    noise_multiplier,
                    share,
                    source,
                    last,
                }
            }
        })
    }

    fn order(common: &PriorOrder<T>, part: &[u8]) -> Result<PriorOrder<T>, RemoteError> {
        let mut order = common.clone();
        if let PriorOrder::Release { share: own, .. } = &mut order {
            *own = Some(share(part)?);
        }
        Ok(order)
    }
}

/// [`CustomOrder`] with its numbers as bytes.
#[derive(Serialize, Deserialize)]
struct WiredCustom {
    round: u32,
    broadcast: Option<Vec<u8>>,
    collecting: bool,
}

impl<T: Scalar> Travels for Shard<CustomContext<T>> {
    type Common = CustomOrder;

    fn write(order: &CustomOrder, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError> {
        let round = order.round;
        let collecting = order.collecting;
        let broadcast = order.broadcast.as_deref().map(to_bytes);
        let common = encode(&WiredCustom {
            round,
            broadcast,
            collecting,
        })?;
        Ok(EncodedOrder {
            common,
            parts: vec![Vec::new(); ranges.len()],
        })
    }

    fn open(common: &[u8]) -> Result<CustomOrder, RemoteError> {
        let WiredCustom {
            round,
            broadcast,
            collecting,
        } = decode("an order", common)?;
        let broadcast = broadcast
            .as_deref()
            .map(from_bytes::<f64, Arc<[f64]>>)
            .transpose()?;
        Ok(CustomOrder {
            round,
            broadcast,
            collecting,
        })
    }

    fn order(common: &CustomOrder, _part: &[u8]) -> Result<CustomOrder, RemoteError> {
        Ok(common.clone())
    }
}

/// [`CampaignOrder`] without its share.
#[derive(Serialize, Deserialize)]
struct WiredCampaign {
    round: u32,
    released: Vec<u8>,
    release: Option<u32>,
}

impl<T: Scalar> Travels for Shard<CampaignContext<T>> {
    type Common = CampaignOrder;

    fn write(order: &CampaignOrder, ranges: &[Range<u32>]) -> Result<EncodedOrder, RemoteError> {
        let parts = match &order.release {
            Some((_, share, source)) => shares(share.as_deref(), *source, ranges)?,
            None => vec![Vec::new(); ranges.len()],
        };
        let release = order.release.as_ref().map(|(release, ..)| *release);
        let common = encode(&WiredCampaign {
            round: order.round,
            released: to_bytes(&order.released),
            release,
        })?;
        Ok(EncodedOrder { common, parts })
    }

    fn open(common: &[u8]) -> Result<CampaignOrder, RemoteError> {
        let WiredCampaign {
            round,
            released,
            release,
        } = decode("an order", common)?;
        let released = from_bytes::<f64, Arc<[f64]>>(&released)?;
        let release = release.map(|release| (release, None, SourceKind::Simulation));
        Ok(CampaignOrder {
            round,
            released,
            release,
        })
    }

    fn order(common: &CampaignOrder, part: &[u8]) -> Result<CampaignOrder, RemoteError> {
        let mut order = common.clone();
        if let Some((_, own, _)) = &mut order.release {
            *own = Some(share(part)?);
        }
        Ok(order)
    }
}

/// [`Partial`] with two bits for each agent.
#[derive(Serialize, Deserialize)]
struct WiredPartial {
    agents: Range<u32>,
    collected: Option<Sums<Packed, Wiped<i64>>>,
    pieces: Vec<Piece>,
    regrets: RegretCounts,
    faults: FaultCounts,
    observations: Vec<Observed>,
    messages: Vec<Message>,
}

impl WiredPartial {
    /// The partial, if its sums are those of its agents.
    fn read(self) -> Result<Partial, RemoteError> {
        let WiredPartial {
            agents,
            collected,
            pieces,
            regrets,
            faults,
            observations,
            messages,
        } = self;
        let collected = collected
            .map(|packed| {
                packed
                    .unpacked()
                    .ok_or(RemoteError::Undecodable("a partial"))
            })
            .transpose()?;
        if collected
            .as_ref()
            .is_some_and(|collected| collected.agents() != agents)
        {
            return Err(RemoteError::Undecodable("a partial"));
        }
        Ok(Partial {
            agents,
            collected,
            pieces,
            regrets,
            faults,
            observations,
            messages,
            answered: None,
        })
    }
}

/// The answer of one member for all ranges that it holds. Neighbouring ranges are joined, so that
/// it sends one vector of sums for each run of neighbouring lots.
///
/// **Errors**: [`RemoteError::Undecodable`] for partials that cannot be joined, which an honest
/// round never has.
pub fn answer(mut partials: Vec<Partial>) -> Result<Vec<u8>, RemoteError> {
    partials.sort_by_key(|partial| partial.agents.start);
    let mut wired: Vec<WiredPartial> = Vec::new();
    let mut collected: Vec<Vec<Sums<Wiped<u8>, Wiped<i64>>>> = Vec::new();
    for partial in partials {
        let Partial {
            agents,
            collected: own,
            pieces,
            regrets,
            faults,
            observations,
            messages,
            answered: _,
        } = partial;
        match (wired.last_mut(), collected.last_mut()) {
            (Some(before), Some(sums)) if before.agents.end == agents.start => {
                before.agents.end = agents.end;
                before.pieces.extend(pieces);
                before.regrets.add(&regrets);
                before.faults.add(&faults);
                before.observations.extend(observations);
                before.messages.extend(messages);
                sums.extend(own);
            }
            _ => {
                wired.push(WiredPartial {
                    agents,
                    collected: None,
                    pieces,
                    regrets,
                    faults,
                    observations,
                    messages,
                });
                collected.push(own.into_iter().collect());
            }
        }
    }
    for (wired, parts) in wired.iter_mut().zip(collected) {
        if !parts.is_empty() {
            let joined = Sums::join(&parts).filter(|joined| joined.agents() == wired.agents);
            let packed = joined.and_then(Sums::packed);
            wired.collected = Some(packed.ok_or(RemoteError::Unsendable("a partial"))?);
        }
    }
    encode(&wired)
}

/// The partials of an answer.
///
/// **Errors**: [`RemoteError::Undecodable`].
pub fn answered(bytes: &[u8]) -> Result<Vec<Partial>, RemoteError> {
    let wired: Vec<WiredPartial> = decode("an answer", bytes)?;
    wired.into_iter().map(WiredPartial::read).collect()
}
