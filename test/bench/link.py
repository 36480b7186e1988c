# SPDX-License-Identifier: Apache-2.0
"""Two ranks of one thread over a slow link: what of the communication a step does not hide.

The link is the loopback device of a network namespace, shaped to --rate; both ranks share its queue. Each round
times, in fresh processes: both ranks without communication, both with it, and the same of PyTorch (none, DDP, and
all-reduces after the backward pass). The bound is the slower one of computing alone and of the moment at which the
first bucket is ready, of a profiled run without a limit on the link, plus the time that all bytes take on it. Needs
root, unshare, tc, mpirun and numpy; PyTorch to export, and for --peer (INGOT_TORCH_PYTHON, as for tools/bench).
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

import bench

MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
TCP = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "pml", "ob1"]
PEERS = ("none", "ddp", "serial")


def gigabits(rate):
    """Of a rate as tc has it."""
    found = re.fullmatch(r"([\d.]+)(gbit|mbit)", rate)
    return (
        float(found[1]) / (1 if found[2] == "gbit" else 1000)
        if found
        else bench.fail("--rate", f"'{rate}' is no rate", "give one like 2gbit or 500mbit")
    )


class Link(bench.Bench):
    def launch(self, *commands):
        """Runs commands side by side, each on a thread of its own."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        processes = [
            subprocess.Popen(
                command, env={**environment, **extra}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for command, extra in commands
        ]
        outputs = [process.communicate() for process in processes]
        for process, (_, errors) in zip(processes, outputs):
            if process.returncode != 0:
                bench.fail(str(process.args[0]), errors.strip()[-400:], "run it by hand: " + " ".join(process.args))
        return [out for out, _ in outputs]

    def build(self):
        self.export(self.options.model)
        self.export(self.options.part)
        self.trainer = self.path(self.options.part + "-link")
        bench.run(
            [
                os.path.join(self.options.bin, "ingotc"),
                self.path(self.options.part + ".onnx"),
                "-o",
                self.trainer,
                "--loss",
                "cross-entropy",
                "--data-parallel",
                *self.options.flags,
            ]
        )

    def train(self, log, *flags):
        return [
            self.trainer,
            "--data",
            self.path(self.options.model + ".npz"),
            "--no-shuffle",
            "--steps",
            str(self.options.steps),
            "--log",
            log,
            *flags,
        ]

    def times(self, log):
        with open(log) as file:
            return [json.loads(line)["step_ms"] for line in file][self.options.skip :]

    def alone(self):
        logs = [self.path(f"link-{rank}.jsonl") for rank in range(2)]
        self.launch(*((["env", "OMPI_COMM_WORLD_SIZE=1", *self.train(log)], {}) for log in logs))
        return [ms for log in logs for ms in self.times(log)]

    def together(self, *flags):
        log = self.path("link.jsonl")
        transport = [] if self.options.shared_memory else TCP
        self.launch((MPI + transport + self.train(log, *flags), {}))
        return self.times(log)

    def peer_times(self, mode):
        command = [
            self.options.python,
            os.path.abspath(__file__),
            "--peer-mode",
            mode,
            "--steps",
            str(self.options.steps),
            "--skip",
            str(self.options.skip),
            self.options.model,
        ]
        outputs = self.launch(*((command, {"RANK": str(rank)}) for rank in range(2)))
        return json.loads(outputs[0].splitlines()[-1])

    def profile(self):
        """When the first bucket of gradients starts, in ms of the step, and the bytes that a rank sends."""
        trace = self.path("link-trace.json")
        self.together("--profile", trace)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        last = self.options.steps
        sent = [
            e
            for e in events
            if "bucket" in e["name"] and e.get("args", {}).get("step") == last and "bytes" in e["args"]
        ]
        steps = [e for e in events if e["name"] == "train_step"]
        begin = max(e["ts"] for e in steps)
        # The loss's bucket is under way from the end of the forward pass on.
        gradients = [e for e in sent if e["args"]["bytes"] > 1024]
        return (min(e["ts"] for e in gradients) - begin) / 1e3, sum(e["args"]["bytes"] for e in sent)


def time_peer(options):
    """One line of JSON: the step times of this rank."""
    import models
    import torch
    import torch.distributed as dist
    from torch.nn import functional

    rank = int(os.environ["RANK"])
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29517", rank=rank, world_size=2)
    model, x, labels = models.make(options.model)
    batch = len(x) // 2
    part = slice(rank * batch, (rank + 1) * batch)
    x, labels = x[part], labels[part].reshape(-1)
    ddp = options.peer_mode == "ddp"
    runner = torch.nn.parallel.DistributedDataParallel(model) if ddp else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    times = []
    for _ in range(options.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        y = runner(x)
        functional.cross_entropy(y.reshape(-1, y.shape[-1]), labels).backward()
        if options.peer_mode == "serial":
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= 2
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    dist.barrier()
    print(json.dumps(times[options.skip :]))


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("model", nargs="?", default="gpt-mini", help="of models.py, with the batch of both ranks")
    parser.add_argument("--part", default="gpt-mini:4x256", help="the same with the batch of one")
    parser.add_argument("--rate", default="2gbit", help="of the link, as tc has it; none leaves it as it is")
    parser.add_argument("--shared-memory", action="store_true", help="what MPI takes on one machine, instead of TCP")
    parser.add_argument("--flags", action="append", default=[], help="a further one of ingotc, with = for its value")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--skip", type=int, default=2, help="first steps that do not count")
    parser.add_argument("--peer", action="store_true", help="time PyTorch as well")
    parser.add_argument("--peer-mode", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.python = os.environ.get("INGOT_TORCH_PYTHON", sys.executable)
    if options.peer_mode:
        time_peer(options)
        return
    if not options.inside:
        os.execvp("unshare", ["unshare", "-n", sys.executable, os.path.abspath(__file__), "--inside", *sys.argv[1:]])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    if options.shared_memory and options.rate != "none":
        bench.fail("--shared-memory", "no link to shape", "give --rate none as well")
    link = Link(options)
    link.build()
    ready, sent = link.profile()
    if options.rate != "none":
        subprocess.run(
            ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", options.rate, "burst", "1mb", "latency", "50ms"],
            check=True,
        )
    samples = {}
    for _ in range(options.rounds):
        samples.setdefault("alone", []).extend(link.alone())
        samples.setdefault("together", []).extend(link.together())
        for mode in PEERS if options.peer else ():
            samples.setdefault("peer " + mode, []).extend(link.peer_times(mode))
    middle = {name: statistics.median(values) for name, values in samples.items()}
    wire = 0 if options.rate == "none" else 2 * sent * 8e-6 / gigabits(options.rate)
    bound = max(middle["alone"], ready + wire)
    result = {
        "model": options.model,
        "rate": options.rate,
        "flags": options.flags,
        "shared_memory": options.shared_memory,
        "first_bucket_ms": ready,
        "sent_bytes": sent,
        "wire_ms": wire,
        "bound_ms": bound,
        "step_ms": middle,
    }
    print(
        f"a rank sends {sent / 1e6:.1f} MB, {wire:.0f} ms on the link for both;"
        f" the first bucket is ready after {ready:.0f} ms"
    )
    for name, ms in middle.items():
        print(f"{name:12} {ms:8.1f} ms")
    print(
        f"bound        {bound:8.1f} ms: the step takes {middle['together'] / bound:.3f} of it, "
        f"{middle['together'] / middle['alone']:.3f} of computing alone"
    )
    bench.write_json(options.json, result)


if __name__ == "__main__":
    main()
