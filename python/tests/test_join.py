"""A real campaign on this machine: the program serves, functions of Python measure."""

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sordino

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("SORDINO", ROOT / "target" / "debug" / "sordino")).with_name("sordino-net")
SITES = 3
SPACE = """goal = "minimize"
value = "loss"
[parameters.rate]
low = 1e-4
high = 1
scale = "log"
[parameters.depth]
low = 1
high = 8
integer = true
[parameters.kind]
choices = ["adam", "sgd"]
"""

needs_program = pytest.mark.skipif(
    not PROGRAM.is_file(), reason=f"{PROGRAM} is missing: build it with `cargo build -p sordino-net`"
)


@pytest.fixture
def campaign(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))
    (tmp_path / "space.toml").write_text(SPACE, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    words = ["serve", "space.toml", "--agents", str(SITES), "--epsilon", "1", "--folder", "server", "--features", "12"]
    words += ["--deadline", "100s", "--close-early", "--linger", "3s", "--ask-again", "200ms", "--delay", "10ms"]
    words += getattr(request, "param", [])
    with open(tmp_path / "server.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([PROGRAM, *words, "--listen", address], cwd=tmp_path, stderr=log)
        try:
            start = time.monotonic()
            while not (tmp_path / "server" / "round.bin").exists():
                assert server.poll() is None and time.monotonic() - start < 60, (tmp_path / "server.log").read_text()
                time.sleep(0.02)
            invite = ["invite", "server", "--agents", f"0..{SITES}", "--out", "invitations"]
            subprocess.run([PROGRAM, *invite], cwd=tmp_path, check=True, timeout=60)
            yield tmp_path, server
        finally:
            server.kill()
            server.wait()


def joined(folder, slot, function, **more):
    more = {"max_epsilon": 1, "dataset": f"ward {slot}", "evaluations": 12, "program": PROGRAM, **more}
    return sordino.join(f"@{folder}/invitations/{slot}.txt", function, folder=folder / f"site-{slot}", **more)


@needs_program
def test_three_sites_go_through_a_campaign_and_have_one_file(campaign):
    folder, server = campaign
    seen = [[] for _ in range(SITES)]

    def site(slot):
        failures = iter([True, False])

        def loss(point):
            assert threading.current_thread().name.startswith("site")
            if next(failures, False):
                raise OSError("once")
            seen[slot].append(point)
            return 100 * slot + (1 + slot) * ((point["depth"] - 3) ** 2 + (point["kind"] == "sgd") + point["rate"])

        return joined(folder, slot, loss, retries=1)

    with ThreadPoolExecutor(SITES, thread_name_prefix="site") as pool:
        results = list(pool.map(site, range(SITES)))
    assert server.wait(60) == 0, (folder / "server.log").read_text()
    for slot, found in enumerate(results):
        assert len(seen[slot]) == 12, "a point that was refused is tried again"
        assert all(type(point["depth"]) is int and 1e-4 <= point["rate"] <= 1 for point in seen[slot])
        values = [100 * slot + (1 + slot) * ((p["depth"] - 3) ** 2 + (p["kind"] == "sgd") + p["rate"]) for p in seen[slot]]
        assert found.value == min(values) and found.point == seen[slot][values.index(min(values))]
        assert Path(found.file).parent == Path(found.folder) == folder / f"site-{slot}"
    files = [sordino.Prior.load(found.file) for found in results]
    assert len({prior.label["digest"] for prior in files}) == 1 and files[0].label["contributors"] == SITES
    # It is over: the same call says the same, and asks nothing.
    again = joined(folder, 1, lambda point: 1 / 0)
    assert again == results[1]
    # What was spent under the name leaves nothing for another federation; with another name the program refuses this folder.
    with pytest.raises(sordino.RunError, match="was begun with the data set"):
        joined(folder, 1, lambda point: 0.0, dataset="another")


# It begins at once, whoever is there.
@pytest.mark.parametrize("campaign", [["--min-agents", "0"]], indirect=True)
@needs_program
def test_what_the_function_raises_comes_back_and_the_same_call_goes_on(campaign, capfd):
    folder, _ = campaign
    asked = []

    def fails(point):
        asked.append(point)
        if len(asked) == 3:
            raise ValueError("secret 0.25")
        return 1.0

    with pytest.raises(ValueError, match="secret"):
        joined(folder, 0, fails, retries=0)
    told = capfd.readouterr().err
    assert "agrees: " in told and "; 3 agents search" in told and "ValueError" in told and "0.25" not in told
    with pytest.raises(sordino.InputError, match="not finite"):
        joined(folder, 0, lambda point: float("nan"), retries=0)
    again = []

    def interrupted(point):
        again.append(point)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        joined(folder, 0, interrupted)
    assert again[0] == asked[2] and len(asked) == 3, "two values are kept, the third is asked for again"


@needs_program
def test_what_the_program_refuses_is_said_in_words_of_python(campaign):
    folder, _ = campaign
    never = lambda point: pytest.fail("nothing is agreed to")  # noqa: E731
    with pytest.raises(sordino.RunError, match="δ = 0.00001, and at most"):
        joined(folder, 2, never, max_delta=1e-9)
    for more, told in [({"max_epsilon": -1}, "max_epsilon: a number above 0"), ({"evaluations": 0}, "evaluations")]:
        with pytest.raises(sordino.InputError, match=told) as refused:
            joined(folder, 2, never, **more)
        assert "--" not in str(refused.value).replace("--help", "")
    with pytest.raises(sordino.InputError, match="not an invitation"):
        sordino.join("sordino://nowhere", never, program=PROGRAM)
    assert not (folder / "site-2" / "agent.bin").exists()


def test_a_program_and_a_function_are_needed(monkeypatch, tmp_path):
    with pytest.raises(sordino.InputError, match="is no function"):
        sordino.join("sordino://nowhere", 3)
    with pytest.raises(sordino.InputError, match="no program that can be started"):
        sordino.join("sordino://nowhere", float, program=tmp_path / "none")
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(sordino.RunError, match="cargo build --release -p sordino-sim -p sordino-net"):
        sordino.join("sordino://nowhere", float)
    assert sys.executable, "what the program starts for each point"
