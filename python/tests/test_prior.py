"""Prior files from Python: published, saved, loaded, searched with."""

import importlib.util
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import sordino


def loss(point, moved=0.0):
    return (np.log10(point["rate"]) + 2 + moved) ** 2 + 0.2 * (point["kind"] != "b")


SPACE = sordino.Space({"rate": sordino.real(1e-4, 1, log=True), "kind": sordino.categorical(["a", "b", "c"])})


def studies(count):
    random = np.random.default_rng(3)
    table = {}
    for study in range(count):
        moved, scale, offset = 0.2 * random.uniform(-1, 1), np.exp(random.normal()), 50 * random.normal()
        points = [
            {"rate": float(10 ** random.uniform(-4, 0)), "kind": str(random.choice(["a", "b", "c"]))} for _ in range(10)
        ]
        table[f"study {study}"] = [(point, float(offset + scale * loss(point, moved))) for point in points]
    return table


@pytest.fixture(scope="module")
def prior(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("prior") / "ledger.jsonl"
    return sordino.publish(
        studies(60), SPACE, 2.0, 1e-4, dataset="test", max_epsilon=3, goal="minimize", ledger=ledger, counter=False
    )


def test_a_newcomer_begins_where_the_others_ended(prior):
    assert prior.label["contributors"] == 60 and not prior.label["simulated"]
    assert 1.99 < prior.label["epsilon"] <= 2.0 < prior.label["replace_epsilon"]
    optimizer = sordino.Optimizer(SPACE, goal="minimize", prior=prior)
    first = optimizer.ask()
    # Of five decades. The noise is the system's, another in every run: 0.61 was seen once.
    assert abs(np.log10(first["rate"]) + 2) < 1.2, first
    good, bad = {"rate": 0.01, "kind": "b"}, {"rate": 1.0, "kind": "a"}
    mean = prior.mean([good, bad])
    assert mean[0] < mean[1] - 1 and (prior.std([good, bad]) < 1).all()


def test_a_dry_run_says_what_publishing_then_costs_and_leaves_nothing(tmp_path):
    words = asked(tmp_path)
    with pytest.warns(UserWarning, match="seldom worth anything"):
        cost = sordino.publish(studies(20), SPACE, 0.9, 1e-4, sign=tmp_path / "new.key", dry_run=True, **words)
    assert list(tmp_path.iterdir()) == []
    assert cost["contributors"] == 20 and cost["charges"] == 0 and cost["spent"] == 0
    with pytest.warns(UserWarning, match="seldom worth anything"):
        made = sordino.publish(studies(20), SPACE, 0.9, 1e-4, sign=tmp_path / "new.key", **words)
    for key in ("epsilon", "replace_epsilon", "delta", "releases", "features"):
        assert cost[key] == made.label[key], key
    # A dry run refuses what publishing refuses, and counts what was published.
    with pytest.raises(sordino.InputError, match="budget"):
        sordino.publish(studies(20), SPACE, 2.99, 1e-4, dry_run=True, **words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = sordino.publish(studies(20), SPACE, 0.1, 1e-4, dry_run=True, **words)
    assert again["spent"] == cost["spent_after"] and again["charges"] == 2


# What a notebook runs, in a process of its own: Ctrl-C while releases are charged.
INTERRUPTED = """
import sys
sys.path.insert(0, {here!r})
import sordino, test_prior
space, studies = test_prior.SPACE, test_prior.studies(60)
asked = test_prior.asked(test_prior.pathlib.Path({folder!r}))
sordino.publish(studies, space, 1.0, 1e-4, releases=24, features=200, **asked)
print("ended before the signal came")
"""


def test_an_interrupted_publication_keeps_the_file_that_is_paid_for(tmp_path):
    here = str(pathlib.Path(__file__).parent)
    script = INTERRUPTED.format(here=here, folder=str(tmp_path))
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, env=environment)
    ledger = tmp_path / "ledger.jsonl"
    # A line says what the ledger is for, each later one is a charge.
    while process.poll() is None and (not ledger.exists() or len(ledger.read_text().splitlines()) < 2):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=300)[1]
    found = re.search(r"KeyboardInterrupt: the releases are charged, and the file is at (\S+)", told)
    assert found and process.returncode != 0, told
    prior = sordino.Prior.load(found[1])
    assert prior.label["contributors"] == 60 and prior.label["releases"] == 24
    assert len(ledger.read_text().splitlines()) == 25


