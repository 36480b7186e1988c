# SPDX-License-Identifier: Apache-2.0
"""Exports a PyTorch module to an ONNX file that is safe to train from.

    import ingot_torch
    ingot_torch.export_for_training(model, (images,), "model.onnx")

PyTorch's exporter on default settings is made for inference: it merges weights
of equal value, folds batch norm into convolutions, renames transposed weights
and drops dropout. export_for_training asks for none of that, and then checks
the file: every parameter is there under its own name with its value, batch
norm and dropout are still there, and onnxruntime computes what the module does.

Needs torch and onnxscript; the outputs are compared only where onnxruntime is
installed. docs/guide/exporting-from-pytorch.md tells of the traps one by one.
"""

import copy
import inspect
import pathlib
import warnings

import numpy as np
import onnx
import onnx.external_data_helper
import onnx.numpy_helper
import torch
from torch import nn

__all__ = ["ExportError", "export_for_training"]

# protobuf's limit on a file is 2 GiB; above this the weights go beside it.
EMBED_LIMIT = 1 << 30
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


class ExportError(RuntimeError):
    """The file would not train as the module does; says why and what to do."""

    def __init__(self, what, hint):
        super().__init__(f"{what}\nhint: {hint}")


def export_for_training(
    module,
    example_inputs,
    path,
    *,
    batch="batch",
    input_names=None,
    output_names=None,
    external_data=None,
    opset_version=18,
    tolerance=1e-4,
    skip_dropouts=False,
):
    """Writes `module` to `path` and checks the file; raises ExportError.

    example_inputs  tensors, two samples or more in the first dimension of each
    batch           name of that dimension in the file, bound by ingotc --batch;
                    None keeps the examples' size
    input_names     default: the names of forward's arguments
    output_names    default: output, or output_0, output_1, ...
    external_data   weights in PATH.data beside the file (default: from 1 GiB)
    tolerance       how far onnxruntime's outputs may be from the module's
    skip_dropouts   True leaves out the nn.Dropout modules that forward does not
                    call, as those of attention in Hugging Face models; a list
                    names the ones that may be left out

    The module is left as it was. Returns the path.
    """
    path = pathlib.Path(path)
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    names = list(input_names or _argument_names(module, len(inputs)))
    _check_examples(inputs, names, batch)

    model = _as_exported(module)
    with torch.no_grad():
        outputs, idle = _evaluate(model, inputs)
        outputs = _flatten(outputs)
    _check_dropouts(model, idle, skip_dropouts)
    if output_names is None:
        output_names = ["output"] if len(outputs) == 1 else [f"output_{i}" for i in range(len(outputs))]
    shapes = None
    if batch is not None:
        shapes = tuple({0: torch.export.Dim(batch)} for _ in inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(
                model,
                inputs,
                dynamo=True,
                optimize=False,
                dynamic_shapes=shapes,
                input_names=names,
                output_names=list(output_names),
                opset_version=opset_version,
                verbose=False,
            )
        except Exception as error:
            raise ExportError(
                f"torch.onnx.export cannot export the module: {_first_line(error)}",
                "torch.export.export(module, inputs) shows where; the exporter takes no Python control flow on values",
            ) from error
    proto = program.model_proto
    _strip_traces(proto)
    _check_parameters(model, proto)
    _check_operators(model, proto)
    _check_batch(proto, names, batch)
    _check_outputs(proto, names, inputs, outputs, tolerance)
    _save(proto, path, external_data)
    return path


def _argument_names(module, count):
    names = [
        name
        for name, parameter in inspect.signature(module.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ][:count]
    if len(names) < count:
        raise ExportError("forward takes fewer arguments than there are examples", "give input_names")
    return names


def _check_examples(inputs, names, batch):
    for tensor, name in zip(inputs, names):
        if not isinstance(tensor, torch.Tensor):
            raise ExportError(f"the example for {name} is no tensor", "wrap the module so that it takes tensors only")
        # The exporter takes a dimension of size one for a constant.
        if batch is not None and (tensor.ndim == 0 or tensor.shape[0] < 2):
            raise ExportError(
                f"the example for {name} has fewer than two samples",
                "give two or more: the exporter takes a batch of one for a constant",
            )


def _as_exported(module):
    """A copy in the mode to export: evaluation, but with dropout at work.

    In training mode the exporter writes the update of the running statistics
    into the graph; Ingot trains batch norm without being told.
    """
    model = copy.deepcopy(module).cpu().eval()
    for part in model.modules():
        if isinstance(part, DROPOUTS) and part.p > 0:
            part.train()
    return model


def _evaluate(model, inputs):
    """The outputs, and the names of the dropouts that forward does not call."""
    model = copy.deepcopy(model).eval()
    idle = {name for name, part in model.named_modules() if isinstance(part, DROPOUTS) and part.p > 0}
    for name in sorted(idle):
        model.get_submodule(name).register_forward_hook(lambda *_, name=name: idle.discard(name))
    outputs = model(*inputs)
    return outputs, sorted(idle)


def _check_dropouts(model, idle, skip):
    """Without the dropouts that may be left out; raises ExportError for the others.

    One that forward does not call is not in the file, and trains in PyTorch
    only where its `p` is passed to a function such as attention.
    """
    allowed = idle if skip is True else list(skip or ())
    for name in allowed:
        part = dict(model.named_modules()).get(name)
        if not isinstance(part, DROPOUTS):
            raise ExportError(f"skip_dropouts names {name}, which is no dropout of the module", "check the name")
        part.p = 0.0
    left = [name for name in idle if name not in allowed]
    if left:
        more = f" and {len(left) - 4} more" if len(left) > 4 else ""
        raise ExportError(
            f"forward does not call the dropouts {', '.join(left[:4])}{more}",
            "call them in forward, set their p to 0, or train without them: skip_dropouts=True",
        )


def _first_line(error):
    """What began it: the exporter wraps errors in its own, which say less."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _flatten(outputs):
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if not isinstance(outputs, (tuple, list)) or not all(isinstance(o, torch.Tensor) for o in outputs):
        raise ExportError(
            f"forward returns {type(outputs).__name__}",
            "wrap the module so that it returns a tensor or a tuple of them",
        )
    return list(outputs)


def _strip_traces(proto):
    """The exporter keeps stack traces of this machine in every node."""
    for graph in [proto.graph, *proto.functions]:
        for node in graph.node:
            for entry in [e for e in node.metadata_props if "stack_trace" in e.key]:
                node.metadata_props.remove(entry)


def _check_parameters(model, proto):
    """Each parameter is an initializer of one of its names, with its value."""
    initializers = {t.name: t for t in proto.graph.initializer}
    aliases = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        aliases.setdefault(id(parameter), (parameter, []))[1].append(name)
    used = {name for node in proto.graph.node for name in node.input}
    for parameter, names in aliases.values():
        found = [name for name in names if name in initializers]
        if not found:
            raise ExportError(
                f"the parameter {names[0]} is not in the file",
                "forward does not use it, or uses a copy: delete it, or use the parameter itself",
            )
        if len([name for name in found if name in used]) > 1:
            raise ExportError(
                f"{' and '.join(found)} are one parameter in the module but several in the file",
                "use the shared tensor through one module",
            )
        value = onnx.numpy_helper.to_array(initializers[found[0]])
        want = parameter.detach()
        if value.shape != tuple(want.shape) or not np.array_equal(
            value.astype(np.float64), want.to(torch.float64).numpy(), equal_nan=True
        ):
            raise ExportError(
                f"the value of {found[0]} in the file is not the module's", "do not change weights in forward"
            )


def _count(proto, kind):
    return sum(node.op_type == kind for graph in [proto.graph, *proto.functions] for node in graph.node)


def _check_operators(model, proto):
    norms = sum(isinstance(part, BATCH_NORMS) and part.track_running_stats for part in model.modules())
    if _count(proto, "BatchNormalization") < norms:
        raise ExportError(
            f"{norms} batch norms in the module, {_count(proto, 'BatchNormalization')} in the file",
            "do not fuse the module (torch.ao, fuse_conv_bn) before exporting it",
        )
    drops = sum(isinstance(part, DROPOUTS) and part.p > 0 for part in model.modules())
    if _count(proto, "Dropout") < drops:
        raise ExportError(
            f"{drops} dropouts in the module, {_count(proto, 'Dropout')} in the file",
            "the exporter dropped some that forward calls: set their p to 0, or report this with the module",
        )


def _check_batch(proto, names, batch):
    if batch is None:
        return
    for value in proto.graph.input:
        dimension = value.type.tensor_type.shape.dim[0]
        if value.name in names and not dimension.dim_param:
            raise ExportError(
                f"the first dimension of {value.name} became the constant {dimension.dim_value}",
                "do not compute Python numbers from x.shape[0] in forward; use -1 or x.flatten(1)",
            )


def _check_outputs(proto, names, inputs, outputs, tolerance):
    try:
        import onnxruntime
    except ImportError:
        warnings.warn("onnxruntime is not installed: the file's outputs were not compared", stacklevel=3)
        return
    still = onnx.ModelProto()
    still.CopyFrom(proto)
    for graph in [still.graph, *still.functions]:
        for node in graph.node:
            # Without its third input Dropout passes its input on.
            if node.op_type == "Dropout" and len(node.input) > 2:
                del node.input[2:]
    options = onnxruntime.SessionOptions()
    # Its warnings are about constants that it folds, not about the file.
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(still.SerializeToString(), options, providers=["CPUExecutionProvider"])
        taken = {value.name for value in session.get_inputs()}
        feeds = {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, inputs) if name in taken}
        results = session.run(None, feeds)
    except Exception as error:
        raise ExportError(
            f"onnxruntime cannot run the file: {_first_line(error)}",
            "try another opset_version, or the newest onnxruntime",
        ) from error
    for value, got, want in zip(session.get_outputs(), results, outputs):
        want = want.detach().cpu().numpy()
        if got.shape != want.shape or not np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True):
            raise ExportError(
                f"{value.name} of the file is not the module's output",
                "is forward a function of its inputs alone? random numbers and Python state are frozen at export",
            )


def _save(proto, path, external_data):
    size = proto.ByteSize()
    data = pathlib.Path(str(path) + ".data")
    if external_data or (external_data is None and size > EMBED_LIMIT):
        # onnx appends to the file that is there.
        data.unlink(missing_ok=True)
        onnx.external_data_helper.convert_model_to_external_data(proto, location=data.name, size_threshold=1024)
    onnx.save(proto, path)
