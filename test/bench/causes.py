#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --diagnose finds of eight causes that are injected one at a time, and what its advice gains.

Runs of each cause, as it is and with what is advised, take turns; figures are medians. A row has the time of a sample,
the part of it that the diagnosis predicts to be saved, and the part that is. Three runs without a cause follow, of
which nothing may be said.

  causes.py [NAME...]      --list shows the names

Needs the Python that tools/setup made, and for some causes root: a slow disk and a limit on memory are control groups
(with a file to swap to where there is none), a slow link is a network of its own. A quiet machine, too.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end-to-end"))

import harness  # noqa: E402
import numpy as np  # noqa: E402
from cases.timed import diagnosing  # noqa: E402
from launch import ALONE, mpirun, slow_disk  # noqa: E402
from pictures import png  # noqa: E402

MIB = 1 << 20
# What the interpreter of the neighbour takes.
PYTHON = 8 * MIB
RECIPE = "image=decode,resize:16,normalize:0.5:0.5"
# Of what is predicted, at least this part has to be gained.
LEAST = 0.8
ATTENTION = """<ir_version: 9, opset_import: ["" : 20]>
attention (float[N, 512, 64] x) => (float[N, 10] y) {
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  kt = Transpose<perm = [0, 2, 1]>(k)
  scores = MatMul(q, kt)
  eighth = Constant<value = float {0.125}>()
  scaled = Mul(scores, eighth)
  weights = Softmax<axis = -1>(scaled)
  a = MatMul(weights, v)
  axes = Constant<value = int64[1] {1}>()
  mean = ReduceMean<keepdims = 0>(a, axes)
  y = MatMul(mean, wo)
}"""
LAYERS = """<ir_version: 9, opset_import: ["" : 20]>
layers (float[N, 3, 16, 16] image) => (float[N, 4] y) {
  shape = Constant<value = int64[2] {-1, 768}>()
  flat = Reshape(image, shape)
  h = MatMul(flat, w1)
  r = Relu(h)
  y = MatMul(r, w2)
}"""
# Of each layer, what Gelu reads is enough to compute what it returns again.
HIDDEN = "".join(f"  a{i} = MatMul(b{i - 1}, w1)\n  b{i} = Gelu(a{i})\n" for i in range(1, 12))
GELUS = f"""<ir_version: 9, opset_import: ["" : 20]>
gelus (float[N, 64] x) => (float[N, 10] y) {{
  a0 = MatMul(x, w0)
  b0 = Gelu(a0)
{HIDDEN}  y = MatMul(b11, w2)
}}"""


class Run:
    """A trainer with a cause: how it is compiled, started and prepared."""

    def __init__(self, compile_with, flags, env=None, launcher=(), prepare=lambda: None, around=None):
        self.compile_with, self.flags, self.env = compile_with, list(flags), dict(env or {})
        self.launcher, self.prepare = list(launcher), prepare
        self.around = around or (lambda: contextlib.nullcontext([]))

    def compiled_with(self, name, value, *more):
        return self.compile_with(*more, name, value)

    def advised(self, finding):
        """The same run with the first thing that is advised; None without advice."""
        for kind in ("trainer", "ingotc"):
            for advice in finding.get(kind, []):
                ((name, value),) = advice.items()
                changed = Run(self.compile_with, self.flags, self.env, self.launcher, self.prepare, self.around)
                if kind == "ingotc":
                    changed.compile_with = functools.partial(self.compiled_with, name, value)
                elif name.startswith("--"):
                    kept = list(map(str, self.flags))
                    if name in kept:
                        at = kept.index(name)
                        del kept[at : at + 2]
                    changed.flags = [*kept, name, value]
                else:
                    changed.env[name] = value
                return f"{'ingotc ' if kind == 'ingotc' else ''}{name}={value}", changed
        return None

    def diagnose(self, ingot):
        trainer = self.compile_with()
        self.prepare()
        with self.around() as prefix:
            command = [*prefix, *self.launcher, trainer, *self.flags, "--diagnose=json"]
            return json.loads(ingot.succeed(command, env=self.env, timeout=600).out)


def threads(count):
    return {"OMP_NUM_THREADS": str(count)}


