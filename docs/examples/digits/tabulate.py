"""What each of twenty sites finds at each point of a list, in one unit: one line of numbers a site, on standard output.

    python3 tabulate.py candidates.jsonl [SITES] > table.csv
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor

from train import Site

points = [json.loads(line) for line in open(sys.argv[1])]


def row(number):
    site = Site(number)
    return ",".join(repr(site.plain(point["rate"], point["passes"], point["loss"])) for point in points)


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        for line in pool.map(row, range(int(sys.argv[2]) if len(sys.argv) > 2 else 20)):
            print(line, flush=True)
