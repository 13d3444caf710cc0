//! Links between agents and a member's collector: a door that takes every frame, and faults that
//! wrap any link.

use sordino_core::federated::{Collector, Encoding, ServerError};
use sordino_core::math::Scalar;
use sordino_core::wire::{self, Header, Kind, ScalarTag, WireError};
use sordino_experiment::world::fault::{Fate, FaultCounts};

use super::collective::Call;
use super::context::MethodContext;
use super::error::DriverError;

/// What reaches an agent in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing: it is away.
    Away,
    /// The round without what was broadcast.
    Alone,
    /// The round with its broadcast.
    Broadcast,
}

/// Carries the messages of one round, one agent after the other.
pub trait Link {
    /// What reaches an agent in a round with or without a broadcast. Asked once for each agent.
    fn reaches(&mut self, agent: u32, broadcast: bool) -> Reach;

    /// Takes a frame of an agent to the other end, where it may be refused.
    ///
    /// **Errors**: a frame that must not be refused and is.
    fn send(&mut self, agent: u32, frame: &mut [u8]) -> Result<(), DriverError>;
}

/// Takes the uploads of one broadcast or release, whatever the method.
pub trait Collects {
    /// Takes one upload, or refuses it by name.
    ///
    /// **Errors**: an upload of another broadcast, a second one, one that is not finite.
    fn take<T: Scalar>(
        &mut self,
        agent: u32,
        broadcast: u32,
        vector: &[T],
    ) -> Result<(), ServerError>;
}

impl<E: Encoding> Collects for Collector<'_, E> {
    fn take<T: Scalar>(
        &mut self,
        agent: u32,
        broadcast: u32,
        vector: &[T],
    ) -> Result<(), ServerError> {
        self.upload(agent, broadcast, vector)
    }
}

/// The other end of a link on which nothing goes wrong: every frame arrives at once, at the
/// collector, or is refused by name.
pub struct Door<'m, T, C> {
    method: &'m MethodContext<T>,
    collector: Option<C>,
    incoming: Vec<T>,
    refused: FaultCounts,
}

impl<'m, T: Scalar, C: Collects> Door<'m, T, C> {
    /// For vectors of `length` numbers; without a collector every frame is too late.
    pub fn new(method: &'m MethodContext<T>, collector: Option<C>, length: usize) -> Self {
        Door {
            method,
            collector,
            incoming: vec![T::ZERO; length],
            refused: FaultCounts::default(),
        }
    }
}

impl<T: Scalar, C: Collects> Link for Door<'_, T, C> {
    fn reaches(&mut self, _agent: u32, broadcast: bool) -> Reach {
        if broadcast {
            Reach::Broadcast
        } else {
            Reach::Alone
        }
    }

    fn send(&mut self, _agent: u32, frame: &mut [u8]) -> Result<(), DriverError> {
        let refused = &mut self.refused;
        let (header, payload) = match wire::decode(frame, self.incoming.len() as u32) {
            Ok(decoded) => decoded,
            Err(error) => {
                let too_long = matches!(error, WireError::TooLong { .. });
                *(if too_long {
                    &mut refused.refused_oversize
                } else {
                    &mut refused.refused_corrupt
                }) += 1;
                return Ok(());
            }
        };
        if header.deployment != self.method.deployment || header.config != self.method.config_id {
            return Err(DriverError::ForeignFrame {
                deployment: header.deployment,
                config: header.config,
            });
        }
        let Some(collector) = &mut self.collector else {
            refused.refused_stale += 1;
            return Ok(());
        };
        payload.read(&mut self.incoming)?;
        match collector.take(header.agent, header.round, &self.incoming) {
            Err(ServerError::DuplicateUpload { .. }) => refused.refused_duplicate += 1,
            Err(ServerError::WrongBroadcast { .. }) => refused.refused_stale += 1,
            taken => taken?,
        }
        Ok(())
    }
}

/// Frames with their senders.
pub type Frames = Vec<(u32, Vec<u8>)>;

/// A link with the faults of the method's plan: a function of run seed, agent and round.
pub struct Faulty<'m, T, L> {
    link: L,
    method: &'m MethodContext<T>,
    call: Call,
    fate: (u32, Fate),
    counts: FaultCounts,
    held: Frames,
    late: Frames,
}

