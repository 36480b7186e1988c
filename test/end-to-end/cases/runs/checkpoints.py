# SPDX-License-Identifier: Apache-2.0
"""Checkpoints under kills and damage, and bits after a resume.

INGOT_THOROUGH=1 runs all 50 kills and 20 resumes, and damages every byte.
"""

import json
import os
import random
import signal
import subprocess
import time

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
import onnx.parser
from harness import QUIET, case, check, golden

THOROUGH = bool(os.environ.get("INGOT_THOROUGH"))
KILLS, RESUMES, DAMAGES = (50, 20, None) if THOROUGH else (6, 4, 60)


def read_losses(log):
    """By step; a killed trainer's last line may be cut."""
    losses = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "loss" in row:
            losses[row["step"]] = row["loss"]
    return losses


@case("killed-while-saving")
def killed_while_saving(ingot):
    """A trainer that does little but save, killed again and again.

    Now and then it starts over in the same folder, where checkpoints of the
    same steps lie. Whatever is there afterwards resumes, and goes on with the
    losses of a run that nobody killed.
    """
    g, rng = golden("multilabel"), random.Random(5)
    trainer = ingot.compile(g.model, *g.compile_flags("adamw"))
    folder = ingot.path("checkpoints")
    seen, resumed, latest = {}, 0, folder / "latest"
    for kill in range(KILLS):
        log = ingot.path("log.jsonl")
        command = [trainer, "--data", g.data, "--steps", "1000000", "--save", folder, "--save-every", "1"]
        goes_on = latest.exists() and rng.random() < 0.9
        resumed += goes_on
        command += ["--resume", folder] if goes_on else ["--overwrite"]
        process = subprocess.Popen(
            [str(word) for word in [*command, "--log", log]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, **QUIET},
        )  # fmt: skip
        # Its log appears right before the first step. A busy machine may take long for the steps that some kills are
        # to come after.
        steps, end = rng.choice((0, 1, 2, 5)), time.monotonic() + 60
        # There is something to resume after the first, and enough to compare after the last, on the slowest machine.
        steps = max(steps, {0: 3, KILLS - 1: 11}.get(kill, 0))
        while count_lines(log) < steps and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        error = process.communicate()[1].decode()
        check(process.returncode == -signal.SIGKILL, f"kill {kill}: refused before it was killed: {error}")
        for step, loss in read_losses(log).items():
            check(seen.setdefault(step, loss) == loss, f"kill {kill}: step {step} has another loss")
        if latest.exists():
            check_resumes(ingot, trainer, g, folder, folder, seen)
    for each in sorted(folder.glob("step-*")):
        if ".tmp-" not in each.name:
            check_resumes(ingot, trainer, g, folder, each, seen)
    check(resumed >= KILLS // 3 and len(seen) > 10, f"{resumed} resumes, {len(seen)} steps: tests little")
    rows, _ = ingot.train(trainer, "--data", g.data, "--steps", str(max(seen)))
    for row in rows:
        step, loss = row["step"], row["loss"]
        check(seen.get(step, loss) == loss, f"step {step} has another loss than without kills")


def count_lines(log):
    """The lines of a log that is being written; -1 before it is there."""
    return log.read_bytes().count(b"\n") if log.exists() else -1


def check_resumes(ingot, trainer, g, folder, start, seen):
    latest = start.name if start != folder else (folder / "latest").read_text().split()[0]
    step, log = int(latest.removeprefix("step-")), ingot.path("log.jsonl")
    ingot.succeed([trainer, "--data", g.data, "--resume", start, "--steps", str(step + 1), "--log", log])
    losses = read_losses(log)
    check(list(losses) == [step + 1], f"{start} of step {step} went on with {list(losses)}")
    check(seen.setdefault(step + 1, losses[step + 1]) == losses[step + 1], f"step {step + 1} differs")


def write_dropout_model(path):
    """Batch norm and dropout: running statistics and random numbers resume too."""
    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.normal(0, 0.2, (24, 16)), "w2": rng.normal(0, 0.3, (16, 6)),
        "scale": np.ones(16), "shift": np.zeros(16), "mean": np.zeros(16), "var": np.ones(16),
    }  # fmt: skip
    tensors = [onnx.numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()]
    tensors.append(onnx.numpy_helper.from_array(np.float32(0.3), "ratio"))
    tensors.append(onnx.numpy_helper.from_array(np.bool_(True), "training"))
    nodes = [
        oh.make_node("MatMul", ["x", "w1"], ["a"]),
        oh.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["b"]),
        oh.make_node("Relu", ["b"], ["c"]),
        oh.make_node("Dropout", ["c", "ratio", "training"], ["d"]),
        oh.make_node("MatMul", ["d", "w2"], ["y"]),
    ]
    value = oh.make_tensor_value_info
    graph = oh.make_graph(nodes, "dropout", [value("x", 1, ["n", 24])], [value("y", 1, ["n", 6])], tensors)
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=9), path)


