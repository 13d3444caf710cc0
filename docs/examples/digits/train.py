"""Trains one site's classifier, a real one: linear, by stochastic gradient steps, on scikit-learn's own digits.

SITE (0 to 44) names one of the 45 pairs of digits that the site tells apart. Its images have noise, its training set is small, and it
counts its loss in a unit of its own. The loss of a setting is the same each time.

    SITE=3 SORDINO_RATE=0.01 SORDINO_PASSES=10 SORDINO_LOSS=hinge python3 train.py
"""

import itertools
import os
import random

import numpy
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

PAIRS = list(itertools.combinations(range(10), 2))
TRAINED = 60  # images; the others of a pair, about 300, are for validation


class Site:
    """The data of a site and its unit."""

    def __init__(self, number):
        images, labels = load_digits(return_X_y=True)
        chosen = numpy.isin(labels, PAIRS[number])
        images, labels = images[chosen] / 16.0, labels[chosen] == PAIRS[number][1]
        own = numpy.random.default_rng(number)
        images = images + own.normal(0, 0.6, images.shape)
        order = own.permutation(len(labels))
        self.images, self.labels = images[order], labels[order]
        unit = random.Random(f"site {number}")
        self.scale, self.offset = 10 ** unit.uniform(-1, 2), unit.gauss(0, 30)

    def loss(self, rate, passes, loss):
        """The same in the site's unit."""
        return self.offset + self.scale * self.plain(rate, passes, loss)

    def plain(self, rate, passes, loss):
        """Mean logistic loss of the margins on the validation images."""
        model = SGDClassifier(
            loss=loss, learning_rate="constant", eta0=rate, alpha=1e-3, max_iter=passes, tol=None, random_state=0
        )
        model.fit(self.images[:TRAINED], self.labels[:TRAINED])
        signs = numpy.where(self.labels[TRAINED:], 1.0, -1.0)
        margins = numpy.clip(signs * model.decision_function(self.images[TRAINED:]), -20, 20)
        return float(numpy.log1p(numpy.exp(-margins)).mean())


if __name__ == "__main__":
    site = Site(int(os.environ.get("SITE", "0")))
    print(site.loss(float(os.environ["SORDINO_RATE"]), int(os.environ["SORDINO_PASSES"]), os.environ["SORDINO_LOSS"]))
