"""A sampler for Optuna that asks sordino: `optuna.create_study(sampler=Sampler())`."""

import json
import math
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import sordino


class Sampler(optuna.samplers.BaseSampler):
    """All parameters of a study whose space stays the same, at once; anything else is drawn by chance."""

    def __init__(self, seed=0):
        self.seed, self.optimizer, self.trials = seed, None, {}
        self.by_chance = optuna.samplers.RandomSampler(seed)

    def infer_relative_search_space(self, study, trial):
        return optuna.search_space.intersection_search_space(study.get_trials(deepcopy=False))

    def sample_relative(self, study, trial, space):
        if not space or any(getattr(one, "step", None) not in (None, 1) for one in space.values()):
            return {}
        if self.optimizer is None:
            goal = "minimize" if study.direction == optuna.study.StudyDirection.MINIMIZE else "maximize"
            named = {name: parameter(one) for name, one in space.items()}
            self.optimizer = sordino.Optimizer(sordino.Space(named), goal=goal, seed=self.seed)
            for done in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]):
                self.optimizer.tell(done.params, done.value)
        self.trials[trial.number] = self.optimizer.ask()
        return self.trials[trial.number]

    def sample_independent(self, study, trial, name, distribution):
        return self.by_chance.sample_independent(study, trial, name, distribution)

    def after_trial(self, study, trial, state, values):
        point = self.trials.pop(trial.number, None)
        if point is not None and state == optuna.trial.TrialState.COMPLETE:
            self.optimizer.tell(point, values[0])
        elif point is not None:
            self.optimizer.fail(point)


def parameter(one):
    if isinstance(one, CategoricalDistribution):
        return sordino.categorical(one.choices)
    return {FloatDistribution: sordino.real, IntDistribution: sordino.integer}[type(one)](one.low, one.high, one.log)


def loss(trial):
    rate, depth = trial.suggest_float("rate", 1e-4, 1, log=True), trial.suggest_int("depth", 1, 8)
    wrong = trial.suggest_categorical("kind", ["adam", "sgd"]) != "sgd"
    return (math.log10(rate) + 2) ** 2 + 0.2 * (depth - 5) ** 2 + wrong


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=Sampler(seed=1))
    study.optimize(loss, n_trials=30)
    print(json.dumps({"value": study.best_value, "params": study.best_params}))
