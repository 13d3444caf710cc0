"""The Python of README, book and chapters, run as it stands."""

import ast
import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from test_join import PROGRAM, campaign, joined, needs_program  # noqa: F401

import sordino

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "docs" / "book" / "src"


def blocks(page, count):
    """The blocks of a page, which has so many; a page that grows or loses one is looked at here."""
    found = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == count, f"{page}: {len(found)} blocks of Python"
    return found


def played(page, count, names):
    for block in blocks(page, count):
        exec(compile(block, os.fspath(page), "exec"), names)  # noqa: S102
    return names


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The count of charges outside the folder.
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))


def test_the_chapter_ends_with_a_search_that_began_with_the_file(tmp_path, capsys):
    names = played(BOOK / "data-scientist.md", 4, {})
    assert (tmp_path / "demo.safetensors").is_file() and (tmp_path / "sordino-ledger.jsonl").is_file()
    # What the chapter says of the label, and what the file is for.
    label = names["label"]
    assert abs(label["epsilon"] - 1) < 1e-6 and label["replace_epsilon"] > 2 and label["contributors"] == 60
    assert names["begun"] < names["alone"], capsys.readouterr().out


def test_the_readme_of_the_module(tmp_path):
    page = ROOT / "python" / "README.md"
    names = played(page, 4, {})
    said = re.search(r"sordino\.epsilon\((.*)\)\s+# ([0-9.]+)…", page.read_text(encoding="utf-8"))
    epsilon = sordino.epsilon(**{key: ast.literal_eval(value) for key, value in re.findall(r"(\w+)=([0-9e.-]+)", said[1])})
    assert said[2] == f"{epsilon:.10f}"[: len(said[2])]
    assert (tmp_path / "ovens" / "report.html").is_file() and (tmp_path / "search.jsonl").is_file()
    # Larger is better to `bake`, smaller to `loss`; neither is stuck at a corner.
    assert names["opt"].best[1] < 1 and np.isfinite(names["mean"]).all()
    # The method that the page only shows.
    small = {"federation.agents": 6, "federation.rounds": 4, "federation.initial_points": 2, "runs": 1}
    assert "thompson" in sordino.run("default", methods=["ts"], own={"thompson": names["Thompson"]()}, set=small).digests


def test_tables_of_a_run_are_read_by_pandas():
    sordino.run("default", methods=["ts"], out="results/a", set={"federation.agents": 6, "federation.rounds": 4, "runs": 1})
    rounds = played(BOOK / "report.md", 1, {})["rounds"]
    assert len(rounds) > 0 and "regret" in rounds.columns


def test_a_program_of_the_scenarios_page_answers_every_line():
    (program,) = blocks(BOOK / "scenarios.md", 1)
    question = re.search(r"# (\{.*\})\n", program)[1]
    train = "def train(agent, rate, depth, optimizer):\n    return rate * depth + agent\n"
    words = [sys.executable, "-c", train + program]
    output = subprocess.run(words, input=f"{question}\n{question}\n", capture_output=True, text=True, timeout=60, check=True)
    assert [float(line) for line in io.StringIO(output.stdout)] == [0.01 * 4 + 3] * 2


@needs_program
def test_a_site_is_one_call(campaign, monkeypatch):  # noqa: F811
    folder, _server = campaign
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}")

    def train(point):
        return (point["rate"] - 0.01) ** 2 + (point["depth"] - 5) ** 2

    with ThreadPoolExecutor() as others:
        rest = [others.submit(joined, folder, slot, train) for slot in (1, 2)]
        found = played(BOOK / "deploying.md", 1, {"sordino": sordino, "train": train})["found"]
        files = {Path(site.result(timeout=300).file).read_bytes() for site in rest}
    assert found.value == train(found.point) and {Path(found.file).read_bytes()} == files
