# SPDX-License-Identifier: Apache-2.0
"""Exports a PyTorch module to an ONNX file that is safe to train from, and brings
trained weights home.

    import ingot_torch
    ingot_torch.export(model, (images,), path="model.onnx")
    ingot_torch.export(bert, kwargs={"input_ids": ids, "attention_mask": mask}, path="bert.onnx")
    ingot_torch.load_trained(model, "trained.safetensors")

PyTorch's exporter on default settings is made for inference: it merges weights
of equal value, folds batch norm into convolutions, renames transposed weights
and drops dropout. export asks for none of that, and then checks the file: every
parameter is there under its own name with its value, batch norm and dropout are
still there, onnxruntime computes what the module does, for its weights and for
others, and the module's gradients are the derivatives of what it computes.

Needs torch and onnxscript; the outputs are compared only where onnxruntime is
installed. docs/guide/exporting-from-pytorch.md tells of the traps one by one.
"""

import copy
import json
import os
import pathlib
import tempfile
import warnings

import ingot_torch_arguments
import ingot_torch_exporter
import numpy as np
import onnx
import onnx.external_data_helper
import onnx.numpy_helper
import torch
from ingot_torch_errors import ExportError, LoadError
from torch import nn
from torch.utils import _pytree as pytree

__all__ = ["ExportError", "LoadError", "export", "export_for_training", "load_trained"]

# protobuf's limit on a file is 2 GiB; above this the weights go beside it.
EMBED_LIMIT = 1 << 30
# Gradients are checked in double precision, on a copy of the module.
GRADIENT_LIMIT = 1 << 28
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)


def export(module, args=(), kwargs=None, path="model.onnx", **options):
    """Writes `module` to `path` and checks the file, as export_for_training does.

    args, kwargs    what forward is called with: tensors, and lists, dictionaries
                    and dataclasses of them; tensors have two samples or more in
                    the first dimension, and what is no tensor is fixed in the
                    file
    """
    return export_for_training(module, args, path, example_kwargs=kwargs, **options)


def export_for_training(
    module,
    example_inputs,
    path,
    *,
    example_kwargs=None,
    batch="batch",
    dynamic_shapes=None,
    input_names=None,
    output_names=None,
    external_data=None,
    opset_version=18,
    tolerance=1e-4,
    skip_dropouts=False,
    check_gradients=True,
):
    """Writes `module` to `path` and checks the file; raises ExportError.

    example_inputs  tensors, two samples or more in the first dimension of each,
                    or lists, dictionaries and dataclasses of them
    example_kwargs  arguments by name: tensors as above, and constants
    batch           name of that dimension in the file, bound by ingotc --batch;
                    None keeps the examples' size
    dynamic_shapes  further dimensions that the file leaves open, bound by
                    ingotc --dim: names by the argument and the dimension, as in
                    {"ids": {1: "seq"}}; or what torch.export takes
    input_names     default: the names of forward's arguments, with those of
                    entries, as in batch_ids
    output_names    default: output, or output_0, output_1, ...; the names of a
                    dictionary's or dataclass's entries
    external_data   weights in PATH.data beside the file (default: from 1 GiB)
    tolerance       how far onnxruntime's outputs may be from the module's
    skip_dropouts   True leaves out the nn.Dropout modules that forward does not
                    call, as those of attention in Hugging Face models; a list
                    names the ones that may be left out
    check_gradients False accepts a module whose gradients are not the
                    derivatives of what it computes (detach, autograd.Function)

    Parameters without requires_grad are not trained. The module is left as it
    was. Returns the path.
    """
    path = pathlib.Path(path)
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    inputs, example_kwargs = ingot_torch_arguments.separate((inputs, dict(example_kwargs or {})))
    positional = ingot_torch_arguments.argument_names(module, len(inputs), is_free=bool(input_names))
    arguments = dict(zip(positional, inputs)) | example_kwargs
    found = ingot_torch_arguments.name_tensors(arguments, positional)
    tensors = list(found.values())
    names = list(input_names or found)
    if len(names) != len(tensors):
        raise ExportError(f"{len(names)} input_names for {len(tensors)} tensors", "name each of them, in their order")
    _check_examples(tensors, names, batch)

    model = _as_exported(module)
    with torch.no_grad():
        outputs, idle = _evaluate(model, inputs, example_kwargs)
        results = _flatten(outputs)
    _check_dropouts(model, idle, skip_dropouts)
    output_names = list(output_names or results)
    outputs = list(results.values())
    with tempfile.TemporaryDirectory(dir=path.absolute().parent, prefix=f".{path.name}-") as folder:
        # The exporter can write more than protobuf can hold.
        written = pathlib.Path(folder) / path.name
        shapes = ingot_torch_arguments.dynamic_shapes_of(arguments, dynamic_shapes, positional, batch)
        given = tuple(shapes.values()) if shapes and not example_kwargs else shapes
        try:
            program = ingot_torch_exporter.run(
                model,
                inputs,
                kwargs=example_kwargs,
                dynamic_shapes=given,
                input_names=names,
                output_names=output_names,
                opset_version=opset_version,
            )
        except Exception as error:
            raise ExportError(
                f"torch.onnx.export cannot export the module: {_first_line(error)}",
                "torch.export.export(module, inputs) shows where; the exporter takes no Python control flow on values",
            ) from error
        program.save(written, external_data=True)
        del program
        proto = onnx.load(written, load_external_data=False)
        for graph in [proto.graph, *proto.functions]:
            ingot_torch_exporter.strip_traces(graph)
        ingot_torch_exporter.write_casts(proto)
        ingot_torch_exporter.mark_frozen(model, proto.graph)
        ingot_torch_arguments.name_dimensions(proto, names, arguments, shapes)
        _check_parameters(model, proto, folder)
        _check_operators(model, proto)
        _check_batch(proto, names, batch)
        _check_outputs(proto, folder, model, inputs, example_kwargs, names, tensors, outputs, tolerance)
        if check_gradients:
            _check_gradients(model, inputs, example_kwargs)
        _save(proto, written, path, external_data)
    return path


