"""The native half; what users call is in the modules beside it."""

from typing import Callable, List, Optional, Tuple

__version__: str

class InputError(ValueError): ...
class RunError(RuntimeError): ...

def epsilon(
    sampling_probability: float, noise_multiplier: float, rounds: int, delta: float, accountant: str
) -> float: ...
def delta(
    sampling_probability: float, noise_multiplier: float, rounds: int, epsilon: float, accountant: str
) -> float: ...
def calibrate(
    epsilon: float,
    delta: float,
    sampling_probability: Optional[float],
    noise_multiplier: Optional[float],
    rounds: Optional[int],
    accountant: str,
) -> str: ...
def scenarios() -> List[str]: ...
def explain(scenario: str, settings: List[str]) -> str: ...
def run(
    scenario: str,
    settings: List[str],
    out: str,
    objective: Optional[Callable[..., float]],
    methods: List[Tuple[str, object]],
    data: Optional[str],
    threads: Optional[int],
    lockstep: bool,
    checkpoint_every: float,
    progress: bool,
) -> bool: ...

class Optimizer:
    def __init__(
        self,
        bounds: List[Tuple[float, float]],
        capacity: int,
        kernel: str,
        lengthscale: float,
        noise_fraction: float,
        initial_points: int,
        confidence_width: Optional[float],
        when_full: str,
    ) -> None: ...
    def suggest(self) -> List[float]: ...
    def observe(self, point: List[float], value: float) -> None: ...
    def fit(self) -> bool: ...
    def best(self) -> Optional[Tuple[List[float], float]]: ...
    def facts(self) -> Tuple[List[Tuple[float, float]], int, int, float, float, int]: ...
    def save(self) -> bytes: ...
    @staticmethod
    def restore(bytes: bytes) -> "Optimizer": ...
