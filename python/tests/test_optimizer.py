"""Ask and tell: points as dicts, what is found, what is saved, what is refused."""

import json
import math
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import sordino

SPACE = sordino.Space(
    {
        "rate": sordino.real(1e-4, 1, log=True),
        "depth": sordino.integer(1, 8),
        "kind": sordino.categorical(["adam", "sgd", "rms"]),
    }
)


def loss(point):
    rate = math.log10(point["rate"]) + 2
    return rate**2 + 0.2 * (point["depth"] - 5) ** 2 + (0 if point["kind"] == "sgd" else 1)


def told(optimizer, count):
    while len(optimizer) < count:
        point = optimizer.ask()
        optimizer.tell(point, loss(point))
    return optimizer


def test_the_best_of_a_mixed_space_is_found_and_nothing_is_asked_twice():
    optimizer = sordino.Optimizer(SPACE, seed=3)
    assert optimizer.best is None and optimizer.recommend() is None and len(optimizer) == 0 and optimizer
    told(optimizer, 35)
    point, value = optimizer.best
    assert value == loss(point) < 0.1 and point["kind"] == "sgd" and isinstance(point["depth"], int)
    asked = [json.dumps(row, sort_keys=True) for row in optimizer.history()]
    assert len(set(asked)) == 35
    advised, mean, std = optimizer.recommend()
    assert loss(advised) < 0.2 and abs(mean - loss(advised)) < 0.3 and std >= 0
    # Random points of the same number: the control.
    rng = np.random.default_rng(0)
    random = [
        {"rate": 10 ** rng.uniform(-4, 0), "depth": rng.integers(1, 9), "kind": rng.choice(["adam", "sgd", "rms"])}
        for _ in range(35)
    ]
    assert value < min(map(loss, random))


def test_a_history_is_a_frame_and_a_prediction_an_array():
    pandas = pytest.importorskip("pandas")
    optimizer = told(sordino.Optimizer(SPACE), 12)
    frame = pandas.DataFrame(optimizer.history())
    assert list(frame.columns) == ["rate", "depth", "kind", "value"] and len(frame) == 12
    assert frame["value"].min() == optimizer.best[1]
    points = frame.drop(columns="value").to_dict("records")
    mean, std = optimizer.predict(points)
    assert mean.shape == std.shape == (12,) and mean.dtype == np.float64
    assert np.abs(mean - frame["value"]).max() < 0.5 * frame["value"].std()
    assert optimizer.predict([{"rate": 1, "depth": 1, "kind": "rms"}])[1][0] > std.max()


def test_a_batch_counts_what_is_under_way():
    optimizer = told(sordino.Optimizer(SPACE, seed=1), 10)
    batch = optimizer.ask(4)
    assert len({json.dumps(point) for point in batch}) == 4 and optimizer.pending == batch
    optimizer.tell(batch[2], loss(batch[2]))
    optimizer.fail(batch[0])
    assert optimizer.pending == [batch[1], batch[3]] and optimizer.failed == 1 and len(optimizer) == 11


def test_maximize_is_minimize_with_the_sign_turned():
    down, up = sordino.Optimizer(SPACE, goal="minimize"), sordino.Optimizer(SPACE, goal="maximize")
    for _ in range(12):
        point = down.ask()
        assert up.ask() == point
        down.tell(point, loss(point))
        up.tell(point, -loss(point))
    assert down.best[0] == up.best[0] and down.best[1] == -up.best[1]


def test_minimize_calls_back_and_ends_when_it_is_told_to():
    seen = []
    optimizer = sordino.minimize(loss, SPACE, 30, lambda *three: seen.append(three) or len(seen) == 9, seed=2)
    assert len(optimizer) == len(seen) == 9 and seen[0][0] is optimizer
    assert [value for _, _, value in seen] == [row["value"] for row in optimizer.history()]

    def broken(point):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        sordino.minimize(broken, SPACE, 3)