impl<'m, T: Scalar, L: Link> Faulty<'m, T, L> {
    /// The coins and the lengths are those of the order. The frames in `late`, which missed the
    /// last deadline, arrive first.
    ///
    /// **Errors**: as [`Link::send`].
    pub fn new(
        mut link: L,
        method: &'m MethodContext<T>,
        call: Call,
        late: Frames,
    ) -> Result<Self, DriverError> {
        for (agent, mut frame) in late {
            link.send(agent, &mut frame)?;
        }
        let counts = FaultCounts::default();
        let fate = (u32::MAX, Fate::default());
        Ok(Faulty {
            link,
            method,
            call,
            fate,
            counts,
            held: Vec::new(),
            late: Vec::new(),
        })
    }

    fn fate(&mut self, agent: u32) -> Fate {
        if self.fate.0 != agent {
            let region = self.method.config.region_of_agent(agent);
            let faults = &self.method.faults;
            let seed = self.method.run.seed;
            let coins = faults.fate(seed, agent, region, self.call.coins);
            let absent = if self.call.round == self.call.coins {
                coins.absent
            } else {
                faults.fate(seed, agent, region, self.call.round).absent
            };
            self.fate = (agent, Fate { absent, ..coins });
        }
        self.fate.1
    }

    /// The deadline: frames that were held arrive after all others. Returns the link, what happened
    /// on it, and what missed the deadline.
    ///
    /// **Errors**: as [`Link::send`].
    pub fn close(mut self) -> Result<(L, FaultCounts, Frames), DriverError> {
        for (agent, mut frame) in self.held {
            self.link.send(agent, &mut frame)?;
        }
        Ok((self.link, self.counts, self.late))
    }
}

impl<T: Scalar, C: Collects> Faulty<'_, T, Door<'_, T, C>> {
    /// The same with the door's collector; the counts include what the door refused.
    ///
    /// **Errors**: as [`Faulty::close`].
    pub fn collected(self) -> Result<(Option<C>, FaultCounts, Frames), DriverError> {
        let (door, mut counts, late) = self.close()?;
        counts.add(&door.refused);
        Ok((door.collector, counts, late))
    }
}

