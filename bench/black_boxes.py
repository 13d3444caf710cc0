"""The optimizer against BoTorch, Optuna and random points, on functions whose boxes are moved about.

    python3 bench/black_boxes.py [--boxes 20] [--out results.jsonl] [--only sordino,botorch,tpe,gp-sampler,random]

Builds core's example `asked` and talks to it over a pipe. Peers that are not installed are left out (numpy is needed; `pip
install botorch optuna scikit-learn` brings the others, and two tunings of scikit-learn's models on its own data). A result is
a line of JSON in `--out`, and what is there already is not run again, so that the slow ones may be stopped and go on. One thread; times are CPU time of a suggestion.

Each box is the function's usual one, moved by up to three tenths of each side so that a minimiser stays inside: the optimum is
in no special place. Every method has the same number of first points, its own. Plans: 10 first points and 20 more, 5 and 45.
Nobody knows the least value of a tuning: its regret counts from the best that any method found in that box under any plan, and
is at least a thousandth of what random points have in the middle.
"""

import argparse
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLANS = ((10, 30), (5, 50))


def branin(x):
    a, b = x
    valley = b - 5.1 / (4 * np.pi**2) * a * a + 5 / np.pi * a - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


WEIGHTS = np.array([1, 1.2, 3, 3.2])
WIDTHS = {
    3: np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]),
    6: np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]),
}
CENTRES = {
    3: 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
    6: 1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
}


def hartmann(x):
    return -(WEIGHTS * np.exp(-(WIDTHS[len(x)] * (x - CENTRES[len(x)]) ** 2).sum(1))).sum()


def ackley(x):
    return -20 * np.exp(-0.2 * np.sqrt((x * x).mean())) - np.exp(np.cos(2 * np.pi * x).mean()) + 20 + np.e


def levy(x):
    w = 1 + (x - 1) / 4
    middle = ((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)).sum()
    return np.sin(np.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


# Function, low and high of each axis, the least value, where it is.
FUNCTIONS = {
    "branin": (branin, [-5, 0], [10, 15], 0.39788735772973816, [[np.pi, 2.275], [-np.pi, 12.275], [9.42478, 2.475]]),
    "hartmann3": (hartmann, [0] * 3, [1] * 3, -3.86278214782076, [[0.114614, 0.555649, 0.852547]]),
    "hartmann6": (hartmann, [0] * 6, [1] * 6, -3.32236801141551, [[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]]),
    "ackley5": (ackley, [-32.768] * 5, [32.768] * 5, 0, [[0] * 5]),
    "levy4": (levy, [-10] * 4, [10] * 4, 0, [[1] * 4]),
    "rosenbrock4": (rosenbrock, [-5] * 4, [10] * 4, 0, [[1] * 4]),
}


@functools.cache
def studied(data):
    """Inputs and targets of one of scikit-learn's own data sets, and the folds that a setting is scored on."""
    from sklearn import datasets, model_selection

    inputs, targets = getattr(datasets, f"load_{data}")(return_X_y=True)
    folds = model_selection.KFold(5, shuffle=True, random_state=0)
    return inputs, targets, folds


def cross_validated(model, data, scoring):
    from sklearn.model_selection import cross_val_score

    inputs, targets, folds = studied(data)
    return -cross_val_score(model, inputs, targets, cv=folds, scoring=scoring).mean()


def support_vectors(x):
    """log10 of C, γ and ε of a regression on `diabetes`: mean squared error."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    penalty, width, tube = (10.0**exponent for exponent in x)
    model = make_pipeline(StandardScaler(), SVR(C=penalty, gamma=width, epsilon=tube))
    return cross_validated(model, "diabetes", "neg_mean_squared_error")


def boosted_trees(x):
    """log10 of the learning rate, share of rows, share of columns, log10 of the share of rows in a leaf: log loss on `breast_cancer`."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=25, learning_rate=10 ** x[0], subsample=x[1], max_features=x[2], min_samples_leaf=10 ** x[3], random_state=0
    )
    return cross_validated(model, "breast_cancer", "neg_log_loss")


