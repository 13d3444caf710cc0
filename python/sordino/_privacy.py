"""What Poisson-sampled Gaussian releases cost.

All functions count one agent that is replaced by one that says nothing (zero-out neighbours), and err upwards.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Optional

from . import _native


def epsilon(
    sampling_probability: float,
    noise_multiplier: float,
    rounds: int,
    delta: float,
    accountant: str = "pld",
) -> float:
    """The ε of a number of equal releases at δ; `sordino privacy epsilon`.

    Parameters
    ----------
    sampling_probability: probability with which each agent is selected, in (0, 1]
    noise_multiplier: noise standard deviation over sensitivity, from 0.001 to 1e6
    rounds: number of releases, from 1 to 1,000,000,000
    delta: in (0, 1), added to every bound by e^ε; not the probability that the bound fails
    accountant: "pld" (privacy-loss distributions: tight), "rdp" (Rényi), "moments" (the paper's)

    Raises
    ------
    InputError: a number outside its range; no finite ε
    """
    return _native.epsilon(sampling_probability, noise_multiplier, rounds, delta, accountant)


def delta(
    sampling_probability: float,
    noise_multiplier: float,
    rounds: int,
    epsilon: float,
    accountant: str = "pld",
) -> float:
    """The δ of the same releases at an ε from 0 to 1e6; an upper bound. `sordino privacy delta`."""
    return _native.delta(sampling_probability, noise_multiplier, rounds, epsilon, accountant)


def calibrate(
    epsilon: float,
    delta: float,
    *,
    sampling_probability: Optional[float] = None,
    noise_multiplier: Optional[float] = None,
    rounds: Optional[int] = None,
    accountant: str = "pld",
) -> Dict[str, Any]:
    """What is left out of three parameters, for a target (ε, δ); `sordino privacy calibrate`.

    Exactly two of `sampling_probability`, `noise_multiplier` and `rounds` are given, in the ranges of `epsilon`; found are
    the largest probability, the smallest multiplier or the most rounds that stay within ε (1e-6 to 1e6) at δ.

    Returns
    -------
    A dictionary with all three, `found` (the name of the third), `epsilon_pld` and `epsilon_rdp`.

    Raises
    ------
    InputError: not exactly two; a number outside its range; a target that cannot be met, with the ε that comes closest
    """
    return json.loads(
        _native.calibrate(epsilon, delta, sampling_probability, noise_multiplier, rounds, accountant)
    )
