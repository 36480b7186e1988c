# SPDX-License-Identifier: Apache-2.0
"""python_torch_test.py BIN: modules of PyTorch, trained beside PyTorch in one process, with its losses."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/packaging/python"), str(ROOT / "frontends/torch")]
import ingot_trainer  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS = 20
TOLERANCE = 1e-5
os.environ.setdefault("INGOT_MACHINE", "built-in")
SCRATCH = tempfile.TemporaryDirectory()


def compile(module, example, **options):
    cache = pathlib.Path(SCRATCH.name) / "cache"
    return ingot_trainer.compile(module, example, cache=cache, ingotc=BIN / "ingotc", **options)


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5))


def cnn():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, 5),
    )


def samples(*shape, steps=STEPS, batch=8):
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(steps, batch, *shape, generator=generator)
    return list(zip(inputs, torch.randint(0, 5, (steps, batch), generator=generator)))


class Step:
    """A step of PyTorch."""

    def __init__(self, module, make):
        self.module = module.train()
        self.optimizer = make(module.parameters())

    def __call__(self, inputs, labels):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.module(inputs), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


class Modules(unittest.TestCase):
    def check(self, make, shape, name, optimizer, hyperparameters):
        data = samples(*shape)
        alone = [Step(make(), optimizer)(*batch) for batch in data[:1]]
        step = Step(make(), optimizer)
        wanted = [step(*batch) for batch in data]
        self.assertEqual(alone, wanted[:1])
        with compile(make(), data[0][0], loss="cross-entropy", optimizer=name) as trainer:
            for key, value in hyperparameters.items():
                setattr(trainer, key, value)
            losses = trainer.fit(data)
            np.testing.assert_allclose(losses, wanted, rtol=0, atol=TOLERANCE)
            # Both in turns: no bit of either changes.
            trainer.reset()
            step, ours, theirs = Step(make(), optimizer), [], []
            for batch in data:
                ours.append(trainer.step(*batch))
                theirs.append(step(*batch))
            self.assertEqual((ours, theirs), (losses, wanted))
            # Trained values go back, by the module's names.
            module = make().eval()
            module.load_state_dict(
                {name: torch.from_numpy(v) for name, v in trainer.state_dict().items()}, strict=False
            )
            with torch.no_grad():
                outputs = module(data[0][0]).numpy()
            np.testing.assert_allclose(trainer.predict(data[0][0]), outputs, rtol=0, atol=1e-4)
            trainer.load_state_dict(dict(make().named_parameters()), strict=False)

    def test_mlp(self):
        self.check(mlp, (16,), "adamw", adamw, {"lr": 1e-3})

    def test_cnn(self):
        self.check(cnn, (3, 8, 8), "momentum", sgd, {"lr": 0.01})

    def test_loaders_and_arrays_agree(self):
        data = samples(16)
        inputs, labels = (torch.cat(tensors) for tensors in zip(*data))
        dataset = torch.utils.data.TensorDataset(inputs, labels)
        loader = torch.utils.data.DataLoader(dataset, batch_size=8)
        with compile(mlp(), inputs[:8], loss="cross-entropy") as trainer:
            found = []
            names = list(trainer.inputs)
            for source in (data, loader, dict(zip(names, (inputs, labels)))):
                trainer.reset()
                found.append(trainer.fit(source, epochs=2, shuffle=False))
            self.assertEqual(found[0], found[1])
            self.assertEqual(found[0], found[2])
            path = pathlib.Path(SCRATCH.name) / "saved.npz"
            ingot_trainer.save_dataset(loader, path, names)
            with np.load(path) as saved:
                np.testing.assert_array_equal(saved[names[0]], inputs.numpy())

    def test_arrow_datasets_agree(self):
        try:
            import datasets
        except ImportError:
            self.skipTest("needs datasets")
        inputs, labels = (torch.cat(tensors) for tensors in zip(*samples(16)))
        with compile(mlp(), inputs[:8], loss="cross-entropy") as trainer:
            names = list(trainer.inputs)
            columns = dict(zip(names, (inputs.numpy(), labels.numpy())))
            features = {names[0]: datasets.List(datasets.Value("float32"), 16), names[1]: datasets.Value("int64")}
            dataset = datasets.Dataset.from_dict(
                {name: list(values) for name, values in columns.items()}, features=datasets.Features(features)
            )
            loader = torch.utils.data.DataLoader(dataset.with_format("torch"), batch_size=8)
            for shuffle in (False, True):
                found = []
                # Batches come as they are.
                for source in [dataset, columns, *([] if shuffle else [loader])]:
                    trainer.reset()
                    found.append(trainer.fit(source, epochs=2, shuffle=shuffle, seed=5))
                for losses in found[1:]:
                    self.assertEqual(losses, found[0])
            # The file of the data set, which trainers map, and one that is written for them.
            folder = pathlib.Path(SCRATCH.name)
            dataset.save_to_disk(folder / "arrow")
            ingot_trainer.save_dataset(dataset, folder / "written.npz", names)
            (arrow,) = (folder / "arrow").glob("*.arrow")
            trainer.save_trainer(folder / "program")
            losses = []
            for data in (arrow, folder / "written.npz"):
                log = folder / "log.jsonl"
                run = ["--data", data, "--no-shuffle", "--epochs", "2", "--log", log]
                subprocess.run([str(word) for word in [folder / "program", *run]], check=True, capture_output=True)
                lines = map(json.loads, log.read_text().splitlines())
                losses.append([line["loss"] for line in lines if "loss" in line])
                log.unlink()
            self.assertEqual(losses[0], losses[1])
            trainer.reset()
            ours = trainer.fit(columns, epochs=2, shuffle=False)
            np.testing.assert_array_equal(np.float32(losses[0]), np.float32(ours))

    def test_tensors_that_are_not_plain(self):
        inputs, labels = samples(16)[0]
        with compile(mlp(), inputs, loss="cross-entropy") as trainer:
            wanted = trainer.step(inputs, labels)
            for value in (inputs.clone().requires_grad_(), inputs.double(), inputs.t().contiguous().t()):
                trainer.reset()
                self.assertEqual(trainer.step(value, labels.int()), wanted)
            trainer.reset()
            rounded = trainer.step(inputs.bfloat16().float(), labels)
            trainer.reset()
            self.assertEqual(trainer.step(inputs.bfloat16(), labels), rounded)

    def test_bert(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("needs transformers")
        torch.manual_seed(3)
        config = transformers.BertConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=16,
            num_labels=3,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        bert = transformers.BertForSequenceClassification(config)
        data = []
        for _ in range(STEPS):
            ids = torch.randint(0, 50, (4, 12))
            mask = (torch.arange(12) < torch.randint(6, 13, (4, 1))).long()
            data.append({"input_ids": ids, "attention_mask": mask, "labels": torch.randint(0, 3, (4,))})
        with compile(bert, data[0], loss="output:loss", optimizer="adamw") as trainer:
            trainer.lr = 1e-3
            losses = trainer.fit(data)
        bert.train()
        optimizer, wanted = adamw(bert.parameters()), []
        for batch in data:
            optimizer.zero_grad()
            loss = bert(**batch).loss
            loss.backward()
            optimizer.step()
            wanted.append(loss.item())
        np.testing.assert_allclose(losses, wanted, rtol=0, atol=TOLERANCE)


if __name__ == "__main__":
    unittest.main()
