# SPDX-License-Identifier: Apache-2.0
"""sums.py [--build DIR] [--mib N] [--rounds N] [--ranks N]: sums over ranks on this machine, over TCP and over MPI.

Both take turns, so that what else the machine does is the same for both. Prints the median and the least time of each,
and the ratio of the medians. Needs the target ingot-bench-sums.
"""

import argparse
import os
import pathlib
import socket
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMS = 30


def measure(program, arguments, wire):
    """The milliseconds of the sums of one run, without the first ones."""
    command = [str(program), str(arguments.mib), str(SUMS)]
    if wire != "tcp":
        components = {"mpi": [], "mpi over tcp": ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]}[wire]
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(arguments.ranks), *components]
        out = subprocess.run([*mpirun, *command], capture_output=True, check=True, text=True).stdout
    else:
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1] - 1
        master = {"WORLD_SIZE": str(arguments.ranks), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
        ranks = [
            subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env={**os.environ, **master, "RANK": str(rank)}
            )
            for rank in range(arguments.ranks)
        ]
        out = ranks[0].communicate()[0]
        if any(rank.wait() for rank in ranks):
            raise SystemExit("error: a rank failed\nhint: see its message")
    return [float(line) for line in out.split()][5:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--mib", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    program = arguments.build / "bin/ingot-bench-sums"
    times = {"tcp": [], "mpi": [], "mpi over tcp": []}
    print(f"load before: {os.getloadavg()[0]:.1f}")
    for _ in range(arguments.rounds):
        for wire, taken in times.items():
            taken += measure(program, arguments, wire)
    for wire, taken in times.items():
        print(f"{wire}: median {statistics.median(taken):.2f} ms, least {min(taken):.2f} ms")
    for wire in ("mpi", "mpi over tcp"):
        print(f"tcp / {wire}: {statistics.median(times['tcp']) / statistics.median(times[wire]):.2f}")


if __name__ == "__main__":
    main()
