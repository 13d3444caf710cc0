"""Scenarios: digests of the command line, a Python function as objective, what ends a run and how it goes on."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

import sordino

SMALL = {"federation.agents": 20, "federation.rounds": 4, "federation.splits": [2], "surrogate.features": 12}
METHODS = ["ts", "dp-fts-de", "dp-prior"]

SCENARIO = """
name = "ovens"
description = "four ovens"
runs = 2
[objective]
kind = "command"
command = "{command}"
inputs = ["rate", "depth", "optimizer"]
categorical_inputs = ["optimizer"]
categories = [["adam", "sgd"]]
input_ranges = [[0, 1], [1, 3]]
integer_inputs = ["depth"]
candidates = 40
goal = "minimize"
noise_variance = 1e-4
[federation]
agents = 4
rounds = 5
initial_points = 2
methods = ["ts", "fts", "dp-fts"]
[surrogate]
lengthscale = 0.5
noise_variance = 1e-4
features = 12
signal_variance = 0.05
[privacy]
sampling_probability = 0.5
noise_multiplier = 1
"""

PROGRAM = """
import json, sys
from function import train
for line in sys.stdin:
    question = json.loads(line)
    print(train(question["agent"], question["x"]), flush=True)
"""

FUNCTION = """
def train(agent, x):
    assert isinstance(agent, int) and isinstance(x["depth"], int) and x["optimizer"] in ("adam", "sgd")
    off = 0.02 * agent
    return (x["rate"] - 0.3 - off) ** 2 + 0.01 * x["depth"] + (0.1 if x["optimizer"] == "sgd" else 0.0)
