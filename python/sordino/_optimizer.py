"""Bayesian optimisation of one function over a box, without privacy."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _native


class Optimizer:
    """Ask and tell; it maximises. Core's optimiser: the program that also runs on a microcontroller, in 64 bits.

    >>> optimizer = Optimizer([(-5, 10), (0, 15)])
    >>> for _ in range(20):
    ...     x = optimizer.suggest()
    ...     optimizer.observe(x, -((x[0] - 3) ** 2) - (x[1] - 2) ** 2)
    ...     fitted = optimizer.fit()  # the lengthscale that the observations suggest
    >>> point, mean = optimizer.best()

    It can be pickled; `save` gives bytes and `restore` takes them. Suggestions afterwards are the same, bit for bit.
    Threads may share it: calls wait for each other, and until a value is told all of them are given the same point.

    Parameters
    ----------
    bounds: (low, high) of each of 1 to 16 axes, in your units
    capacity: the most observations, 1 to 10,000; memory is 4·n² bytes, a suggestion takes some hundreds of n² operations
    kernel: "matern-5/2", "matern-3/2", "matern-1/2", "squared-exponential"
    lengthscale: as a fraction of each side of the box, positive; until `fit` finds better
    noise_fraction: noise variance as a fraction of the function's variance, from 0; raised to what 64 bits resolve
    initial_points: points of a Halton sequence first; 0 means 2 for each axis and 2 more
    confidence_width: mean + width · standard deviation is maximised in place of the expected improvement; 2 is usual
    when_full: "refuse" an observation more than `capacity`, or "drop-oldest"

    Raises
    ------
    InputError: anything outside its range
    """

    def __init__(
        self,
        bounds: Sequence[Tuple[float, float]],
        capacity: int = 100,
        *,
        kernel: str = "matern-5/2",
        lengthscale: float = 0.25,
        noise_fraction: float = 1e-4,
        initial_points: int = 0,
        confidence_width: Optional[float] = None,
        when_full: str = "refuse",
    ) -> None:
        sides: List[Tuple[float, float]] = [(float(low), float(high)) for low, high in bounds]
        self._native = _native.Optimizer(
            sides, capacity, kernel, lengthscale, noise_fraction, initial_points, confidence_width, when_full
        )

    def suggest(self) -> "np.ndarray[Any, Any]":
        """The point to try next, one number for each axis. Asking again without telling gives the same point."""
        return np.array(self._native.suggest(), dtype=np.float64)

    def observe(self, point: Sequence[float], value: float) -> None:
        """Tells the value of a point, a suggested one or any other of the box.

        Raises
        ------
        InputError: a point outside the box, which changes nothing; a value that is not finite; an observation more than
            `capacity` where the oldest are not dropped
        """
        self._native.observe([float(x) for x in point], float(value))

    def fit(self) -> bool:
        """Fits lengthscale and noise to the observations; False with fewer than three of them, or equal values."""
        return self._native.fit()

    def best(self) -> Optional[Tuple["np.ndarray[Any, Any]", float]]:
        """The observed point of largest posterior mean, and that mean; None before the first observation."""
        found = self._native.best()
        return None if found is None else (np.array(found[0], dtype=np.float64), found[1])

    def save(self) -> bytes:
        """Everything, with a digest: bounds, settings and the log of observations and fits."""
        return self._native.save()

    @classmethod
    def restore(cls, saved: bytes) -> "Optimizer":
        """The optimiser that `save` was asked of. Bytes that were changed are refused."""
        made = cls.__new__(cls)
        made._native = _native.Optimizer.restore(saved)
        return made

    def __getstate__(self) -> bytes:
        return self.save()

    def __setstate__(self, saved: bytes) -> None:
        self._native = _native.Optimizer.restore(saved)

    def __len__(self) -> int:
        """Observations in use."""
        return self._native.facts()[1]

    def __bool__(self) -> bool:
        return True

    @property
    def bounds(self) -> List[Tuple[float, float]]:
        """(low, high) of each axis."""
        return self._native.facts()[0]

    @property
    def refused(self) -> int:
        """Observations that were refused since the beginning."""
        return self._native.facts()[2]

    @property
    def lengthscale(self) -> float:
        """In use, as a fraction of each side of the box."""
        return self._native.facts()[3]

    @property
    def noise_fraction(self) -> float:
        """Noise variance in use, as a fraction of the function's variance."""
        return self._native.facts()[4]

    @property
    def capacity(self) -> int:
        """The most observations."""
        return self._native.facts()[5]

    def __repr__(self) -> str:
        return f"<sordino.Optimizer over {self.bounds}, {len(self)} of {self.capacity} observations>"