def load_trained(module, path, prefix=""):
    """Copies trained weights into `module`, by name; raises LoadError.

    path    what a trainer wrote with --export: a .safetensors or an .onnx file,
            or a checkpoint's; of large weights in several files the name that
            --export had, or the index
    prefix  what the file's names begin with before those of the module, which
            was a part of the one that was exported

    Every parameter of the module must be in the file, with its shape; so must
    running statistics where the file has any. Tied parameters are looked up
    under each of their names. Nothing is changed unless everything fits.
    Returns the module.
    """
    path = pathlib.Path(path)
    values = _read_trained(path)
    entries = {}
    for name, tensor in [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]:
        entries.setdefault(id(tensor), (tensor, []))[1].append(name)
    parameters = {id(parameter) for parameter in module.parameters()}
    found, missing = [], []
    for tensor, names in entries.values():
        value = next((values[prefix + name] for name in names if prefix + name in values), None)
        if value is None:
            if id(tensor) in parameters:
                missing.append(names[0])
            continue
        if tuple(value.shape) != tuple(tensor.shape):
            raise LoadError(
                f"{path}: {names[0]} has shape {list(value.shape)} instead of {list(tensor.shape)}",
                "give the module that was exported, with the same configuration",
            )
        found.append((tensor, value))
    if missing:
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise LoadError(
            f"{path}: has no {', '.join(prefix + name for name in missing[:4])}{more}",
            _hint_of_prefix(values, [prefix + name for name in missing])
            or "give the file of the model that this module was exported to",
        )
    with torch.no_grad():
        for tensor, value in found:
            tensor.copy_(torch.from_numpy(np.array(value)))
    return module


def _hint_of_prefix(values, missing):
    """What to do if the names differ in what they begin with; empty if they do not."""
    begin = next((name[: -len(missing[0])] for name in values if name.endswith("." + missing[0])), None)
    if begin and all(begin + name in values for name in missing):
        return f"the names of the file begin with {begin}: add prefix='{begin}'"
    begin = missing[0].partition(".")[0]
    if all(name.startswith(begin + ".") and name[len(begin) + 1 :] in values for name in missing):
        return f"the names of the module begin with {begin}., those of the file do not: give module.{begin}"
    return ""


def _list_files(path):
    """The file, or those that its index names."""
    index = path if path.suffix == ".json" else path.with_name(path.name + ".index.json")
    if path != index and (path.exists() or not index.exists()):
        return [path]
    names = set(json.loads(index.read_text())["weight_map"].values())
    return [index.with_name(pathlib.PurePath(name).name) for name in sorted(names)]


def _read_trained(path):
    """The tensors of a file by name."""
    try:
        if path.suffix == ".onnx":
            graph = onnx.load(path).graph
            return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        import safetensors.torch

        tensors = {}
        for file in _list_files(path):
            tensors |= safetensors.torch.load_file(file)
        # numpy knows no bfloat16.
        return {n: (t.float() if t.dtype == torch.bfloat16 else t).numpy() for n, t in tensors.items()}
    except ImportError:
        raise
    except Exception as error:
        raise LoadError(
            f"{path}: cannot be read: {_first_line(error)}", "give a file that a trainer wrote with --export"
        ) from error


def _check_examples(tensors, names, batch):
    for tensor, name in zip(tensors, names):
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