def test_what_was_saved_goes_on_with_the_same_questions(tmp_path):
    optimizer = told(sordino.Optimizer(SPACE, seed=5), 9)
    waiting = optimizer.ask()
    optimizer.save(tmp_path / "search.jsonl")
    # People can read it: a head, then what happened.
    lines = [json.loads(line) for line in (tmp_path / "search.jsonl").read_text().splitlines()]
    assert lines[0]["goal"] == "minimize" and lines[0]["seed"] == 5 and lines[-1] == {"asked": waiting}
    assert not list(tmp_path.glob("*.new"))
    twins = [sordino.Optimizer.load(tmp_path / "search.jsonl"), pickle.loads(pickle.dumps(optimizer)), optimizer]
    questions = []
    for twin in twins:
        assert twin.pending == [waiting] and twin.space == SPACE
        twin.tell(waiting, loss(waiting))
        questions.append([row for row in told(twin, 16).history()])
    assert questions[0] == questions[1] == questions[2]
    # Another seed asks something else: the control.
    assert told(sordino.Optimizer(SPACE, seed=6), 16).history() != questions[0]
    damaged = (tmp_path / "search.jsonl").read_text().replace('"told"', '"tld"', 1)
    (tmp_path / "search.jsonl").write_text(damaged)
    with pytest.raises(sordino.InputError, match="line 3 of the stored search"):
        sordino.Optimizer.load(tmp_path / "search.jsonl")


def test_only_candidates_are_asked():
    candidates = [{"rate": 0.01, "depth": depth, "kind": "sgd"} for depth in range(1, 9)]
    optimizer = told(sordino.Optimizer(SPACE, candidates=candidates), 8)
    assert sorted(row["depth"] for row in optimizer.history()) == list(range(1, 9))
    assert optimizer.best[0] == candidates[4]
    with pytest.raises(sordino.InputError, match="candidate 8: `depth` is 9; admissible: a whole number from 1 to 8"):
        sordino.Optimizer(SPACE, candidates=[*candidates, {"rate": 0.01, "depth": 9, "kind": "sgd"}])


def test_a_context_is_given_with_each_question():
    space = sordino.Space({"power": sordino.real(0, 1), "load": sordino.real(0, 1, context=True)})
    optimizer = sordino.Optimizer(space, goal="maximize")
    for i in range(25):
        point = optimizer.ask(context={"load": i * 7 % 10 / 10})
        assert point["load"] == i * 7 % 10 / 10
        optimizer.tell(point, -((point["power"] - point["load"]) ** 2))
    assert abs(optimizer.ask(context={"load": 0.55})["power"] - 0.55) < 0.15
    point, _, _ = optimizer.recommend(context={"load": 0.55})
    assert point["load"] == 0.55 and abs(point["power"] - 0.55) < 0.15
    assert optimizer.best_given({"load": 0.7})[0]["load"] == 0.7
    assert optimizer.best_given({"load": 0.55}) is None and optimizer.reads_prior is None
    with pytest.raises(sordino.InputError, match="`load` has no value; admissible: a number from 0 to 1"):
        optimizer.ask()


def test_a_space_file_is_that_of_the_command_line(tmp_path):
    (tmp_path / "space.toml").write_text(
        'goal = "maximize"\nvalue = "accuracy"\n[parameters.rate]\nlow = 1e-4\nhigh = 1\nscale = "log"\n'
        "[parameters.size]\nchoices = [16, 64]\nordered = true\n"
    )
    space = sordino.Space.from_toml(tmp_path / "space.toml")
    assert space.names == ["rate", "size"] and space.goal == "maximize" and space.value == "accuracy"
    assert sordino.Optimizer(space).goal == "maximize"
    with pytest.raises(sordino.InputError, match='the file of the space says "maximize"'):
        sordino.Optimizer(space, goal="minimize")
    (tmp_path / "space.toml").write_text("[parameters.a]\nlow = 0\nhihg = 1\n")
    with pytest.raises(sordino.InputError, match="space.toml:3:1: `parameters.a.hihg`.*did you mean `high`"):
        sordino.Space.from_toml(tmp_path / "space.toml")


