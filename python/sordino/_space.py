"""What is searched: named parameters in your units."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _native


class Parameter(NamedTuple):
    """A parameter, as `real`, `integer`, `categorical` and `ordinal` make it."""

    values: Dict[str, Any]
    context: bool


def _number(low: float, high: float, log: bool, whole: bool, context: bool) -> Parameter:
    if not float(low) < float(high):
        raise _native.InputError(f"high is {high} and low is {low}; admissible: a number above low")
    return Parameter({"low": float(low), "high": float(high), "log": bool(log), "integer": whole}, bool(context))


def real(low: float, high: float, log: bool = False, context: bool = False) -> Parameter:
    """Numbers from `low` to `high`; with `log`, distances are those of the logarithm. `context`: given, not searched.

    Raises `InputError` unless `low` is below `high`, as `integer` does."""
    return _number(low, high, log, False, context)


def integer(low: int, high: int, log: bool = False, context: bool = False) -> Parameter:
    """Whole numbers from `low` to `high`, both included."""
    return _number(low, high, log, True, context)


def categorical(choices: Sequence[Any], context: bool = False) -> Parameter:
    """One of some texts, numbers or truth values, without an order."""
    return Parameter({"choices": [plain(choice) for choice in choices], "ordered": False}, bool(context))


def ordinal(levels: Sequence[Any], context: bool = False) -> Parameter:
    """One of some texts or numbers that stand in this order, at equal distances."""
    return Parameter({"choices": [plain(level) for level in levels], "ordered": True}, bool(context))


def plain(value: Any) -> Any:
    """A value as JSON knows it: NumPy's numbers become Python's."""
    return value.item() if hasattr(value, "item") else value


def as_json(point: Any) -> str:
    """A point as JSON."""
    if not isinstance(point, Mapping):
        raise _native.InputError(f"{point!r} is no point; admissible: a dict with a value for each parameter")
    values = {str(name): plain(value) for name, value in point.items()}
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise _native.InputError(f"`{name}` is {value}; admissible: a finite number or one of its choices")
    try:
        return json.dumps(values)
    except TypeError as error:
        raise _native.InputError(f"{point!r} is no point: {error}") from error


def is_frame(table: Any) -> bool:
    """Whether it is a DataFrame of pandas, which need not be there."""
    return all(hasattr(table, name) for name in ("columns", "groupby", "to_dict"))


def unique(table: Any) -> None:
    """Refuses a DataFrame with a column twice: only one of them would be read."""
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise _native.InputError(f"column `{twice[0]}` is there twice; admissible: each once")


def as_points(points: Any) -> List[str]:
    """A list of points as JSON: of dicts, or the rows of a DataFrame."""
    if is_frame(points):
        unique(points)
        points = points.to_dict("records")
    if isinstance(points, Mapping):
        raise _native.InputError(f"{points!r} is one point; admissible: a list of points, [point], or a DataFrame with a row for each")
    return [as_json(point) for point in points]


class Space:
    """Named parameters, checked together.

    >>> space = Space({"rate": real(1e-4, 1, log=True), "depth": integer(1, 8), "kind": categorical(["adam", "sgd"])})
    >>> space.names
    ['rate', 'depth', 'kind']

    Raises
    ------
    InputError: a range that is none, with the name of the parameter; more than 16 parameters
    """

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        listed: List[Dict[str, Any]] = []
        for name, parameter in parameters.items():
            if not isinstance(parameter, Parameter):
                raise _native.InputError(
                    f"`{name}` is {parameter!r}; admissible: sordino.real, integer, categorical or ordinal"
                )
            listed.append({"name": str(name), "values": parameter.values, "context": parameter.context})
        self._set(_dumped(listed), None, None)
        _native.check_space(self._parameters)

    def _set(self, parameters: str, goal: Optional[str], value: Optional[str]) -> None:
        self._parameters, self.goal, self.value = parameters, goal, value

    @classmethod
    def from_toml(cls, path: Union[str, "os.PathLike[str]"]) -> "Space":
        """The space of a `space.toml`, which `sordino tune` and `sordino optimize` read too. A refusal names the line."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        space = cls.__new__(cls)
        space._set(*_native.space_of_toml(os.fspath(path), text))
        return space

    @classmethod
    def _of(cls, parameters: str, goal: str) -> "Space":
        space = cls.__new__(cls)
        space._set(parameters, goal, None)
        return space

    @property
    def names(self) -> List[str]:
        """The parameters in order."""
        return [parameter["name"] for parameter in json.loads(self._parameters)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and json.loads(self._parameters) == json.loads(other._parameters)

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __repr__(self) -> str:
        return f"<sordino.Space of {', '.join(self.names)}>"


def _dumped(listed: List[Dict[str, Any]]) -> str:
    try:
        return json.dumps(listed)
    except TypeError as error:
        raise _native.InputError(f"a choice is no text, number or truth value: {error}") from error
