"""The Python of the data scientist's chapter, run as it stands."""

import os
import re
from pathlib import Path

CHAPTER = Path(__file__).resolve().parents[2] / "docs" / "book" / "src" / "data-scientist.md"


def test_the_chapter_ends_with_a_search_that_began_with_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The count of charges outside the folder.
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))
    blocks = re.findall(r"```python\n(.*?)```", CHAPTER.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, os.fspath(CHAPTER), "exec"), names)  # noqa: S102
    assert (tmp_path / "demo.safetensors").is_file() and (tmp_path / "sordino-ledger.jsonl").is_file()
    # What the chapter says of the label, and what the file is for.
    label = names["label"]
    assert abs(label["epsilon"] - 1) < 1e-6 and label["replace_epsilon"] > 2 and label["contributors"] == 60
    assert names["begun"] < names["alone"], capsys.readouterr().out