def test_a_bound_is_told_rounded_up(prior, monkeypatch):
    label = dict(prior.label, epsilon=7.0543)
    monkeypatch.setattr(sordino.Prior, "label", label)
    assert repr(prior) == "<sordino.Prior of 60 contributors of test, ε 7.06>"


def test_what_was_saved_goes_on(prior, tmp_path):
    path, saved = tmp_path / "test.safetensors", tmp_path / "search.jsonl"
    prior.save(path)
    optimizer = sordino.Optimizer(SPACE, goal="minimize", prior=path)
    for _ in range(4):
        point = optimizer.ask()
        optimizer.tell(point, loss(point))
    optimizer.save(saved)
    assert optimizer.reads_prior is True
    copies = [pickle.loads(pickle.dumps(optimizer)), sordino.Optimizer.load(saved, prior=path)]
    following = optimizer.ask()
    assert [copy.ask() for copy in copies] == [following, following]
    with pytest.raises(sordino.InputError, match="began with the prior file"):
        sordino.Optimizer.load(saved)
    assert sordino.Prior.load(path).label == prior.label


def test_refusals_name_what_is_admissible(prior, tmp_path):
    other = sordino.Space({"rate": sordino.real(1e-5, 1, log=True), "kind": sordino.categorical(["a", "b", "c"])})
    with pytest.raises(sordino.InputError, match="another search: rate"):
        sordino.Optimizer(other, goal="minimize", prior=prior)
    asked = dict(dataset="x", max_epsilon=1, goal="minimize", ledger=tmp_path / "l", counter=False)
    with pytest.raises(sordino.InputError, match="number of studies is 1"):
        sordino.publish(studies(1), SPACE, 1.0, **asked)
    with pytest.raises(sordino.InputError, match="delta is 0.01; admissible: above 0 and at most 0.005"):
        sordino.publish(studies(20), SPACE, 1.0, 0.01, **asked)
    with pytest.raises(sordino.InputError, match="date: a day that there is, as in 2026-11-23"):
        sordino.publish(studies(20), SPACE, 1.0, 1e-4, date="2026-02-29", **asked)
    key = tmp_path / "new.key"
    with pytest.raises(sordino.InputError, match="max_epsilon is 1; admissible: at least"):
        sordino.publish(studies(20), SPACE, 2.0, 1e-4, sign=key, **asked)
    # A key that names the ledger, which is new: it was begun, and then found to be no key.
    (tmp_path / "x").mkdir()
    for named in ("l", "x/../l", "l.lock"):
        with pytest.raises(sordino.InputError, match="is the ledger or its lock"):
            sordino.publish(studies(20), SPACE, 0.5, 1e-4, sign=tmp_path / named, **asked)
    assert not key.exists() and not any(tmp_path.glob("l*")), "a refusal leaves nothing behind"
    told = tmp_path / "told.toml"
    told.write_text('goal = "maximize"\n[parameters.x]\nlow = 0\nhigh = 1\n')
    asked["goal"] = "minimize"
    with pytest.raises(sordino.InputError, match='goal is "minimize", but the file of the space says "maximize"'):
        sordino.publish(studies(20), sordino.Space.from_toml(told), 0.5, 1e-4, **asked)
    assert not any(tmp_path.glob("l*")), "nothing was charged"
    broken = tmp_path / "broken.safetensors"
    prior.save(broken)
    with pytest.raises(sordino.InputError, match="broken.safetensors exists already; admissible: a new name, or overwrite=True"):
        prior.save(broken)
    prior.save(broken, overwrite=True)
    changed = bytearray(broken.read_bytes())
    changed[-3] ^= 4
    broken.write_bytes(changed)
    with pytest.raises(sordino.InputError, match="digest is"):
        sordino.Prior.load(broken)


def example(name):
    """An example of this folder's neighbour, as a module."""
    path = pathlib.Path(__file__).parent.parent / "examples" / f"{name}.py"
    found = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_reader_of_numpy_says_the_same(prior, tmp_path):
    path = tmp_path / "test.safetensors"
    prior.save(path)
    file = example("prior_file").PriorFile(path)
    assert [parameter["name"] for parameter in file.label["space"]] == ["rate", "kind"]
    points = [{"rate": 10.0**exponent, "kind": kind} for exponent in (-3.5, -2, -0.5) for kind in "abc"]
    assert np.allclose(file.mean(points), prior.mean(points), atol=1e-5)
    assert np.allclose(file.std(points), prior.std(points), atol=1e-5)
    changed = bytearray(path.read_bytes())
    changed[-3] ^= 4
    path.write_bytes(changed)
    with pytest.raises(ValueError, match="digest"):
        example("prior_file").PriorFile(path)


