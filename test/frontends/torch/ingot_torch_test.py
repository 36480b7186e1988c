# SPDX-License-Identifier: Apache-2.0
"""frontends/torch: what is exported, and what is refused. Needs PyTorch."""

import contextlib
import dataclasses
import io
import json
import logging
import os
import pathlib
import random
import sys
import tempfile
import unittest

try:
    import onnx
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
except ImportError as missing:
    print(f"skip: {missing.name} is not installed")
    print("1 skipped")
    sys.exit(0)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "frontends/torch"))
import ingot_torch  # noqa: E402


class Net(nn.Module):
    """All that the exporter's defaults break: equal norms, batch norm, dropout."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.drop, self.fc = nn.Dropout(0.25), nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x))).flatten(1)
        return self.fc(self.drop(self.norm2(torch.tanh(self.norm1(x)))))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.spare = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)


class Baked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x) * torch.ones(2, 1)


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x) * random.random()


class Attention(nn.Module):
    """As Hugging Face writes it: the rate of a module is passed to a function."""

    def __init__(self):
        super().__init__()
        self.fc, self.attention_dropout, self.drop = nn.Linear(4, 4), nn.Dropout(0.1), nn.Dropout(0.2)

    def forward(self, x):
        rate = self.attention_dropout.p if self.training else 0.0
        return self.drop(nn.functional.scaled_dot_product_attention(x, self.fc(x), x, dropout_p=rate))


class Heads(nn.Module):
    """Attention with a mask, whose heads are joined by a reshape: views of strides that the exporter gets wrong."""

    def __init__(self):
        super().__init__()
        self.fc, self.bias = nn.Linear(8, 8), nn.Parameter(torch.randn(1, 2, 3, 3))

    def forward(self, x):
        h = self.fc(x).view(-1, 3, 2, 4).transpose(1, 2)
        y = nn.functional.scaled_dot_product_attention(h, h, h, attn_mask=self.bias)
        return y.transpose(1, 2).reshape(x.shape[0], 3, 8)


class Named(nn.Module):
    """Its parameters are named as the exporter names the results of calls."""

    def __init__(self):
        super().__init__()
        self.t, self.mul = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.randn(3, 4))

    def forward(self, x):
        return (x @ self.mul.t() * self.t.exp()).exp() * self.t


class Graph(nn.Module):
    """A graph network whose nodes take the mean of what edges bring, and light that passes layers."""

    def __init__(self, reduce, include):
        super().__init__()
        self.fc, self.reduce, self.include = nn.Linear(4, 4), reduce, include

    def forward(self, x, target):
        h, target = self.fc(x), target.unsqueeze(-1).expand(-1, -1, 4)
        h = (x + 2).scatter_reduce(1, target, h, self.reduce, include_self=self.include)
        return torch.cumprod(torch.sigmoid(h), 1)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else x


@dataclasses.dataclass
class Report:
    logits: torch.Tensor
    hidden: torch.Tensor = None
    states: tuple = ()


torch.export.register_dataclass(Report)


class Keywords(nn.Module):
    """As language models are called: by keyword, and with a mask that may be left out."""

    def __init__(self):
        super().__init__()
        self.embed, self.fc = nn.Embedding(7, 4), nn.Linear(4, 3)

    def forward(self, ids=None, mask=None, scale=1.0, structured=True):
        x = self.embed(ids)
        if mask is not None:
            x = x * mask.unsqueeze(-1)
        logits = self.fc(x.sum(1)) * scale
        return Report(logits, states=(x, x + 1)) if structured else {"logits": logits}


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.gate = nn.Linear(2, 2), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.fc(x) * (self.gate.detach() + 0 * self.gate)


class Loss(nn.Module):
    """Compares what it computes of one argument with another, as models with labels do."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.head = nn.Linear(6, 11)

    def forward(self, ids, labels):
        logits = self.head(self.table(ids))
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, batch, extra=None):
        x, y = (batch.x, batch.y) if isinstance(batch, Batch) else (batch["x"], batch["y"])
        return self.fc(x - y) + (0 if extra is None else extra[0])


class ExportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "model.onnx"
        logging.disable(logging.WARNING)
        torch.manual_seed(0)

    def export(self, module, *inputs, **options):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            ingot_torch.export_for_training(module, inputs, self.path, **options)
        return onnx.load(self.path)

    def expect_refused(self, words, module, *inputs, **options):
        with self.assertRaises(ingot_torch.ExportError) as caught:
            self.export(module, *inputs, **options)
        self.assertIn(words, str(caught.exception))
        self.assertIn("\nhint: ", str(caught.exception))
        self.assertFalse(self.path.exists())

    def test_keeps_what_training_needs(self):
        net = Net()
        model = self.export(net, torch.randn(2, 1, 4, 4))
        names = {t.name for t in model.graph.initializer}
        self.assertLessEqual({n for n, _ in net.named_parameters()}, names)
        self.assertLessEqual({"bn.running_mean", "bn.running_var"}, names)
        kinds = [node.op_type for node in model.graph.node]
        self.assertEqual(kinds.count("BatchNormalization"), 1)
        self.assertEqual(kinds.count("Dropout"), 1)
        self.assertEqual(model.graph.input[0].name, "x")
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "batch")
        self.assertNotIn(b"stack_trace", model.SerializeToString())
        self.assertTrue(net.training and net.drop.training and net.bn.training)

    def test_options(self):
        model = self.export(
            Unused().fc, torch.randn(2, 2), batch=None, input_names=["a"], output_names=["b"], external_data=False
        )
        self.assertEqual((model.graph.input[0].name, model.graph.output[0].name), ("a", "b"))
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_value, 2)

    def test_external_data(self):
        net = nn.Linear(64, 64)
        for _ in range(2):
            model = self.export(net, torch.randn(2, 64), external_data=True)
        data = self.path.with_name("model.onnx.data")
        self.assertEqual(data.stat().st_size, 64 * 64 * 4)
        self.assertLess(self.path.stat().st_size, 64 * 64)
        weight = next(t for t in model.graph.initializer if t.name == "weight")
        self.assertTrue((onnx.numpy_helper.to_array(weight) == net.weight.detach().numpy()).all())

    def test_tied_parameters_are_one(self):
        model = self.export(Tied(), torch.zeros(2, 3, dtype=torch.int64))
        self.assertEqual(len([t for t in model.graph.initializer if list(t.dims) == [7, 4]]), 1)

    def test_refuses(self):
        self.expect_refused("spare.weight is not in the file", Unused(), torch.randn(2, 2))
        self.expect_refused("fewer than two samples", Net(), torch.randn(1, 1, 4, 4))
        self.expect_refused("no tensor", Unused(), 3)
        self.expect_refused("is not the module's output", Noisy(), torch.randn(2, 2))

    def test_frozen_parameters_are_buffers_of_the_file(self):
        net = Unused().fc
        net.bias.requires_grad_(False)
        model = self.export(net, torch.randn(2, 2))
        kinds = {v.name: e.value for v in model.graph.value_info for e in v.metadata_props if e.key.endswith(".kind")}
        self.assertEqual((kinds["weight"], kinds["bias"]), ("PARAMETER", "BUFFER"))
        signature = next(e.value for e in model.graph.metadata_props if e.key.endswith("graph_signature"))
        self.assertIn("BUFFER target='bias'", signature)
        self.assertIn("PARAMETER target='weight'", signature)

    def test_mends_what_the_exporter_gets_wrong(self):
        self.export(Heads(), torch.randn(2, 3, 8))
        model = self.export(nn.Conv3d(2, 3, 3, bias=False), torch.randn(2, 2, 4, 4, 4))
        self.assertEqual({t.name: list(t.dims) for t in model.graph.initializer}["bias"], [3])
        target = torch.tensor([[0, 0, 1, 4, 4], [3, 3, 3, 3, 0]])
        for reduce in ("mean", "sum", "amax"):
            for include in (True, False):
                self.export(Graph(reduce, include), torch.randn(2, 5, 4), target)
        names = [n for node in self.export(Named(), torch.randn(2, 4)).graph.node for n in node.output]
        self.assertFalse({"t", "mul"} & set(names))
        self.assertEqual(len(names), len(set(names)))
        bags = nn.EmbeddingBag(7, 4, mode="sum")
        model = self.export(bags, torch.zeros(2, 3, dtype=torch.int64))
        self.assertNotIn(b"stack_trace", model.SerializeToString())

    def test_names_dropouts_that_are_not_called(self):
        inputs = torch.randn(2, 1, 3, 4)
        self.expect_refused("forward does not call the dropouts attention_dropout", Attention(), inputs)
        self.expect_refused("skip_dropouts names fc", Attention(), inputs, skip_dropouts=["fc"])
        for skip in (True, ["attention_dropout"]):
            module = Attention()
            model = self.export(module, inputs, skip_dropouts=skip)
            self.assertEqual([n.op_type for n in model.graph.node].count("Dropout"), 1)
            self.assertEqual(module.attention_dropout.p, 0.1)

    def test_exporter_failures_are_errors_of_ours(self):
        self.expect_refused("torch.onnx.export cannot export the module: ", Branching(), torch.randn(2, 2))
        words = "AssertionError: only 4D query, key, and value are supported"
        self.expect_refused(words, Attention(), torch.randn(2, 3, 4), skip_dropouts=True)

    def test_good_exports_are_quiet(self):
        """onnxruntime writes to the descriptor, past Python's streams."""
        with tempfile.TemporaryFile() as log:
            saved = os.dup(2)
            try:
                os.dup2(log.fileno(), 2)
                self.export(Net(), torch.randn(2, 1, 4, 4))
            finally:
                os.dup2(saved, 2)
                os.close(saved)
            log.seek(0)
            self.assertNotIn(b"onnxruntime", log.read())

    def export_call(self, module, args=(), kwargs=None, **options):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            ingot_torch.export(module, args, kwargs, path=self.path, **options)
        return onnx.load(self.path).graph

    def test_keyword_arguments_and_structured_outputs(self):
        ids, mask = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[1.0, 1, 0], [1, 1, 1]])
        graph = self.export_call(Keywords(), kwargs={"mask": mask, "ids": ids, "scale": 2.0})
        self.assertEqual({value.name for value in graph.input}, {"ids", "mask"})
        self.assertEqual([value.name for value in graph.output], ["logits", "states_0", "states_1"])
        for value in graph.input:
            self.assertEqual(value.type.tensor_type.shape.dim[0].dim_param, "batch")
        graph = self.export_call(Keywords(), (ids,), {"structured": False})
        self.assertEqual([value.name for value in [*graph.input, *graph.output]], ["ids", "logits"])
        with self.assertRaises(ingot_torch.ExportError) as caught:
            self.export_call(Keywords(), (ids,), {"mask": [1.0]})
        self.assertIn("the argument mask is list", str(caught.exception))

    def test_one_tensor_in_two_arguments(self):
        ids = torch.arange(24).view(4, 6) % 11
        for args, kwargs in (((ids, ids), {}), ((), {"ids": ids, "labels": ids}), ((ids, ids.view(4, 6)), {})):
            graph = self.export_call(Loss(), args, kwargs)
            self.assertEqual(["ids", "labels"], [value.name for value in graph.input])
            self.assertEqual({"loss", "logits"}, {value.name for value in graph.output})
            readers = {n.op_type for n in graph.node if "ids" in n.input}
            self.assertIn("Gather", readers)
        # Views of one tensor overlap.
        both = torch.arange(28).view(4, 7) % 11
        self.export_call(Loss(), (both[:, :-1], both[:, 1:]))

    def test_outputs_follow_each_input(self):
        class Swapped(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 2)

            def forward(self, x, y):
                x, y = (x, y) if torch.compiler.is_exporting() else (y, x)
                return self.fc(x + 0 * y)

        x = torch.randn(4, 3)
        self.expect_refused("does not follow x as the module's does", Swapped(), x, x.clone())

    def test_casts_name_their_type(self):
        """onnxruntime warns of each CastLike."""
        graph = self.export_call(Heads(), (torch.randn(4, 3, 8),))
        kinds = {node.op_type for node in graph.node}
        self.assertNotIn("CastLike", kinds)
        self.assertIn("Cast", kinds)

    def test_dynamic_shapes(self):
        ids = torch.arange(24).view(4, 6) % 11
        names = {"ids": {1: "seq"}, "labels": {1: "seq"}}
        for shapes in (names, ({1: "seq"}, {1: "seq"}), {name: {1: torch.export.Dim("seq")} for name in names}):
            graph = self.export_call(Loss(), (ids, ids), dynamic_shapes=shapes)
            for value in graph.input:
                dims = [d.dim_param for d in value.type.tensor_type.shape.dim]
                self.assertEqual(["batch", "seq"], dims)
        with self.assertRaisesRegex(ingot_torch.ExportError, "names idx, which is no argument"):
            self.export_call(Loss(), (ids, ids), dynamic_shapes={"idx": {1: "seq"}})

    def test_nested_arguments(self):
        x, y = torch.randn(4, 3), torch.randn(4, 3)
        for batch in ({"x": x, "y": y}, Batch(x, y)):
            graph = self.export_call(Nested(), (batch,), {"extra": [torch.randn(4, 2)]})
            names = [value.name for value in graph.input]
            self.assertEqual(["batch_x", "batch_y", "extra_0"], names)

    def test_refuses_other_gradients(self):
        self.expect_refused("the gradients of gate are not the derivatives", Detached(), torch.randn(2, 2))
        self.export(Detached(), torch.randn(2, 2), check_gradients=False)
        frozen = Detached()
        frozen.gate.requires_grad_(False)
        self.export(frozen, torch.randn(2, 2))

    def test_padding_may_be_trained(self):
        net = nn.Sequential(nn.Embedding(7, 4, padding_idx=0), nn.Flatten(), nn.Linear(12, 2))
        self.export(net, torch.tensor([[0, 0, 0], [0, 1, 0]]), input_names=["ids"])
        self.assertEqual(net[0].padding_idx, 0)

    def test_brings_weights_home(self):
        net = Net()
        self.export(net, torch.randn(2, 1, 4, 4))
        model = onnx.load(self.path)
        for tensor in model.graph.initializer:
            value = onnx.numpy_helper.to_array(tensor)
            if value.dtype.kind == "f":
                tensor.CopyFrom(onnx.numpy_helper.from_array(value + 1, tensor.name))
        onnx.save(model, self.path)
        before = {name: value.clone() for name, value in net.state_dict().items()}
        self.assertIs(ingot_torch.load_trained(net, self.path), net)
        for name, value in net.state_dict().items():
            if value.is_floating_point():
                self.assertTrue(torch.allclose(value, before[name] + 1), name)
        # Tied parameters are found under the name that the file has.
        tied = Tied()
        self.export(tied, torch.zeros(2, 3, dtype=torch.int64))
        with torch.no_grad():
            tied.head.weight.zero_()
        ingot_torch.load_trained(tied, self.path)
        self.assertTrue(tied.embed.weight.abs().sum() > 0 and tied.head.weight is tied.embed.weight)

    def test_brings_weights_of_a_part_home(self):
        import safetensors.torch

        whole = nn.Sequential()
        whole.add_module("g", Loss())
        path = self.path.with_suffix(".safetensors")
        safetensors.torch.save_file(whole.state_dict(), path)
        part = ingot_torch.load_trained(Loss(), path, prefix="g.")
        self.assertTrue(torch.equal(part.table.weight, whole.g.table.weight))
        with self.assertRaisesRegex(ingot_torch.LoadError, "begin with g.: add prefix='g.'"):
            ingot_torch.load_trained(Loss(), path)
        safetensors.torch.save_file(whole.g.state_dict(), path)
        with self.assertRaisesRegex(ingot_torch.LoadError, "give module.g"):
            ingot_torch.load_trained(whole, path)

    def test_brings_weights_home_from_several_files(self):
        import safetensors.torch

        values = {name: value + 1 for name, value in Loss().state_dict().items()}
        places = {}
        for i, (name, value) in enumerate(values.items()):
            file = self.path.with_name(f"part-{i}.safetensors")
            safetensors.torch.save_file({name: value}, file)
            places[name] = file.name
        index = self.path.with_name("weights.safetensors.index.json")
        index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
        for path in (index, self.path.with_name("weights.safetensors")):
            loaded = ingot_torch.load_trained(Loss(), path)
            for name, value in loaded.state_dict().items():
                self.assertTrue(torch.equal(value, values[name]), name)

    def test_refuses_weights_of_others(self):
        self.export(nn.Linear(2, 3), torch.randn(2, 2))
        for module, words in (
            (nn.Linear(2, 4), "weight has shape [3, 2] instead of [4, 2]"),
            (nn.Bilinear(2, 2, 3), "weight has shape"),
            (Net(), "has no conv.weight, bn.weight, bn.bias, norm1.weight and 5 more"),
        ):
            before = {name: value.clone() for name, value in module.state_dict().items()}
            with self.assertRaises(ingot_torch.LoadError) as caught:
                ingot_torch.load_trained(module, self.path)
            self.assertIn(words, str(caught.exception))
            for name, value in module.state_dict().items():
                self.assertTrue(torch.equal(value, before[name]))
        self.path.write_bytes(b"none")
        for path in (self.path, self.path.with_suffix(".safetensors")):
            with self.assertRaises(ingot_torch.LoadError):
                ingot_torch.load_trained(nn.Linear(2, 3), path)

    def test_refuses_a_fixed_batch(self):
        # Newer exporters refuse it themselves.
        with self.assertRaises(Exception):  # noqa: B017
            self.export(Baked(), torch.randn(2, 2))
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    run = unittest.main(exit=False, verbosity=0).result
    failed = len(run.failures) + len(run.errors)
    print(f"{run.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
