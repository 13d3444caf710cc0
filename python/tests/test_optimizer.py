"""Ask and tell: a maximum that is found, states that are saved, what is refused."""

import pickle
import sys
import threading

import numpy as np
import pytest

import sordino


def bowl(x):
    return -((x[0] - 3) ** 2) - (x[1] - 2) ** 2


def test_the_optimizer_finds_the_maximum_of_a_bowl_and_goes_on_after_a_pickle():
    optimizer = sordino.Optimizer([(-5, 10), (0, 15)], 40)
    assert optimizer.best() is None and len(optimizer) == 0 and optimizer
    for round in range(1, 25):
        x = optimizer.suggest()
        assert (x == optimizer.suggest()).all(), "asking again without telling gives the same point"
        optimizer.observe(x, bowl(x))
        if round == 12:
            before = optimizer.lengthscale
            assert optimizer.fit() and optimizer.lengthscale != before
            with pytest.raises(sordino.InputError):
                optimizer.observe([0, 0], float("inf"))
            assert optimizer.refused == 1
            twins = [pickle.loads(pickle.dumps(optimizer)), sordino.Optimizer.restore(optimizer.save())]
    point, mean = optimizer.best()
    assert np.abs(point - [3, 2]).max() < 0.3 and mean == pytest.approx(0, abs=0.1)
    for twin in twins:
        assert len(twin) == 12 and twin.refused == 1 and twin.bounds == [(-5, 10), (0, 15)]
        for _ in range(12):
            x = twin.suggest()
            twin.observe(x, bowl(x))
        assert (twin.suggest() == optimizer.suggest()).all() and (twin.best()[0] == point).all()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"bounds": []}, "dimension 0 is outside 1..=16"),
        ({"bounds": [(1, 0)]}, "1"),
        ({"capacity": 0}, "capacity is 0; admissible: a whole number from 1 to 10000"),
        ({"kernel": "matern"}, 'kernel is "matern"; admissible: "squared-exponential", "matern-1/2"'),
        ({"lengthscale": -1.0}, "-1"),
        ({"noise_fraction": float("nan")}, "NaN"),
        ({"confidence_width": float("inf")}, "width"),
        ({"when_full": "forget"}, 'when_full is "forget"; admissible: "refuse", "drop-oldest"'),
        ({"initial_points": -1}, "initial_points is -1; admissible: a whole number from 0"),
    ],
)
def test_an_optimizer_refuses_what_does_not_fit(change, said):
    with pytest.raises(sordino.InputError) as refused:
        sordino.Optimizer(**{"bounds": [(0, 1)], **change})
    assert said in str(refused.value)


def test_observations_and_saved_bytes_that_do_not_fit_are_refused():
    optimizer = sordino.Optimizer([(0, 1)], 3)
    with pytest.raises(sordino.InputError, match="a point of 2 numbers; admissible: 1"):
        optimizer.observe([0, 1], 1)
    for i in range(3):
        optimizer.observe([i / 4], i)
    with pytest.raises(sordino.InputError):
        optimizer.observe([0.9], 1)
    saved = optimizer.save()
    assert len(sordino.Optimizer.restore(saved)) == 3
    for wrong in (b"", saved[:30], saved[:-1], saved[:-1] + bytes([saved[-1] ^ 1]), saved.replace(b"1\n", b"2\n", 1)):
        with pytest.raises(sordino.InputError):
            sordino.Optimizer.restore(wrong)
    window = sordino.Optimizer([(0, 1)], 3, when_full="drop-oldest")
    for i in range(5):
        window.observe([i / 5], i)
    assert len(window) == 3 and (pickle.loads(pickle.dumps(window)).suggest() == window.suggest()).all()


def test_mended3_a_point_outside_the_box_is_refused_and_changes_nothing():
    optimizer = sordino.Optimizer([(-5, 10), (0, 15)], 10)
    next_one = optimizer.suggest()
    for point, said in [
        ([2, 20], "point[1] is 20; admissible: 0 to 15"),
        ([-5.001, 3], "point[0] is -5.001; admissible: -5 to 10"),
        ([float("nan"), 3], "point[0] is NaN"),
    ]:
        with pytest.raises(sordino.InputError) as refused:
            optimizer.observe(point, 1.0)
        assert said in str(refused.value)
    assert len(optimizer) == 0 and optimizer.refused == 0 and optimizer.best() is None
    assert (optimizer.suggest() == next_one).all()
    # The box has its ends.
    for corner in ([-5, 0], [10, 15]):
        optimizer.observe(corner, bowl(corner))
    assert len(optimizer) == len(sordino.Optimizer.restore(optimizer.save())) == 2


def test_mended3_a_full_optimizer_says_how_many_fit_and_what_to_do():
    optimizer = sordino.Optimizer([(0, 1)], 2)
    for i in range(2):
        optimizer.observe([i / 4], i)
    with pytest.raises(sordino.InputError) as refused:
        optimizer.observe([0.9], 1)
    for needed in ("all 2 observations of the capacity", "larger capacity (1 to 10000)", 'when_full="drop-oldest"'):
        assert needed in str(refused.value)


def test_threads_share_an_optimizer_and_no_observation_is_lost():
    optimizer, failed, told = sordino.Optimizer([(-5, 10), (0, 15)], 200), [], []

    def ask_and_tell():
        try:
            for _ in range(25):
                x = optimizer.suggest()
                optimizer.observe(x, bowl(x))
                told.append((len(optimizer), optimizer.best(), optimizer.save()))
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
    assert not failed and len(told) == 100
    # A point that was told before may be refused as such, and is counted.
    assert len(optimizer) + optimizer.refused == 100
    again = sordino.Optimizer.restore(optimizer.save())
    assert (again.suggest() == optimizer.suggest()).all()