def mlp(ingot, batch, hidden=1024):
    _, data = diagnosing.mlp(ingot, batch, hidden=hidden)
    shapes = {"w1": (256, hidden), "w2": (hidden, 10)}

    def compile_with(*flags):
        return compile_text(ingot, diagnosing.MLP, shapes, merge(["--batch", str(batch)], flags))

    return compile_with, ["--data", data]


def merge(flags, more):
    """Options of which the last value counts."""
    values = {}
    words = [*flags, *more]
    while words:
        name = words.pop(0)
        values[name] = words.pop(0) if words and not str(words[0]).startswith("--") else None
    return [word for name, value in values.items() for word in (name, value) if word is not None]


def compile_text(ingot, text, shapes, flags):
    return diagnosing.build(ingot, text, *flags, **shapes)


def write_pictures(ingot, side, count):
    folder, source = ingot.path("pictures"), np.random.default_rng(5)
    for i in range(count):
        (folder / f"class{i % 4}").mkdir(parents=True, exist_ok=True)
        picture = png(source.integers(0, 255, (side, side, 3), dtype=np.uint8))
        (folder / f"class{i % 4}/{i:04d}.png").write_bytes(picture)
    return folder


def pictures(ingot, side, count):
    folder = write_pictures(ingot, side, count)

    def compile_with(*flags):
        return compile_text(ingot, diagnosing.PICTURES, {"w": (768, 4)}, merge(["--batch", "16"], flags))

    return folder, compile_with, ["--data", folder, "--input", RECIPE]


