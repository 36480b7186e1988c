# SPDX-License-Identifier: Apache-2.0
"""growth.py [FAMILY...]: how time and memory of ingotc grow with the size of a model, by op family (families.py).

Each family is compiled at --doublings + 1 sizes, every one twice as large as the one before. No doubling may take
more than --limit times the time. Times are user seconds of the compiler, the least of --repeats runs, so that other
load on the machine matters little.

Resident memory stays below a bound that follows from the file alone: see memory_bound() and the page
docs/design/onnx/onnx-import.md.
"""

import argparse
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

import families
import onnx

# Below this a doubling is lost in the time to start the compiler.
LEAST_SECONDS = 0.1
# How often a doubling that takes too long is measured again.
RETRIES = 2


def usage(command, limit):
    """User seconds and peak resident MiB of the command; fails if it fails or takes too much processor time."""
    limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # noqa: E731
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=limits)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode == -signal.SIGXCPU:
            raise subprocess.TimeoutExpired(command, limit)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, stderr=errors.read())
    return used.ru_utime, used.ru_maxrss / 1024


def memory_bound(path, model):
    """MiB that compiling the file may take: a start, the weights some times over, and a part for each node and input
    of a node."""
    parts = sum(1 + len(node.input) for node in model.graph.node)
    return 192 + 4 * path.stat().st_size / 2**20 + parts / 8


def measure(family, size, options, folder):
    path, model = folder / "model.onnx", family(size)
    onnx.save(model, path)
    is_loss = family is families.loss_rows
    command = [os.path.join(options.bin, "ingotc"), path, "-o", folder / "trainer", "--weights", "none"]
    command += ["--batch", str(4096 * size if is_loss else 4)]
    command += ["--loss", "cross-entropy" if is_loss else "mse", *options.flags.split()]
    runs = [usage(command, options.timeout) for _ in range(options.repeats)]
    memory, bound = min(mib for _, mib in runs), memory_bound(path, model)
    if memory > bound:
        raise MemoryError(f"{memory:.0f} MiB instead of at most {bound:.0f}")
    return min(time for time, _ in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {family.__name__: family for family in families.FAMILIES}
    parser.add_argument("families", nargs="*", default=list(names), metavar="FAMILY", help="all unless given")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--limit", type=float, default=2.5)
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=120, help="seconds of processor time")
    parser.add_argument("--divide", type=int, default=1, help="sizes are divided by this: a short run")
    parser.add_argument("--flags", default="", help="more options of ingotc")
    options = parser.parse_args()

    failed = 0
    sizes = options.doublings + 1
    print(f"{'family':16}" + "".join(f"{f'{1 << i}x':>9}" for i in range(sizes)) + f"{'growth':>8}  first size")
    with tempfile.TemporaryDirectory() as directory:
        for name in options.families:
            family = names[name]
            first = max(1, families.FAMILIES[family] // options.divide)
            times, failure = [], ""
            for doubling in range(sizes):
                try:
                    times.append(measure(family, first << doubling, options, pathlib.Path(directory)))
                except subprocess.TimeoutExpired:
                    failure = f"more than {options.timeout} s"
                    break
                except MemoryError as error:
                    failure = f"size {first << doubling}: {error}"
                    break
                except subprocess.CalledProcessError as error:
                    failure = f"exit {error.returncode}: {error.stderr.decode(errors='replace').strip()[:200]}"
                    break
            # Other work on the machine makes times longer, never shorter: what looks superlinear is measured again.
            for _ in range(RETRIES):
                for i in range(len(times) - 1):
                    if times[i + 1] > options.limit * max(times[i], LEAST_SECONDS):
                        again = measure(family, first << (i + 1), options, pathlib.Path(directory))
                        times[i + 1] = min(times[i + 1], again)
            growth = max((b / max(a, LEAST_SECONDS) for a, b in zip(times, times[1:])), default=0)
            is_fine = not failure and growth <= options.limit
            failed += not is_fine
            line = f"{name:16}" + "".join(f"{t:9.2f}" for t in times).ljust(9 * sizes) + f"{growth:8.2f}"
            print(f"{line}  {first} {'' if is_fine else 'FAIL'} {failure}".rstrip(), flush=True)
    print(f"{len(options.families) - failed} of {len(options.families)} fine")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