def test_a_search_of_the_command_line_goes_on_in_python(sordino_program, tmp_path):
    (tmp_path / "space.toml").write_text('goal = "minimize"\n[parameters.x]\nlow = 0\nhigh = 1\n')
    words = ["optimize", "--space", "space.toml", "--command", "echo $SORDINO_X", "--evaluations"]
    nine = sordino_program(*words, 9, "--out", "nine", "--format", "json", cwd=tmp_path)
    optimizer = sordino.Optimizer.load(tmp_path / "nine" / "search.jsonl")
    assert [row["value"] for row in optimizer.history()] == [row["value"] for row in nine["history"]]
    ten = sordino_program(*words, 10, "--out", "ten", "--format", "json", cwd=tmp_path)
    assert optimizer.ask() == ten["history"][9]["point"]


@pytest.mark.parametrize(
    "parameters, said",
    [
        ({}, "0 axes; 1..=16 are admissible"),
        ({"a": (0, 1)}, "`a` is (0, 1); admissible: sordino.real, integer, categorical or ordinal"),
        ({"a": sordino.real(0, 1, log=True)}, "`a`: low is 0; admissible: a positive number"),
        ({"a": sordino.integer(0.5, 3)}, "low is 0.5; admissible: a whole number"),
        ({"a": sordino.categorical([])}, "admissible: 1 to 1000 texts, numbers or truth values"),
        ({"a": sordino.categorical([[1], [2]])}, "admissible: 1 to 1000 texts, numbers or truth values"),
        ({"a b": sordino.real(0, 1)}, "`a b` is no name of a parameter"),
        ({"a": sordino.real(0, 1, context=True)}, "every axis is context"),
        ({f"a{i}": sordino.real(0, 1) for i in range(17)}, "17 axes"),
    ],
)
def test_a_space_that_is_none_is_refused_by_name_and_range(parameters, said):
    with pytest.raises(sordino.InputError) as refused:
        sordino.Space(parameters)
    assert said in str(refused.value)


@pytest.mark.parametrize("make", [sordino.real, sordino.integer])
def test_a_range_that_is_none_is_refused_where_it_is_written(make):
    for low, high in [(5, 1), (1, 1), (float("nan"), 1), (0, float("nan"))]:
        said = re.escape(f"high is {high} and low is {low}; admissible: a number above low")
        with pytest.raises(sordino.InputError, match=said):
            make(low, high)


def test_what_is_told_wrongly_is_refused_and_changes_nothing():
    optimizer = sordino.Optimizer(SPACE)
    point = optimizer.ask()
    for wrong, value, said in [
        ({**point, "depth": 9}, 1, "`depth` is 9; admissible: a whole number from 1 to 8"),
        ({**point, "depth": 2.5}, 1, "`depth` is 2.5"),
        ({**point, "rate": 2}, 1, "`rate` is 2; admissible: a number from 0.0001 to 1"),
        ({**point, "kind": "Adam"}, 1, '`kind` is "Adam"; admissible: one of "adam", "sgd", "rms"'),
        ({**point, "dept": 1}, 1, "`dept` is no parameter of this space; did you mean `depth`?"),
        ({"rate": 0.1}, 1, "`depth` has no value"),
        ([0.1, 2, "sgd"], 1, "is no point; admissible: a dict"),
        (point, float("nan"), "the value is NaN; admissible: a finite number"),
        (point, float("inf"), "the value is inf"),
    ]:
        with pytest.raises(sordino.InputError) as refused:
            optimizer.tell(wrong, value)
        assert said in str(refused.value)
    assert len(optimizer) == 0 and optimizer.pending == [point]
    for arguments, said in [
        ({"goal": "minimise"}, 'goal is "minimise"; admissible: "minimize", "maximize"'),
        ({"seed": -1}, "seed is -1"),
        ({"candidates": []}, "0 candidates"),
    ]:
        with pytest.raises(sordino.InputError) as refused:
            sordino.Optimizer(SPACE, **arguments)
        assert said in str(refused.value)
    with pytest.raises(sordino.InputError, match="n is 0"):
        optimizer.ask(0)
    with pytest.raises(sordino.InputError, match="no space; admissible"):
        sordino.Optimizer([(0, 1)])
    # NumPy's numbers are numbers.
    optimizer.tell({**point, "depth": np.int64(3), "rate": np.float32(0.5)}, np.float64(1))
    assert optimizer.best[0]["depth"] == 3