impl<T: Scalar, L: Link> Link for Faulty<'_, T, L> {
    fn reaches(&mut self, agent: u32, broadcast: bool) -> Reach {
        let fate = self.fate(agent);
        if fate.absent {
            self.counts.absent += 1;
            return Reach::Away;
        }
        self.counts.broadcasts_lost += u32::from(fate.broadcast_lost && broadcast);
        self.link.reaches(agent, broadcast && !fate.broadcast_lost)
    }

    fn send(&mut self, agent: u32, frame: &mut [u8]) -> Result<(), DriverError> {
        let fate = self.fate(agent);
        if fate.lost {
            self.counts.lost += 1;
            return Ok(());
        }
        if let Some(bit) = fate.flip {
            let bit = bit as usize % (frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        if fate.oversize {
            return self.link.send(
                agent,
                &mut oversized(self.method, agent, self.call.upload_len)?,
            );
        }
        if fate.late {
            self.counts.late += 1;
            self.late.push((agent, frame.to_vec()));
        } else if fate.held {
            self.held.push((agent, frame.to_vec()));
        } else {
            self.link.send(agent, frame)?;
        }
        if fate.duplicate && !fate.late {
            self.link.send(agent, frame)?;
        }
        Ok(())
    }
}

/// A frame of more numbers than are admitted.
fn oversized<T: Scalar>(
    method: &MethodContext<T>,
    agent: u32,
    length: usize,
) -> Result<Vec<u8>, DriverError> {
    let numbers = vec![T::ZERO; length + 1];
    let mut frame = vec![0; wire::frame_len_max(ScalarTag::of::<T>(), numbers.len())];
    let header = Header {
        len: 0,
        ..method.frame_header(Kind::Upload, agent, 0)
    };
    let used = wire::encode(header, &numbers, &mut frame)?;
    frame.truncate(used);
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sordino_experiment::scenario::Shipped;

    use super::super::context::{RunContext, ScenarioContext};
    use super::*;

    fn context(settings: &[&str]) -> MethodContext<f32> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let scenario = Shipped::find("firmware").unwrap().parse(&settings).unwrap();
        let functions = sordino_experiment::world::load(&scenario, None)
            .unwrap()
            .realize(scenario.run_seed(0));
        let shared =
            ScenarioContext::new(&scenario, functions.candidates(), functions.dim()).unwrap();
        let run = Arc::new(RunContext::new(&scenario, Arc::new(shared), 0, functions).unwrap());
        MethodContext::new(&scenario, scenario.methods().next().unwrap(), run, None).unwrap()
    }

    /// A link that only remembers what it was given.
    #[derive(Default)]
    struct Seen(Frames);

    impl Link for Seen {
        fn reaches(&mut self, _agent: u32, broadcast: bool) -> Reach {
            if broadcast {
                Reach::Broadcast
            } else {
                Reach::Alone
            }
        }

        fn send(&mut self, agent: u32, frame: &mut [u8]) -> Result<(), DriverError> {
            self.0.push((agent, frame.to_vec()));
            Ok(())
        }
    }

    /// What agents are told and what arrives in round 3; frames of zeros.
    fn round(
        settings: &[&str],
        agents: &[u32],
        late: Frames,
    ) -> (Vec<Reach>, Frames, FaultCounts, Frames) {
        let method = context(settings);
        let call = Call {
            round: 3,
            coins: 3,
            queries: true,
            upload_len: 4,
        };
        let mut link = Faulty::new(Seen::default(), &method, call, late).unwrap();
        let reached = agents
            .iter()
            .map(|agent| link.reaches(*agent, true))
            .collect();
        agents
            .iter()
            .for_each(|agent| link.send(*agent, &mut [0; 40]).unwrap());
        let (seen, counts, late) = link.close().unwrap();
        (reached, seen.0, counts, late)
    }

    #[test]
    fn each_fault_does_to_a_wrapped_link_what_it_says() {
        let whole: Frames = (0..4).map(|agent| (agent, vec![0; 40])).collect();
        let all = [0, 1, 2, 3];
        let none = FaultCounts::default();
        let reached = |reach| vec![reach; 4];
        let plain = round(&[], &all, Vec::new());
        assert_eq!(
            plain,
            (reached(Reach::Broadcast), whole.clone(), none, Vec::new())
        );
        let away = round(&["faults.dropout=1"], &all, Vec::new());
        assert_eq!((away.0, away.2.absent), (reached(Reach::Away), 4));
        let alone = round(&["faults.broadcast_loss=1"], &all, Vec::new());
        assert_eq!(
            (alone.0, alone.2.broadcasts_lost),
            (reached(Reach::Alone), 4)
        );
        let lost = round(&["faults.loss=1"], &all, Vec::new());
        assert_eq!((lost.1, lost.2.lost), (Vec::new(), 4));
        let twice = round(&["faults.duplicate=1"], &all, Vec::new());
        assert!(twice.1.len() == 8 && twice.1.chunks(2).all(|pair| pair[0] == pair[1]));
        let (_, seen, counts, late) = round(&["faults.straggler=1"], &all, whole[..1].to_vec());
        assert_eq!(
            (seen, counts.late, late),
            (whole[..1].to_vec(), 4, whole.clone()),
            "the last round's come first"
        );
        let held = round(&["faults.reorder=1"], &all, Vec::new());
        assert_eq!((held.1, held.2), (whole, none));
        for (_, frame) in round(&["faults.corrupt=1"], &all, Vec::new()).1 {
            assert_eq!(
                frame.iter().map(|byte| byte.count_ones()).sum::<u32>(),
                1,
                "one bit"
            );
        }
        for (_, frame) in round(&["faults.oversize=1"], &all, Vec::new()).1 {
            assert!(matches!(
                wire::decode(&frame, 4),
                Err(WireError::TooLong { .. })
            ));
        }
    }

    /// A fate is a function of run seed, agent and round: who else is asked, and in which order,
    /// does not matter.
    #[test]
    fn fates_do_not_depend_on_who_else_is_asked() {
        let some = [
            "faults.dropout=0.3",
            "faults.loss=0.3",
            "faults.broadcast_loss=0.3",
        ];
        let agents: Vec<u32> = (0..40).collect();
        let backwards: Vec<u32> = (0..40).rev().collect();
        let (mut reached, seen, counts, _) = round(&some, &agents, Vec::new());
        let (again, mut back, same, _) = round(&some, &backwards, Vec::new());
        back.reverse();
        reached.reverse();
        assert_eq!((&again, &back, same), (&reached, &seen, counts));
        for agent in [0, 7, 39] {
            let (alone, own, ..) = round(&some, &[agent], Vec::new());
            assert_eq!(alone[0], again[39 - agent as usize]);
            assert_eq!(
                own.len(),
                seen.iter().filter(|(sender, _)| *sender == agent).count()
            );
        }
        assert!(
            counts.absent > 0 && counts.lost > 0 && counts.broadcasts_lost > 0,
            "{counts:?}"
        );
    }
}
