"""Known answers for a publication: `python3 tests/vectors/prior_file.py > tests/vectors/prior_file.json` (numpy).

Dense, in a few lines an equation: lengthscale and landmarks by the public rule, two releases by contributors in units of their
own with the constant projected out, the self-test B. The noise is known to be there (std) and drawn as zero, so that
numbers can be compared. No code is shared with core. The same numbers, to 1e-9, came from the program that the method was
found with, before an agent's own part counted in R.
"""

import json
import numpy as np

LENGTHSCALES = [0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22, 0.33, 0.5, 0.75, 1.1, 1.6]
NU, GAMMA, RELEASES = 0.01, 0.25, 2


def kernel(a, b, lengthscale):
    d = ((a[:, None] - b[None]) ** 2).sum(-1)
    return np.exp(-0.5 * d / lengthscale**2)


def greedy(k, m):
    """Pivots of largest residual variance, and that variance: the matrix that is left, in full."""
    left, pivots = k.copy(), []
    while len(pivots) < m and np.diag(left).max() >= 1e-6:
        i = int(np.argmax(np.diag(left)))
        pivots.append(i)
        left = left - np.outer(left[:, i], left[:, i]) / left[i, i]
    return pivots, np.maximum(np.diag(left), 0).mean()


def rule(x, m):
    for lengthscale in LENGTHSCALES:
        pivots, left = greedy(kernel(x, x, lengthscale), m)
        if 1 - left >= 0.95:
            break
    return lengthscale, pivots


def projected(k):
    inverse = np.linalg.inv(k)
    ones = inverse.sum(1)
    return inverse - np.outer(ones, ones) / ones.sum()


def log_density(r, q):
    return -0.5 * (r @ np.linalg.solve(q, r) + np.linalg.slogdet(q)[1])


def campaign(x, m, points, y, designs, multiplier):
    n_agents = len(y)
    z = (y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)
    lengthscale, pivots = rule(x, m)
    p = x[pivots]
    phi = np.linalg.solve(np.linalg.cholesky(kernel(p, p, lengthscale)), kernel(p, x, lengthscale)).T
    m = phi.shape[1]
    gram, eye = phi.T @ phi / len(x), np.eye(m)
    w, sigma, h, b, steps = np.zeros(m), eye.copy(), 0.0, 0.0, []
    for _ in range(RELEASES):
        kappa = NU / max(np.trace(gram @ sigma) / np.trace(gram) + h, 1e-3)

        def gain(at):
            k = kernel(x[at], x[at], lengthscale) + kappa * np.eye(len(at))
            return phi[at].T @ projected(k)

        gains = [gain(design) for design in designs]

        def mean(of):
            return sum(of(g, phi[design]) for g, design in zip(gains, designs)) / len(designs)

        def scatter(spread):
            return mean(lambda g, f: g @ (f @ spread @ f.T + NU * np.eye(len(f))) @ g.T)

        a = mean(lambda g, f: g @ f)
        s_h, s_0 = scatter(sigma + h * eye), scatter(sigma)
        response = mean(lambda g, f: np.trace(g @ f @ (g @ f).T))
        c = np.sqrt(np.trace(s_h))
        std = multiplier * c * np.sqrt(1 + GAMMA**2) / n_agents
        d = [gain(at) @ (values - phi[at] @ w) for at, values in zip(points, z)]
        u = [min(1.0, c / np.linalg.norm(v)) for v in d]
        s = sum(ui * di for ui, di in zip(u, d)) / n_agents
        v = (std / (GAMMA * c)) ** 2
        g = min(1.0, max(0.1, (0.04 * np.mean(u) + 0.92 * v) / (0.04 + v)))
        common = a @ sigma @ a.T

        def sampling_of(own):
            return g * g * (scatter(sigma + own * eye) - common) / n_agents

        # An agent's own part in R is at least as large as the population's was before any release; the
        # self-test does not ask which of the two it is.
        sampling = sampling_of(max(h, 1.0))
        # All releases are made of the same values: what the agents' sample says is evidence once.
        related = [log_density(s, g * g * common + std**2 * eye + RELEASES * sampling_of(own)) for own in (h, max(h, 1.0))]
        unrelated = log_density(s + g * a @ w, std**2 * eye + RELEASES * g * g * scatter(eye) / n_agents)
        b += np.logaddexp(*related) - np.log(2) - unrelated
        h_matrix, r = g * a, std**2 * eye + RELEASES * sampling
        k = sigma @ h_matrix.T @ np.linalg.inv(h_matrix @ sigma @ h_matrix.T + r)
        w = w + k @ s
        joseph = eye - k @ h_matrix
        sigma = joseph @ sigma @ joseph.T + k @ r @ k.T
        excess = max(0.0, ((c / g) ** 2 - np.trace(s_0)) / response)
        h = excess if g < 0.85 else min(h, excess)
        steps.append(dict(ridge=kappa, clip_radius=c, clip_factor=g, heterogeneity=h, self_test=b, weights=w.tolist()))
    return dict(lengthscale=lengthscale, pivots=pivots, steps=steps, covariance=sigma.ravel().tolist())


def case(seed, dim, count, m, n_agents, n, n_designs, multiplier, own):
    rng = np.random.default_rng(seed)
    x = np.round(rng.random((count, dim)), 4)  # no grid: its symmetry would leave the choice of pivots to rounding
    f = np.linalg.cholesky(kernel(x, x, 0.2) + 1e-8 * np.eye(len(x))) @ rng.standard_normal((len(x), n_agents + 1))
    points = [rng.choice(len(x), n, replace=False).tolist() for _ in range(n_agents)]
    designs = [rng.choice(len(x), n, replace=False).tolist() for _ in range(n_designs)]
    units = zip(np.exp(1.5 * rng.standard_normal(n_agents)), 30 * rng.standard_normal(n_agents))
    y = np.array([a * (f[at, 0] + own * f[at, i + 1]) + b for i, (at, (a, b)) in enumerate(zip(points, units))])
    given = dict(dim=dim, candidates=x.ravel().tolist(), features=m, noise_multiplier=multiplier, points=points, values=y.tolist(), designs=designs)
    return dict(given, **campaign(x, m, points, y, designs, multiplier))


if __name__ == "__main__":
    # Agents that agree; agents that differ, whose clip factor falls below .85; two dimensions.
    cases = [
        case(1, 1, 40, 7, 12, 5, 16, 0.7, 0.0),
        case(2, 1, 60, 9, 12, 6, 16, 0.2, 3.0),
        case(3, 2, 49, 8, 20, 6, 16, 1.5, 0.5),
    ]
    print(json.dumps(dict(cases=cases)))
