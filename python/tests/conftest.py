"""The command line to compare with: the program that `SORDINO` names, or the one in `target/debug`."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

# A shell that starts something in the background lets it ignore interrupts; tests of Ctrl-C send them.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sordino_program():
    path = Path(os.environ.get("SORDINO", ROOT / "target" / "debug" / "sordino"))
    assert path.is_file(), f"{path} is missing; build it with `cargo build -p sordino-sim`"

    def ask(*arguments, cwd=None):
        words = [str(path), *map(str, arguments)]
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask
