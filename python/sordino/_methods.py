"""Methods of a federation written in Python: what they are shown."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy


class Sight(NamedTuple):
    """What one agent sees when it is asked.

    agent, round: which agent, from 0; which round, from 1 (initial points are drawn for it)
    log: what it has observed, pairs of candidate and value; larger is better
    broadcast: the numbers that the server sent after the round before; None if it sent none or they were lost
    candidates: all points in the unit box, an array of one row each; a candidate is the index of a row
    seed: for a generator of your own, `numpy.random.default_rng(sight.seed)`: the same with every driver and after a
        resume. Anything else that is random makes runs differ
    """

    agent: int
    round: int
    log: List[Tuple[int, float]]
    broadcast: Optional[List[float]]
    candidates: numpy.ndarray
    seed: int


def candidates(flat: Sequence[float], dim: int) -> numpy.ndarray:
    """The points of all candidates, one row each; not to be written to."""
    points = numpy.asarray(flat, dtype=float).reshape(-1, dim)
    points.setflags(write=False)
    return points
