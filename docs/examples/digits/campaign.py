"""Twenty sites tune their classifiers together, as real processes over HTTPS on this machine, and then each alone.

    pip install scikit-learn
    python3 campaign.py FOLDER [--sites 20] [--epsilon 2] [--evaluations 30]

It needs the programs `sordino` and `sordino-net` in the path. The commands are those of the README. FOLDER gets `sites.csv`: for each
site, arm and evaluation the site's loss in its own unit. The last lines are the regret of the best loss so far, summed over
evaluations, of the sites of the campaign over that of the same sites alone. What the best possible loss of a site is, is looked up in
`table.csv`, which `tabulate.py` writes; the same table is what the simulator is asked about:

    cargo run --release -p sordino-sim --example campaign -- candidates space.toml > candidates.jsonl
    python3 tabulate.py candidates.jsonl > table.csv
    cargo run --release -p sordino-sim --example campaign -- space.toml table.csv 20 2 10
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import time

from train import Site

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE = 3600  # seconds


def told(folder, site, arm):
    """The command of a training, which also writes its loss to a file of this arm."""
    log = folder / f"{arm}-{site}.txt"
    return f"{sys.executable} {HERE / 'train.py'} | tee -a {log}", log


def state():
    """What server and sites count by the names of data sets stays in the folder: each experiment is of new data."""
    return dict(os.environ, XDG_STATE_HOME=os.environ["SORDINO_STATE"])


def environment(site):
    return dict(state(), SITE=str(site), OMP_NUM_THREADS="1")


def campaign(folder, arguments):
    """Runs server and sites to their end."""
    sites, home = range(arguments.sites), folder / "campaign"
    home.mkdir()
    port = str(20000 + os.getpid() % 20000)
    server = subprocess.Popen(
        ["sordino", "serve", HERE / "space.toml", "--agents", str(arguments.sites), "--epsilon", str(arguments.epsilon), "--delta", "0.001",
         "--folder", home / "hall", "--listen", f"127.0.0.1:{port}", "--deadline", "30m", "--close-early", "--ask-again", "1s"],
        env=state(), stdout=open(home / "server.out", "w"), stderr=subprocess.STDOUT,
    )
    for _ in range(600):
        if (home / "hall" / "round.bin").is_file() or server.poll() is not None:
            break
        time.sleep(0.1)
    assert server.poll() is None, f"the server ended: {(home / 'server.out').read_text()}"
    subprocess.run(["sordino", "invite", home / "hall", "--agents", f"0..{arguments.sites}", "--out", home / "invitations"], check=True)
    processes = []
    for site in sites:
        command, _ = told(folder, site, "together")
        processes.append(subprocess.Popen(
            ["sordino", "join", f"@{home / 'invitations' / f'{site}.txt'}", "--folder", home / f"site-{site}", "--dataset", f"digits {site}",
             "--evaluations", str(arguments.evaluations), "--max-epsilon", str(arguments.epsilon), "--max-delta", "0.001", "--command", command],
            env=environment(site), stdout=open(home / f"site-{site}.out", "w"), stderr=subprocess.STDOUT,
        ))
    ends = [process.wait(timeout=DEADLINE) for process in processes]
    assert ends == [0] * len(ends), f"sites ended with {ends}: see {home}"
    assert server.wait(timeout=60) == 0, "the server did not end well"


def alone(folder, arguments):
    """The same sites by `sordino optimize`, two at a time."""
    waiting, running = list(range(arguments.sites)), []
    while waiting or running:
        while waiting and len(running) < 2:
            site = waiting.pop(0)
            command, _ = told(folder, site, "alone")
            running.append(subprocess.Popen(
                ["sordino", "optimize", "--space", HERE / "space.toml", "--command", command, "--evaluations", str(arguments.evaluations),
                 "--seed", str(site), "--out", folder / f"alone-{site}"],
                env=environment(site), stdout=open(folder / f"alone-{site}.out", "w"), stderr=subprocess.STDOUT,
            ))
        running = [process for process in running if process.poll() is None]
        time.sleep(0.2)


def summed(losses, best, first, last):
    """Regret of the best so far, summed over evaluations `first` + 1 to `last`, in one unit."""
    so_far, total = float("inf"), 0.0
    for number, loss in enumerate(losses[:last]):
        so_far = min(so_far, loss)
        if number >= first:
            total += max(so_far - best, 0.0)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=2)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--table", type=pathlib.Path, default=HERE / "table.csv")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    folder = arguments.folder.resolve()
    os.environ["SORDINO_STATE"] = str(folder / "state")
    campaign(folder, arguments)
    alone(folder, arguments)
    best = [min(map(float, row)) for row in csv.reader(open(arguments.table))]
    units = [Site(site) for site in range(arguments.sites)]
    losses = {arm: [[(float(line) - units[site].offset) / units[site].scale for line in told(folder, site, arm)[1].read_text().split()] for site in range(arguments.sites)]
              for arm in ("together", "alone")}
    with open(folder / "sites.csv", "w") as out:
        out.write("site,arm,evaluation,loss\n")
        for arm, sites in losses.items():
            for site, row in enumerate(sites):
                out.writelines(f"{site},{arm},{number + 1},{loss}\n" for number, loss in enumerate(row))
    for first, last in [(0, 20), (0, 30), (10, 20), (10, 30)]:
        sums = {arm: [summed(row, best[site], first, last) for site, row in enumerate(losses[arm])] for arm in losses}
        pairs = list(zip(sums["together"], sums["alone"]))
        ratio = sum(a for a, _ in pairs) / sum(b for _, b in pairs)
        mean = sum(b for _, b in pairs) / len(pairs)
        error = statistics.stdev((a - ratio * b) / mean for a, b in pairs) / len(pairs) ** 0.5
        print(f"evaluations {first + 1} to {last}: summed regret in the campaign over that alone {ratio:.3f} ({error:.3f})")


if __name__ == "__main__":
    main()
