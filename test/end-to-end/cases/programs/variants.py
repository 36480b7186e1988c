# SPDX-License-Identifier: Apache-2.0
"""Several sizes of a symbolic dimension: variants of the steps in one trainer."""

import json

import numpy as np
import onnx
import onnx.parser
from harness import case, check, check_close, initializers
from onnx import numpy_helper

BATCH = 4
MODEL = """<ir_version: 8, opset_import: ["": 18]>
g (float[n,seq,6] x) => (float[n,seq,5] logits) {
  h = MatMul(x, w1)
  t = Tanh(h)
  mean = ReduceMean<keepdims=1>(t, axes)
  mixed = Add(t, mean)
  %s
  logits = MatMul(kept, w2)
}"""


def write_model(ingot, reshape="kept = Identity(mixed)", **constants):
    model = onnx.parser.parse_model(MODEL % reshape)
    source = np.random.default_rng(3)
    arrays = {
        "w1": source.standard_normal((6, 8)).astype(np.float32),
        "w2": source.standard_normal((8, 5)).astype(np.float32),
        "axes": np.array([1]),
        **constants,
    }
    model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in arrays.items())
    for i, node in enumerate(model.graph.node):
        node.name = f"node_{i}"
    path = ingot.path("model.onnx")
    onnx.save(model, path)
    return path


def write_data(ingot, length, samples=12, separate=False):
    source = np.random.default_rng(length)
    x = source.standard_normal((samples, length, 6)).astype(np.float32)
    labels = source.integers(0, 5, (samples, length))
    if not separate:
        path = ingot.path(f"{length}.npz")
        np.savez(path, x=x, labels=labels)
        return [path]
    folder = ingot.path("x.npy").parent
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", labels)
    return [folder / "x.npy", folder / "labels.npy"]


def flags(*dims, batch=BATCH):
    return ["--loss", "cross-entropy", "--batch", str(batch), *(f for d in dims for f in ("--dim", d))]


def losses(rows):
    return [row["loss"] for row in rows]


@case("variants-match-single-size")
def match_single_size(ingot):
    """Each size trains to the bits of a trainer that has only that size, and
    steps of both sizes follow each other over one state."""
    model = write_model(ingot)
    both = ingot.compile(model, *flags("seq=3,7"))
    files = {length: write_data(ingot, length) for length in (3, 7)}
    run = ["--no-shuffle", "--lr", "0.05"]
    alone = {}
    for length, data in files.items():
        single = ingot.compile(model, *flags(f"seq={length}"))
        export = {t: ingot.path("trained.onnx") for t in (single, both)}
        rows = {
            t: ingot.train(
                t, *run, "--epochs", "1", "--data", *data, "--export", export[t], "--save", t.with_name(f"s{length}")
            )[0]
            for t in (single, both)
        }
        alone[length] = losses(rows[single])
        check(losses(rows[both]) == alone[length], f"seq={length}: other losses than with one size")
        got, want = initializers(export[both]), initializers(export[single])
        check(all(np.array_equal(got[k], want[k]) for k in want), f"seq={length}: other weights")
    # The second size goes on where the first ended: the same as resuming the
    # other trainer from the first one's checkpoint.
    rows, _ = ingot.train(both, *run, "--epochs", "1", "--data", *files[7], *files[3])
    check(len(rows) == 6, f"{len(rows)} steps, expected 6")
    check(losses(rows)[:3] == alone[3], "the first size's losses")
    single = ingot.compile(model, *flags("seq=7"))
    rest, _ = ingot.train(
        single, *run, "--steps", "6", "--data", *files[7], "--resume", both.with_name("s3"), log_from=4
    )
    check(losses(rows)[3:] == losses(rest), "the second size does not go on from the first one's state")


@case("variants-shuffle-and-resume")
def shuffle_and_resume(ingot):
    trainer = ingot.compile(write_model(ingot), *flags("seq=3,7"))
    data = ["--data", *write_data(ingot, 3), *write_data(ingot, 7, separate=True)]
    whole, _ = ingot.train(trainer, *data, "--steps", "10", "--seed", "4")
    folder = ingot.path("saved")
    start, _ = ingot.train(trainer, *data, "--steps", "5", "--seed", "4", "--save", folder)
    rest, _ = ingot.train(trainer, *data, "--steps", "10", "--resume", folder, log_from=6)
    check(losses(start) + losses(rest) == losses(whole), "resumed losses differ")


