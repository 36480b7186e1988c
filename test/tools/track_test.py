# SPDX-License-Identifier: Apache-2.0
"""tools/track: what MLflow and W&B are given of a log. Both are played by modules that write down their calls; what
the packages make of them was compared once, with mlflow-skinny 3.17 and wandb 0.31."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

MLFLOW = """
    import json, pathlib, types
    calls = []
    class MlflowClient:
        def __init__(self, tracking_uri):
            calls.append(["uri", tracking_uri])
        def get_experiment_by_name(self, name):
            return None
        def create_experiment(self, name):
            calls.append(["experiment", name])
            return "7"
        def create_run(self, experiment, start_time, tags, run_name):
            calls.append(["run", experiment, start_time, tags["mlflow.note.content"], run_name])
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r1"))
        def log_batch(self, run, metrics=(), params=()):
            calls.append(["batch", [m.__dict__ for m in metrics], [p.__dict__ for p in params]])
        def log_artifact(self, run, path):
            calls.append(["artifact", pathlib.Path(path).name])
        def set_terminated(self, run, end_time):
            calls.append(["end", end_time])
            pathlib.Path("calls.json").write_text(json.dumps(calls))
"""
ENTITIES = """
    class Metric:
        def __init__(self, key, value, timestamp, step):
            self.__dict__.update(key=key, value=value, timestamp=timestamp, step=step)
    class Param:
        def __init__(self, key, value):
            self.__dict__.update(key=key, value=value)
"""
WANDB = """
    import json, pathlib
    class Settings:
        def __init__(self, **settings): pass
    class Artifact:
        def __init__(self, name, type): self.files = []
        def add_file(self, path): self.files.append(pathlib.Path(path).name)
    class Run:
        id, dir = "w1", "wandb/offline-run-w1/files"
        def __init__(self, settings): self.calls = [["init", settings]]
        def log(self, values, step): self.calls.append(["log", step, values])
        def log_artifact(self, artifact): self.calls.append(["artifact", artifact.files])
        def finish(self): pathlib.Path("calls.json").write_text(json.dumps(self.calls))
    def init(settings, **rest): return Run(rest)
"""
LOG = """
{"step": 1, "loss": 2.5, "lr": 0.001, "epoch": 1, "elapsed_s": 1.0}
{"step": 2, "loss": 9.5, "lr": 0.001, "epoch": 1, "elapsed_s": 2.0}
{"step": 2, "eval_loss": 8.5}
{"step": 2, "loss": 1.5, "lr": 0.0005, "epoch": 1, "elapsed_s": 3.0, "stats": {"gflops": 10.5}, "note": "text"}
{"step": 2, "eval_loss": 1.25, "confusion": [[1, 2], [3, 4]]}
{"step": 3, "loss": 1.
"""
CONFIGURATION = """
# a.onnx: adamw, fp32, batch 32
# started 1970-01-01T00:01:40Z
lr = 0.001
data = ["a.npz", "b.npz"]
"""


class Track(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        for name, text in (("mlflow/__init__", MLFLOW), ("mlflow/entities", ENTITIES), ("wandb", WANDB)):
            path = self.folder / "modules" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        (self.folder / "run.jsonl").write_text(LOG.strip("\n"))
        (self.folder / "run.jsonl.toml").write_text(CONFIGURATION.strip("\n") + "\n")

    def tearDown(self):
        self.scratch.cleanup()

    def run_tool(self, *words):
        return subprocess.run(
            [sys.executable, ROOT / "tools/track", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(self.folder / "modules")},
        )

    def read_calls(self, *words):
        run = self.run_tool(*words)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("2 steps", run.stdout)
        return json.loads((self.folder / "calls.json").read_text())

    def test_mlflow(self):
        calls = self.read_calls("run.jsonl", "--mlflow", "http://host", "--experiment", "digits")
        self.assertEqual(
            calls[:3],
            [["uri", "http://host"], ["experiment", "digits"]]
            + [["run", "7", 100000, "a.onnx: adamw, fp32, batch 32", "run"]],
        )
        metrics = [metric for call in calls if call[0] == "batch" for metric in call[1]]
        self.assertIn({"key": "loss", "value": 2.5, "timestamp": 101000, "step": 1}, metrics)
        # The run went back: what the first attempt had at step 2 is gone.
        self.assertEqual([m["value"] for m in metrics if m["key"] == "loss"], [2.5, 1.5])
        self.assertEqual([m["value"] for m in metrics if m["key"] == "eval_loss"], [1.25])
        self.assertIn({"key": "stats/gflops", "value": 10.5, "timestamp": 103000, "step": 2}, metrics)
        self.assertEqual({m["key"] for m in metrics} & {"note", "confusion", "step"}, set())
        parameters = {p["key"]: p["value"] for call in calls if call[0] == "batch" for p in call[2]}
        self.assertEqual(parameters, {"lr": "0.001", "data": "['a.npz', 'b.npz']"})
        self.assertEqual(calls[-3:], [["artifact", "run.jsonl"], ["artifact", "run.jsonl.toml"], ["end", 103000]])

    def test_wandb(self):
        calls = self.read_calls("run.jsonl", "--wandb", "out", "--name", "first")
        settings = calls[0][1]
        self.assertEqual((settings["mode"], settings["name"], settings["project"]), ("offline", "first", "ingot"))
        self.assertEqual(settings["config"]["lr"], 0.001)
        logged = {step: values for kind, step, values in (c for c in calls if c[0] == "log")}
        self.assertEqual(logged[1]["loss"], 2.5)
        self.assertEqual(
            (logged[2]["loss"], logged[2]["eval_loss"], logged[2]["_timestamp"], logged[2]["stats/gflops"]),
            (1.5, 1.25, 103.0, 10.5),
        )
        self.assertEqual(calls[-1], ["artifact", ["run.jsonl", "run.jsonl.toml"]])

    def test_older_part_comes_first(self):
        (self.folder / "run.jsonl.1").write_text('{"step": 0, "loss": 3.5, "elapsed_s": 0.5}\n')
        run = self.run_tool("run.jsonl", "--wandb", "out")
        self.assertIn("3 steps", run.stdout, run.stderr)

    def test_errors(self):
        (self.folder / "bad.jsonl").write_text("[1, 2]\n")
        (self.folder / "empty.jsonl").write_text("")
        for words, status, part in (
            (("no.jsonl", "--wandb", "out"), 3, "no.jsonl: is no file"),
            (("bad.jsonl", "--wandb", "out"), 3, "bad.jsonl: line 1 is no step of a log"),
            (("empty.jsonl", "--wandb", "out"), 3, "empty.jsonl: has no step"),
            (("run.jsonl",), 2, "required"),
        ):
            run = self.run_tool(*words)
            self.assertEqual(run.returncode, status, run.stderr)
            self.assertIn(part, run.stderr)
        (self.folder / "modules/wandb.py").write_text("raise ImportError\n")
        run = self.run_tool("run.jsonl", "--wandb", "out")
        self.assertEqual(run.returncode, 1)
        self.assertIn("hint: pip install wandb", run.stderr)


if __name__ == "__main__":
    unittest.main()
