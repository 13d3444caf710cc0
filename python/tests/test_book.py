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
    pandas = pytest.importorskip("pandas")
    names = played(BOOK / "data-scientist.md", 5, {})
    assert (tmp_path / "demo.safetensors").is_file() and (tmp_path / "sordino-ledger.jsonl").is_file()
    # What the chapter says of the label, and what the file is for.
    label = names["label"]
    assert abs(label["epsilon"] - 1) < 1e-6 and label["replace_epsilon"] > 2 and label["contributors"] == 60
    assert names["begun"] < names["alone"], capsys.readouterr().out
    # Every form of the studies is the same to `publish`, and Optuna's trials are one.
    forms = [sordino._prior._listed(names[form]) for form in ("studies", "table", "frames")]
    assert forms[0] == forms[1] and sorted(forms[0]) == sorted(forms[2])
    trials = pandas.DataFrame(
        {"number": [0, 1], "value": [0.5, None], "params_rate": [0.1, 0.2], "params_depth": [3, 4], "state": ["COMPLETE", "FAIL"]}
    )
    assert names["of_optuna"]("s", trials).to_dict("records") == [{"rate": 0.1, "depth": 3, "study": "s", "value": 0.5}]


def test_the_chapter_is_the_same_in_a_shell(tmp_path, sordino_program):
    """The space of the file is that of Python, and the commands run as they stand."""
    names = {}
    for block in blocks(BOOK / "data-scientist.md", 5)[:2]:
        # The studies, and not yet their file.
        exec(compile(block.split("prior = sordino.publish")[0], "data-scientist.md", "exec"), names)  # noqa: S102
    page = (BOOK / "data-scientist.md").read_text(encoding="utf-8").split("## The same in a shell")[1]
    toml, csv, shell = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL)[1] for kind in ("toml", "text", "sh"))
    (tmp_path / "space.toml").write_text(toml)
    assert sorted(sordino.Space.from_toml("space.toml").names) == sorted(names["space"].names)
    header = csv.splitlines()[0].split(",")
    rows = [[study, *x.values(), value] for study, pairs in names["studies"].items() for x, value in pairs]
    (tmp_path / "studies.csv").write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    assert header == ["study", *names["space"].names, "value"]
    train = "import os\nprint((float(os.environ['SORDINO_RATE']) - 0.01) ** 2 + int(os.environ['SORDINO_DEPTH']))\n"
    (tmp_path / "train.py").write_text(train)
    program = Path(os.environ.get("SORDINO", ROOT / "target" / "debug" / "sordino"))
    path = os.pathsep.join([os.fspath(program.parent), os.fspath(Path(sys.executable).parent), os.environ["PATH"]])
    lines = shell.replace("--evaluations 30", "--evaluations 3")
    done = subprocess.run(["sh", "-e"], input=lines, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and (tmp_path / "wards.safetensors").is_file(), done.stderr


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
