"""Prior files: what others learned of the same parameters, with an ε written on it."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _native
from ._space import Space, as_json, as_points, is_frame, unique

Path = Union[str, "os.PathLike[str]"]
# A DataFrame is duck-typed: pandas is optional.
Points = Union[Sequence[Mapping[str, Any]], Any]
Pairs = List[Tuple[str, float]]


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

    def save(self, path: Path, overwrite: bool = False) -> None:
        """Writes the file; its name usually ends with .safetensors. A file that is there may have cost ε: it is replaced only if you
        say `overwrite=True`.

        Raises
        ------
        InputError: the path is taken
        """
        if not overwrite and os.path.lexists(path):
            raise _native.InputError(f"{os.fspath(path)} exists already; admissible: a new name, or overwrite=True")
        self._native.save(os.fspath(path))

    @property
    def label(self) -> Dict[str, Any]:
        """What is written on it, and what follows from its numbers: `epsilon`, `delta`, `replace_epsilon`, `contributors`,
        `simulated`, `digest`, `reading`, `evaluations_saved_quartiles`, … as `sordino prior show --format json` prints it.
        Evaluations saved are what the file believes of itself: they do not rank files, so choose between files by something else."""
        found: Dict[str, Any] = json.loads(self._native.facts())
        return found

    @property
    def space(self) -> Space:
        """What was searched."""
        parameters, goal, _ = self._native.searched()
        return Space._of(parameters, goal)

    def _believed(self, points: Points) -> Tuple[List[float], List[float]]:
        return self._native.believed(as_points(points))

    def mean(self, points: Points) -> "np.ndarray[Any, Any]":
        """What is in common, at these points, dicts or the rows of a DataFrame; with the sign of your values: where smaller is
        better, small is good."""
        return np.array(self._believed(points)[0], dtype=np.float64)

    def std(self, points: Points) -> "np.ndarray[Any, Any]":
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


_STUDIES = (
    "a dict with a list of (point, value) pairs or a DataFrame with a column `value` for each study, or one DataFrame with the "
    "columns `study` and `value`"
)


def _rows(name: str, table: Any) -> List[Tuple[Dict[str, Any], Any]]:
    """The points of a study's DataFrame and their values."""
    if "value" not in table.columns:
        raise _native.InputError(f"study {name}: no column `value`; admissible: {_STUDIES}")
    unique(table)
    rows = table.drop(columns=[column for column in ("study", "value") if column in table.columns])
    return list(zip(rows.to_dict("records"), table["value"].tolist()))


def _study(name: str, values: Any) -> Pairs:
    """A study as the native half takes it; a refusal names it."""
    found: Pairs = []
    for row, pair in enumerate(_rows(name, values) if is_frame(values) else values, start=1):
        try:
            point, value = pair
            number = float(value)
        except (TypeError, ValueError):
            raise _native.InputError(
                f"study {name}: {pair!r} is no pair of a point and its value; admissible for `studies`: {_STUDIES}"
            ) from None
        try:
            found.append((as_json(point), number))
        except _native.InputError as error:
            raise _native.InputError(f"study {name}: row {row}: {error}") from None
    return found


def _name(study: Any) -> str:
    """The name of a study, as the command line reads it from a table."""
    return str(study).strip()


def _listed(studies: Any) -> List[Tuple[str, Pairs]]:
    """The studies, one after another."""
    if is_frame(studies):
        if "study" not in studies.columns:
            raise _native.InputError(f"no column `study`; admissible: {_STUDIES}")
        if studies["study"].isna().any():
            raise _native.InputError("`study` has no value in a row; admissible: the name of a study in each")
        unique(studies)
        # By what is written: 1 and "1" are one study.
        studies = dict(iter(studies.groupby(studies["study"].map(_name), sort=False, observed=True)))
    if not isinstance(studies, Mapping):
        raise _native.InputError(f"studies is a {type(studies).__name__}; admissible: {_STUDIES}")
    return [(_name(name), _study(_name(name), values)) for name, values in studies.items()]


@overload
def publish(
    studies: Union[Mapping[str, Any], Any],
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
    dry_run: Literal[False] = False,
) -> Prior: ...


@overload
def publish(
    studies: Union[Mapping[str, Any], Any],
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
    dry_run: Literal[True],
) -> Dict[str, Any]: ...


def publish(
    studies: Union[Mapping[str, Any], Any],
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
    dry_run: bool = False,
) -> Union[Prior, Dict[str, Any]]:
    """Makes a prior of what many studies have in common; each study is protected. The noise is the system's.

    Parameters
    ----------
    studies: for each study its points and values, three or more; a study is one contributor. A dict with a list of (point,
        value) pairs or a DataFrame with a column `value` for each, or one DataFrame with the columns `study` and `value`
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
    dry_run: check all of this and return what the file would cost, as a dict: `epsilon`, `replace_epsilon`, `spent`, `spent_after`,
        `left_after`, `bytes`, …; nothing is charged, made or written

    Warns
    -----
    UserWarning: before anything is charged, of what `sordino prior publish` says: few studies for this ε, studies that say
        nothing, parameters that never change, choices that nobody tried, numbers of a grid, rows that are there twice, the same rows or another unit's
        under two names, names that look like another. A program that makes errors of warnings pays nothing
    LedgerWarning: a UserWarning, at the same time: what is unusual about the ledger, such as the first of this account; what federations
        got of data of this name. Who makes errors of warnings and wants none of these: `warnings.simplefilter("default", sordino.LedgerWarning)`

    Raises
    ------
    InputError: before anything is charged
    RunError: afterwards; charges stay
    """
    if not isinstance(space, Space):
        raise _native.InputError(f"space is a {type(space).__name__}; admissible: a sordino.Space, as in publish(studies, space, …)")
    listed = _listed(studies)
    if goal is not None and space.goal is not None and goal != space.goal:
        raise _native.InputError(f"goal is \"{goal}\", but the file of the space says \"{space.goal}\"")
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
    if dry_run:
        cost: Dict[str, Any] = json.loads(_native.publication_cost(listed, asked))
        return cost
    return Prior._of(_native.publish_prior(listed, asked))
