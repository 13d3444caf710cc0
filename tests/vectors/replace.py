"""Known answers for epsilon between two contributions: `python3 tests/vectors/replace.py > tests/vectors/replace.csv`.

Column epsilon: what T releases of the Poisson-sampled Gaussian lose between the contributions +1 and -1 (the pair
(1-q) N(0, z^2) + q N(1, z^2) against (1-q) N(0, z^2) + q N(-1, z^2)) at delta. Column total_variation: delta at epsilon 0
of T releases of the pair "used" against "counted as nothing", (1-q) N(0, z^2) + q N(1, z^2) against N(0, z^2).

No loss is put on a grid here, and no code is shared with core/src/privacy/accountant. With M(s) = E_P[(P/Q)^s], by the
trapezoid rule in x, whose error falls exponentially,

    delta(epsilon) = 1/pi int_0^inf Re[ M(s)^T e^(-s epsilon) / (s (s + 1)) ] dt,   s = lambda + i t,  lambda > 0,

the inverse Laplace transform of the hockey-stick curve. One release has a closed form, which is used for T = 1. Floats of
53 bits; the numbers are good to about 1e-9, relative, which the last column (the same at another lambda and step) tells.
"""

import cmath
import math


def phi(x):
    """Normal tail P(G > x)."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))


def log_mix(q, exponent):
    """ln(1 - q + q e^exponent) without overflow."""
    if q >= 1.0:
        return exponent
    if exponent > 0.0:
        return exponent + math.log(q + (1.0 - q) * math.exp(-exponent))
    return math.log1p(q * math.expm1(exponent))


def used(q, z, x):
    return log_mix(q, (2.0 * x - 1.0) / (2.0 * z * z))


def opposed(q, z, x):
    return log_mix(q, (-2.0 * x - 1.0) / (2.0 * z * z))


def nothing(q, z, x):
    return 0.0


class Pair:
    """P = used, Q = `against`, each relative to N(0, z^2)."""

    def __init__(self, q, z, against):
        self.q, self.z, self.against = q, z, against

    def nodes(self, most, fine):
        """ln P(x) and the loss at the nodes of the trapezoid rule, for tilts up to `most`."""
        q, z = self.q, self.z
        step = min(z / 4.0, z * z / 2.0) / fine
        low, high = -14.0 * z, 2.0 * most + 1.0 + 14.0 * z
        points = []
        for i in range(int((high - low) / step) + 1):
            x = low + i * step
            base = -x * x / (2.0 * z * z) - math.log(z * math.sqrt(2.0 * math.pi)) + math.log(step)
            p = used(q, z, x)
            points.append((base + p, p - self.against(q, z, x)))
        return points

    def log_moment(self, points, s):
        exponents = [p + s * loss for p, loss in points]
        top = max(exponents)
        return top + math.log(math.fsum(math.exp(e - top) for e in exponents))

    def curve(self, steps, target, shift, fine):
        """The function epsilon -> delta, by the inversion at a tilt near the best Renyi order for `target`."""
        points = self.nodes(200.0, 1.0)
        best = None
        for i in range(160):
            s = 0.02 * 1.06**i
            epsilon = (steps * self.log_moment(points, s) - math.log(target)) / s
            if best is None or epsilon < best[0]:
                best = (epsilon, s)
        bound, tilt = best[0], best[1] * shift
        points = self.nodes(tilt, fine)
        # Mean and variance of one loss, tilted: how fast M falls, and how long the window must be.
        at = self.log_moment(points, tilt)
        weights = [(math.exp(p + tilt * loss - at), loss) for p, loss in points]
        mean = math.fsum(w * loss for w, loss in weights)
        std = math.sqrt(math.fsum(w * (loss - mean) ** 2 for w, loss in weights))
        window = 40.0 / tilt + bound + steps * abs(mean) + 40.0 * std * math.sqrt(steps)
        d = 2.0 * math.pi / (window * fine)
        terms, k = [], 0
        while True:
            t = k * d
            value = sum(w * cmath.exp(1j * t * loss) for w, loss in weights)
            size = abs(value)
            if size == 0.0 or steps * math.log(size) < -46.0 or k > 200_000:
                break
            s = complex(tilt, t)
            terms.append((s, value**steps / (s * (s + 1.0))))
            k += 1
        base = steps * at

        def delta(epsilon):
            total = 0.0
            for k, (s, value) in enumerate(terms):
                total += (0.5 if k == 0 else 1.0) * (value * cmath.exp(-1j * s.imag * epsilon)).real
            return total * d / math.pi * math.exp(base - tilt * epsilon)

        return delta, bound

    def epsilon(self, steps, target, shift=1.0, fine=1.0):
        delta, bound = self.curve(steps, target, shift, fine)
        return bisect(delta, bound, target)


def bisect(delta, bound, target):
    low, high = 0.0, bound
    if delta(0.0) <= target:
        return 0.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        if delta(middle) > target:
            low = middle
        else:
            high = middle
    return high


def once(q, z):
    """One release in closed form: the loss rises with x, so that the best set is a half-line."""

    def delta(epsilon):
        low, high = -50.0 * z - 2.0, 50.0 * z + 2.0 + 4.0 * z * z * (epsilon + 1.0 - math.log(q))
        for _ in range(200):
            middle = 0.5 * (low + high)
            if used(q, z, middle) - opposed(q, z, middle) > epsilon:
                high = middle
            else:
                low = middle
        x = high
        p = (1.0 - q) * phi(x / z) + q * phi((x - 1.0) / z)
        against = (1.0 - q) * phi(x / z) + q * phi((x + 1.0) / z)
        return p - math.exp(epsilon) * against

    return delta


def rows():
    default = 200.0**-1.1
    settings = [
        (0.25, 1.0, 40, default),
        (0.25, 4.0, 40, default),
        (0.25, 1.0, 40, 1e-5),
        (0.15, 1.0, 40, default),
        (0.5, 1.0, 40, 1e-5),
        (0.25, 0.6, 10, 1e-5),
        (0.25, 2.0, 3, 1e-6),
        (0.05, 0.8, 100, 1e-5),
        (0.01, 1.0, 1000, 1e-6),
        (0.02, 2.0, 500, 1e-8),
        (0.9, 3.0, 20, 1e-4),
        (1.0, 3.0, 20, 1e-5),
        (0.3, 1.0, 1, 1e-3),
        (0.05, 0.7, 1, 1e-5),
        (0.8, 5.0, 1, 1e-4),
    ]
    for q, z, steps, delta in settings:
        if steps == 1:
            epsilon = again = bisect(once(q, z), 200.0, delta)
            variation = q * (1.0 - 2.0 * phi(0.5 / z))
        else:
            pair = Pair(q, z, opposed)
            epsilon, again = pair.epsilon(steps, delta), pair.epsilon(steps, delta, 0.8, 1.5)
            variation = Pair(q, z, nothing).curve(steps, 0.01, 1.0, 1.0)[0](0.0)
        gap = abs(again / epsilon - 1.0) if epsilon > 0.0 else 0.0
        yield q, z, steps, delta, epsilon, variation, gap


if __name__ == "__main__":
    print("q,z,steps,delta,epsilon,total_variation,gap")
    for row in rows():
        print(",".join(repr(number) for number in row), flush=True)
