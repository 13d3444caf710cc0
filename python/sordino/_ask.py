"""The command that `sordino.join` gives to the program: hands the point over to Python, and prints its value."""

import json
import os
import socket
import sys


def main() -> int:
    """Asks through the socket of `sordino.join`; 1 if there is no value."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(os.environ["SORDINO_ASK"])
        with asking.makefile("rw", encoding="utf-8") as file:
            file.write(sys.stdin.readline().strip() + "\n")
            file.flush()
            answer = json.loads(file.readline() or "{}")
    if "value" not in answer:
        return 1
    print(answer["value"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
