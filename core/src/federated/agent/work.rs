//! What an agent does between an input and its output, in one go or in slices.

use core::task::Poll;

use super::super::config::{Aggregation, InitialRegion};
use super::super::errors::AgentError;
use super::super::messages::{Input, Output, Phase};
use super::effort::{Answer, CANDIDATE, Effort, Work};
use super::{Agent, entry, finite, widen};
use crate::acquisition::thompson::Streaming;
use crate::linalg::slice;
use crate::math::Scalar;
use crate::random::Purpose;

/// A broadcast as it was heard.
#[derive(Clone, Copy)]
struct Heard<'a, T> {
    vectors: &'a [T],
    /// The candidate that maximises them, where the server said so.
    maximum: Option<u32>,
}

/// How an agent finds the query of a round.
enum Choice {
    /// It is known already.
    Query(u32),
    /// Weights are maximised: of its own draw, or of the broadcast.
    Maximize { own: bool },
}

impl<T: Scalar> Agent<'_, T> {
    /// One step of the machine: one input in, one borrowed output out.
    ///
    /// **Errors**: [`AgentError`]; nothing changed then, except where the variant says so.
    pub fn handle(&mut self, input: Input<'_, T>) -> Result<Output<'_, T>, AgentError> {
        loop {
            if let Poll::Ready(answer) = self.advance(input, Effort::unlimited())? {
                return Ok(self.output(answer));
            }
        }
    }

    /// [`Agent::handle`] in slices, for a program that feeds a watchdog or has other work: at most
    /// about what `candidates` candidates (at least one) cost when a weight vector is maximised
    /// over them. Give the *same* input again until it is [`Poll::Ready`]; the bits are those of
    /// one go, whatever the slices are.
    ///
    /// Until then the state is as before, and storing it is safe: work that is given up, by a
    /// restart, another input or a new [`Agent`], leaves nothing behind, and the input is given
    /// again from the beginning. Of an observation the value of the first slice counts.
    ///
    /// **Errors**: as [`Agent::handle`], which ends the work.
    ///
    /// **Cost**: digesting an observation and drawing weights count as 1 + M/8 candidates and are
    /// not divided; where a host has caches (rows of features, joint draws), maximising is not
    /// divided either.
    pub fn handle_slice(
        &mut self,
        input: Input<'_, T>,
        candidates: u32,
    ) -> Result<Poll<Output<'_, T>>, AgentError> {
        Ok(self
            .advance(input, Effort::candidates(candidates))?
            .map(|answer| self.output(answer)))
    }

    pub(super) fn output(&mut self, answer: Answer) -> Output<'_, T> {
        match answer {
            Answer::Evaluate => self.evaluate(),
            Answer::Upload => Output::Upload(self.upload),
            Answer::Wait => Output::Wait,
            Answer::Done => Output::Done,
        }
    }

    /// Gives up what was begun.
    pub(super) fn forget_work(&mut self) {
        (self.work, self.begun) = (Work::None, None);
        if self.state.digested.shared > self.state.observations {
            // The posterior holds an observation that was given up.
            self.shared.clear();
            self.state.digested.shared = 0;
        }
    }

    fn advance(
        &mut self,
        input: Input<'_, T>,
        mut effort: Effort,
    ) -> Result<Poll<Answer>, AgentError> {
        let phase = self.state.phase;
        let belongs = match input {
            Input::Start => phase == Phase::Fresh,
            Input::Observed(_) => matches!(phase, Phase::Initial | Phase::Evaluating),
            Input::Broadcast { .. } | Input::NoBroadcast | Input::Missed => phase == Phase::Waiting,
        };
        if !belongs {
            return Err(AgentError::UnexpectedInput {
                phase,
                input: input.name(),
            });
        }
        let first = self.begun != Some(input.name());
        if first {
            self.forget_work();
            self.begun = Some(input.name());
        }
        let answer = match input {
            Input::Start => Ok(self.start(&mut effort)),
            Input::Observed(y) => self.observed(y, first, &mut effort),
            Input::Broadcast { vectors, maximum } => self
                .check_broadcast(vectors, maximum)
                .and_then(|()| self.begin_round(Some(Heard { vectors, maximum }), &mut effort)),
            Input::NoBroadcast => self.begin_round(None, &mut effort),
            Input::Missed => Ok(Poll::Ready(self.miss_round())),
        };
        if !matches!(answer, Ok(Poll::Pending)) {
            self.forget_work();
        }
        answer
    }

    fn start(&mut self, effort: &mut Effort) -> Poll<Answer> {
        self.initial_point(0, effort).map(|candidate| {
            (self.state.phase, self.state.pending) = (Phase::Initial, candidate);
            Answer::Evaluate
        })
    }

    fn miss_round(&mut self) -> Answer {
        self.state.round += 1;
        if self.state.round == self.config.parameters().rounds {
            self.state.phase = Phase::Done;
            return Answer::Done;
        }
        Answer::Wait
    }

    /// Lines "observe y, add (x, y − c₀)" and "draw ω ~ N(ν, λΣ⁻¹) and upload it". The round is
    /// over whatever the draw is.
    fn observed(
        &mut self,
        y: T,
        first: bool,
        effort: &mut Effort,
    ) -> Result<Poll<Answer>, AgentError> {
        if first {
            self.record(y)?;
        }
        let p = self.config.parameters();
        let taken = self.state.observations + 1;
        if self.state.phase == Phase::Initial && taken < p.initial_points {
            return Ok(self.initial_point(taken, effort).map(|candidate| {
                (self.state.observations, self.state.pending) = (taken, candidate);
                Answer::Evaluate
            }));
        }
        if self.state.round == p.rounds {
            (self.state.observations, self.state.phase) = (taken, Phase::Done);
            return Ok(Poll::Ready(Answer::Done));
        }
        let answer = self.upload(taken, effort);
        if !matches!(answer, Ok(Poll::Pending)) {
            (self.state.observations, self.state.phase) = (taken, Phase::Waiting);
        }
        answer
    }

    /// Writes an observation behind the last one of the log, where nobody reads it before the state
    /// counts it.
    fn record(&mut self, y: T) -> Result<(), AgentError> {
        let value = y - self.offset;
        if !(y.is_finite() && value.is_finite()) {
            return Err(AgentError::ObservationNotFinite {
                round: self.state.round,
            });
        }
        let start = 2 * self.state.observations as usize;
        let len = self.log.len();
        let Some([candidate, place]) = self.log.get_mut(start..start + 2) else {
            return Err(AgentError::Storage {
                what: "log",
                len,
                expected: start + 2,
            });
        };
        (*candidate, *place) = (T::from_u32(self.state.pending), value);
        Ok(())
    }

    /// Initial point i: one word of the stream (agent, initial points) picks a candidate of the
    /// region, uniformly and with replacement.
    fn initial_point(&mut self, i: u32, effort: &mut Effort) -> Poll<u32> {
        let p = self.config.parameters();
        let public = self.public;
        let own = self.config.region_of_agent(self.state.agent);
        let count = public.candidates().count();
        let mut stream = self
            .state
            .seed
            .stream(self.party(), Purpose::InitialPoints, i);
        if p.initial_region == InitialRegion::Whole || p.regions.count() == 1 {
            return Poll::Ready(stream.below(count));
        }
        let point = slice::head_mut(self.scratch, public.candidates().dim());
        let mut inside = |candidate: &u32| public.region(*candidate, point) == own;
        let (mut next, mut eligible) = match self.work {
            Work::Counting { next, eligible } => (next, eligible),
            Work::Choosing { .. } => (count, 0),
            _ => (0, 0),
        };
        while next < count {
            let end = next + effort.take(1, count - next);
            if end == next {
                self.work = Work::Counting { next, eligible };
                return Poll::Pending;
            }
            eligible += (next..end).filter(&mut inside).count() as u32;
            next = end;
        }
        let (mut next, mut left) = match self.work {
            Work::Choosing { next, left } => (next, left),
            _ => (0, stream.below(eligible)),
        };
        while next < count {
            let end = next + effort.take(1, count - next);
            if end == next {
                self.work = Work::Choosing { next, left };
                return Poll::Pending;
            }
            for candidate in (next..end).filter(&mut inside) {
                if left == 0 {
                    return Poll::Ready(candidate);
                }
                left -= 1;
            }
            next = end;
        }
        // A region without a candidate falls back on the whole list: `below(0)` was 0 and the
        // search found nothing.
        Poll::Ready(stream.below(count))
    }

    /// What digesting an observation, or a draw, costs beside a test of a region: about 1 + M/8
    /// candidates.
    fn observation_cost(&self) -> u64 {
        CANDIDATE * (1 + u64::from(self.config.parameters().feature_count) / 8)
    }

    /// The draw of the round, a function of seed, round and the first `taken` entries of the log.
    pub(super) fn upload(
        &mut self,
        taken: u32,
        effort: &mut Effort,
    ) -> Result<Poll<Answer>, AgentError> {
        if self.config.parameters().aggregation == Aggregation::None {
            return Ok(Poll::Ready(Answer::Wait));
        }
        if self.digest(taken, effort).is_pending() || effort.take(self.observation_cost(), 1) == 0 {
            return Ok(Poll::Pending);
        }
        let mut stream =
            self.state
                .seed
                .stream(self.party(), Purpose::WeightDraw, self.state.round);
        self.shared.draw(&mut stream, self.upload);
        match self.upload.iter().position(|x| !x.is_finite()) {
            Some(index) => Err(AgentError::UploadNotFinite { index }),
            None => Ok(Poll::Ready(Answer::Upload)),
        }
    }

    /// Brings the shared posterior up to the first `count` entries of the log.
    fn digest(&mut self, count: u32, effort: &mut Effort) -> Poll<()> {
        let cost = self.observation_cost();
        let public = self.public;
        let log = &*self.log;
        let point = slice::head_mut(self.scratch, public.candidates().dim());
        while self.shared.observations() < count as usize {
            // One at a time only if not all can be afforded.
            let mut rows = if effort.is_unlimited() {
                usize::MAX
            } else {
                effort.take(cost, 1) as usize
            };
            if rows == 0 {
                return Poll::Pending;
            }
            let step = self
                .shared
                .extend_step(count as usize, &mut rows, |i, phi| {
                    let (candidate, y) = entry(log, i);
                    public.feature_row(candidate as u32, point, phi);
                    y
                });
            self.state.digested.shared = self.shared.observations() as u32;
            if step.is_ready() {
                break;
            }
        }
        Poll::Ready(())
    }

    /// Lines "if u < pₜ maximise the own draw, else the broadcast": picks the query of the next
    /// round. An own draw that is refused leaves the agent waiting.
    fn begin_round(
        &mut self,
        heard: Option<Heard<'_, T>>,
        effort: &mut Effort,
    ) -> Result<Poll<Answer>, AgentError> {
        let p = self.config.parameters();
        let public = self.public;
        let round = self.state.round + 1;
        let (own, mut streaming) = match self.work {
            Work::Maximizing { own, streaming } => (own, streaming),
            _ => match self.choose(round, heard, effort)? {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Choice::Query(candidate)) => {
                    return Ok(Poll::Ready(self.query(round, candidate)));
                }
                Poll::Ready(Choice::Maximize { own }) => (own, Streaming::begin()),
            },
        };
        let (regions, weights) = match heard {
            Some(heard) if !own => (&p.regions, heard.vectors),
            _ => (&self.whole, finite(self.draw, p.feature_count as usize)?),
        };
        let count = effort.take(CANDIDATE, u32::MAX);
        if count > 0
            && let Poll::Ready(best) =
                public.maximize_step(&mut streaming, count, regions, weights, self.scratch)
        {
            return Ok(Poll::Ready(self.query(round, best.candidate)));
        }
        self.work = Work::Maximizing { own, streaming };
        Ok(Poll::Pending)
    }

    /// Follows the own draw or the broadcast, by the coin of the round.
    fn choose(
        &mut self,
        round: u32,
        heard: Option<Heard<'_, T>>,
        effort: &mut Effort,
    ) -> Result<Poll<Choice>, AgentError> {
        let p = self.config.parameters();
        let coin = || {
            self.state
                .seed
                .stream(self.party(), Purpose::Mixing, round)
                .word()
        };
        let own = heard.is_none() || p.mixing.own_draw(round, coin());
        let maximum = match heard {
            Some(heard) if !own => Poll::Ready(heard.maximum),
            _ => self.own_draw(round, effort)?,
        };
        Ok(maximum.map(|maximum| match maximum {
            Some(candidate) => Choice::Query(candidate),
            None => Choice::Maximize { own },
        }))
    }

    fn query(&mut self, round: u32, candidate: u32) -> Answer {
        (self.state.pending, self.state.round, self.state.phase) =
            (candidate, round, Phase::Evaluating);
        Answer::Evaluate
    }

    /// Line "draw f ~ GP(μ, β²σ²)": the weights of an own draw, or, of a joint draw, its maximum at
    /// once.
    fn own_draw(
        &mut self,
        round: u32,
        effort: &mut Effort,
    ) -> Result<Poll<Option<u32>>, AgentError> {
        let public = self.public;
        let count = self.state.observations;
        if self.own.is_none()
            && (self.digest(count, effort).is_pending()
                || effort.take(self.observation_cost(), 1) == 0)
        {
            return Ok(Poll::Pending);
        }
        let width = public.confidence_width(round);
        let mut stream = self
            .state
            .seed
            .stream(self.party(), Purpose::OwnDraw, round);
        let Some(own) = &mut self.own else {
            self.shared.draw(&mut stream, self.draw);
            widen(&mut self.shared, width, self.draw, self.upload);
            finite(self.draw, self.shared.feature_count())?;
            return Ok(Poll::Ready(None));
        };
        let log = &*self.log;
        let (prior, rank) = public.prior();
        own.extend(count as usize, |i, phi| {
            let (candidate, y) = entry(log, i);
            let row = slice::part(prior, candidate * rank, rank);
            phi.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            y
        });
        self.state.digested.own = count;
        own.draw(&mut stream, self.draw);
        widen(own, width, self.draw, self.scratch);
        let best = public.maximize_prior(finite(self.draw, rank)?);
        Ok(Poll::Ready(Some(best.candidate)))
    }
}
