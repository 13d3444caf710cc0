"""Bayesian optimisation of one function, without privacy."""

from __future__ import annotations

import contextlib
import json
import math
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union, overload

import numpy as np

from . import _native
from ._prior import Prior, loaded
from ._space import Space, as_json, as_points

Point = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]


class Optimizer:
    """Ask and tell: the search of `sordino optimize`, with points as dicts in your units.

    >>> from sordino import Space, real
    >>> optimizer = Optimizer(Space({"x": real(-5, 10), "y": real(0, 15)}), seed=1)
    >>> for _ in range(20):
    ...     point = optimizer.ask()
    ...     optimizer.tell(point, (point["x"] - 3) ** 2 + (point["y"] - 2) ** 2)
    >>> point, value = optimizer.best

    What is asked depends on what was asked and told before, on the seed, and on nothing else. A question is under way until
    it is told or has failed, and the next one counts it: `ask` twice gives two points. It can be pickled, and saved as a file
    that people can read. Threads may share it: calls wait for each other.

    Parameters
    ----------
    space: what is searched
    goal: "minimize" or "maximize"; by default that of the space's file, or else "minimize"
    seed: of the first questions, a whole number from 0
    candidates: a list or a DataFrame of points, if only these may be asked
    prior: a `Prior`, or the path of its file, to begin with what others learned of the same space; nothing is told to them

    Raises
    ------
    InputError: anything outside its range, by name and range
    """

    def __init__(
        self,
        space: Space,
        goal: Optional[str] = None,
        seed: int = 0,
        candidates: Optional[Sequence[Mapping[str, Any]]] = None,
        prior: Union[Prior, Path, None] = None,
    ) -> None:
        if not isinstance(space, Space):
            raise _native.InputError(f"{space!r} is no space; admissible: sordino.Space({{\"rate\": sordino.real(0, 1)}})")
        if goal is not None and space.goal is not None and goal != space.goal:
            raise _native.InputError(f"goal is \"{goal}\", but the file of the space says \"{space.goal}\"")
        if not 0 <= seed < 2**63:
            raise _native.InputError(f"seed is {seed}; admissible: a whole number from 0 to 2^63 - 1")
        listed = None if candidates is None else "[" + ", ".join(as_points(candidates)) + "]"
        begun = loaded(prior)
        native = _native.Search(
            space._parameters, goal or space.goal or "minimize", seed, listed, begun and begun._native
        )
        self._hold(native, begun)

    def _hold(self, native: _native.Search, prior: Optional[Prior]) -> None:
        self._native, self._prior = native, prior
        self._names = self.space.names

    def _point(self, text: str) -> Point:
        """A point of the native half, in the order of the space."""
        point = json.loads(text)
        return {name: point[name] for name in self._names}

    @overload
    def ask(self, n: None = None, context: Optional[Mapping[str, Any]] = None) -> Point: ...
    @overload
    def ask(self, n: int, context: Optional[Mapping[str, Any]] = None) -> List[Point]: ...
    def ask(self, n: Optional[int] = None, context: Optional[Mapping[str, Any]] = None) -> Union[Point, List[Point]]:
        """The next point; with `n`, a list of so many. `context` has the values of the parameters that are given."""
        given = as_json(context or {})
        if n is None:
            return self._point(self._native.ask(given))
        if n < 1:
            raise _native.InputError(f"n is {n}; admissible: a whole number from 1")
        return [self._point(self._native.ask(given)) for _ in range(n)]

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        """Tells the value of a point, one that was asked or any other of the space.

        Raises
        ------
        InputError: a point or a value that is none; nothing is changed
        """
        self._native.tell(as_json(point), float(value))

    def fail(self, point: Mapping[str, Any]) -> None:
        """A question that was asked has no value and will not have one; it is not asked again, and it speaks
        against what is near it as the worst value so far would."""
        self._native.fail(as_json(point))

    @property
    def best(self) -> Optional[Tuple[Point, float]]:
        """The best value told and its point; None before the first. Of parameters that are given it may have any value that
        was: `best_given`."""
        return self._best(None)

    def best_given(self, context: Mapping[str, Any]) -> Optional[Tuple[Point, float]]:
        """The best value that was told with these values of the parameters that are given, and its point."""
        return self._best(as_json(context))

    def _best(self, context: Optional[str]) -> Optional[Tuple[Point, float]]:
        found = self._native.best(context)
        return None if found is None else (self._point(found[0]), found[1])

    def recommend(self, context: Optional[Mapping[str, Any]] = None) -> Optional[Tuple[Point, float, float]]:
        """The told point of the best posterior mean, with mean and standard deviation there: noise moves it less than
        `best`. The deviation takes the fitted noise and lengthscales for the true ones: of few noisy values it is far too
        small. Both are of the values told, also where a prior file chooses what is asked. With `context` it is the best for
        these values of the parameters that are given, whatever was given with the points told."""
        found = self._native.recommend(None if context is None else as_json(context))
        return None if found is None else (self._point(found[0]), found[1], found[2])

    def history(self) -> List[Dict[str, Any]]:
        """What was told, in order: a dict of parameters and `value` each. `pandas.DataFrame(optimizer.history())` is a
        table."""
        return [{**self._point(point), "value": value} for point, value in self._native.history()]

    @property
    def pending(self) -> List[Point]:
        """Questions under way, oldest first."""
        return [self._point(point) for point in self._native.pending()]

    @property
    def failed(self) -> int:
        """Questions that failed."""
        return self._native.facts()[3]

    @property
    def reads_prior(self) -> Optional[bool]:
        """Whether the last question was of a search that reads its file: not once the values told speak against it. None
        without a file, and before a question."""
        return self._native.reads_prior()

    def predict(self, points: Sequence[Mapping[str, Any]]) -> Tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        """Mean and standard deviation of the function at these points, dicts or the rows of a DataFrame, in the unit of its
        values, as `recommend` has them. A call fits the model if a fit is due: ask for many points at once."""
        mean, std = self._native.predict(as_points(points))
        return np.array(mean, dtype=np.float64), np.array(std, dtype=np.float64)

    def save(self, path: Path) -> None:
        """Writes all that happened into a file, a line of JSON each; the old file or the new one is left by a crash."""
        beside = f"{os.fspath(path)}.new"
        with open(beside, "w", encoding="utf-8") as file:
            file.write(self._native.to_text())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)

    @classmethod
    def load(cls, path: Path, prior: Union[Prior, Path, None] = None) -> "Optimizer":
        """The optimizer that was saved, or the `search.jsonl` of `sordino optimize`: its next questions are the same. One that
        began with a prior needs it again. Half a line at the end, of a process that was killed, is left out."""
        with open(path, "rb") as file:
            stored = file.read()
        # Half a line may end within a character.
        return cls._of(stored[: stored.rfind(b"\n") + 1].decode("utf-8"), loaded(prior))

    @classmethod
    def _of(cls, stored: str, prior: Optional[Prior] = None) -> "Optimizer":
        made = cls.__new__(cls)
        made._hold(_native.Search.parse(stored, prior and prior._native), prior)
        return made

    def __getstate__(self) -> Tuple[str, Optional[Prior]]:
        return self._native.to_text(), self._prior

    def __setstate__(self, stored: Tuple[str, Optional[Prior]]) -> None:
        text, prior = stored
        self._hold(_native.Search.parse(text, prior and prior._native), prior)

    @property
    def prior(self) -> Optional[Prior]:
        """What it began with, if anything."""
        return self._prior

    @property
    def goal(self) -> str:
        """ "minimize" or "maximize"."""
        return self._native.facts()[1]

    @property
    def space(self) -> Space:
        """What is searched."""
        parameters, goal, _, _ = self._native.facts()
        return Space._of(parameters, goal)

    def __len__(self) -> int:
        """Values told."""
        return self._native.facts()[2]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<sordino.Optimizer that {self.goal}s over {', '.join(self.space.names)}, {len(self)} values>"


