# SPDX-License-Identifier: Apache-2.0
"""Every optimizer on one fixed sequence of gradients, through the trainer.

The model's loss is sum(weights * input): its gradient is the input.
"""

import json

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
import optimizer_goldens as goldens
from harness import HERE, case, check, check_close, initializers

RECORD = json.loads((HERE / "goldens-optimizers.json").read_text())


def write_model(path):
    nodes, inputs, sums = [], [], []
    for name, shape in goldens.SHAPES.items():
        inputs.append(oh.make_tensor_value_info(f"g_{name}", onnx.TensorProto.FLOAT, [1, *shape]))
        nodes.append(oh.make_node("Mul", [name, f"g_{name}"], [f"{name}_product"]))
        nodes.append(oh.make_node("ReduceSum", [f"{name}_product"], [f"{name}_sum"], keepdims=0))
        sums.append(f"{name}_sum")
    nodes.append(oh.make_node("Add", sums, ["loss"]))
    graph = oh.make_graph(
        nodes,
        "fixed_gradients",
        inputs,
        [oh.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])],
        [onnx.numpy_helper.from_array(v, k) for k, v in goldens.initial().items()],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def against_golden(optimizer):
    def run(ingot):
        model, data = ingot.path("model.onnx"), ingot.path("gradients.npz")
        write_model(model)
        np.savez(data, **{f"g_{name}": v for name, v in goldens.gradients().items()})
        trainer = ingot.compile(model, "--loss", "output:loss", "--optimizer", optimizer)
        check(len(RECORD[optimizer]) == len(goldens.RUNS[optimizer]), "goldens are out of date")
        for want in RECORD[optimizer]:
            flags = [word for key, value in want["flags"].items() for word in (f"--{key}", str(value))]
            exported = ingot.path("exported.onnx")
            ingot.train(
                trainer, "--data", data, "--no-shuffle", "--steps", str(goldens.STEPS),
                "--export", exported, *flags,
            )  # fmt: skip
            trained = initializers(exported)
            for name, shape in goldens.SHAPES.items():
                values = np.array(want["weights"][name]).reshape(shape)
                check(not np.array_equal(values, goldens.initial()[name]), f"{name} did not move")
                check_close(f"{name} {' '.join(flags)}", trained[name], values, 1e-5)

    return run


for optimizer in RECORD:
    case(f"gradients-{optimizer}")(against_golden(optimizer))