@case("variants-evaluate-and-predict")
def evaluate_and_predict(ingot):
    model = write_model(ingot)
    trainer = ingot.compile(model, *flags("seq=3,7"))
    files = {3: write_data(ingot, 3, samples=6), 7: write_data(ingot, 7, samples=5)}
    results = {}
    for length in (3, 7, None):
        data = files[length] if length else files[3] + files[7]
        _, evaluations = ingot.train(trainer, "--steps", "0", "--eval-data", *data)
        results[length] = evaluations[-1]["eval_loss"]
    want = (results[3] * 18 + results[7] * 35) / 53
    check_close("loss over both sizes", results[None], want, 1e-6)
    for length, samples in ((3, 6), (7, 5)):
        out = ingot.path("out.npz")
        ingot.succeed([trainer, "--steps", "0", "--eval-data", *files[length], "--predict", out])
        with np.load(out) as arrays:
            check(arrays["logits"].shape == (samples, length, 5), f"logits: {arrays['logits'].shape}")
    both = ["--steps", "0", "--eval-data", *files[3], *files[7], "--predict", ingot.path("o.npz")]
    ingot.check_error([trainer, *both], 2, "--predict", "several shapes")


@case("variants-inspect")
def inspect(ingot):
    model = write_model(ingot)
    plans = [
        json.loads(ingot.succeed([ingot.compile(model, *flags(f"seq={n}")), "--inspect=json"]).out)
        for n in ("3", "7", "3,7")
    ]
    short, long, both = plans
    check([v["name"] for v in both["variants"]] == ["seq=3", "seq=7"], str(both["variants"]))
    check([v["inputs"] for v in both["variants"]] == [short["inputs"], long["inputs"]], "inputs")
    check([v["peak_bytes"] for v in both["variants"]] == [short["peak_bytes"], long["peak_bytes"]], "peaks")
    check(both["peak_bytes"] == long["peak_bytes"], "the peak is not the largest variant's")
    check("variants" not in long, "one size has variants")


@case("variants-failures")
def failures(ingot):
    model = write_model(ingot)
    trainer = ingot.compile(model, *flags("seq=3,7"))
    ingot.check_error([trainer, "--data", *write_data(ingot, 5)], 3, "5.npz", "seq=3", "seq=7", "[N, 7, 6]")
    output = ingot.path("t")
    for dims, word in ((["seq=3,3"], "seq=3,3"), (["seq=3,"], "seq=3,"), (["seq=3", "seq=7"], "twice")):
        ingot.check_error(ingot.ingotc(model, "-o", output, *flags(*dims)), 2, "--dim", word)
    many = ",".join(str(n) for n in range(1, 66))
    ingot.check_error(ingot.ingotc(model, "-o", output, *flags(f"seq={many}")), 2, "--dim", "64")
    batches = ingot.compile(model, "--loss", "cross-entropy", "--dim", "n=2,4", "--dim", "seq=3")
    budget = [batches, "--data", *write_data(ingot, 3), "--batch-tokens", "12"]
    ingot.check_error(budget, 2, "--batch-tokens", "no input of tokens")
    fixed = write_model(ingot, "kept = Reshape(mixed, shape)", shape=np.array([BATCH, 3, 8]))
    ingot.check_error(ingot.ingotc(fixed, "-o", output, *flags("seq=3,7")), 3, "node_4")
    check(not output.exists(), "a failed compile leaves a trainer")


@case("variants-fp16")
def variants_fp16(ingot):
    """Variants share the compute copies and the loss scale too."""
    trainer = ingot.compile(
        write_model(ingot), "--batch", str(BATCH), "--dim", "seq=3,7", "--loss", "mse", "--precision", "fp16"
    )
    source = np.random.default_rng(5)
    files = []
    for size in (3, 7):
        path = ingot.path(f"{size}.npz")
        np.savez(
            path,
            x=source.standard_normal((16, size, 6)).astype(np.float32),
            labels=source.standard_normal((16, size, 5)).astype(np.float32),
        )
        files.append(path)
    rows, _ = ingot.train(
        trainer, "--data", *files, "--epochs", "4", "--lr", "0.01", "--loss-scale", "16", "--loss-scale-interval", "8"
    )
    check(not any(row["skipped"] for row in rows), "a step was skipped")
    scales = [row["loss_scale"] for row in rows]
    check(scales == [16.0 * 2 ** (i // 8) for i in range(len(rows))], f"scales {scales}")
    check(rows[-1]["loss"] < rows[0]["loss"], f"losses {rows[0]['loss']} to {rows[-1]['loss']}")
