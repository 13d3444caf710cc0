"""The posterior of a Gaussian process, for methods of your own."""

from __future__ import annotations

from typing import Any, Sequence, Union

import numpy as np

from . import _native
from ._native import InputError

SEED_MAX = 2**64 - 1


class Posterior:
    """What observations say of a function: core's exact Gaussian process, in 64 bits.

    >>> posterior = Posterior([[0.1], [0.5]], [1.0, 0.0], lengthscale=0.2)
    >>> mean, std = posterior.mean([[0.3]]), posterior.std([[0.3]])
    >>> function = posterior.draw([[0.0], [0.3], [0.9]], seed=7)  # one function at three points

    In a method of your own (`run(own={...})`), points are rows of `sight.candidates` and `sight.seed` is a seed that is the
    same with every driver and after a resume.

    Parameters
    ----------
    points: one row of coordinates for each observation; no row, an array of shape (0, D), is the prior
    values: the observed value of each; a repeated point counts as the average of its values
    lengthscale: one for all coordinates, or one for each; positive, in the unit of the points
    signal_variance: prior variance of the function, positive, in values squared
    noise_variance: variance of an observation's noise, from 0, in values squared
    prior_mean: of the function, where nothing is known
    kernel: "matern-5/2", "matern-3/2", "matern-1/2", "squared-exponential"

    Raises
    ------
    InputError: anything outside its range; more than 10,000 observations
    """

    def __init__(
        self,
        points: "np.typing.ArrayLike",
        values: Sequence[float],
        lengthscale: Union[float, Sequence[float]],
        *,
        signal_variance: float = 1.0,
        noise_variance: float = 0.01,
        prior_mean: float = 0.0,
        kernel: str = "matern-5/2",
    ) -> None:
        rows = np.asarray(points, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise InputError(f"points of shape {rows.shape}; admissible: (observations, D), one row for each observation")
        told = np.asarray(values, dtype=np.float64)
        if told.shape != (len(rows),):
            raise InputError(f"values of shape {told.shape}; admissible: ({len(rows)},), a value for each point")
        scales = np.asarray(lengthscale, dtype=np.float64)
        if scales.shape not in ((), (rows.shape[1],)):
            raise InputError(f"lengthscale of shape {scales.shape}; admissible: one number, or one for each of {rows.shape[1]}")
        self._dim = int(rows.shape[1])
        self._native = _native.Posterior(
            rows.ravel().tolist(),
            told.tolist(),
            np.broadcast_to(scales, (self._dim,)).tolist(),
            float(signal_variance),
            float(noise_variance),
            float(prior_mean),
            kernel,
        )

    def _flat(self, points: "np.typing.ArrayLike") -> "list[float]":
        rows = np.asarray(points, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self._dim:
            raise InputError(f"points of shape {rows.shape}; admissible: (points, {self._dim})")
        return rows.ravel().tolist()

    def mean(self, points: "np.typing.ArrayLike") -> "np.ndarray[Any, Any]":
        """Posterior mean at each row of `points`."""
        return np.array(self._native.moments(self._flat(points))[0], dtype=np.float64)

    def std(self, points: "np.typing.ArrayLike") -> "np.ndarray[Any, Any]":
        """Posterior standard deviation of the function at each row of `points`; an observation there has the noise as well."""
        return np.sqrt(np.array(self._native.moments(self._flat(points))[1], dtype=np.float64))

    def draw(self, points: "np.typing.ArrayLike", seed: int) -> "np.ndarray[Any, Any]":
        """One function drawn from the posterior, at each row of `points`: jointly, so that its argmax is Thompson's choice.

        The same seed gives the same draw. Up to 5,000 points; the cost grows with their cube.
        """
        if not 0 <= int(seed) <= SEED_MAX:
            raise InputError(f"seed is {seed}; admissible: a whole number from 0 to 2**64 - 1")
        return np.array(self._native.draw(self._flat(points), int(seed)), dtype=np.float64)
