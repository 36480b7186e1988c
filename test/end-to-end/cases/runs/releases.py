# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of earlier releases, which test/releases keeps: today's trainers resume, evaluate and export them."""

import json
import shutil

import numpy as np
import onnxruntime
from harness import ROOT, case, check, check_close, initializers

RELEASES = sorted(path.parent for path in (ROOT / "test/releases").glob("*/run.json"))


@case("release-checkpoints")
def release_checkpoints(ingot):
    check(RELEASES, "no release has a checkpoint in test/releases")
    for kept in RELEASES:
        made = json.loads((kept / "run.json").read_text())
        trainer = ingot.compile(kept / "model.onnx", *made["flags"])
        # Nothing is written beside what is kept.
        folder = ingot.path("kept")
        shutil.copytree(kept, folder)
        data, exported = folder / "data.npz", folder / "trained.onnx"
        flags = ["--data", data, "--eval-data", data, "--resume", folder / "checkpoint"]
        steps, _ = ingot.train(trainer, *flags, log_from=6)
        check_close(f"{kept.name}: losses", [step["loss"] for step in steps], made["losses"], 1e-5)
        _, evaluations = ingot.train(trainer, *flags, "--evaluate", "--export", exported)
        found = evaluations[-1]
        check_close(f"{kept.name}: evaluation", [found["eval_loss"]], [made["eval_loss"]], 1e-5)
        check(found["eval_accuracy"] == made["eval_accuracy"], f"{kept.name}: {found} instead of {made}")

        # The exported model has the checkpoint's weights: an ONNX runtime finds the same accuracy.
        with np.load(data) as arrays:
            outputs = onnxruntime.InferenceSession(str(exported)).run(None, {"x": arrays["x"]})[0]
            accuracy = float((outputs.argmax(axis=1) == arrays["labels"]).mean())
        check(abs(accuracy - made["eval_accuracy"]) < 1e-6, f"{kept.name}: {accuracy} instead of {made}")
        check(set(initializers(exported)) == set(initializers(kept / "model.onnx")), "other initializers")