def test_threads_share_an_optimizer_and_no_value_is_lost():
    optimizer, failed = sordino.Optimizer(SPACE), []

    def ask_and_tell():
        try:
            for _ in range(10):
                point = optimizer.ask()
                optimizer.tell(point, loss(point))
        except Exception as error:
            failed.append(error)

    threads, interval = [threading.Thread(target=ask_and_tell) for _ in range(4)], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed and len(optimizer) == 40 and not optimizer.pending


def test_the_sampler_for_optuna_is_short_and_finds_the_best():
    pytest.importorskip("optuna")
    path = Path(__file__).resolve().parents[1] / "examples" / "optuna_sampler.py"
    assert len(path.read_text().splitlines()) <= 60
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout.splitlines()[-1])
    assert best["value"] < 0.3 and best["params"]["kind"] == "sgd"


def test_minimize_keeps_what_it_learned_and_takes_goal_and_failures(monkeypatch):
    def fifth(point):
        calls.append(point)
        if len(calls) == 5:
            raise KeyError("the fifth")
        return math.nan if len(calls) == 2 else loss(point)

    calls = []
    with pytest.raises(KeyError) as caught:
        sordino.minimize(fifth, SPACE, 8)
    kept = caught.value.optimizer
    assert (len(kept), kept.failed, kept.pending) == (3, 1, [calls[4]])
    assert kept.best[1] == min(loss(calls[place]) for place in (0, 2, 3))
    for function, callback in [(lambda point: 1e300, None), (loss, lambda *three: 1 / 0)]:
        with pytest.raises((sordino.InputError, ZeroDivisionError)) as refused:
            sordino.minimize(function, SPACE, 8, callback)
        assert len(refused.value.optimizer) == (callback is not None)
    # Interrupted while the next question is looked for.
    ask = sordino.Optimizer.ask
    asked = []

    def third(optimizer):
        asked.append(optimizer)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return ask(optimizer)

    monkeypatch.setattr(sordino.Optimizer, "ask", third)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        sordino.minimize(loss, SPACE, 8)
    monkeypatch.undo()
    assert interrupted.value.optimizer is asked[0] and len(asked[0]) == 2
    calls = []
    caught = sordino.minimize(fifth, SPACE, 8, catch=KeyError)
    assert (len(caught), caught.failed, caught.pending) == (6, 2, [])
    largest = sordino.minimize(lambda point: -loss(point), SPACE, 20, goal="maximize")
    assert largest.goal == "maximize" and largest.best[1] == max(row["value"] for row in largest.history()) > -0.5


def test_half_a_line_of_a_killed_process_is_left_out(tmp_path):
    path = tmp_path / "search.jsonl"
    optimizer = told(sordino.Optimizer(SPACE), 5)
    optimizer.save(path)
    whole = path.read_text()
    path.write_text(whole[:-10])
    loaded = sordino.Optimizer.load(path)
    assert len(loaded) == 4 and len(loaded.pending) == 1
    # The half may end within a character.
    path.write_bytes(whole.encode() + '{"asked":{"kind":"größe"'.encode()[:-3])
    assert len(sordino.Optimizer.load(path)) == 5
    # Half a line between others is no crash.
    path.write_text(whole[:-10] + "\n" + whole.splitlines()[-1] + "\n")
    with pytest.raises(sordino.InputError, match="line 11 of the stored search"):
        sordino.Optimizer.load(path)


def test_a_missing_number_is_refused_by_its_name():
    optimizer = sordino.Optimizer(SPACE)
    point = {**optimizer.ask(), "rate": math.nan}
    with pytest.raises(sordino.InputError, match="^`rate` is nan; admissible: a finite number"):
        optimizer.tell(point, 1.0)
    with pytest.raises(sordino.InputError, match="is one point; admissible: a list of points"):
        optimizer.predict(optimizer.pending[0])


def test_equal_spaces_have_one_hash():
    own = sordino.Optimizer(SPACE).space
    assert own == SPACE and {own: 1}[SPACE] == 1