def test_that_reader_knows_every_kind_of_parameter(tmp_path):
    space = sordino.Space({
        "width": sordino.real(-2, 6),
        "rate": sordino.real(1e-4, 1, log=True),
        "depth": sordino.integer(1, 8),
        "units": sordino.integer(8, 512, log=True),
        "size": sordino.ordinal(["s", "m", "l"]),
        "kind": sordino.categorical(["a", "b", "c"]),
        "flag": sordino.categorical([True, False]),
    })
    random = np.random.default_rng(5)

    def point():
        return {
            "width": float(random.uniform(-2, 6)),
            "rate": float(10 ** random.uniform(-4, 0)),
            "depth": int(random.integers(1, 9)),
            "units": int(2 ** random.integers(3, 10)),
            "size": str(random.choice(["s", "m", "l"])),
            "kind": str(random.choice(["a", "b", "c"])),
            "flag": bool(random.integers(2)),
        }

    def value(point):
        return point["width"] - abs(point["depth"] - 4) + 3 * (point["kind"] == "b") + point["flag"]

    table = {}
    for study in range(30):
        points = [point() for _ in range(10)]
        table[f"study {study}"] = [(one, value(one)) for one in points]
    prior = sordino.publish(
        table, space, 4.0, 1e-4, dataset="all", max_epsilon=5, goal="maximize", ledger=tmp_path / "l", counter=False
    )
    prior.save(tmp_path / "all.safetensors")
    file = example("prior_file").PriorFile(tmp_path / "all.safetensors")
    points = [point() for _ in range(40)]
    assert np.allclose(file.mean(points), prior.mean(points), atol=1e-5)
    assert np.allclose(file.std(points), prior.std(points), atol=1e-5)


def test_the_botorch_model_has_the_mean_of_the_file(prior, tmp_path):
    source = (pathlib.Path(__file__).parent.parent / "examples" / "botorch_prior.py").read_text()
    compile(source, "botorch_prior.py", "exec")
    path = tmp_path / "test.safetensors"
    prior.save(path)
    file = example("prior_file").PriorFile(path)
    # What its `forward` computes, in numpy: k(x, P)·L⁻ᵀw.
    unit = np.random.default_rng(0).random((20, file.landmarks.shape[1]))
    coefficients = np.linalg.solve(file.factor.T, file.weights)
    assert np.allclose(file.kernel(unit, file.landmarks) @ coefficients, file.features(unit) @ file.weights, atol=1e-6)
    pytest.importorskip("botorch")
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "examples"))
    example("botorch_prior").main(path)


