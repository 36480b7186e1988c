# SPDX-License-Identifier: Apache-2.0
"""PyTorch's exporter, with what has to be done before and after it.

Part of ingot_torch, which is what to import.
"""

import warnings

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"


def run(model, inputs, **options):
    """torch.onnx.export; raises what it raises."""
    _give_biases(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.onnx.export(model, inputs, dynamo=True, optimize=False, verbose=False, **options)
        except Exception as error:
            if "Cannot view a tensor" not in str(error):
                raise
        # It takes strides for those of a fused attention, and decomposes it into one that has others.
        with sdpa_kernel(SDPBackend.MATH):
            return torch.onnx.export(model, inputs, dynamo=True, optimize=False, verbose=False, **options)


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