"""


def train(agent, x):
    scope = {}
    exec(FUNCTION, scope)
    return scope["train"](agent, x)


def text(command="python3 train.py"):
    return SCENARIO.format(command=command)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != ".lock"}


def test_a_shipped_scenario_has_the_command_lines_digests(sordino_program, tmp_path):
    words = [f"--set={key}={value}" for key, value in SMALL.items()]
    methods = "[" + ", ".join(f'"{method}"' for method in METHODS) + "]"
    said = sordino_program(
        "run", "default", "--runs", 2, "--seed", 7, *words, f"--set=federation.methods={methods}",
        "--out", tmp_path / "there", "--format", "json",
    )  # fmt: skip
    result = sordino.run("default", methods=METHODS, runs=2, seed=7, set=SMALL, out=tmp_path / "here")
    assert result.digest == said["digest"]
    assert result.digests == {method["name"]: method["digest"] for method in said["methods"]}
    assert list(result.digests) == METHODS
    assert files(tmp_path / "here") == files(tmp_path / "there")
    # Nor does who executes it change anything; another seed does.
    again = sordino.run("default", methods=METHODS, runs=2, seed=7, set=SMALL, driver="lockstep", threads=1)
    assert again.digests == result.digests and again.folder is None
    other = sordino.run("default", methods=METHODS, runs=2, seed=8, set=SMALL)
    assert all(other.digests[method] != result.digests[method] for method in METHODS)


def test_a_federated_prior_leaves_a_file_that_protects_nobody(tmp_path):
    result = sordino.run("default", methods=["ts", "dp-prior"], runs=2, set=SMALL, out=tmp_path / "run")
    assert list(result.priors) == ["dp-prior"] and all(".safetensors" not in name for name in result.files)
    label = result.prior("dp-prior").label
    assert label["simulated"] and label["contributors"] == result.prior("dp-prior").label["contributors"] > 1
    with pytest.warns(UserWarning, match="protects nobody"):
        kept = sordino.Prior.load(tmp_path / "run" / "prior-dp-prior.safetensors")
    assert kept.label == label
    assert sordino.read(tmp_path / "run").priors == result.priors
    with pytest.raises(sordino.InputError, match='method is "ts"; those that left a prior file: "dp-prior"'):
        result.prior("ts")


def test_results_are_arrays_and_frames(tmp_path):
    result = sordino.run("default", methods=["ts", "dp-fts"], runs=2, set=SMALL)
    assert {"rounds", "observations", "agents"} <= set(result.tables)
    regret = result.regret("dp-fts")
    assert regret.shape == (2, 5) and regret.dtype == np.float64
    assert (np.diff(regret) <= 0).all(), "best-so-far regret does not rise"
    rounds = result.arrays("rounds")
    assert rounds["round"].dtype == np.int64 and rounds["method"].dtype.kind == "U"
    assert np.isnan(rounds["epsilon"][rounds["method"] == "ts"]).all()
    spent = rounds["epsilon"][(rounds["method"] == "dp-fts") & (rounds["run"] == 0)]
    assert (np.diff(spent) >= 0).all() and spent[0] > 0
    with pytest.raises(sordino.InputError, match='method is "fts"; admissible: "ts", "dp-fts"'):
        result.regret("fts")
    assert result.summary["noise"] == "simulation: not private" and "not private" in repr(result)
    pandas = pytest.importorskip("pandas")
    frame = result.rounds
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 2 * 2 * 5
    assert (frame["regret"].to_numpy() == rounds["regret"]).all()
    # 20 agents, their initial points, then 4 rounds.
    assert len(result.observations) % (2 * 2 * 20) == 0 and set(result.agents["agent"]) == set(range(20))
    with pytest.raises(sordino.InputError, match="federation.observations"):
        sordino.run("default", methods=["ts"], runs=1, set={**SMALL, "federation.observations": False}).observations


def test_a_function_gives_the_digests_of_a_program_that_answers_the_same(sordino_program, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "function.py").write_text(FUNCTION)
    command = f"{sys.executable} train.py"
    (tmp_path / "ovens.toml").write_text(text(command))
    said = sordino_program("run", "ovens.toml", "--out", "there", "--format", "json", cwd=tmp_path)
    asked, threads = [], set()

    def objective(agent, x):
        asked.append((agent, *x.items()))
        threads.add(threading.get_ident())
        return train(agent, x)

    result = sordino.run(text(command), objective, out=tmp_path / "here")
    assert result.digest == said["digest"]
    assert result.digests == {method["name"]: method["digest"] for method in said["methods"]}
    assert files(tmp_path / "here") == files(tmp_path / "there")
    # Nothing was asked twice, in two runs of three methods; and in the thread that called.
    assert len(asked) == len(set(asked)) == len(result.arrays("values")["value"])
    assert threads == {threading.get_ident()}


class Burnt(Exception):
    """What a user's function may raise."""


def test_an_exception_comes_back_as_it_is_and_the_run_goes_on(tmp_path):
    whole, asked, burnt = sordino.run(text(), train), [], Burnt("oven 2", 451)

    def objective(agent, x):
        if len(asked) == 13:
            raise burnt
        asked.append((agent, *x.items()))
        return train(agent, x)

    for _ in range(2):
        with pytest.raises(Burnt) as raised:
            sordino.run(text(), objective, out=tmp_path / "cut")
        assert raised.value is burnt
        # The second call asked nothing that it knew.
        assert len(asked) == 13
    assert not (tmp_path / "cut" / "summary.json").exists()
    with pytest.raises(sordino.InputError, match="no complete run folder"):
        sordino.read(tmp_path / "cut")
    later = []

    def mended(agent, x):
        later.append((agent, *x.items()))
        return train(agent, x)

    result = sordino.run(text(), mended, out=tmp_path / "cut")
    assert result.digests == whole.digests and result.files == whole.files
    assert not set(later) & set(asked) and len(later) + len(asked) == len(whole.arrays("values")["value"])
    # A complete folder is read; another scenario does not overwrite it.
    assert sordino.run(text(), objective, out=tmp_path / "cut").files == result.files
    with pytest.raises(sordino.InputError, match="another scenario"):
        sordino.run(text(), objective, out=tmp_path / "cut", seed=1)


