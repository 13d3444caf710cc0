"""Workloads W1 to W3 by scikit-learn and numpy, one thread: `cargo xtask bench --python`.

The recipe and the checks are those of `bench/src/workload.rs`; times are medians of CPU time of the thread.
"""

import time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

MASK = (1 << 64) - 1
NOISE_VARIANCE, LENGTHSCALE = 0.01, 0.2


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def unit(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return ((z ^ z >> 31) >> 11) / 9007199254740992.0

    def normal(self):
        u, v = self.unit(), self.unit()
        return np.sqrt(-2.0 * np.log(1.0 - u)) * np.cos(2.0 * np.pi * v)


def objective(x):
    return np.sin(6.0 * x[0]) * np.cos(5.0 * x[1])


def data(n):
    stream, x, y = SplitMix(42), [], []
    for _ in range(n):
        point = (stream.unit(), stream.unit())
        x.append(point)
        y.append(objective(point) + 0.1 * stream.normal())
    return np.array(x), np.array(y)


GRID = np.array([(i // 100 / 99.0, i % 100 / 99.0) for i in range(10_000)])


def covariance(a, b):
    squares = (a[:, None, 0] - b[None, :, 0]) ** 2 + (a[:, None, 1] - b[None, :, 1]) ** 2
    return np.exp(squares / (-2.0 * LENGTHSCALE**2))


def line(who, repetitions, run):
    check, times = run(), []
    for _ in range(repetitions):
        start = time.thread_time()
        check = run()
        times.append(1e3 * (time.thread_time() - start))
    print(f"  {who:<34} {sorted(times)[len(times) // 2]:>10.4f} ms              check {check:.9f}", flush=True)


def scikit_predict(n):
    x, y = data(n)
    gp = GaussianProcessRegressor(RBF(LENGTHSCALE, "fixed"), alpha=NOISE_VARIANCE, optimizer=None).fit(x, y)

    def run():
        mean, std = gp.predict(GRID, return_std=True)
        return float(np.sum(mean + std))

    return run


def numpy_predict(n):
    x, y = data(n)
    factor = np.linalg.cholesky(covariance(x, x) + NOISE_VARIANCE * np.eye(n))
    inverse = np.linalg.inv(factor)
    whitened = inverse @ y

    def run():
        v = inverse @ covariance(x, GRID)
        variance = 1.0 - np.einsum("ij,ij->j", v, v)
        return float(np.sum(v.T @ whitened + np.sqrt(np.maximum(variance, 0.0))))

    return run


def numpy_optimise():
    """The loop of `CandidateGp`: one row of L⁻¹K appended a step, means and variances of all candidates kept."""
    stream, check = SplitMix(7), 0
    mean, variance, rows = np.zeros(len(GRID)), np.ones(len(GRID)), np.empty((50, len(GRID)))
    for step in range(50):
        best = int(np.argmax(mean + 2.0 * np.sqrt(np.maximum(variance, 0.0))))
        check += best
        y = objective(GRID[best]) + 0.1 * stream.normal()
        row = covariance(GRID[best : best + 1], GRID)[0]
        row -= rows[:step, best] @ rows[:step]
        pivot = np.sqrt(variance[best] + NOISE_VARIANCE)
        row /= pivot
        shift = (y - mean[best]) / pivot
        mean += row * shift
        variance -= row * row
        rows[step] = row
    return float(check)


def numpy_grid():
    """The loop of `GridGp`: every row of L⁻¹K is a product of two matrices of a row an observation and axis, stored nowhere."""
    stream, check = SplitMix(7), 0
    axis = np.arange(100) / 99.0
    mean, variance = np.zeros((100, 100)), np.ones((100, 100))
    first, second, inverse = np.empty((50, 100)), np.empty((50, 100)), np.zeros((50, 50))
    for step in range(50):
        best = int(np.argmax(mean + 2.0 * np.sqrt(np.maximum(variance, 0.0))))
        check += best
        a, b = divmod(best, 100)
        y = objective(GRID[best]) + 0.1 * stream.normal()
        whitened = inverse[:step, :step] @ (first[:step, a] * second[:step, b])
        pivot = np.sqrt(1.0 + NOISE_VARIANCE - whitened @ whitened)
        inverse[step, :step] = -(whitened @ inverse[:step, :step]) / pivot
        inverse[step, step] = 1.0 / pivot
        first[step] = np.exp((axis - axis[a]) ** 2 / (-2.0 * LENGTHSCALE**2))
        second[step] = np.exp((axis - axis[b]) ** 2 / (-2.0 * LENGTHSCALE**2))
        row = (inverse[step, : step + 1, None] * first[: step + 1]).T @ second[: step + 1]
        shift = (y - mean[a, b]) / pivot
        mean += row * shift
        variance -= row * row
    return float(check)


def main():
    print("scikit-learn and numpy, one thread; medians of thread CPU time")
    for n in (50, 200):
        print(f"W2 mean and variance at 10,000 points, n = {n}")
        line("scikit-learn", 11, scikit_predict(n))
        line("numpy", 11, numpy_predict(n))
    print("W3 50 steps of GP-UCB on 10,000 candidates")
    line("numpy, a row appended a step", 11, numpy_optimise)
    line("numpy, the grid as a product", 11, numpy_grid)


main()