def _evaluate(model, inputs, kwargs):
    """The outputs, and the names of the dropouts that forward does not call."""
    model = copy.deepcopy(model).eval()
    idle = {name for name, part in model.named_modules() if isinstance(part, DROPOUTS) and part.p > 0}
    for name in sorted(idle):
        model.get_submodule(name).register_forward_hook(lambda *_, name=name: idle.discard(name))
    outputs = model(*inputs, **kwargs)
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
    """The tensors that forward returns, by name; entries that are None are left out."""
    if isinstance(outputs, torch.Tensor):
        return {"output": outputs}
    is_listed = isinstance(outputs, (tuple, list)) and not hasattr(outputs, "_fields")
    results = {}
    for keys, value in pytree.tree_flatten_with_path(outputs)[0]:
        if value is None:
            continue
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", "")))) for key in keys]
        if not isinstance(value, torch.Tensor):
            where = f" in {'.'.join(parts)}" if parts else ""
            raise ExportError(
                f"forward returns {type(value).__name__}{where}",
                "wrap the module so that it returns a tensor, or a tuple or dictionary of them",
            )
        results["_".join((["output"] if is_listed else []) + parts)] = value
    return {"output": results.popitem()[1]} if is_listed and len(results) == 1 else results


def _value(tensor, folder):
    return onnx.numpy_helper.to_array(tensor, base_dir=str(folder))


def _check_parameters(model, proto, folder):
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
        value = _value(initializers[found[0]], folder)
        want = parameter.detach()
        if want.dtype == torch.bfloat16:
            value, want = value.astype(np.float32), want.float()
        if value.shape != tuple(want.shape) or not np.array_equal(value, want.numpy(), equal_nan=True):
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


def _move(model):
    """Moves every parameter a little, so that the outputs depend on each of them."""
    source = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.numel():
                scale = float(torch.linalg.vector_norm(parameter.float())) / parameter.numel() ** 0.5
                noise = torch.randn(parameter.shape, generator=source).to(parameter.dtype)
                parameter.add_(noise, alpha=0.05 * max(scale, 0.02))


def _check_outputs(proto, folder, model, inputs, kwargs, names, tensors, outputs, tolerance):
    """onnxruntime computes what the module does, for its parameters and for others."""
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
    # An initializer that is an input as well can be given another value.
    moved = copy.deepcopy(model).eval()
    _move(moved)
    present = {tensor.name: tensor for tensor in still.graph.initializer}
    others = {}
    for name, parameter in moved.named_parameters(remove_duplicate=False):
        if name in present and parameter.dtype != torch.bfloat16:
            tensor = present[name]
            others[name] = parameter.detach().numpy()
            value = onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
            still.graph.input.append(value)
    options = onnxruntime.SessionOptions()
    # Its warnings are about constants that it folds, not about the file.
    options.log_severity_level = 3
    feeds = {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, tensors)}
    try:
        file = os.path.join(folder, "compared.onnx")
        onnx.save(still, file)
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        taken = {value.name for value in session.get_inputs()}
        feeds = {name: array for name, array in feeds.items() if name in taken}
        results = session.run(None, feeds)
        again = session.run(None, {**feeds, **others})
    except Exception as error:
        raise ExportError(
            f"onnxruntime cannot run the file: {_first_line(error)}",
            "try another opset_version, or the newest onnxruntime",
        ) from error
    finally:
        os.unlink(file)
    with torch.no_grad():
        wanted = list(_flatten(moved(*inputs, **kwargs)).values())
    for value, got, want in zip(session.get_outputs(), results, outputs):
        if not _agree(got, want, tolerance):
            raise ExportError(
                f"{value.name} of the file is not the module's output",
                "is forward a function of its inputs alone? random numbers and Python state are frozen at export",
            )
    for value, got, want in zip(session.get_outputs(), again, wanted):
        # Choices by value, such as those of an argmax, may change with the last bit.
        if want.is_floating_point() and not _agree(got, want, 10 * tolerance):
            raise ExportError(
                f"{value.name} of the file does not follow the module's parameters",
                "forward computes with copies of parameters that the file keeps as constants: "
                "use the parameters themselves",
            )
    _check_inputs(session, feeds, model, inputs, kwargs, names, tensors, tolerance)


def _change(tensor):
    """Other values of the same kind: those of other places, which are in the range of the first."""
    if tensor.is_floating_point():
        return tensor + 0.1 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(2)).to(tensor.dtype)
    for other in (tensor.flip(-1), tensor.flip(0), tensor.roll(1, -1)):
        if not torch.equal(other, tensor):
            return other
    # A mask of ones: the last element of each row is masked.
    other = tensor.clone()
    other[..., -1] = 0
    return None if torch.equal(other, tensor) else other


