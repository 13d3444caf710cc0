"""Stands for a training: it reads one setting and prints the validation loss on its last line.

The wards have much in common and nothing exactly: WARD names one, and each has its own best setting and its own unit.
"""

import math
import os
import random


def loss(ward, rate, depth, kind):
    """Flat nearly everywhere, with one hollow that is hard to find and lies elsewhere in each ward."""
    own = random.Random(f"ward {ward}")
    best_rate, best_depth = own.gauss(-2.4, 0.15), own.gauss(7, 0.6)
    unit, offset = math.exp(own.gauss(0, 1)), 10 * own.gauss(0, 1)
    distance = ((math.log10(rate) - best_rate) / 0.7) ** 2 + ((depth - best_depth) / 2) ** 2
    depth_of_hollow = {"adam": 1.0, "sgd": 0.6, "lion": 0.3}[kind]
    return offset + unit * (1 - depth_of_hollow * math.exp(-distance / 2))


if __name__ == "__main__":
    setting = float(os.environ["SORDINO_RATE"]), int(os.environ["SORDINO_DEPTH"]), os.environ["SORDINO_KIND"]
    print(loss(os.environ.get("WARD", "new"), *setting))
