# SPDX-License-Identifier: Apache-2.0
"""PyTorch's exporter, with what has to be done before and after it.

Part of ingot_torch, which is what to import.
"""

import warnings

import onnx
import onnx.shape_inference
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
SCATTERS = (torch.scatter_reduce, torch.Tensor.scatter_reduce, torch.Tensor.scatter_reduce_)


def run(model, inputs, **options):
    """torch.onnx.export; raises what it raises."""
    _give_biases(model)
    options |= {"dynamo": True, "optimize": False, "verbose": False, "custom_translation_table": _translations()}
    with warnings.catch_warnings(), _ScatteredMeans():
        warnings.simplefilter("ignore")
        try:
            program = torch.onnx.export(model, inputs, **options)
        except Exception as error:
            if "Cannot view a tensor" not in str(error):
                raise
            # It takes strides for those of a fused attention, and decomposes it into one that has others.
            with sdpa_kernel(SDPBackend.MATH):
                program = torch.onnx.export(model, inputs, **options)
    _separate_names(program.model.graph)
    return program


class _ScatteredMeans(TorchFunctionMode):
    """ONNX has no mean of what is scattered, and the exporter lets one of the values win: it is a sum over a count."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in SCATTERS:
            names = ("input", "dim", "index", "src", "reduce")
            given = dict(zip(names, args)) | kwargs
            if given["reduce"] == "mean":
                x, dim, index, source = (given[name] for name in names[:4])
                options = {"reduce": "sum", "include_self": given.get("include_self", True)}
                total = x.scatter_reduce(dim, index, source, **options)
                count = torch.ones_like(x).scatter_reduce(dim, index, torch.ones_like(source), **options)
                mean = total / count
                return x.copy_(mean) if function is torch.Tensor.scatter_reduce_ else mean
        return function(*args, **kwargs)


def _translations():
    """Of operators that the exporter has no ONNX for."""
    from onnxscript import opset18 as op

    def prod(self, dims: list[int], output_dtype: int = -1):
        return op.ReduceProd(self, op.Constant(value_ints=dims), keepdims=0)

    # What a cumulative product is decomposed into.
    return {torch.ops.prims.prod.default: prod}


def _separate_names(graph):
    """A result may have the name of a parameter, as that of t() and a parameter `t`: the file would confuse them."""
    taken = {*graph.initializers, *(value.name for value in graph.inputs)}
    names = {value.name for node in graph.all_nodes() for value in node.outputs} | taken
    for value in [value for node in graph.all_nodes() for value in node.outputs]:
        if value.name in taken and value not in graph.outputs:
            value.name = next(n for n in map(f"{value.name}_{{}}".format, range(1, len(names) + 2)) if n not in names)
            names.add(value.name)


def _give_biases(model):
    """To a Conv3d that has none the exporter gives one of two dimensions, which is no ONNX: it gets a zero one."""
    for part in model.modules():
        if isinstance(part, nn.Conv3d) and part.bias is None:
            del part._parameters["bias"]
            part.register_buffer("bias", part.weight.new_zeros(part.out_channels))


def strip_traces(graph):
    """The exporter keeps stack traces of this machine in every node."""
    for node in graph.node:
        for entry in [e for e in node.metadata_props if "stack_trace" in e.key]:
            node.metadata_props.remove(entry)
        for attribute in node.attribute:
            strip_traces(attribute.g)


def write_casts(proto):
    """CastLike is a function for onnxruntime, which warns of each one that it cannot fold: casts to types that are
    known say so."""
    nodes = [node for node in proto.graph.node if node.op_type == "CastLike" and not node.domain]
    if not nodes:
        return
    graph = onnx.shape_inference.infer_shapes(proto).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    for node in nodes:
        if types.get(node.input[1]):
            node.attribute.append(onnx.helper.make_attribute("to", types[node.input[1]]))
            node.op_type = "Cast"
            del node.input[1]


def mark_frozen(model, graph):
    """Parameters without gradients become buffers, so that a trainer leaves them as they are."""
    parameters = list(model.named_parameters(remove_duplicate=False))
    frozen = {name for name, parameter in parameters if not parameter.requires_grad}
    for value in graph.value_info:
        for entry in value.metadata_props:
            if entry.key == KIND and value.name in frozen:
                entry.value = "BUFFER"
    for entry in graph.metadata_props:
        if entry.key == SIGNATURE:
            for name in frozen:
                entry.value = entry.value.replace(f"PARAMETER target='{name}'", f"BUFFER target='{name}'")
