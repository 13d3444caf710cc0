"""What a run left: a summary, tables as numpy arrays or pandas frames, digests."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

import numpy as np

from . import _native
from ._prior import Prior

if TYPE_CHECKING:
    import pandas

SUMMARY = "summary.json"
PRIOR = ".safetensors"


class Result:
    """A complete run folder, read into memory.

    Attributes
    ----------
    folder: where it is; None if it was not kept
    summary: `summary.json`: for each method its digest, guarantee, measures with standard errors, losses
    files: texts of the folder by name, among them `report.html`, `regret.svg`, `scenario.toml`, `README.md`, which says
        what every column means
    priors: bytes of the prior files by method: what the agents of run 0 learned in common. Simulated, so they protect nobody
    """

    def __init__(self, folder: Optional[Path], files: Dict[str, str], priors: Dict[str, bytes]) -> None:
        self.folder = folder
        self.files = files
        self.priors = priors
        self.summary: Dict[str, Any] = json.loads(files[SUMMARY])

    def __repr__(self) -> str:
        where = "" if self.folder is None else f" in {self.folder}"
        return f"<sordino.Result of {self.summary['scenario']}{where}, {self.summary['noise']}>\n{self.table}"

    @property
    def table(self) -> str:
        """The table that the command line prints."""
        return self.files["table.txt"]

    @property
    def cautions(self) -> List[str]:
        """What to know before believing the results: a large δ, constants that the values contradict. Mostly empty."""
        return list(self.summary.get("cautions", []))

    @property
    def digest(self) -> str:
        """Over all runs and methods; equal to the command line's."""
        return self.summary["digest"]

    @property
    def digests(self) -> Dict[str, str]:
        """By method, where methods have one of their own."""
        return {method["name"]: method["digest"] for method in self.summary["methods"] if method["digest"]}

    @property
    def tables(self) -> List[str]:
        """Names that `arrays` and `frame` take."""
        return sorted(name[: -len(".csv")] for name in self.files if name.endswith(".csv"))

    def arrays(self, name: str) -> Dict[str, "np.ndarray[Any, Any]"]:
        """A table as columns by name: whole numbers, numbers (NaN where there is none) or texts."""
        rows = list(csv.reader(io.StringIO(self._table(name))))
        columns = zip(*rows[1:]) if len(rows) > 1 else [()] * len(rows[0])
        return {head: _column(list(column)) for head, column in zip(rows[0], columns)}

    def frame(self, name: str) -> "pandas.DataFrame":
        """The same as a frame of pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("frames need pandas (pip install pandas); arrays(...) does without") from error
        # A category may be called "None" or "null"; what is missing is empty.
        return pandas.read_csv(io.StringIO(self._table(name)), keep_default_na=False, na_values=[""])

    @property
    def rounds(self) -> "pandas.DataFrame":
        """One row for each run, method and round: regret, ε, clipped uploads, selected agents."""
        return self.frame("rounds")

    @property
    def observations(self) -> "pandas.DataFrame":
        """Every observation; kept up to 100,000, or with `set={"federation.observations": True}`."""
        return self.frame("observations")

    @property
    def agents(self) -> "pandas.DataFrame":
        """The best of every agent; kept with the observations."""
        return self.frame("agents")

    def regret(self, method: str) -> "np.ndarray[Any, Any]":
        """Mean best-so-far regret over agents after t = 0, 1, ..., T: an array (runs, T + 1). Of federations."""
        columns = self.arrays("rounds")
        runs, of = self.summary["runs"], columns["method"] == method
        if not of.any():
            known = ", ".join(f'"{other["name"]}"' for other in self.summary["methods"])
            raise _native.InputError(f'method is "{method}"; admissible: {known}')
        return columns["regret"][of].reshape(runs, -1)

    def prior(self, method: str) -> Prior:
        """What the agents of run 0 learned in common by this method, as a file: `Optimizer(space, prior=...)` begins with it. Its
        noise can be predicted, so it protects nobody."""
        found = self.priors.get(method)
        if found is None:
            known = ", ".join(f'"{other}"' for other in sorted(self.priors)) or "none; its README.md says why"
            raise _native.InputError(f'method is "{method}"; those that left a prior file: {known}')
        return Prior._of(_native.Prior.parse(found))

    def _table(self, name: str) -> str:
        text = self.files.get(f"{name}.csv")
        if text is None:
            known = ", ".join(f'"{table}"' for table in self.tables)
            more = ""
            if name in ("observations", "agents"):
                more = '; a federation keeps it with set={"federation.observations": True}'
            raise _native.InputError(f'this result has no table "{name}"; admissible: {known}{more}')
        return text


def read(folder: Union[str, "os.PathLike[str]"]) -> Result:
    """A complete run folder, of the command line or of `run`.

    Raises
    ------
    InputError: there is none, or it is not complete
    """
    path = Path(folder)
    if not (path / SUMMARY).is_file():
        raise _native.InputError(f"{path}: no complete run folder: it has no {SUMMARY}")
    texts, priors = {}, {}
    for file in sorted(path.iterdir()):
        if not file.is_file() or file.name.startswith("."):
            continue
        if file.name.endswith(PRIOR):
            priors[file.name[: -len(PRIOR)].removeprefix("prior-")] = file.read_bytes()
        else:
            # Somebody's picture beside them is no file of the run.
            with contextlib.suppress(UnicodeDecodeError):
                texts[file.name] = file.read_text(encoding="utf-8")
    return Result(path, texts, priors)


def _column(texts: List[str]) -> "np.ndarray[Any, Any]":
    try:
        return np.array([int(text) for text in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)
    except ValueError:
        return np.array(texts, dtype=str)
