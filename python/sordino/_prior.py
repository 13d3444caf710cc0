"""Prior files: what others learned of the same parameters, with an ε written on it."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._space import Space, as_json

Path = Union[str, "os.PathLike[str]"]


class Prior:
    """A public posterior of what contributors' functions have in common, in standard deviations of a contributor's values.

    `Optimizer(space, prior=prior)` begins with it. Reading it costs nobody privacy.

    >>> prior = Prior.load("wards.safetensors")
    >>> prior.label["epsilon"], prior.label["contributors"]
    >>> mean, std = prior.mean([{"rate": 0.1}]), prior.std([{"rate": 0.1}])
    """

    def __init__(self) -> None:
        raise _native.InputError("a prior is loaded or published: Prior.load(path), publish(studies, …)")

    @classmethod
    def _of(cls, native: _native.Prior) -> "Prior":
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def load(cls, path: Path) -> "Prior":
        """The file at this path, checked: digest, lengths, numbers, and that its ε is no smaller than its noise costs.

        Warns (`UserWarning`) of the file of a simulation: its noise can be predicted, so it protects none of its contributors."""
        found = cls._of(_native.Prior.load(os.fspath(path)))
        if found._native.simulated():
            warnings.warn(
                f"{os.fspath(path)}: a simulation's file: its noise can be predicted, it protects nobody, whatever its epsilon",
                stacklevel=2,
            )
        return found

    def save(self, path: Path) -> None:
        """Writes the file; its name usually ends with .safetensors."""
        self._native.save(os.fspath(path))

    @property
    def label(self) -> Dict[str, Any]:
        """What is written on it, and what follows from its numbers: `epsilon`, `delta`, `replace_epsilon`, `contributors`,
        `simulated`, `digest`, `reading`, `evaluations_saved`, … as `sordino prior show --format json` prints it."""
        found: Dict[str, Any] = json.loads(self._native.facts())
        return found

    @property
    def space(self) -> Space:
        """What was searched."""
        parameters, goal, _ = self._native.searched()
        return Space._of(parameters, goal)

    def _believed(self, points: Sequence[Mapping[str, Any]]) -> Tuple[List[float], List[float]]:
        return self._native.believed([as_json(point) for point in points])

    def mean(self, points: Sequence[Mapping[str, Any]]) -> "np.ndarray[Any, Any]":
        """What is in common, at these points; with the sign of your values: where smaller is better, small is good."""
        return np.array(self._believed(points)[0], dtype=np.float64)

    def std(self, points: Sequence[Mapping[str, Any]]) -> "np.ndarray[Any, Any]":
        """How uncertain the file is of that."""
        return np.array(self._believed(points)[1], dtype=np.float64)

    def __getstate__(self) -> bytes:
        return self._native.to_bytes()

    def __setstate__(self, stored: bytes) -> None:
        self._native = _native.Prior.parse(stored)

    def __repr__(self) -> str:
        label = self.label
        return f"<sordino.Prior of {label['contributors']} contributors of {label['dataset']}, ε {_native.significant_up(label['epsilon'], 3)}>"


def loaded(prior: Union[Prior, Path, None]) -> Optional[Prior]:
    """A prior, or the file of one."""
    return prior if prior is None or isinstance(prior, Prior) else Prior.load(prior)


def publish(
    studies: Mapping[str, Sequence[Tuple[Mapping[str, Any], float]]],
    space: Space,
    epsilon: float,
    delta: float = 1e-5,
    *,
    dataset: str,
    max_epsilon: Optional[float] = None,
    goal: Optional[str] = None,
    ledger: Optional[Path] = None,
    another_ledger: bool = False,
    counter: bool = True,
    releases: int = 2,
    features: int = 100,
    by: Optional[str] = None,
    note: Optional[str] = None,
    date: Optional[str] = None,
    sign: Optional[Path] = None,
) -> Prior:
    """Makes a prior of what many studies have in common; each study is protected. The noise is the system's.

    Parameters
    ----------
    studies: for each study its points and values, three or more; a study is one contributor
    space: what was searched; written without looking at the studies
    epsilon: whatever an observer looks for is at most e^ε times as likely, plus δ, where a study is used as where it counts as
        nothing, and the other way round
    delta: the δ of that sentence, at most a tenth of 1 by the number of studies
    dataset: name of the data, under which its budget is counted
    max_epsilon: the most that all releases of the data may cost; a new ledger needs it
    goal: "minimize" or "maximize"; by default that of the space's file
    ledger: file of the charges; `sordino-ledger.jsonl` in this folder if none is named
    releases, features: two, or one for studies that answer once; 100, or 50 for a file of 6 kB
    by, note, date: words for the label
    sign: file of a key (P-256, PKCS #8) that signs; it is made if it is not there. `label["signed_by"]` is its fingerprint

    Raises
    ------
    InputError: before anything is charged
    RunError: afterwards; charges stay
    """
    chosen = goal or space.goal
    if chosen is None:
        raise _native.InputError('goal is missing; admissible: "minimize", "maximize"')
    asked = dict(
        parameters=space._parameters,
        goal=chosen,
        value=space.value,
        epsilon=float(epsilon),
        delta=float(delta),
        releases=releases,
        features=features,
        dataset=dataset,
        max_epsilon=max_epsilon,
        ledger=os.fspath(ledger or "sordino-ledger.jsonl"),
        another_ledger=another_ledger,
        counter=counter,
        by=by,
        note=note,
        date=date,
        sign=None if sign is None else os.fspath(sign),
    )
    listed = [
        (str(name), [(as_json(point), float(value)) for point, value in values]) for name, values in studies.items()
    ]
    return Prior._of(_native.publish_prior(listed, asked))
