"""A reader of prior files in numpy alone: `PriorFile("wards.safetensors").mean(points)`, in the file's own direction.

Without a native module and without signatures, for those who want to see what a file is. A file says where values are
better in standard deviations of a contributor's values; what a unit of yours is, it does not know.
"""

import hashlib
import json
import math
import pathlib
import struct

import numpy as np

COORDINATES_MAX = 16  # Of a space whose categories are one coordinate a choice.


class PriorFile:
    """A label, and a function of the unit box: N(φ(x)·w, φ(x)ᵀΣφ(x)), φ(x) = L⁻¹k(P, x), LLᵀ = k(P, P)."""

    def __init__(self, path):
        raw = pathlib.Path(path).read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
        metadata = header["__metadata__"]
        if hashlib.sha256(metadata["label"].encode() + data).hexdigest() != metadata["digest"]:
            raise ValueError(f"{path}: its digest is that of other numbers")
        self.label = json.loads(metadata["label"])

        def tensor(name):
            begin, end = header[name]["data_offsets"]
            return np.frombuffer(data[begin:end], "<f4").reshape(header[name]["shape"]).astype(float)

        self.landmarks, self.weights, packed = tensor("landmarks"), tensor("weights"), tensor("covariance")
        lower = np.zeros((len(self.weights), len(self.weights)))
        lower[np.tril_indices(len(self.weights))] = packed
        self.covariance = lower + np.tril(lower, -1).T
        self.factor = np.linalg.cholesky(self.kernel(self.landmarks, self.landmarks))

    def kernel(self, a, b):
        """The squared exponential of the label's lengthscale, between rows of coordinates."""
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * self.label["lengthscale"] ** 2))

    def features(self, unit):
        """φ of rows of coordinates, one row each."""
        return np.linalg.solve(self.factor, self.kernel(self.landmarks, unit)).T

    def coordinates(self, points):
        """Points, dicts by the names of the label, as rows of the unit box."""
        space = self.label["space"]
        choices = [parameter["values"].get("choices", []) for parameter in space]
        split = [len(c) > 2 and not p["values"].get("ordered") for c, p in zip(choices, space)]
        if sum(len(c) if wide else 1 for c, wide in zip(choices, split)) > COORDINATES_MAX:
            split = [False] * len(space)

        def unit(x, parameter, listed, wide):
            values = parameter["values"]
            if wide:
                return [float(x == choice) for choice in listed]
            if listed:
                return [(listed.index(x) + 0.5) / len(listed)]
            scaled = math.log if values.get("log") else float
            half = 0.5 if values.get("integer") else 0.0
            low, high = scaled(values["low"] - half), scaled(values["high"] + half)
            return [(scaled(x) - low) / (high - low)]

        parts = list(zip(space, choices, split))
        return np.array([[u for part in parts for u in unit(point[part[0]["name"]], *part)] for point in points])

    def mean(self, points):
        """Mean at points; smaller is better where the label says `minimize`."""
        sign = -1.0 if self.label["goal"] == "minimize" else 1.0
        return sign * (self.features(self.coordinates(points)) @ self.weights)

    def std(self, points):
        """Standard deviation at points, of what contributors have in common."""
        phi = self.features(self.coordinates(points))
        return np.sqrt(np.maximum(((phi @ self.covariance) * phi).sum(1), 0.0))
