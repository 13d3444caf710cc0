"""Prior files from Python: published, saved, loaded, searched with."""

import json
import pickle
import struct

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
    assert abs(np.log10(first["rate"]) + 2) < 0.6, first
    good, bad = {"rate": 0.01, "kind": "b"}, {"rate": 1.0, "kind": "a"}
    mean = prior.mean([good, bad])
    assert mean[0] < mean[1] - 1 and (prior.std([good, bad]) < 1).all()


def test_what_was_saved_goes_on(prior, tmp_path):
    path, saved = tmp_path / "test.safetensors", tmp_path / "search.jsonl"
    prior.save(path)
    optimizer = sordino.Optimizer(SPACE, goal="minimize", prior=path)
    for _ in range(4):
        point = optimizer.ask()
        optimizer.tell(point, loss(point))
    optimizer.save(saved)
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
    broken = tmp_path / "broken.safetensors"
    prior.save(broken)
    changed = bytearray(broken.read_bytes())
    changed[-3] ^= 4
    broken.write_bytes(changed)
    with pytest.raises(sordino.InputError, match="digest is"):
        sordino.Prior.load(broken)


def read(path):
    """A prior file in plain numpy: label, and mean and variance as functions of coordinates in the unit box."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    label = json.loads(header["__metadata__"]["label"])

    def tensor(name):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(raw[8 + length :][begin:end], "<f4").reshape(header[name]["shape"]).astype(float)

    landmarks, weights, packed = tensor("landmarks"), tensor("weights"), tensor("covariance")
    covariance = np.zeros((len(weights), len(weights)))
    covariance[np.tril_indices(len(weights))] = packed
    covariance = covariance + covariance.T - np.diag(np.diag(covariance))

    def kernel(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * label["lengthscale"] ** 2))

    factor = np.linalg.cholesky(kernel(landmarks, landmarks))

    def features(x):
        return np.linalg.solve(factor, kernel(landmarks, x)).T

    return label, lambda x: features(x) @ weights, lambda x: ((features(x) @ covariance) * features(x)).sum(1)


def test_a_reader_of_numpy_says_the_same(prior, tmp_path):
    path = tmp_path / "test.safetensors"
    prior.save(path)
    label, mean, variance = read(path)
    assert [parameter["name"] for parameter in label["space"]] == ["rate", "kind"]
    points = [{"rate": 10.0**exponent, "kind": kind} for exponent in (-3.5, -2, -0.5) for kind in "abc"]
    unit = np.array([[(np.log10(point["rate"]) + 4) / 4, *(float(point["kind"] == kind) for kind in "abc")] for point in points])
    # Larger is better inside.
    assert np.allclose(-mean(unit), prior.mean(points), atol=1e-5)
    assert np.allclose(np.sqrt(variance(unit)), prior.std(points), atol=1e-5)


def test_the_file_is_what_others_read(prior, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "test.safetensors"
    prior.save(path)
    tensors = safetensors.load_file(path)
    assert sorted(tensors) == ["covariance", "landmarks", "weights"]
    assert tensors["landmarks"].shape[1] == 4