def test_the_file_is_what_others_read(prior, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "test.safetensors"
    prior.save(path)
    tensors = safetensors.load_file(path)
    assert sorted(tensors) == ["covariance", "landmarks", "weights"]
    assert tensors["landmarks"].shape[1] == 4


def asked(folder, **more):
    return dict(dataset="t", max_epsilon=3, goal="minimize", ledger=folder / "ledger.jsonl", counter=False, **more)


def test_what_the_command_line_says_before_a_charge_is_a_warning(tmp_path):
    table = studies(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sordino.publish(table, SPACE, 1.0, 1e-4, **asked(tmp_path))
        # An error of a warning comes before the charge.
        spent = (tmp_path / "ledger.jsonl").read_bytes()
        with pytest.raises(UserWarning, match=r"1 of 41 studies have the same rows as another, all or some: again and study 0 \(9 rows\)"):
            again = [(table["study 0"][0][0], -1.0), *table["study 0"][1:]]
            sordino.publish({**table, "again": again}, SPACE, 1.0, 1e-4, **asked(tmp_path))
        assert (tmp_path / "ledger.jsonl").read_bytes() == spent
        new = tmp_path / "new"
        new.mkdir()
        with pytest.raises(UserWarning, match="such a file is seldom worth anything"):
            sordino.publish(studies(5), SPACE, 1.0, 1e-4, **asked(new))
        assert not any(new.iterdir())
    flat = {name: [(point, 1.0) for point, _ in values] for name, values in table.items()}
    with pytest.warns(UserWarning, match="40 of 40 studies have one value only") as told:
        sordino.publish(flat, SPACE, 0.9, 1e-4, **asked(tmp_path))
    assert all(warning.filename == __file__ for warning in told)


def test_notes_of_ledgers_have_a_category_of_their_own(tmp_path, monkeypatch):
    assert issubclass(sordino.LedgerWarning, UserWarning)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table = studies(40)
    first = dict(asked(tmp_path), counter=True, dry_run=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sordino.LedgerWarning, match="no ledger was counted on this account before"):
            sordino.publish(table, SPACE, 1.0, 1e-4, **first)
        warnings.simplefilter("ignore", sordino.LedgerWarning)
        sordino.publish(table, SPACE, 1.0, 1e-4, **first)
        # What speaks against the studies is another category.
        still = {name: [({**point, "kind": "a"}, value) for point, value in values] for name, values in table.items()}
        with pytest.raises(UserWarning, match=r"1 of 2 parameters have one value in all rows .*: `kind` \("):
            sordino.publish(still, SPACE, 1.0, 1e-4, **first)


def test_a_value_that_is_none_is_told_with_its_row(tmp_path):
    table = studies(40)
    table["study 7"][4] = (table["study 7"][4][0], float("nan"))
    with pytest.raises(sordino.InputError, match="study study 7: row 5: the value NaN; admissible: a finite number"):
        sordino.publish(table, SPACE, 1.0, 1e-4, **asked(tmp_path))
    table = studies(40)
    table["study 7"][4] = ({**table["study 7"][4][0], "rate": 7}, 1.0)
    with pytest.raises(sordino.InputError, match="study study 7: row 5: `rate` is 7"):
        sordino.publish(table, SPACE, 1.0, 1e-4, **asked(tmp_path))


def test_frames_are_studies_and_points(tmp_path, prior, monkeypatch):
    pandas = pytest.importorskip("pandas")
    table = studies(30)
    given = []
    monkeypatch.setattr(sordino._prior._native, "publish_prior", lambda listed, _: given.append(listed))
    rows = [{"study": name, **point, "value": value} for name, values in table.items() for point, value in values]
    frame = pandas.DataFrame(rows)
    forms = [table, frame, dict(tuple(frame.groupby("study", sort=False))), {n: frame[frame["study"] == n] for n in table}]
    monkeypatch.setattr(sordino.Prior, "_of", lambda native: native)
    for form in forms:
        sordino.publish(form, SPACE, 1.0, **asked(tmp_path))
    assert len(given) == 4 and all(listed == given[0] for listed in given)
    # A contributor whose name is a number in one table and a text in another is one study.
    halves = [frame.assign(study=frame["study"].map(lambda name: form(int(name.split()[1])))) for form in (int, "{} ".format)]
    sordino.publish(pandas.concat([halves[0].iloc[::2], halves[1].iloc[1::2]]), SPACE, 1.0, **asked(tmp_path))
    assert sorted(name for name, _ in given[-1]) == sorted(str(place) for place in range(30))
    assert sorted(len(values) for _, values in given[-1]) == sorted(len(values) for _, values in given[0])
    monkeypatch.undo()
    points = frame[["rate", "kind"]].head(3)
    assert (prior.mean(points) == prior.mean([point for point, _ in table["study 0"][:3]])).all()
    for wrong, said in [
        (frame.drop(columns="study"), "no column `study`; admissible: a dict with"),
        (frame.assign(study=[None, *frame["study"][1:]]), "`study` has no value in a row"),
        ({"a": frame.drop(columns="value")}, "study a: no column `value`"),
        (frame.assign(rate=[np.nan, *frame["rate"][1:]]), "study study 0: row 1: `rate` is nan; admissible"),
        (frame.set_axis(["study", "rate", "rate", "value"], axis=1), "column `rate` is there twice"),
        ({1: table["study 0"], "1": table["study 1"], **table}, "study 1: its name is there twice"),
        ({"Study  0": table["study 1"], **table}, 'study study 0: its name is there twice, also as "Study  0"'),
        ([("a", [])], "studies is a list; admissible: a dict with"),
        ({"a": [{"rate": 1}]}, "study a: {'rate': 1} is no pair of a point and its value"),
        ({"a": [({"rate": 1, "kind": "a"}, None)]}, "is no pair of a point and its value"),
    ]:
        with pytest.raises(sordino.InputError, match=re.escape(said)):
            sordino.publish(wrong, SPACE, 1.0, **asked(tmp_path))
    with pytest.raises(sordino.InputError, match="space is a dict; admissible: a sordino.Space"):
        sordino.publish(SPACE, table, 1.0, **asked(tmp_path))
    with pytest.raises(sordino.InputError, match=r"is one point; admissible: a list of points, \[point\]"):
        prior.mean({"rate": 0.1, "kind": "a"})
