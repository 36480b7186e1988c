# SPDX-License-Identifier: Apache-2.0
"""What --dump-passes writes."""

import numpy as np
from harness import case, check, check_relative, golden

# Steps over tensors, which the interpreter runs: from the update to the schedule.
FIRST, LAST = "ingot-apply-optimizer", "ingot-group-kernels"


def dumped_losses(ingot, name, *flags):
    """The loss of the training step in every file up to the schedule, by pass. Every file is read back."""
    model = golden(name)
    folder = ingot.path("passes")
    flags = [*model.compile_flags("adamw"), *flags]
    batch = int(flags[flags.index("--batch") + 1])
    ingot.succeed(ingot.ingotc(model.model, *flags, "-o", ingot.path("trainer"), "--dump-passes", folder))
    with np.load(model.data) as arrays:
        data = {key: values[:batch] for key, values in arrays.items()}
    inputs = ingot.path("inputs.npz")
    np.savez(inputs, **data)
    losses, is_step = {}, False
    for file in sorted(folder.glob("*.mlir")):
        ingot.succeed([ingot.bin / "ingot-opt", file, "-o", "/dev/null"])
        is_step |= FIRST in file.name
        if is_step:
            outputs = ingot.path("outputs.npz")
            command = [ingot.bin / "ingot-eval", file, "--function", "train_step"]
            ingot.succeed([*command, "--inputs", inputs, "--outputs", outputs])
            losses[file.stem] = float(np.load(outputs)["loss"])
        if LAST in file.name:
            is_step = False
    check(len(losses) > 12, f"{name}: only {list(losses)}")
    return losses


@case("dump-passes-run")
def dump_passes_run(ingot):
    """Every file is a module that ingot-opt reads; those of training steps run, and pass the loss on."""
    for name, flags, tolerance in (
        ("mlp", [], 1e-6),
        ("cnn", ["--precision", "bf16"], 1e-2),
        ("regression", ["--clip"], 1e-6),
    ):
        losses = dumped_losses(ingot, name, *flags)
        values = list(losses.values())
        check_relative(f"{name}: {list(losses)}", values, [values[0]] * len(values), tolerance)