# No minimiser is known.
TUNINGS = {
    "support-vectors": (support_vectors, [-0.5, -3.5, -0.5], [3, -0.5, 1.8], None, None),
    "boosted-trees": (boosted_trees, [-2, 0.5, 0.2, -2.5], [-0.2, 0.9, 0.8, -1], None, None),
}
if importlib.util.find_spec("sklearn"):
    FUNCTIONS |= TUNINGS


def moved(name, number):
    """The box of a function, moved."""
    _, low, high, _, minimisers = FUNCTIONS[name]
    low, high = np.array(low, float), np.array(high, float)
    random = np.random.default_rng([number, len(name), ord(name[0])])
    if minimisers is None:
        # Less, so that every setting is one that the model takes.
        by = random.uniform(-0.15, 0.15, len(low)) * (high - low)
        return low + by, high + by
    while True:
        by = random.uniform(-0.3, 0.3, len(low)) * (high - low)
        units = [(np.array(at) - low - by) / (high - low) for at in minimisers]
        if any(((unit > 0.02) & (unit < 0.98)).all() for unit in units):
            return low + by, high + by


class Sordino:
    """Our optimizer, in a process of its own."""

    def __init__(self):
        command = ["cargo", "build", "--release", "-q", "-p", "sordino-core", "--features", "dispatch", "--example", "asked"]
        subprocess.run(command, cwd=ROOT, check=True)
        binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples/asked"
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([binary], stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def __call__(self, function, low, high, first, evaluations, seed):
        bounds = [float(x) for pair in zip(low, high) for x in pair]
        print(len(low), first, evaluations, seed, *bounds, file=self.process.stdin, flush=True)
        values = []
        while True:
            words = self.process.stdout.readline().split()
            if words[0] == "end":
                return values, float(words[1])
            values.append(float(function(np.array([float(x) for x in words]))))
            print(repr(-values[-1]), file=self.process.stdin, flush=True)


def random_points(function, low, high, first, evaluations, seed):
    random = np.random.default_rng(1000 + seed)
    return [float(function(low + (high - low) * random.random(len(low)))) for _ in range(evaluations)], 0.0


def botorch(function, low, high, first, evaluations, seed):
    """SingleTaskGP and LogExpectedImprovement with their defaults; the tutorial's 10 restarts from 512 points."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.utils.sampling import draw_sobol_samples
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    box = torch.tensor([[0.0] * len(low), [1.0] * len(low)], dtype=torch.double)
    value = lambda unit: -float(function(low + (high - low) * unit.detach().numpy()))  # noqa: E731
    points = draw_sobol_samples(box, n=first, q=1, seed=seed).squeeze(1).double()
    values = torch.tensor([[value(unit)] for unit in points], dtype=torch.double)
    seconds = 0.0
    while len(points) < evaluations:
        start = time.process_time()
        model = SingleTaskGP(points, values)
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except Exception as error:  # its own failure to fit leaves the model as it is
            print("botorch:", error)
        rule = LogExpectedImprovement(model, best_f=values.max())
        asked, _ = optimize_acqf(rule, bounds=box, q=1, num_restarts=10, raw_samples=512)
        seconds += time.process_time() - start
        points = torch.cat([points, asked])
        values = torch.cat([values, torch.tensor([[value(asked[0])]], dtype=torch.double)])
    return (-values[:, 0]).tolist(), seconds / (evaluations - first)


def optuna(sampler):
    def run(function, low, high, first, evaluations, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore")
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed, n_startup_trials=first))
        axes = range(len(low))
        start = time.process_time()
        study.optimize(
            lambda trial: function(np.array([trial.suggest_float(f"x{i}", low[i], high[i]) for i in axes])),
            n_trials=evaluations,
        )
        return [trial.value for trial in study.trials], (time.process_time() - start) / evaluations

    return run


def methods(only):
    there = lambda package: importlib.util.find_spec(package) is not None  # noqa: E731
    known = {"sordino": None, "random": random_points}
    if there("botorch"):
        known["botorch"] = botorch
    if there("optuna"):
        known["tpe"] = optuna("TPESampler")
        if there("torch"):
            known["gp-sampler"] = optuna("GPSampler")
    chosen = {name: run for name, run in known.items() if only is None or name in only}
    if "sordino" in chosen:
        chosen["sordino"] = Sordino()
    return chosen


def table(results):
    """Median regret over the boxes that both methods have, and the ratio to each peer."""
    results = [line for line in results if line["function"] in FUNCTIONS]
    least, found_at_random = {}, {}
    for line in results:
        key, best = (line["function"], line["box"]), min(line["values"])
        least[key] = min(best, least.get(key, best))
    for line in results:
        if line["method"] == "random":
            far = min(line["values"]) - least[line["function"], line["box"]]
            found_at_random.setdefault(line["function"], []).append(far)
    regret = {}
    for line in results:
        function, known = line["function"], FUNCTIONS[line["function"]][3]
        if known is None:
            known, floor = least[function, line["box"]], 1e-3 * np.median(found_at_random.get(function, [0]))
        else:
            floor = 1e-7
        best = max(min(line["values"]) - known, floor)
        regret.setdefault((line["method"], line["function"], line["first"]), {})[line["box"]] = (best, line["seconds"])
    names = [name for name in ("botorch", "gp-sampler", "tpe", "random") if any(key[0] == name for key in regret)]
    for first, evaluations in PLANS:
        print(f"\n{first} first points, {evaluations} in all: median regret (ours on the same boxes; boxes)")
        print("| function | sordino |" + "".join(f" {name} |" for name in names) + "\n|---|--:|" + "--:|" * len(names))
        ratios, times = {name: [] for name in names}, {}
        for function in FUNCTIONS:
            ours = regret.get(("sordino", function, first), {})
            if not ours:
                continue
            row = f"| {function} | {np.median([best for best, _ in ours.values()]):.3g} |"
            times.setdefault("sordino", []).append(np.mean([seconds for _, seconds in ours.values()]))
            for name in names:
                theirs = regret.get((name, function, first), {})
                boxes = [box for box in theirs if box in ours]
                if not boxes:
                    row += " |"
                    continue
                mine = np.median([ours[box][0] for box in boxes])
                other = np.median([theirs[box][0] for box in boxes])
                ratios[name].append(np.log(mine / other))
                times.setdefault(name, []).append(np.mean([theirs[box][1] for box in boxes]))
                row += f" {other:.3g} ({mine:.3g}; {len(boxes)}) |"
            print(row)
        row = "| geometric mean of ours ÷ theirs | |"
        print(row + "".join(f" {np.exp(np.mean(ratios[name])):.2f} |" if ratios[name] else " |" for name in names))
        row = f"| ms a suggestion | {1e3 * np.mean(times.get('sordino', [0])):.2f} |"
        print(row + "".join(f" {1e3 * np.mean(times[name]):.2f} |" if name in times else " |" for name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, default=20)
    parser.add_argument("--out", default="black-boxes.jsonl")
    parser.add_argument("--only", help="names of methods, with commas")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else None
    out, results = pathlib.Path(arguments.out), []
    if out.exists():
        results = [json.loads(line) for line in out.read_text().splitlines()]
    key = lambda line: (line["method"], line["function"], line["first"], line["box"])  # noqa: E731
    done = {key(line) for line in results}
    chosen = methods(only)
    for box in range(arguments.boxes):
        for first, evaluations in PLANS:
            for function in FUNCTIONS:
                for method, run in chosen.items():
                    if (method, function, first, box) in done:
                        continue
                    low, high = moved(function, box)
                    values, seconds = run(FUNCTIONS[function][0], low, high, first, evaluations, box)
                    line = dict(method=method, function=function, first=first, box=box, values=values, seconds=seconds)
                    results.append(line)
                    with out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    table(results)


if __name__ == "__main__":
    main()