@case("resume-anywhere")
def resume_anywhere(ingot):
    """Stopped at random steps and resumed: losses and weights, bit for bit."""
    g, rng, total = golden("multilabel"), random.Random(6), 45
    model = ingot.path("model.onnx")
    write_dropout_model(model)
    trainer = ingot.compile(
        model, "--loss", "bce-with-logits", "--optimizer", "adamw", "--batch", str(g.batch), "--clip"
    )
    flags = ["--data", g.data, "--warmup", "20", "--seed", "3"]

    def train(*more):
        log = ingot.path("log.jsonl")
        ingot.succeed([trainer, *flags, *more, "--log", log])
        return read_losses(log)

    whole = ingot.path("whole.onnx")
    losses = train("--steps", str(total), "--export", whole)
    for stop in rng.sample(range(1, total), RESUMES):
        folder, exported = ingot.path("checkpoints"), ingot.path("resumed.onnx")
        first = train("--steps", str(stop), "--save", folder)
        rest = train("--resume", folder, "--steps", str(total), "--export", exported)
        check(min(rest) == stop + 1 and {**first, **rest} == losses, f"losses differ after step {stop}")
        check(exported.read_bytes() == whole.read_bytes(), f"weights differ after step {stop}")


@case("damaged-checkpoints")
def damaged_checkpoints(ingot):
    """Each file cut short or with a byte changed is refused by name, and the checkpoint before it used."""
    g, rng = golden("multilabel"), random.Random(7)
    trainer = ingot.compile(g.model, *g.compile_flags("sgd"))
    folder = ingot.path("checkpoints")
    data = ["--data", g.data, "--steps", "3"]
    ingot.succeed([trainer, *data, "--save", folder, "--save-every", "1"])
    log = ingot.path("log.jsonl")
    ingot.succeed([trainer, "--data", g.data, "--steps", "4", "--log", log])
    whole_run = read_losses(log)
    log = ingot.path("log.jsonl")
    paths = [folder / "latest", folder / "step-3/checkpoint.json", folder / "step-3/state.safetensors"]
    places = [(path, at, cut) for path in paths for at in range(path.stat().st_size) for cut in (True, False)]
    for path, at, cut in places if DAMAGES is None else rng.sample(places, DAMAGES):
        whole = path.read_bytes()
        changed = bytes([whole[at] ^ rng.randrange(1, 256)])
        path.write_bytes(whole[:at] if cut else whole[:at] + changed + whole[at + 1 :])
        # What `latest` names is the newest one anyway.
        step = 3 if path.name == "latest" else 2
        result = ingot.succeed([trainer, "--data", g.data, "--steps", "4", "--resume", folder, "--log", log])
        warnings = [line for line in result.err.splitlines() if line.startswith("warning: ")]
        check(len(warnings) == 1 and str(path) in warnings[0], f"{path} byte {at}: {result.err}")
        losses = read_losses(log)
        check(losses == {k: whole_run[k] for k in range(step + 1, 5)}, f"{losses}")
        path.write_bytes(whole)
        log.unlink()
    ingot.succeed([trainer, *data, "--resume", folder])
    # A checkpoint that is named itself has none before it.
    paths[2].write_bytes(b"")
    ingot.check_error([trainer, *data, "--resume", folder / "step-3"], 3, str(paths[2]))


@case("frozen-weights-are-saved-once")
def frozen_weights(ingot):
    """Of a model most of whose weights are frozen, all saves but the first write what is trained alone."""
    text = """<ir_version: 9, opset_import: ["" : 20]>
    tower (float[N, 784] x) => (float[N, 10] y) {
      h = MatMul(x, frozen)
      r = Relu(h)
      y = MatMul(r, head)
    }"""
    model, source = onnx.parser.parse_model(text), np.random.default_rng(3)
    for name, shape in {"frozen": (784, 512), "head": (512, 10)}.items():
        array = (source.standard_normal(shape) * 0.05).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path, data, folder = ingot.path("model.onnx"), ingot.path("data.npz"), ingot.path("save")
    onnx.save(model, path)
    np.savez(data, x=source.standard_normal((64, 784)).astype(np.float32), labels=np.arange(64) % 10)
    flags = ["--loss", "cross-entropy", "--optimizer", "adamw", "--batch", "16", "--freeze", "^frozen$"]
    command = [ingot.compile(path, *flags), "--data", data, "--steps", "4", "--save", folder, "--save-every", "1"]
    ingot.succeed([*command, "--keep", "4"])
    files = {p: p.stat() for p in sorted(folder.glob("step-*/*"))}
    # head and its two moments, of which the frozen tower has none
    trained = 3 * 512 * 10 * 4
    known = set()
    for step in range(1, 5):
        own = [stat for path, stat in files.items() if path.parent.name == f"step-{step}"]
        new = {stat.st_ino: stat.st_size for stat in own if stat.st_ino not in known}
        known.update(new)
        written = sum(new.values())
        if step > 1:
            check(written <= trained + 4096, f"save {step} wrote {written} bytes, {trained} are trained")
        check((folder / f"step-{step}/constants.safetensors").exists(), f"save {step} has no constants")
    # Damage to what two saves would share leaves one of them whole.
    (folder / "step-4/constants.safetensors").write_bytes(b"")
    said = ingot.succeed([*command[:3], "--steps", "5", "--resume", folder]).err
    check("step-4/constants.safetensors" in said, said)
    for keep in ("1", "2"):
        again = ingot.path("again")
        ingot.succeed([*command[:3], "--steps", "7", "--save", again, "--save-every", "1", "--keep", keep])
        ingot.succeed([*command[:3], "--steps", "8", "--resume", again])
