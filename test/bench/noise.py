# SPDX-License-Identifier: Apache-2.0
"""tools/bench --noise: how much a step slows down beside a process that spins on one of two processors.

Both sides have the same two processors. In each round each side runs alone and beside the process that spins on the
second one, one after the other; a step is the median of all rounds' steps after the first two.
"""

import os
import statistics
import subprocess
import sys

import bench


class Spinner:
    """A process that takes all it gets of one processor."""

    def __init__(self, processor):
        self.processor = processor

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        os.sched_setaffinity(self.process.pid, {self.processor})

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Quiet:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def run(options):
    both = sorted(os.sched_getaffinity(0))[:2]
    if len(both) < 2:
        bench.fail("--noise", "this process has one processor", "run it where it has two")
    # Programs that are started from here on inherit it.
    os.sched_setaffinity(0, both)
    tester = bench.Bench(options)
    results = {}
    print("| | alone, ms | beside, ms | slower by | PyTorch alone | beside | slower by | |\n|---" + "|---" * 7 + "|")
    for name in options.models or ["mlp", "gpt-mini"]:
        tester.compile(name)
        samples = {}
        for _ in range(options.rounds):
            for state, place in (("alone", Quiet()), ("beside", Spinner(both[1]))):
                with place:
                    times, _, _ = tester.train(name)
                    samples.setdefault(("ingot", state), []).extend(times[2:])
                    for mode, precision in tester.peers():
                        samples.setdefault((mode, state), []).extend(tester.time_peer(name, mode, precision)[0][2:])
        steps = {key: statistics.median(values) for key, values in samples.items()}
        sides = {side: (steps[side, "alone"], steps[side, "beside"]) for side, _ in steps}
        own = sides.pop("ingot")
        # Of PyTorch's modes the one that is faster beside the process.
        peer = min(sides.values(), key=lambda side: side[1])
        own_factor, peer_factor = own[1] / own[0], peer[1] / peer[0]
        verdict = "holds" if own_factor <= peer_factor else "does not hold"
        results[name] = {"ingot": own, "peer": peer}
        print(
            f"| {name} | {own[0]:.4g} | {own[1]:.4g} | {own_factor:.2f} "
            f"| {peer[0]:.4g} | {peer[1]:.4g} | {peer_factor:.2f} | {verdict} |",
            flush=True,
        )
    bench.write_json(options.json, results)