def test_ctrl_c_ends_a_run_in_the_function_and_outside_of_it(tmp_path):
    asked = []

    def objective(agent, x):
        asked.append(x)
        if len(asked) == 9:
            os.kill(os.getpid(), signal.SIGINT)
        return train(agent, x)

    with pytest.raises(KeyboardInterrupt):
        sordino.run(text(), objective, out=tmp_path / "cut")
    assert len(asked) == 9
    assert sordino.run(text(), objective, out=tmp_path / "cut").digests == sordino.run(text(), train).digests
    # Without a function: after a checkpoint; then to the same bits.
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    large = {"federation.agents": 400, "federation.rounds": 60}
    with pytest.raises(KeyboardInterrupt):
        sordino.run("default", methods=["dp-fts-de"], runs=40, set=large, out=tmp_path / "long")
    assert list((tmp_path / "long" / "state").iterdir()) and not (tmp_path / "long" / "summary.json").exists()


def test_inputs_take_the_place_of_an_objective():
    seen = []

    def bake(agent, x):
        seen.append(x)
        return -((x["heat"] - 200) ** 2) / 1e4 - (x["rate"] - 0.01) ** 2 - (x["loss"] == "l1")

    result = sordino.run(
        "hartmann6",
        bake,
        inputs={"heat": (120, 260, "integer"), "rate": (1e-4, 0.1, "log"), "loss": ["l1", "l2"]},
        methods=["ts"],
        runs=1,
        set={"federation.agents": 2, "federation.rounds": 4, "surrogate.noise_variance": 1e-3},
    )
    assert {x["loss"] for x in seen} == {"l1", "l2"} and all(isinstance(x["heat"], int) for x in seen)
    # Larger is better, and regret counts from 0: what each agent has found by then.
    best = result.arrays("agents")["best_value"]
    assert result.regret("ts")[0, -1] == pytest.approx(np.mean(-best), rel=1e-4)
    assert (result.regret("ts") >= 0).all()


def test_noisy_functions_are_told_the_observation():
    seen = set()

    def noisy(agent, x, observation):
        seen.add(observation)
        return train(agent, x) + 1e-3 * observation

    result = sordino.run(text(), noisy, methods=["ts"], runs=1, set={"objective.noisy": True})
    assert 0 in seen and len(seen) > 5
    assert set(result.arrays("values")["observation"]) == seen


@pytest.mark.parametrize(
    "answer, error, said",
    [
        (float("nan"), ValueError, "answered nan; admissible: a finite number up to 1e12"),
        (1e13, ValueError, "admissible: a finite number up to 1e12"),
        ("0.5", TypeError, "answered 0.5; admissible: a finite number"),
        (None, TypeError, '"agent":'),
    ],
)
def test_answers_that_are_no_numbers_are_refused(answer, error, said):
    with pytest.raises(error) as refused:
        sordino.run(text(), lambda agent, x: answer)
    assert said in str(refused.value)
    # Numbers of numpy are numbers.
    sordino.run(text(), lambda agent, x: np.float64(train(agent, x)), methods=["ts"], runs=1)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"scenario": "defalt"}, "there is no scenario `defalt`; did you mean `default`?"),
        ({"set": {"privacy.noise_multiplier": -1}}, "`privacy.noise_multiplier = -1` is not admissible; admissible:"),
        ({"set": {"federation.agent": 3}}, "agent"),
        ({"methods": ["dp-ftz"]}, "dp-ftz"),
        ({"runs": 0}, "`runs = 0` is not admissible"),
        ({"driver": "clockstep"}, 'driver is "clockstep"; admissible: "tokio", "lockstep"'),
        ({"threads": 0}, "threads is 0; admissible: a whole number from 1 to 1024"),
        ({"checkpoint_every": -1.0}, "checkpoint_every is -1; admissible: a number of seconds from 0 to 86400"),
        ({"data": "/nowhere.csv"}, "scenario `default` reads no data"),
        ({"objective": train}, "the functions of scenario `default` are its own (objective.kind is gp-sample)"),
        ({"inputs": {"x": (0, 1)}}, "inputs are given and no objective"),
        ({"objective": train, "inputs": {"x": (0, "log")}}, 'inputs["x"] is'),
        ({"objective": train, "inputs": {"x": 3}}, 'inputs["x"] is 3; admissible: (low, high)'),
        ({"objective": train, "inputs": {"x": (None, 1)}}, 'inputs["x"] is (None, 1); admissible: (low, high)'),
        ({"objective": train, "inputs": {"x": (0, 10**400)}}, "admissible: (low, high)"),
        ({"objective": train, "inputs": {"x": (0, 1, ["log"])}}, 'inputs["x"] is'),
        ({"objective": train, "inputs": {"x": "adam"}}, "inputs[\"x\"] is 'adam'; admissible: (low, high)"),
        ({"objective": train, "inputs": {"x": (0, 1e13)}}, "of numbers from -1e12 to 1e12, low below high"),
        ({"out": ""}, 'out is ""; admissible: the path of a folder'),
        ({"set": {"seed": {1, 2}}}, "is no value of a scenario"),
    ],
)
def test_what_does_not_fit_is_refused_as_the_command_line_does(tmp_path, arguments, said):
    with pytest.raises(sordino.InputError) as refused:
        sordino.run(**{"scenario": "default", "out": tmp_path / "no", **arguments})
    assert said in str(refused.value)
    assert not (tmp_path / "no").exists()