def _check_inputs(session, feeds, model, inputs, kwargs, names, tensors, tolerance):
    """Each input alone changes the file's outputs as it does the module's."""
    for name, tensor in zip(names, tensors):
        other = _change(tensor.detach().cpu())
        if other is None:
            continue
        replaced = pytree.tree_map(lambda value, t=tensor, new=other: new if value is t else value, [inputs, kwargs])
        try:
            with torch.no_grad():
                wanted = list(_flatten(copy.deepcopy(model).eval()(*replaced[0], **replaced[1])).values())
            results = session.run(None, {**feeds, **({name: other.numpy()} if name in feeds else {})})
        except Exception:
            # Not all values are allowed.
            continue
        for value, got, want in zip(session.get_outputs(), results, wanted):
            if want.is_floating_point() and not _agree(got, want, 10 * tolerance):
                raise ExportError(
                    f"{value.name} of the file does not follow {name} as the module's does",
                    "is forward a function of its inputs alone? it must not keep values, or look which they are",
                )


def _agree(got, want, tolerance):
    want = want.detach().cpu().float().numpy() if want.dtype == torch.bfloat16 else want.detach().cpu().numpy()
    scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0))) if want.dtype.kind == "f" else 1.0
    return got.shape == want.shape and np.allclose(
        got.astype(want.dtype), want, rtol=tolerance, atol=tolerance * scale, equal_nan=True
    )


def _check_gradients(model, inputs, kwargs):
    """The module's gradients are the derivatives of its outputs.

    The file has no detach and no backward pass of its own: a trainer's gradients
    are the derivatives. They are compared with central differences in double
    precision, along a direction that moves all parameters at once, and where that
    fails along one for each.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trained or sum(parameter.numel() for parameter in trained) > GRADIENT_LIMIT:
        return

    def wide(value):
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.detach().double() if is_float else value

    source = torch.Generator().manual_seed(1)
    try:
        double = copy.deepcopy(model).eval().double()
        for part in double.modules():
            # The file does not know that the row of padding is not trained.
            if isinstance(part, nn.Embedding):
                part.padding_idx = None
        inputs, kwargs = tuple(map(wide, inputs)), {name: wide(value) for name, value in kwargs.items()}
        weights = []

        def total():
            values = [v for v in _flatten(double(*inputs, **kwargs)).values() if v.is_floating_point()]
            while len(weights) < len(values):
                weights.append(torch.randn(values[len(weights)].shape, generator=source, dtype=torch.float64))
            return sum(((v * w).sum() for v, w in zip(values, weights)), torch.zeros(()))

        named = [(name, p) for name, p in double.named_parameters() if p.requires_grad and p.is_floating_point()]
        with torch.enable_grad():
            result = total()
        if result.dtype != torch.float64 or not torch.isfinite(result):
            return
        gradients = [None] * len(named)
        if result.requires_grad:
            gradients = torch.autograd.grad(result, [p for _, p in named], allow_unused=True)
    except Exception:
        # Modules that insist on single precision are not checked.
        return
    directions = [torch.randn(p.shape, generator=source, dtype=p.dtype) for _, p in named]

    def differs(chosen):
        step = 1e-6
        sides = []
        with torch.no_grad():
            for sign in (1, -2):
                for i in chosen:
                    named[i][1].add_(directions[i], alpha=sign * step)
                sides.append(float(total()))
            for i in chosen:
                named[i][1].add_(directions[i], alpha=step)
        difference = (sides[0] - sides[1]) / (2 * step)
        parts = [float((gradients[i] * directions[i]).sum()) for i in chosen if gradients[i] is not None]
        scale = max(abs(difference), sum(map(abs, parts)), 1e-4 * abs(float(result.detach())), 1e-6)
        return abs(sum(parts) - difference) > 1e-2 * scale

    if not differs(range(len(named))):
        return
    wrong = [name for i, (name, _) in enumerate(named) if differs([i])]
    if wrong:
        more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
        raise ExportError(
            f"the gradients of {', '.join(wrong[:4])}{more} are not the derivatives of the module's outputs",
            "the file cannot hold detach, no_grad or a backward pass of your own, and would train otherwise: "
            "freeze what is to stay (requires_grad_(False)), or accept it with check_gradients=False",
        )


def _save(proto, written, path, external_data):
    """Moves the file to its place, with its weights in it or beside it."""
    data = pathlib.Path(str(written) + ".data")
    size = data.stat().st_size if data.exists() else 0
    if not (external_data or (external_data is None and size > EMBED_LIMIT)):
        onnx.external_data_helper.load_external_data_for_model(proto, str(written.parent))
        data.unlink(missing_ok=True)
    onnx.save(proto, written)
    if data.exists():
        os.replace(data, str(path) + ".data")
    os.replace(written, path)
