"""A prior file as the mean of a BoTorch model: `model(file, points, values)`, then any acquisition function.

The file's mean has no unit, so scale and offset are learned from the values, as any other hyperparameter; where they
contradict the file, the scale goes to 0 and the model is that without a file. `python botorch_prior.py FILE` shows both
models of a few values that the file's own mean gives.
"""

import sys

import gpytorch
import numpy as np
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from prior_file import PriorFile


class PriorMean(gpytorch.means.Mean):
    """offset + scale · φ(x)·w, larger is better, at coordinates of the unit box."""

    def __init__(self, file):
        super().__init__()
        tensor = lambda array: torch.as_tensor(array, dtype=torch.double)
        self.lengthscale = file.label["lengthscale"]
        self.register_buffer("landmarks", tensor(file.landmarks))
        # φ(x)·w = k(x, P)·L⁻ᵀw.
        self.register_buffer("coefficients", tensor(np.linalg.solve(file.factor.T, file.weights)))
        self.register_parameter("scale", torch.nn.Parameter(torch.ones((), dtype=torch.double)))
        self.register_parameter("offset", torch.nn.Parameter(torch.zeros((), dtype=torch.double)))

    def forward(self, x):
        squares = ((x.unsqueeze(-2) - self.landmarks) ** 2).sum(-1)
        kernel = torch.exp(-squares / (2 * self.lengthscale**2))
        return self.offset + self.scale * (kernel @ self.coefficients)


def model(file, points, values):
    """A fitted model of values (larger is better) at points, dicts by the names of the label."""
    x = torch.as_tensor(file.coordinates(points), dtype=torch.double)
    y = torch.as_tensor(values, dtype=torch.double).unsqueeze(-1)
    fitted = SingleTaskGP(x, y, mean_module=PriorMean(file))
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(fitted.likelihood, fitted))
    return fitted


def main(path):
    file = PriorFile(path)
    random = np.random.default_rng(0)
    x = torch.as_tensor(random.random((6, file.landmarks.shape[1])), dtype=torch.double)
    mean = PriorMean(file)
    with torch.no_grad():
        y = 40 + 3 * mean(x)
    assert np.allclose(y.numpy(), 40 + 3 * (file.features(x.numpy()) @ file.weights))
    with_file = SingleTaskGP(x, y.unsqueeze(-1), mean_module=mean)
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(with_file.likelihood, with_file))
    without = SingleTaskGP(x, y.unsqueeze(-1))
    fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(without.likelihood, without))
    elsewhere = torch.as_tensor(random.random((200, x.shape[1])), dtype=torch.double)
    with torch.no_grad():
        truth = 40 + 3 * PriorMean(file)(elsewhere)
        errors = [float((m.posterior(elsewhere).mean.squeeze(-1) - truth).abs().mean()) for m in (with_file, without)]
    print(f"mean error elsewhere: {errors[0]:.3f} with the file, {errors[1]:.3f} without")


if __name__ == "__main__":
    main(sys.argv[1])