def test_a_frame_keeps_the_names_that_pandas_takes_for_nothing():
    rows = "method,run,regret\nNone,0,1.5\nnull,1,\n"
    frame = sordino.Result(None, {"summary.json": "{}", "rounds.csv": rows}, {}).frame("rounds")
    assert list(frame["method"]) == ["None", "null"]
    assert frame["regret"][0] == 1.5 and np.isnan(frame["regret"][1])


def test_promises_are_the_command_lines(sordino_program):
    promise, said = sordino.explain("default"), sordino_program("privacy", "explain", "default", "--format", "json")
    assert len(promise) == 4 and promise.items() <= said.items()
    cheap = sordino.explain("default", set={"privacy.noise_multiplier": 4})
    assert cheap["cost"] != sordino.explain("default")["cost"]
    assert {"default", "firmware", "ldp-se", "output-gp"} <= set(sordino.scenarios())


def test_other_trust_models_run_too(tmp_path):
    result = sordino.run("output-gp", runs=2, out=tmp_path / "o")
    assert result.summary["trust"] == "output" and result.tables
    assert sordino.read(tmp_path / "o").files == result.files
    # A picture that somebody keeps beside them is no file of the run.
    (tmp_path / "o" / "plot.png").write_bytes(b"\x89PNG\xff")
    assert sordino.read(tmp_path / "o").files == result.files


def test_mended3_what_the_command_line_warns_of_is_warned_of():
    """RMSEs about 70 among constants for values about 0, and a δ of .2."""
    def rmse(agent, x):
        return 100 * train(agent, x) + 70

    with pytest.warns(UserWarning) as told:
        result = sordino.run(text(), rmse, runs=1)
    assert [str(warning.message) for warning in told] == result.cautions == result.summary["cautions"]
    (delta,) = [caution for caution in result.cautions if caution.startswith("δ = ")]
    assert "for 4 agents" in delta
    (constants,) = [caution for caution in result.cautions if "federation.constant" in caution]
    assert "negated, because objective.goal is minimize" in constants and "surrogate.signal_variance" in constants
    for name in ("table.txt", "report.html"):
        assert "Warning: δ" in result.files[name] and "misled: federation.constant" in result.files[name]
    # What is proposed is admitted.
    proposed = constants.split("suggest ")[1].split(" (")[0].split(", ")
    set = {key: float(value) for key, value in (setting.split(" = ") for setting in proposed)}
    with pytest.warns(UserWarning, match="δ = "):
        assert len(sordino.run(text(), rmse, runs=1, set=set).cautions) == 1
