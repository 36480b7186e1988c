# SPDX-License-Identifier: Apache-2.0
"""Options of the compiler and the trainer that change what is trained."""

import json
import math
import re

import numpy as np
import onnx
import onnx.external_data_helper
from harness import case, check, check_close, check_relative, golden, initializers

G = golden("multilabel")
DATA = ["--data", G.data, "--no-shuffle"]


def compile_with(ingot, *flags, optimizer="adamw"):
    return ingot.compile(G.model, *G.compile_flags(optimizer), *flags)


def losses(ingot, trainer, *flags, steps="10"):
    rows, _ = ingot.train(trainer, *DATA, "--steps", steps, *flags)
    return [row["loss"] for row in rows]


def trained(ingot, trainer, *flags, steps="10"):
    exported = ingot.path("exported.onnx")
    ingot.train(trainer, *DATA, "--steps", steps, "--export", exported, *flags)
    return initializers(exported)


@case("weights-sidecar")
def weights_sidecar(ingot):
    """Weights beside the trainer train to the same bits as weights within."""
    trainer = compile_with(ingot, "--weights", "sidecar")
    sidecar = trainer.with_name("trainer.safetensors")
    check(sidecar.exists(), "no trainer.safetensors")
    embedded = losses(ingot, compile_with(ingot))
    check(losses(ingot, trainer) == embedded, "losses differ from those of embedded weights")
    hidden = sidecar.rename(sidecar.with_suffix(".hidden"))
    try:
        ingot.check_error([trainer, *DATA, "--steps", "1"], 3, "trainer.safetensors")
    finally:
        hidden.rename(sidecar)


@case("weights-none")
def weights_none(ingot):
    """Drawn by seed with the deviation of the model's, or taken from --init."""
    trainer = compile_with(ingot, "--weights", "none")
    first, again, other = (losses(ingot, trainer, "--seed", s) for s in ("1", "1", "2"))
    check(first == again, "the same seed draws other weights")
    check(first != other, "another seed draws the same weights")
    # Drawn like the model's own: the loss starts near where the model's does.
    check(abs(first[0] - G.runs["adamw"]["losses"][0]) < 0.5, f"first loss {first[0]}")
    sidecar = compile_with(ingot, "--weights", "sidecar").with_name("trainer.safetensors")
    initialized = losses(ingot, trainer, "--init", sidecar)
    check(initialized == losses(ingot, compile_with(ingot)), "--init gives other losses")


@case("weights-without-data")
def weights_without_data(ingot):
    """Of a model whose file has no data, only the shapes are known: its trainer draws weights, or reads them."""
    model = onnx.load(G.model)
    for number, tensor in enumerate(model.graph.initializer):
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
        if number % 2:
            onnx.external_data_helper.set_external_data(tensor, "absent.bin")
        tensor.ClearField("raw_data")
    path = ingot.path("shapes.onnx")
    path.write_bytes(model.SerializeToString())
    flags = G.compile_flags("adamw")
    ingot.check_error(ingot.ingotc(path, *flags, "-o", ingot.path("t")), 3, "absent.bin", "no such file")
    trainer = ingot.compile(path, *flags, "--weights", "none")
    check(all(math.isfinite(loss) for loss in losses(ingot, trainer)), "drawn weights give no finite loss")
    sidecar = compile_with(ingot, "--weights", "sidecar").with_name("trainer.safetensors")
    exported = ingot.path("exported.onnx")
    rows, _ = ingot.train(trainer, *DATA, "--steps", "10", "--init", sidecar, "--export", exported)
    check([row["loss"] for row in rows] == losses(ingot, compile_with(ingot)), "--init gives other losses")
    check(all(np.isfinite(value).all() for value in initializers(exported).values()), "no weights are exported")


@case("freeze")
def freeze(ingot):
    before = initializers(G.model)
    for flags in (["--freeze", "fc1"], ["--trainable", "fc2"]):
        after = trained(ingot, compile_with(ingot, *flags))
        for name, value in before.items():
            moved = not np.array_equal(after[name], value)
            check(moved == name.startswith("fc2"), f"{' '.join(flags)}: {name} moved: {moved}")


@case("clip")
def clip(ingot):
    """The norm is the gradient's; no update is longer than rate times the limit."""
    trainer = compile_with(ingot, "--clip", optimizer="sgd")
    before = initializers(G.model)
    rows, _ = ingot.train(trainer, *DATA, "--steps", "1", "--lr", "1", "--clip-norm", "1000")
    norm = rows[0]["grad_norm"]
    for limit in (1000.0, norm / 7):
        after = trained(ingot, trainer, "--lr", "1", "--clip-norm", str(limit), steps="1")
        length = math.sqrt(sum(((after[k] - before[k]) ** 2).sum(dtype=float) for k in before))
        check_relative("length of the update", [length], [min(norm, limit)], 1e-3)


@case("no-decay")
def no_decay(ingot):
    """Parameters without decay move as if there were none; the others do not."""
    trainer = compile_with(ingot, "--no-decay", "bias")
    decayed = trained(ingot, trainer, "--weight-decay", "0.5")
    plain = trained(ingot, trainer, "--weight-decay", "0")
    everything = trained(ingot, compile_with(ingot), "--weight-decay", "0.5")
    for name in plain:
        if name.endswith("bias"):
            # Only through the other parameters' decay.
            difference = np.abs(decayed[name] - plain[name]).max()
            direct = np.abs(everything[name] - plain[name]).max()
            check(difference < direct / 4, f"{name}: {difference} apart, {direct} with decay")
        elif name.endswith("weight"):
            check_close(name, decayed[name], everything[name], 1e-4)
            check(np.abs(decayed[name] - plain[name]).max() > 1e-4, f"{name} did not decay")


