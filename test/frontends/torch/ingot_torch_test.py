# SPDX-License-Identifier: Apache-2.0
"""frontends/torch: what is exported, and what is refused. Needs PyTorch."""

import contextlib
import io
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


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else x


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