def slow_storage(ingot):
    """A disk of 8 MB/s, with files that are in no cache."""
    folder, compile_with, flags = pictures(ingot, 128, 128 * 16)

    def forget():
        for path in folder.glob("*/*"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    return Run(
        compile_with, [*flags, "--workers", "1"], threads(1), prepare=forget,
        around=lambda: slow_disk(folder, read=8 * MIB),
    )  # fmt: skip


def slow_decoding(ingot):
    """Large pictures and one worker."""
    _, compile_with, flags = pictures(ingot, 256, 256)
    return Run(compile_with, [*flags, "--workers", "1"], threads(1))


@contextlib.contextmanager
def slow_network(rate):
    if not all(shutil.which(tool) for tool in ("mpirun", "unshare", "tc", "ip")):
        raise harness.Skip("mpirun, unshare, ip and tc are not all there")
    shape = f"ip link set lo up && tc qdisc add dev lo root tbf rate {rate} burst 100kb latency 50ms"
    if subprocess.run(["unshare", "-n", "sh", "-c", shape], capture_output=True).returncode != 0:
        raise harness.Skip("may not make a link of its own")
    yield ["unshare", "-n", "sh", "-c", f'{shape} && exec "$@"', "sh"]


def over_tcp():
    return [*mpirun(2), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]


def ranks(ingot, batch, hidden):
    compile_with, flags = mlp(ingot, batch, hidden)
    return lambda *more: compile_with("--data-parallel", *more), flags


def slow_link(ingot):
    """200 Mbit/s between two ranks."""
    compile_with, flags = ranks(ingot, 256, 2048)
    return Run(compile_with, flags, ALONE, over_tcp(), around=lambda: slow_network("200mbit"))


def small_batch(ingot):
    """One sample a step, of a model with many parameters."""
    compile_with, flags = mlp(ingot, 1, 16384)
    return Run(compile_with, flags, threads(1))


def many_threads(ingot):
    """Half as many threads again as cores."""
    cores = len(os.sched_getaffinity(0))
    compile_with, flags = mlp(ingot, 1024, 2048)
    return Run(compile_with, flags, threads(cores + (cores + 1) // 2))


def frequent_saves(ingot):
    """A checkpoint after each step."""
    compile_with, flags = mlp(ingot, 64)
    return Run(compile_with, [*flags, "--save", ingot.path("save"), "--overwrite", "--save-every", "1"], threads(1))


def wrong_profile(ingot):
    """Memory and matmuls taken for much faster than they are: attention is computed with its whole matrix."""
    machine = ingot.path("machine.json")
    machine.write_text(json.dumps({"memory_bandwidth": 1e13, "cache_bandwidth": 1e13, "matmul_f32": 1e14,
                                   "vector_f32": 1e13, "attention_f32": 1e11}))  # fmt: skip
    data, source = ingot.path("data.npz"), np.random.default_rng(4)
    np.savez(data, x=source.standard_normal((64, 512, 64)).astype(np.float32), labels=np.arange(64) % 10)
    shapes = dict.fromkeys(("wq", "wk", "wv"), (64, 64)) | {"wo": (64, 10)}

    def compile_with(*flags):
        return compile_text(ingot, ATTENTION, shapes, merge(["--batch", "16", "--machine", str(machine)], flags))

    return Run(compile_with, ["--data", data], threads(1))


ZRAM = pathlib.Path("/sys/block/zram0")


def make_swap(folder):
    """What is swapped to: compressed memory, which keeps up with a step, or else a file."""
    swap = pathlib.Path("/dev/zram0")
    try:
        if swap.exists() and (ZRAM / "disksize").read_text().strip() == "0":
            (ZRAM / "disksize").write_text(str(1024 * MIB))
        else:
            swap = folder / "swap"
            with open(swap, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 1024 * MIB)
            os.chmod(swap, 0o600)
        subprocess.run(["mkswap", swap], check=True, capture_output=True)
        subprocess.run(["swapon", swap], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        drop_swap(swap)
        raise harness.Skip(f"may not swap: {error}") from None
    return swap


def drop_swap(swap):
    if swap.name == "swap":
        swap.unlink(missing_ok=True)
    else:
        (ZRAM / "reset").write_text("1")


@contextlib.contextmanager
def little_memory(folder, limit, neighbor):
    """A control group of `limit` bytes, of which a process that goes through its memory again and again has
    `neighbor`, and a file to swap to."""
    parent = pathlib.Path("/sys/fs/cgroup/memory")
    isFirst = parent.is_dir()
    group, hog = (parent if isFirst else parent.parent) / f"ingot-bench-{os.getpid()}", None
    swap = make_swap(folder)
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if isFirst else "memory.max")).write_text(str(limit))
        if isFirst:
            (group / "memory.swappiness").write_text("60")
            # Wait for pages on their way to where they are swapped to.
            (group / "memory.oom_control").write_text("1")
        shell = ["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"]
        loop = f"import time\nm = bytearray({neighbor})\nwhile True:\n m[::4096] = m[::4096]\n time.sleep(0.05)"
        hog = subprocess.Popen([*shell, sys.executable, "-c", loop])
        time.sleep(1)
        yield shell
    except OSError as error:
        raise harness.Skip(f"may not limit memory: {error}") from None
    finally:
        if hog:
            hog.kill()
            hog.wait()
        subprocess.run(["swapoff", swap], check=False)
        drop_swap(swap)
        if group.is_dir():
            group.rmdir()


def measure_memory(command):
    """The memory of its own that a process takes, at most."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, **harness.QUIET, **threads(1)}) as process:  # fmt: skip
        most = 0
        while process.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                most = max(most, int(status.split("RssAnon:")[1].split()[0]) << 10)
            time.sleep(0.005)
    return most


def memory_pressure(ingot):
    """A limit on memory that a neighbour shares: less is left than the step takes."""
    data, source = ingot.path("data.npz"), np.random.default_rng(4)
    np.savez(data, x=source.standard_normal((8192, 64)).astype(np.float32), labels=np.arange(8192) % 10)
    shapes = {"w0": (64, 512), "w1": (512, 512), "w2": (512, 10)}

    def compile_with(*flags):
        return compile_text(ingot, GELUS, shapes, merge(["--batch", "2048"], flags))

    flags = ["--data", data, "--workers", "0"]
    activations = json.loads(ingot.succeed([compile_with(), "--inspect=json"]).out)["activation_bytes"]
    # What the run and its neighbour take, less a third of the activations.
    taken, neighbor = measure_memory([compile_with(), *flags, "--steps", "3"]), 64 * MIB
    limit = taken + neighbor + PYTHON - activations // 3
    print(f"  memory: {taken / MIB:.0f} MiB, of which activations {activations / MIB:.0f}, limit"
          f" {limit / MIB:.0f} with a neighbour of {neighbor / MIB:.0f}")  # fmt: skip
    folder = ingot.path("swap").parent
    return Run(compile_with, flags, threads(1), around=lambda: little_memory(folder, limit, neighbor))


CAUSES = {
    "slow storage": slow_storage, "slow decoding": slow_decoding, "slow link": slow_link, "small batch": small_batch,
    "too many threads": many_threads, "frequent saves": frequent_saves, "wrong machine profile": wrong_profile,
    "memory pressure": memory_pressure,
}  # fmt: skip


def clean_steps(ingot):
    compile_with, flags = mlp(ingot, 512)
    return Run(compile_with, [*flags, "--save", ingot.path("save"), "--overwrite", "--save-every", "40"], threads(1))


def clean_pictures(ingot):
    folder = write_pictures(ingot, 16, 256)
    trainer = compile_text(ingot, LAYERS, {"w1": (768, 2048), "w2": (2048, 4)}, ["--batch", "64"])
    return Run(lambda: trainer, ["--data", folder, "--input", RECIPE, "--workers", "1"], threads(1))


def clean_ranks(ingot):
    compile_with, flags = ranks(ingot, 512, 512)
    return Run(compile_with, flags, ALONE, mpirun(2))


CLEAN = {"steps and saves": clean_steps, "small pictures": clean_pictures, "two ranks": clean_ranks}


def per_sample(result):
    return result["step_ms"] / result["samples"]


def check_cause(ingot, name, run, rounds):
    """A row of the table, and whether all is as it should be."""
    before, after, found, predicted, said = [], [], 0, [], ""
    changed = None
    for _ in range(rounds):
        result = run.diagnose(ingot)
        before.append(per_sample(result))
        causes = [finding["cause"] for finding in result["findings"]]
        if causes[:1] != [name]:
            print(f"  {name}: found {result}", flush=True)
            continue
        found += 1
        finding = result["findings"][0]
        if "gain" in finding:
            predicted.append(finding["gain"])
        changed = changed or run.advised(finding)
        said = finding["evidence"]
        if changed:
            after.append(per_sample(changed[1].diagnose(ingot)))
    was, now = statistics.median(before), statistics.median(after) if after else None
    gained = 1 - now / was if now else None
    promise = statistics.median(predicted) if predicted else None
    isFine = found == rounds and (promise is None or (gained is not None and gained >= LEAST * promise))
    cells = [
        name, f"{found} of {rounds}", changed[0] if changed else "-", f"{was:.4g}", f"{now:.4g}" if now else "-",
        f"{promise:.0%}" if promise is not None else "-", f"{gained:.0%}" if gained is not None else "-",
        f"{gained / promise:.2f}" if promise and gained is not None else "-", said,
    ]  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)
    return isFine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="causes, and 'clean'")
    parser.add_argument("--bin", default=harness.ROOT / "build/release/bin", help="folder of ingotc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scratch", metavar="DIR", default=harness.ROOT / "build", help="folder on a disk")
    args = parser.parse_args()
    if args.list:
        print("\n".join([*CAUSES, "clean"]))
        return 0
    bad = []
    print("| cause | found | advice | ms a sample | with it | predicted | gained | gained / predicted | evidence |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make in CAUSES.items():
        if args.names and name not in args.names:
            continue
        with tempfile.TemporaryDirectory(prefix="ingot-", dir=args.scratch) as scratch:
            ingot = harness.Ingot(pathlib.Path(args.bin).resolve(), scratch)
            try:
                if not check_cause(ingot, name, make(ingot), args.rounds):
                    bad.append(name)
            except harness.Skip as skip:
                print(f"| {name} | skipped: {skip} |")
                bad.append(name)
    for name, make in CLEAN.items() if not args.names or "clean" in args.names else []:
        with tempfile.TemporaryDirectory(prefix="ingot-", dir=args.scratch) as scratch:
            ingot = harness.Ingot(pathlib.Path(args.bin).resolve(), scratch)
            run = make(ingot)
            results = [run.diagnose(ingot) for _ in range(args.rounds)]
            alarms = [result["findings"] for result in results if result["findings"]]
            print(f"clean, {name}: {len(alarms)} false alarms in {args.rounds} runs {alarms or ''}", flush=True)
            if alarms:
                bad.append(f"clean {name}")
    print(f"not as they should be: {', '.join(bad)}" if bad else "all as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
