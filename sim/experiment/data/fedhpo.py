"""A small synthetic table of the shape of FedHPO-Bench: what a federated training reaches at every setting of its knobs.

    pip install numpy==2.4.6
    python3 fedhpo.py                # writes fedhpo.csv, SHA-256 in README.md
    python3 fedhpo.py --pilot        # constants of the surrogate, from clients that are in no table

No data of others and no code of theirs: 100 clients with a linear rule each, near a common one, and few noisy labels train one
logistic model by federated averaging. Each then takes one more pass of its own with the same knobs, and is scored on its own
validation rows. A line is one training: the knobs `lr`, `wd`, `step`, and in `result` a dictionary as Python prints it, with a list
of one entry for each evaluation (after 3, 6, 12 rounds): `val_avg_loss` and `val_acc` of all clients, `val_avg_loss_fair` with a
number for each client.
"""

import argparse
import csv
import itertools

import numpy

from pilot import pilot
from task import ranks

CLIENTS, ASIDE, FEATURES, TRAINING, VALIDATION = 100, 20, 6, 24, 60
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DECAYS = (0.001, 0.01, 0.1, 1.0, 10.0)
STEPS = (1, 2, 4, 8)
EVALUATED = (3, 6, 12)
SAMPLED = 0.3
# How far a client's rule is from the common one, and how sure its labels are.
APART, CERTAINTY = 0.8, 1.5


def clients(coins):
    """Rows and labels (training, validation) of every client, the ones set aside last."""
    count = CLIENTS + ASIDE
    rule = coins.normal(size=FEATURES) + APART * coins.normal(size=(count, FEATURES))
    rows = coins.normal(size=(count, TRAINING + VALIDATION, FEATURES)) * numpy.exp(0.5 * coins.normal(size=(count, 1, 1)))
    sure = 1 / (1 + numpy.exp(-CERTAINTY * (rows * rule[:, None]).sum(-1)))
    labels = (coins.random(sure.shape) < sure).astype(float)
    return rows[:, :TRAINING], labels[:, :TRAINING], rows[:, TRAINING:], labels[:, TRAINING:]


def pass_of(weights, rows, labels, rate, decay, steps):
    """What each client makes of the weights in its own steps, on its own rows."""
    own = weights.copy()
    for _ in range(steps):
        error = 1 / (1 + numpy.exp(-numpy.clip((rows * own[:, None]).sum(-1), -30, 30))) - labels
        own -= rate * ((rows * error[..., None]).mean(1) + decay / TRAINING * own)
    return own


def judged(weights, rows, labels):
    """Loss of each client on its own validation rows, at most 5, and the share of labels that is right."""
    score = (rows * weights[:, None]).sum(-1)
    loss = numpy.logaddexp(0, numpy.where(labels > 0.5, -score, score)).mean(1)
    return numpy.minimum(loss, 5.0), ((score > 0) == (labels > 0.5)).mean(1)


def training(data, rate, decay, steps, coins):
    """Evaluations of one federated training: (losses, shares) of all clients, those set aside included, who never train it."""
    rows, labels, held, truth = data
    common, found = numpy.zeros(FEATURES), []
    for turn in range(1, max(EVALUATED) + 1):
        some = coins.permutation(CLIENTS)[: int(SAMPLED * CLIENTS)]
        there = numpy.tile(common, (len(some), 1))
        common = pass_of(there, rows[some], labels[some], rate, decay, steps).mean(0)
        if turn in EVALUATED:
            everywhere = numpy.tile(common, (len(rows), 1))
            found.append(judged(pass_of(everywhere, rows, labels, rate, decay, steps), held, truth))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilot", action="store_true", help="print the constants that the clients set aside suggest")
    arguments = parser.parse_args()
    data = clients(numpy.random.Generator(numpy.random.PCG64(11)))
    settings = list(itertools.product(RATES, DECAYS, STEPS))
    lines, aside = [], []
    for number, setting in enumerate(settings):
        found = training(data, *setting, numpy.random.Generator(numpy.random.PCG64([12, number])))
        told = [[float(f"{x:.3f}") for x in losses] for losses, _ in found]
        # As the table is read: of all evaluations the one that is best for all clients together.
        best = numpy.argmin([numpy.mean(losses[:CLIENTS]) for losses in told])
        aside.append(told[best][CLIENTS:])
        result = {
            "val_avg_loss": [float(f"{numpy.mean(losses[:CLIENTS]):.4f}") for losses in told],
            "val_acc": [float(f"{shares[:CLIENTS].mean():.4f}") for _, shares in found],
            "val_avg_loss_fair": [losses[:CLIENTS] for losses in told],
        }
        lines.append([SAMPLED, *setting, 1, str(result).replace(" ", "")])
    if arguments.pilot:
        pilot(ranks(settings), -numpy.array(aside).T)
        return
    with open("fedhpo.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["sample_client", "lr", "wd", "step", "seed", "result"], *lines])


if __name__ == "__main__":
    main()