@case("schedules")
def schedules(ingot):
    """Warm-up climbs to the rate, then it stays, or falls towards zero."""
    trainer = compile_with(ingot)
    for schedule in ("constant", "linear", "cosine"):
        rows, _ = ingot.train(trainer, *DATA, "--steps", "20", "--lr", "0.1", "--schedule", schedule, "--warmup", "5")
        rates = [row["lr"] for row in rows]
        check(len(rates) == 20 and min(rates) >= 0, f"{schedule}: {rates}")
        check(all(a < b for a, b in zip(rates[:5], rates[1:5])), f"{schedule}: warm-up {rates[:5]}")
        check_close(f"{schedule}: highest rate", max(rates), 0.1, 1e-9)
        falls = all(a > b for a, b in zip(rates[5:], rates[6:]))
        check(falls == (schedule != "constant"), f"{schedule}: {rates[5:]}")
        if schedule != "constant":
            check(rates[-1] < 0.02, f"{schedule}: ends at {rates[-1]}")


@case("emit")
def emit(ingot):
    """Each stage can be looked at, and the dump has a file per pass in order."""
    starts = {"mlir": b"", "exec": b"", "llvm": b"", "obj": b"\x7fELF"}
    for kind, start in starts.items():
        out = ingot.path(f"out.{kind}")
        ingot.succeed(ingot.ingotc(G.model, "-o", out, *G.compile_flags("adamw"), "--emit", kind))
        content = out.read_bytes()
        check(len(content) > 1000 and content.startswith(start), f"--emit {kind}: {content[:20]}")
        if kind in ("mlir", "exec"):
            check(f"{'ingot' if kind == 'mlir' else 'exec'}.".encode() in content, f"--emit {kind}")
    folder, remarks, report = ingot.path("passes"), ingot.path("remarks.yaml"), ingot.path("report.html")
    trainer = ingot.path("t")
    ingot.succeed(
        ingot.ingotc(
            G.model, "-o", trainer, *G.compile_flags("adamw"),
            "--dump-passes", folder, "--remarks", remarks, "--report", report,
        )
    )  # fmt: skip
    names = sorted(path.name for path in folder.iterdir())
    numbers = sorted(int(name.split("-")[0]) for name in names)
    check(numbers == list(range(len(names))) and len(names) > 5, f"--dump-passes: {names}")
    check("form-fusions" in remarks.read_text(), "no remark about fusion")
    plan = json.loads(ingot.succeed([trainer, "--inspect=json"]).out)
    check(all(kernel["bound_us"] > 0 for kernel in plan["kernels"]), "a kernel without a bound")
    page = report.read_text()
    check(page.endswith("</html>\n") and "http" not in page, "--report: not a page of its own")
    data = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', page, re.DOTALL)
    report = json.loads(data[1])["compilations"][0]["functions"]["train_step"]
    shown = ("name", "kind", "onnx_nodes", "bytes", "flops", "bound_us")
    for got, kernel in zip(report["kernels"], plan["kernels"], strict=True):
        check(all(got[name] == kernel[name] for name in shown), f"--report has {got} for {kernel}")
    for kind in ("activation", "gradient"):
        check(kind in report["interval_kinds"], f"--report's memory lacks {kind}")
    memory = report["memory"]
    check(memory["peak_bytes"] == plan["peak_bytes"], f"{memory} of {plan['peak_bytes']}")
    # The intervals and the states, summed by kernel, reach the peak.
    use = [memory["weights_bytes"] + memory["optimizer_bytes"]] * len(report["kernels"])
    for _, size, first, last in report["intervals"]:
        for i in range(first, min(last + 1, len(use))):
            use[i] += size
    check(0.9 * plan["peak_bytes"] <= max(use) <= plan["peak_bytes"], f"{max(use)} bytes of {plan['peak_bytes']}")
    check(report["live"] == plan["live"], "--report lacks what lives at the peak")


@case("dimensions")
def dimensions(ingot):
    """--dim binds by name as --batch does by place."""
    name = "batch"
    by_place = losses(ingot, compile_with(ingot))
    flags = ["--loss", G.loss, "--optimizer", "adamw", "--dim", f"{name}={G.batch}"]
    check(losses(ingot, ingot.compile(G.model, *flags)) == by_place, "losses differ")


@case("several-files")
def several_files(ingot):
    """Files given together are one data set, in order."""
    with np.load(G.data) as data:
        arrays = {k: data[k] for k in data}
    half = len(arrays["x"]) // 2
    parts = [ingot.path("first.npz"), ingot.path("second.npz")]
    np.savez(parts[0], **{k: v[:half] for k, v in arrays.items()})
    np.savez(parts[1], **{k: v[half:] for k, v in arrays.items()})
    trainer = compile_with(ingot)
    rows, _ = ingot.train(trainer, "--data", *parts, "--no-shuffle", "--steps", "10")
    check([row["loss"] for row in rows] == losses(ingot, trainer), "losses differ")
