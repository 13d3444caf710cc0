"""Constants of a surrogate from agents that are set aside: the Gaussian process that makes their tables likeliest.

Every agent's table is taken for a draw of GP(constant, signal_variance * exp(-|x - y|^2 / (2 lengthscale^2))) in the unit
box, plus noise of noise_variance; likelihoods of 49 settings, the same for all agents, are multiplied over the agents.
"""

import numpy

SETTINGS = 49
LENGTHSCALES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
NOISE_RATIOS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)


def pilot(ranks, values):
    """Prints the constants, and what the pilot's best setting would be worth to its own agents."""
    some = numpy.sort(numpy.random.Generator(numpy.random.PCG64(0)).permutation(len(ranks))[:SETTINGS])
    unit = ranks[some]
    constant = values.mean()
    centred = values[:, some] - constant
    distances = ((unit[:, None] - unit[None, :]) ** 2).sum(-1)
    best = (-numpy.inf,)
    for lengthscale in LENGTHSCALES:
        for ratio in NOISE_RATIOS:
            matrix = numpy.exp(-distances / (2 * lengthscale**2)) + ratio * numpy.eye(SETTINGS)
            factor = numpy.linalg.cholesky(matrix)
            scaled = numpy.linalg.solve(factor, centred.T)
            variance = (scaled**2).mean()
            likelihood = -0.5 * centred.size * numpy.log(variance) - len(centred) * numpy.log(numpy.diag(factor)).sum()
            best = max(best, (likelihood, lengthscale, variance, ratio * variance))
    print(f"constant {constant:.4f}, variance of values {values.var():.4f}, between agents' means {values.mean(1).var():.4f}")
    print(f"lengthscale {best[1]}, signal_variance {best[2]:.4g}, noise_variance {best[3]:.4g}")
