"""Scenarios: what is run, with which functions, into which folder."""

from __future__ import annotations

import json
import math
import os
import tempfile
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _native
from ._result import Result, read

PathLike = Union[str, "os.PathLike[str]"]
#: (low, high), (low, high, "log"), (low, high, "integer"), or the names of a category.
Inputs = Mapping[str, Sequence[Any]]


def scenarios() -> List[str]:
    """Names of the shipped scenarios, in the order of `sordino list`."""
    return _native.scenarios()


def explain(scenario: PathLike, *, set: Optional[Mapping[str, Any]] = None) -> Dict[str, List[str]]:
    """Who is protected from whom, which inputs are compared, what is not protected, what it costs; in plain words."""
    return json.loads(_native.explain(os.fspath(scenario), _settings(set)))


def run(
    scenario: PathLike,
    objective: Optional[Callable[..., float]] = None,
    *,
    inputs: Optional[Inputs] = None,
    methods: Optional[Sequence[str]] = None,
    own: Optional[Mapping[str, Any]] = None,
    runs: Optional[int] = None,
    seed: Optional[int] = None,
    set: Optional[Mapping[str, Any]] = None,
    out: Optional[PathLike] = None,
    data: Optional[PathLike] = None,
    threads: Optional[int] = None,
    driver: str = "tokio",
    checkpoint_every: float = 5.0,
    progress: bool = False,
) -> Result:
    """Simulates a scenario and returns what came of it; not private: the noise comes from the seed.

    Parameters
    ----------
    scenario: a name from `scenarios()`, a path, or the text of a scenario in TOML
    objective: the value of a setting for an agent, `objective(agent, x)` with `x` a dictionary of inputs in their units;
        `objective(agent, x, observation)` if the scenario says `objective.noisy = true`, observation 0 being the value
        that regret counts. Finite, up to 1e12 in magnitude. Called in the calling thread, once for each question: what it
        answered is kept and not asked for again, in other methods and runs neither. The scenario's objective is
        `kind = "command"`, or `inputs` are given
    inputs: takes the place of the scenario's `[objective]`: `{"rate": (1e-4, 0.1, "log"), "depth": (1, 12, "integer"),
        "loss": ["l1", "l2"]}`. Larger values are better (`set={"objective.goal": "minimize"}`), 100 candidates are spread
        over the space (`objective.candidates`), regret counts from 0 (`objective.optimum`), the space is one region
        (`federation.splits`)
    methods: of the scenario's trust model, such as `["ts", "dp-prior"]`
    own: methods of yours, by name: `{"gossip": Gossip()}`. They run beside `methods`, in every table and picture. Such an
        object has `version`, a text that changes whenever the method does, and `choose(sight)`, the index of the candidate
        that an agent queries next ([`Sight`]). With a server it also has `message_len`, `message(sight)`, that many numbers
        which every agent sends after each round, and `aggregate(messages, kept, seed)`, which returns the numbers for all
        agents, or None; `messages` are pairs of agent and numbers, the list `kept` is what the server remembers. Called in
        the calling thread. Nothing is claimed for such a method: no ε is computed for noise that it adds
    runs, seed: paired runs, 1 to 100,000; the seed of everything that is simulated, from 0
    set: values of the scenario by name, `{"federation.agents": 50}`; see `sordino scenario keys`
    out: run folder. A new one is filled; an unfinished one of the same scenario is gone on with, to the same bits; a
        complete one is read. Nothing is overwritten. Without it nothing is kept
    data: file of scenarios that read one
    threads, driver ("tokio" or "lockstep"), checkpoint_every (seconds, 0 to 86,400): change no result
    progress: a bar on standard error

    Raises
    ------
    InputError: what was given does not fit; the text names key, value and range
    RunError: anything else
    UserWarning (as a warning): each of the result's `cautions`
    Exceptions of `objective`, and KeyboardInterrupt, come back as they are; with `out`, the same call goes on.
    """
    if driver not in ("tokio", "lockstep"):
        raise _native.InputError(f'driver is "{driver}"; admissible: "tokio", "lockstep"')
    settings = []
    if out is not None and not os.fspath(out):
        raise _native.InputError('out is ""; admissible: the path of a folder, or None, and nothing is kept')
    if inputs is not None:
        told_objective = _objective(inputs)
        dim = len(told_objective["input_ranges"]) + sum(map(len, told_objective["categories"]))
        settings = ["objective=" + _toml(told_objective), "federation.splits=" + _toml([1] * dim)]
    if inputs is not None and objective is None:
        raise _native.InputError("inputs are given and no objective; admissible: both, or neither")
    if methods is not None:
        settings.append("federation.methods=" + _toml([*methods, *(name for name in own or {} if name not in methods)]))
    settings += [f"method.{name}.base={_toml('custom')}" for name in own or {}]
    settings += [f"{name}={_toml(value)}" for name, value in (("runs", runs), ("seed", seed)) if value is not None]
    settings += _settings(set)
    told = (
        objective,
        list((own or {}).items()),
        None if data is None else os.fspath(data),
        threads,
        driver == "lockstep",
        checkpoint_every,
        progress,
    )
    if out is not None:
        _native.run(os.fspath(scenario), settings, os.fspath(out), *told)
        return _warned(read(out))
    with tempfile.TemporaryDirectory(prefix="sordino-") as folder:
        _native.run(os.fspath(scenario), settings, os.path.join(folder, "run"), *told)
        result = read(os.path.join(folder, "run"))
    result.folder = None
    return _warned(result)


def _warned(result: Result) -> Result:
    for caution in result.cautions:
        # Of the line that called `run`.
        warnings.warn(caution, UserWarning, stacklevel=3)
    return result


def _objective(inputs: Inputs) -> Dict[str, Any]:
    names, ranges, categories = list(inputs), [], {}
    marks: Dict[str, List[str]] = {"log": [], "integer": []}
    for name, given in inputs.items():
        # One text is no list of names, although it is a sequence of texts.
        spec = [] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
        if spec and all(isinstance(choice, str) for choice in spec):
            categories[name] = spec
            continue
        wrong = [mark for mark in spec[2:] if not isinstance(mark, str) or mark not in marks]
        try:
            ends = [] if any(isinstance(end, str) for end in spec[:2]) else [float(end) for end in spec[:2]]
        except (TypeError, ValueError, OverflowError):
            ends = []
        if len(ends) < 2 or wrong:
            raise _native.InputError(
                f'inputs["{name}"] is {given!r}; admissible: (low, high), then "log" or "integer" or both, or a list of names'
            )
        ranges.append(ends)
        for mark in spec[2:]:
            marks[mark].append(name)
    return {
        "kind": "command",
        "command": "a Python function: sordino.run(objective=...)",
        "inputs": names,
        "categorical_inputs": list(categories),
        "categories": list(categories.values()),
        "input_ranges": ranges,
        "log_inputs": marks["log"],
        "integer_inputs": marks["integer"],
        "candidates": 100,
        "goal": "maximize",
    }


def _settings(values: Optional[Mapping[str, Any]]) -> List[str]:
    return [f"{name}={_toml(value)}" for name, value in (values or {}).items()]


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    raise _native.InputError(f"{value!r} is no value of a scenario; admissible: numbers, texts, truth values, lists of them")
