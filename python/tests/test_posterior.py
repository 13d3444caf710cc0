"""The posterior for methods of one's own, against numpy, and in a federation."""

import numpy as np
import pytest

import sordino

RNG = np.random.default_rng(3)
POINTS, ASKED = RNG.random((9, 2)), RNG.random((7, 2))
VALUES = np.sin(5 * POINTS[:, 0]) + POINTS[:, 1]
SCALES = np.array([0.3, 0.7])
SIGNAL, NOISE, MEAN = 1.7, 0.05, 0.4


def covariance(a, b):
    """Matérn 5/2 by its textbook formula."""
    far = np.sqrt(5 * np.square((a[:, None] - b[None]) / SCALES).sum(axis=2))
    return SIGNAL * (1 + far + far**2 / 3) * np.exp(-far)


def expected(points):
    gram = covariance(POINTS, POINTS) + NOISE * np.eye(len(POINTS))
    cross = covariance(points, POINTS)
    mean = MEAN + cross @ np.linalg.solve(gram, VALUES - MEAN)
    return mean, covariance(points, points) - cross @ np.linalg.solve(gram, cross.T)


def made(**more):
    settings = dict(signal_variance=SIGNAL, noise_variance=NOISE, prior_mean=MEAN)
    return sordino.Posterior(POINTS, VALUES, SCALES, **{**settings, **more})


def test_moments_are_those_of_numpy():
    mean, square = expected(ASKED)
    posterior = made()
    np.testing.assert_allclose(posterior.mean(ASKED), mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.std(ASKED), np.sqrt(np.diag(square)), rtol=1e-8)
    # One lengthscale is the same for all; negative control: another kernel is another posterior.
    alike = sordino.Posterior(POINTS, VALUES, 0.3).mean(ASKED)
    np.testing.assert_array_equal(alike, sordino.Posterior(POINTS, VALUES, [0.3, 0.3]).mean(ASKED))
    assert np.abs(made(kernel="matern-1/2").mean(ASKED) - mean).max() > 1e-3
    # Without observations it is the prior.
    prior = sordino.Posterior(np.empty((0, 2)), [], 0.3, prior_mean=0.4)
    np.testing.assert_array_equal(prior.mean(ASKED), np.full(7, 0.4))
    np.testing.assert_array_equal(prior.std(ASKED), np.ones(7))


def test_draws_have_mean_and_covariance_of_the_posterior():
    posterior, count = made(), 4000
    mean, square = expected(ASKED)
    drawn = np.array([posterior.draw(ASKED, seed) for seed in range(count)])
    np.testing.assert_array_equal(drawn[5], posterior.draw(ASKED, 5))
    white = np.linalg.solve(np.linalg.cholesky(square), (drawn - mean).T)

    def off(white):
        # Sums of squares are chi-square with count degrees each: five standard deviations; and between axes.
        squares = (white @ white.T) / count - np.eye(7)
        return max(np.abs(squares).max() / np.sqrt(2 / count), np.abs(white.mean(axis=1)).max() * np.sqrt(count))

    assert off(white) < 5
    # Negative control: draws at each point alone have the moments and not the joint ones.
    alone = mean + np.sqrt(np.diag(square)) * np.random.default_rng(0).standard_normal((count, 7))
    assert off(np.linalg.solve(np.linalg.cholesky(square), (alone - mean).T)) > 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: sordino.Posterior([0.1, 0.2], [1, 2], 0.3), r"points of shape \(2,\)"),
        (lambda: sordino.Posterior([[0.1]], [1, 2], 0.3), r"values of shape \(2,\)"),
        (lambda: sordino.Posterior([[0.1]], [1], [0.3, 0.2]), "lengthscale of shape"),
        (lambda: sordino.Posterior([[0.1]], [1], 0), "lengthscale"),
        (lambda: sordino.Posterior([[float("nan")]], [1], 0.3), "NaN|finite"),
        (lambda: made(noise_variance=-1), "noise variance"),
        (lambda: made(signal_variance=0), "signal"),
        (lambda: made(kernel="cosine"), "matern-5/2"),
        (lambda: made().mean([[0.1]]), r"admissible: \(points, 2\)"),
        (lambda: made().draw(ASKED, -1), "seed is -1"),
        (lambda: made().draw(np.zeros((5001, 2)), 0), "at most 5000"),
    ],
)
def test_what_does_not_fit_is_refused(change, said):
    with pytest.raises(sordino.InputError, match=said):
        change()


class Thompson:
    """The example of the README: Thompson sampling of an agent alone."""

    version = "thompson 1"

    def choose(self, sight):
        tried, values = zip(*sight.log)
        posterior = sordino.Posterior(sight.candidates[list(tried)], values, lengthscale=0.1)
        return int(posterior.draw(sight.candidates, sight.seed).argmax())


def test_a_method_of_ones_own_samples_its_posterior():
    small = {"federation.agents": 6, "federation.rounds": 8, "federation.initial_points": 2, "runs": 3}
    small.update({"objective.points_per_axis": 200})

    def run(**more):
        return sordino.run("default", methods=["random"], own={"thompson": Thompson()}, set=small, **more)

    result = run()
    assert result.digests == run(driver="lockstep").digests
    summed = {method["name"]: method["measures"] for method in result.summary["methods"]}
    of = {name: next(m["mean"] for m in measures if m["name"] == "summed_regret") for name, measures in summed.items()}
    assert of["thompson"] < 0.8 * of["random"], of
