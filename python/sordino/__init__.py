"""Differentially private Bayesian optimisation: accountants, simulated federations, ask and tell.

What is computed here is what the command line `sordino` computes, to the bit. Simulations are **not private**: their
noise comes from a seed. A real release needs a real federation (`sordino serve`, `sordino join`).

========================================  ==========================================================================
`epsilon`, `delta`, `calibrate`           what Poisson-sampled Gaussian releases cost
`run`, `read`, `Result`                   a scenario, with a Python function as objective if you like, and its results
`Sight`                                   what an agent of a method of yours sees: `run(own={"name": Method()})`
`explain`, `scenarios`                    who is protected from whom; the scenarios that need no file
`Posterior`                               mean, deviation and draws given observations, for such methods
`Optimizer`, `minimize`                   Bayesian optimisation of one function, without privacy: ask and tell
`Prior`, `publish`                        a file of what others learned, to begin with; how many studies become one
`join`, `Joined`                          a site of a real federation, by the program `sordino` and a function of yours
`Space`, `real`, `integer`, …             what it searches; `categorical`, `ordinal`, and `Space.from_toml`
`InputError`, `RunError`                  what was given does not fit; anything else
`LedgerWarning`                           what is unusual about the counts of a data set, told by `publish`
========================================  ==========================================================================
"""

from ._native import InputError, LedgerWarning, RunError, __version__
from ._join import Joined, join
from ._methods import Sight
from ._optimizer import Optimizer, minimize
from ._posterior import Posterior
from ._prior import Prior, publish
from ._privacy import calibrate, delta, epsilon
from ._result import Result, read
from ._run import explain, run, scenarios
from ._space import Space, categorical, integer, ordinal, real

__all__ = [
    "InputError",
    "Joined",
    "LedgerWarning",
    "Optimizer",
    "Posterior",
    "Prior",
    "Result",
    "RunError",
    "Sight",
    "Space",
    "__version__",
    "calibrate",
    "categorical",
    "delta",
    "epsilon",
    "explain",
    "integer",
    "join",
    "minimize",
    "ordinal",
    "publish",
    "read",
    "real",
    "run",
    "scenarios",
]
