"""Accountants and calibration: the numbers of the command line, and refusals with ranges."""

import pytest

import sordino

RELEASES = [(0.25, 1.0, 40, 1e-5), (1.0, 5.0, 3, 1e-3), (0.01, 0.8, 1000, 1e-6)]


@pytest.mark.parametrize("q, z, rounds, delta", RELEASES)
@pytest.mark.parametrize("accountant", ["pld", "rdp", "moments"])
def test_epsilon_is_the_command_lines(sordino_program, q, z, rounds, delta, accountant):
    said = sordino_program(
        "privacy", "epsilon", "--sampling-probability", q, "--noise-multiplier", z, "--rounds", rounds,
        "--delta", delta, "--accountant", accountant, "--format", "json",
    )  # fmt: skip
    assert sordino.epsilon(q, z, rounds, delta, accountant=accountant) == said["epsilon"]


def test_delta_is_the_command_lines_and_undoes_epsilon(sordino_program):
    said = sordino_program(
        "privacy", "delta", "--sampling-probability", 0.25, "--noise-multiplier", 1, "--rounds", 40,
        "--epsilon", 4, "--format", "json",
    )  # fmt: skip
    found = sordino.delta(0.25, 1, 40, 4)
    assert found == said["delta"]
    assert sordino.epsilon(0.25, 1, 40, found) == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize(
    "given",
    [
        {"sampling_probability": 0.25, "rounds": 40},
        {"noise_multiplier": 1.5, "rounds": 40},
        {"sampling_probability": 0.25, "noise_multiplier": 1.5},
        {"sampling_probability": 0.25, "rounds": 40, "accountant": "rdp"},
    ],
)
def test_calibration_is_the_command_lines(sordino_program, given):
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
    said = sordino_program("privacy", "calibrate", "--epsilon", 4, "--delta", 1e-5, *words, "--format", "json")
    found = sordino.calibrate(4, 1e-5, **given)
    assert found == said
    three = found["sampling_probability"], found["noise_multiplier"], found["rounds"]
    assert sordino.epsilon(*three, 1e-5, given.get("accountant", "pld")) <= 4


@pytest.mark.parametrize(
    "change, text",
    [
        ({"sampling_probability": 0}, "sampling_probability is 0; admissible: a probability in (0, 1]"),
        ({"sampling_probability": 1.5}, "sampling_probability is 1.5; admissible: a probability in (0, 1]"),
        ({"sampling_probability": float("nan")}, "admissible: a probability in (0, 1]"),
        ({"noise_multiplier": 0}, "noise_multiplier is 0; admissible: a number from 0.001 to 1e6"),
        ({"rounds": 0}, "rounds is 0; admissible: a whole number from 1 to 1000000000"),
        ({"rounds": -1}, "rounds is -1; admissible"),
        ({"delta": 1}, "delta is 1; admissible: a number in (0, 1)"),
        ({"accountant": "pdl"}, 'accountant is "pdl"; admissible: "pld", "rdp", "moments"'),
    ],
)
def test_what_does_not_fit_is_refused_with_its_range(change, text):
    fits = {"sampling_probability": 0.25, "noise_multiplier": 1, "rounds": 40, "delta": 1e-5}
    sordino.epsilon(**fits)
    with pytest.raises(sordino.InputError) as refused:
        sordino.epsilon(**{**fits, **change})
    assert text in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_calibration_refuses_three_and_one_and_what_cannot_be_met():
    for given in ({"rounds": 1}, {"rounds": 1, "noise_multiplier": 1, "sampling_probability": 1}):
        with pytest.raises(sordino.InputError, match="exactly two of sampling_probability, noise_multiplier and rounds"):
            sordino.calibrate(1, 1e-5, **given)
    with pytest.raises(sordino.InputError, match="one release costs epsilon"):
        sordino.calibrate(0.1, 1e-5, sampling_probability=1, noise_multiplier=0.5)
