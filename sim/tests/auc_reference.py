"""Expected values of sim/tests/tuning.rs: test AUC of scikit-learn's SVC by its decision function.

    python auc_reference.py LANDMINE.csv WINEQUALITY-RED.csv.gz > auc.json

The second file is data/winequality-red.csv.gz of the crate linfa-datasets 0.8.1. Made with scikit-learn 1.9.1.
The tolerance is far below scikit-learn's default of 1e-3: with the default, the order of the rows moves the AUC by up to
0.1 where C or gamma is small, because most multipliers then stand at C and which of them do is left open.
"""
import csv
import gzip
import json
import sys

import numpy as np
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

SCALES = [(8.3, 1.7), (0.53, 0.18), (0.27, 0.19), (2.5, 1.4), (0.087, 0.047), (16.0, 10.0), (46.0, 33.0),
          (0.9967, 0.0019), (3.3, 0.15), (0.66, 0.17), (10.4, 1.07)]
SETTINGS = [(0.02, 0.5), (0.5, 0.01), (1.0, 0.1), (10.0, 0.3), (3.0, 1.0), (7.3, 4.4), (10.0, 10.0)]


def landmine(path):
    tasks = [{"train": ([], []), "test": ([], [])} for _ in range(29)]
    for row in csv.DictReader(open(path)):
        x, y = tasks[int(row["task"])][row["split"]]
        x.append([float(row[f"f{i}"]) for i in range(1, 10)])
        y.append(int(row["label"]))
    return tasks


def wine(path):
    tasks = [{"train": ([], []), "test": ([], [])} for _ in range(16)]
    for i, row in enumerate(list(csv.reader(gzip.open(path, "rt")))[1:]):
        row, task = [float(x) for x in row], tasks[i % 16]
        label = int(row[-1] >= 6)
        half = "train" if task["train"][1].count(label) <= task["test"][1].count(label) else "test"
        task[half][0].append([(x - c) / s for x, (c, s) in zip(row, SCALES)])
        task[half][1].append(label)
    return tasks


def auc(task, cost, gamma):
    model = SVC(C=cost, gamma=gamma, kernel="rbf", tol=1e-9).fit(np.array(task["train"][0]), task["train"][1])
    return roc_auc_score(task["test"][1], model.decision_function(np.array(task["test"][0])))


def cases(tasks, agents):
    return [{"agent": n, "cost": c, "gamma": g, "auc": auc(tasks[n], c, g)} for n in agents for c, g in SETTINGS]


print(json.dumps({"scikit_learn": sklearn.__version__,
                  "landmine": cases(landmine(sys.argv[1]), [0, 7, 14, 28]),
                  "winequality": cases(wine(sys.argv[2]), [0, 9, 15])}, indent=1))
