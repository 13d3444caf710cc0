"""A site of a real federation: the program `sordino` talks to the server, a function of yours measures."""

from __future__ import annotations

import json
import math
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

from . import _native

PathLike = Union[str, "os.PathLike[str]"]
Function = Callable[[Dict[str, Any]], float]

#: The command that the program starts for each point.
_ASK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_ask.py")
#: A point in JSON is not longer.
_BYTES_MAX = 1 << 20
#: Lines of the program that an exception quotes.
_LINES = 20


class Joined(NamedTuple):
    """What came of it, as `join` returns it."""

    #: The best point, in the units of the campaign.
    point: Dict[str, Any]
    #: Its value.
    value: float
    #: Path of the file that all sites made, for `Prior.load`; None of a federation that makes none.
    file: Optional[str]
    #: Path of the site's folder.
    folder: str


def join(
    invitation: str,
    function: Function,
    *,
    evaluations: Optional[int] = None,
    max_epsilon: Optional[float] = None,
    max_delta: Optional[float] = None,
    dataset: Optional[str] = None,
    retries: int = 3,
    folder: Optional[PathLike] = None,
    counter: Optional[PathLike] = None,
    program: Optional[PathLike] = None,
) -> Joined:
    """Takes part in a real federation until it is over; blocks for as long. A noised sum of all sites' vectors is all that
    other sites learn of the values; the server sees this site's vectors.

    It runs the program `sordino join`, which has to be installed (`cargo build --release -p sordino-sim -p sordino-net`), and
    prints on standard error what that says: first of all what is agreed to. The same call with the same folder goes on where
    it was, however it ended.

    >>> sordino.join("@invitations/0.txt", lambda x: train(x["rate"]), max_epsilon=1, dataset="ward 7")  # doctest: +SKIP
    Joined(point={'rate': 0.012}, value=0.31, file='…/prior.safetensors', folder='…')

    Parameters
    ----------
    invitation: the line that `sordino invite` printed, or @ and the path of its file
    function: the value at a point, which is a dict of the parameters in their units (of a scenario, `x0`, `x1`, … in
        [0, 1]). Called in the thread that called `join`, one point after another. A number that is not finite and an
        exception are refused: the point is tried again
    evaluations: how many this site makes in all, 1 to 200; by default 30
    max_epsilon: contribute to no more than this ε; by default federations of at most 1
    max_delta: agree to no larger δ
    dataset: name of the data that the values come from. What federations get of data of one name adds up to no more than
        `max_epsilon`. Data without a name count as the same if they are joined from one folder
    retries: how often a point is tried again that was refused; after that its exception comes back as it is
    folder: where key and state are kept; by default `sordino-agent-RUN-SLOT` where Python was started
    counter: folder of the count by names; by default the user's state folder
    program: path of `sordino` or `sordino-net`; by default the one in PATH

    Raises
    ------
    InputError: an argument, or an invitation, that is none
    RunError: no program; terms that nobody should agree to, a server that shuts this site out, anything else
    """
    if not callable(function):
        raise _native.InputError(f"{function!r} is no function; admissible: one that takes a point, a dict, and returns a number")
    options: List[str] = []
    for name, value in [
        ("evaluations", evaluations),
        ("max-epsilon", max_epsilon),
        ("max-delta", max_delta),
        ("dataset", dataset),
        ("retries", retries),
        ("folder", folder),
        ("counter", counter),
    ]:
        if value is not None:
            options.append(f"--{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    line, found = _line(invitation), _program(program)
    # Nobody but this user gets into a folder that mkdtemp makes.
    with tempfile.TemporaryDirectory(prefix="sordino-") as private:
        path = os.path.join(private, "ask")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            # The command's text shows no point; the path of the socket is in its environment.
            command = " ".join(map(shlex.quote, [sys.executable, "-I", "-S", _ASK]))
            words = [found, "join", "-", f"--command={command}", *options]
            return _Site(words, path, function).run(line, listener)


def _line(invitation: str) -> str:
    if not invitation.startswith("@"):
        return invitation
    with open(invitation[1:], encoding="utf-8") as file:
        return file.read(4096)


def _program(program: Optional[PathLike]) -> str:
    """The program's path."""
    if program is not None:
        found = shutil.which(os.fspath(program))
        if found is None:
            raise _native.InputError(f"program is {os.fspath(program)!r}, which is no program that can be started")
        return found
    for name in ["sordino", "sordino-net"]:
        found = shutil.which(name)
        if found is not None:
            return found
    raise _native.RunError(
        "the program `sordino` is not in PATH: build it with `cargo build --release -p sordino-sim -p sordino-net`, or name it by "
        "program="
    )


class _Site:
    """One run of the program."""

    def __init__(self, words: List[str], path: str, function: Function) -> None:
        self.words, self.path, self.function = words, path, function
        self.said: List[str] = []
        self.failed: Optional[BaseException] = None

    def run(self, line: str, listener: socket.socket) -> Joined:
        environment = {**os.environ, "SORDINO_ASK": self.path}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self.words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, encoding="utf-8", errors="replace"
        )
        out: List[str] = []
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        listening = [
            threading.Thread(target=self._hear, args=(process.stderr,), daemon=True),
            threading.Thread(target=out.extend, args=(process.stdout,), daemon=True),
        ]
        try:
            for thread in listening:
                thread.start()
            try:
                process.stdin.write(line + "\n")
                process.stdin.close()
            except BrokenPipeError:
                pass  # It says why.
            while process.poll() is None:
                if select.select([listener], [], [], 0.05)[0]:
                    self._answer(listener.accept()[0])
        finally:
            self._end(process)
        for thread in listening:
            thread.join(10)
        return self._joined(process.returncode, "".join(out))

    @staticmethod
    def _end(process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _hear(self, lines: Any) -> None:
        for line in lines:
            self.said = [*self.said, line.rstrip("\n")][-_LINES:]
            print(line, end="", file=sys.stderr, flush=True)

    def _answer(self, asking: socket.socket) -> None:
        """Answers one command. One that was killed hears no answer, and is started again."""
        with asking:
            asking.settimeout(60)
            try:
                with asking.makefile("r", encoding="utf-8") as file:
                    text = file.readline(_BYTES_MAX)
                point = json.loads(text)
            except (OSError, ValueError):
                return
            answer = {"value": repr(value)} if (value := self._value(point)) is not None else {}
            try:
                asking.sendall((json.dumps(answer) + "\n").encode())
            except OSError:
                pass

    def _value(self, point: Dict[str, Any]) -> Optional[float]:
        try:
            value = float(self.function(point))
            if not math.isfinite(value):
                raise _native.InputError("the function returned a number that is not finite")
        except Exception as error:
            self.failed = error
            # Its text may tell an observation, and what is printed may be kept by others.
            print(f"the function refused a point: {type(error).__name__}", file=sys.stderr)
            return None
        self.failed = None
        return value

    def _joined(self, code: int, out: str) -> Joined:
        if code != 0:
            if self.failed is not None:
                raise self.failed
            error = _native.InputError if code == 2 else _native.RunError
            told = "\n".join(line for line in self.said if line) or f"{self.words[0]} ended with {code}"
            raise error(re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda name: name[1].replace("-", "_"), told))
        found = re.search(r"^best: in (.*)$", out, re.MULTILINE)
        if found is None:
            raise _native.RunError(f"{self.words[0]} is no program of this version: it names no best point")
        with open(found[1], encoding="utf-8") as file:
            best = json.load(file)
        folder = os.path.dirname(found[1])
        prior = os.path.join(folder, "prior.safetensors")
        point = best["point"]
        if not isinstance(point, dict):
            point = {f"x{i}": x for i, x in enumerate(point)}
        return Joined(point, best["value"], prior if os.path.isfile(prior) else None, folder)
