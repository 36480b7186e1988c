# SPDX-License-Identifier: Apache-2.0
"""One layer of causal attention (4 heads of 64), trained at growing lengths: whole and decomposed, alternating.

Prints the planned arena and the median step of both forms, and fails unless the whole form's memory grows in
proportion to the length and, at 4,096 tokens, its step takes at most half as long. Needs numpy and onnx.
"""

import json
import os
import statistics
import sys

import bench
import numpy as np
import onnx.parser
from onnx import numpy_helper

HEADS, SIZE = 4, 64
WIDTH = HEADS * SIZE


def export(path, length, form, dropout):
    """Weights that something else reads stay in memory; a training step leaves the reader out."""
    kept = "kept = Dropout(weights, ratio, on)" if dropout else ""
    other = f", float[1,{HEADS},{length},1] largest" if form == "decomposed" else ""
    reader = "largest = ReduceMax<keepdims = 1>(weights, last)" if form == "decomposed" else ""
    heads = "\n".join(
        f"""{n} = MatMul(x, {n}_weight)
            {n}_split = Reshape({n}, apart)
            {n}_heads = Transpose<perm = [0, 2, {"3, 1" if n == "k" else "1, 3"}]>({n}_split)"""
        for n in "qkv"
    )
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        attention (float[1,{length},{WIDTH}] x) => (float[1,{length},{WIDTH}] y{other}) {{
            {heads}
            scale = Constant<value_float = {SIZE**-0.5}>()
            products = MatMul(q_heads, k_heads)
            scores = Mul(products, scale)
            masked = Where(causal, scores, hidden)
            weights = Softmax<axis = -1>(masked)
            {reader}
            {kept}
            mixed = MatMul({"kept" if dropout else "weights"}, v_heads)
            rows = Transpose<perm = [0, 2, 1, 3]>(mixed)
            y = Reshape(rows, together)
        }}""")
    source = np.random.default_rng(0)
    constants = {f"{n}_weight": source.normal(scale=WIDTH**-0.5, size=(WIDTH, WIDTH)).astype("f") for n in "qkv"}
    constants["causal"] = np.tri(length, dtype=bool)
    constants["apart"], constants["together"] = np.array([1, length, HEADS, SIZE]), np.array([1, length, WIDTH])
    constants["last"] = np.array([-1])
    constants["ratio"], constants["on"] = np.float32(dropout), np.bool_(True)
    constants["hidden"] = np.float32(-np.inf)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    onnx.save(model, path)
    samples = source.normal(size=(2, length, WIDTH)).astype("f")
    np.savez(path.replace(".onnx", ".npz"), x=samples, labels=samples[:, ::-1])


class Attention(bench.Bench):
    def build(self, length):
        points = {}
        for form in ("whole", "decomposed"):
            trainer = self.path(f"attention-{length}-{form}")
            export(trainer + ".onnx", length, form, self.options.dropout)
            bench.run(
                [
                    os.path.join(self.options.bin, "ingotc"),
                    trainer + ".onnx",
                    "-o",
                    trainer,
                    "--loss",
                    "mse",
                    "--optimizer",
                    "sgd",
                ]
            )
            plan = json.loads(bench.run([trainer, "--inspect=json"])[0])
            points[form] = {"trainer": trainer, "arena_mib": plan["activation_bytes"] / 2**20, "step_ms": []}
        return points

    def train(self, point):
        log = point["trainer"] + ".jsonl"
        bench.run(
            [point["trainer"], "--data", point["trainer"] + ".npz", "--steps", str(self.options.steps), "--log", log]
        )
        with open(log) as file:
            point["step_ms"] += [json.loads(line)["step_ms"] for line in file][1:]


def main():
    parser = bench.make_parser(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--dropout", type=float, default=0, help="ratio of weights that are dropped")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4, help="of each trainer in a round")
    bench_run = Attention(parser.parse_args())
    results, problems = {}, []
    print(f"{'tokens':>7} {'whole MiB':>10} {'decomposed MiB':>15} {'whole ms':>10} {'decomposed ms':>14} {'ratio':>6}")
    for length in bench_run.options.lengths:
        points = bench_run.build(length)
        for _ in range(bench_run.options.rounds):
            for point in points.values():
                bench_run.train(point)
        for point in points.values():
            point["step_ms"] = statistics.median(point["step_ms"])
        whole, decomposed = points["whole"], points["decomposed"]
        ratio = decomposed["step_ms"] / whole["step_ms"]
        print(
            f"{length:7} {whole['arena_mib']:10.1f} {decomposed['arena_mib']:15.1f} {whole['step_ms']:10.1f}"
            f" {decomposed['step_ms']:14.1f} {ratio:6.2f}",
            flush=True,
        )
        results[length] = {form: {k: point[k] for k in ("arena_mib", "step_ms")} for form, point in points.items()}
        shortest = min(results)
        if whole["arena_mib"] > 1.1 * results[shortest]["whole"]["arena_mib"] * length / shortest:
            problems.append(f"memory at {length} tokens grows faster than from {shortest}")
        if length >= 4096 and ratio < 2:
            problems.append(f"{ratio:.2f} times as fast as decomposed at {length} tokens, not 2")
    bench.write_json(bench_run.options.json, results)
    if problems:
        bench.fail("attention", "; ".join(problems), "compare the kernels with --profile")


if __name__ == "__main__":
    sys.exit(main())