def minimize(
    function: Callable[[Point], float],
    space: Space,
    n: int,
    callback: Optional[Callable[[Optimizer, Point, float], Any]] = None,
    seed: int = 0,
    *,
    goal: str = "minimize",
    prior: Union[Prior, Path, None] = None,
    catch: Union[Type[BaseException], Tuple[Type[BaseException], ...]] = (),
) -> Optimizer:
    """Asks `function` for its value at `n` points, one after another, and returns the optimizer, whose `best` has the least, or
    with `goal="maximize"` the largest. `prior` is that of `Optimizer`.

    `callback(optimizer, point, value)` is called after each value; if it returns True, that was the last. A value that is not
    finite is a failure, as is an exception of a type in `catch`: the point counts among the `n` and is not asked again. Any other
    exception, also of `callback`, comes back as it is, with the optimizer, all that was told and the point under way in its
    attribute `optimizer`.
    """
    optimizer = Optimizer(space, goal=goal, seed=seed, prior=prior)
    for _ in range(n):
        try:
            point = optimizer.ask()
            try:
                value = float(function(dict(point)))
            except catch:
                value = math.nan
            if not math.isfinite(value):
                optimizer.fail(point)
                continue
            optimizer.tell(point, value)
            if callback is not None and callback(optimizer, point, value) is True:
                break
        except BaseException as error:
            with contextlib.suppress(AttributeError, TypeError):
                error.optimizer = optimizer  # type: ignore[attr-defined]
            raise
    return optimizer
