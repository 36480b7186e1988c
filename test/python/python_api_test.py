# SPDX-License-Identifier: Apache-2.0
"""python_api_test.py BIN: training in Python takes the steps of trainers, and mistakes are exceptions that say what."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/packaging/python"))
import ingot_trainer  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1)).resolve()
GOLDENS = ROOT / "test/end-to-end/goldens"
DIGITS = ROOT / "docs/examples/digits"
STEPS = 20
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("INGOT_MACHINE", "built-in")

# Library and trainer are compiled once for each set of options.
SCRATCH = tempfile.TemporaryDirectory()
CACHE = pathlib.Path(SCRATCH.name) / "cache"


def compile(model=DIGITS / "digits.onnx", **options):
    options = {"loss": "cross-entropy", "optimizer": "adamw", "batch": 32, **options}
    # Notes on the model's batch normalization.
    with contextlib.redirect_stderr(io.StringIO()):
        return ingot_trainer.compile(model, cache=CACHE, ingotc=BIN / "ingotc", **options)


def digits(name="train"):
    with np.load(DIGITS / f"{name}.npz") as arrays:
        return dict(arrays)


def in_batches(data, size):
    count = len(next(iter(data.values())))
    return [{name: array[i : i + size] for name, array in data.items()} for i in range(0, count - size + 1, size)]


def read_log(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


class Columns:
    """What a data set of Hugging Face has."""

    def __init__(self, data):
        self._data = data
        self.column_names = [*data, "text"]

    def with_format(self, kind, columns):
        return Columns({name: self._data[name] for name in columns})

    def __len__(self):
        return len(next(iter(self._data.values())))

    def __getitem__(self, indices):
        return {name: array[indices] for name, array in self._data.items()}


class Foreign:
    """An array of another library."""

    def __init__(self, array, device=(1, 0)):
        self._array, self._device = array, device

    def __dlpack__(self, **settings):
        return self._array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self._device


class Training(unittest.TestCase):
    def trainer_losses(self, trainer, data, *flags):
        program = pathlib.Path(SCRATCH.name) / f"trainer-{self.id()}"
        trainer.save_trainer(program)
        log = f"{program}.jsonl"
        subprocess.run([program, "--data", data, "--no-shuffle", "--log", log, *flags], check=True, capture_output=True)
        return program, [row["loss"] for row in read_log(log) if "loss" in row]

    def assert_same(self, got, wanted):
        self.assertEqual([np.float32(value) for value in got], [np.float32(value) for value in wanted])

    def test_steps_are_the_trainers(self):
        mlp = GOLDENS / "mlp"
        for model, data in ((DIGITS / "digits.onnx", DIGITS / "train.npz"), (mlp / "model.onnx", mlp / "data.npz")):
            with compile(model) as trainer, np.load(data) as arrays:
                batches = in_batches(dict(arrays), 32)[:STEPS]
                _, wanted = self.trainer_losses(trainer, data, "--steps", str(STEPS))
                self.assertEqual(len(wanted), STEPS)
                self.assert_same(trainer.fit(batches, epochs=STEPS // len(batches)), wanted)
                self.assertEqual(trainer.steps, STEPS)

    def test_sources_of_batches_agree(self):
        data = {name: array[:128] for name, array in digits().items()}
        found = {}
        with compile() as trainer:
            for name, source in {
                "arrays": data,
                "columns": Columns(data),
                "dictionaries": in_batches(data, 32),
                "tuples": [tuple(batch.values()) for batch in in_batches(data, 32)],
            }.items():
                trainer.reset()
                found[name] = trainer.fit(source, epochs=2, shuffle=False), trainer.evaluate(source)
            for name, values in found.items():
                self.assertEqual(values, found["arrays"], name)

    def test_orders_are_drawn(self):
        data = {name: array[:128] for name, array in digits().items()}
        with compile() as trainer:
            losses = []
            for source, seed in ((data, 3), (Columns(data), 3), (data, 4)):
                trainer.reset()
                losses.append(trainer.fit(source, epochs=2, seed=seed))
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])
        self.assertNotEqual(losses[0][:4], losses[0][4:])

    def test_micro_batches_come_one_by_one_or_together(self):
        data = {name: array[:128] for name, array in digits().items()}
        with compile(batch=16, grad_accumulation=2) as trainer:
            self.assertEqual(trainer.step_samples, 32)
            whole = trainer.fit(in_batches(data, 32))
            trainer.reset()
            self.assertEqual(trainer.fit(in_batches(data, 16)), whole)

    def test_interrupted_runs_resume(self):
        data = digits()
        folder = pathlib.Path(SCRATCH.name) / "checkpoints"

        def interrupt(trainer, loss):
            if trainer.steps == 7:
                signal.raise_signal(signal.SIGINT)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with compile() as trainer:
                wanted = trainer.fit(data, seed=1)[:12]
                trainer.reset()
                with self.assertRaises(KeyboardInterrupt):
                    trainer.fit(data, seed=1, callback=interrupt)
                self.assertEqual((trainer.losses, trainer.steps), (wanted[:7], 7))
                trainer.lr = 0.002
                trainer.save(folder)
            with compile() as other:
                other.resume(folder)
                self.assertEqual((other.steps, other.lr), (7, 0.002))
                other.lr = 0.001
                self.assertEqual(other.fit(data, seed=1, skip=other.steps)[:5], wanted[7:])

    def test_a_signal_from_outside_ends_fit(self):
        batch = in_batches(digits(), 32)[0]
        with compile() as trainer:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))

            def endless():
                timer.start()
                while True:
                    yield batch

            with self.assertRaises(KeyboardInterrupt):
                trainer.fit(endless())
            self.assertLessEqual(trainer.steps - len(trainer.losses), 1)
            trainer.step(batch)

    def test_evaluation_and_prediction(self):
        data, held_out = digits(), digits("eval")
        with compile() as trainer:
            program, _ = self.trainer_losses(trainer, DIGITS / "train.npz", "--steps", "1")
            trainer.fit(in_batches(data, 32))
            found = trainer.evaluate(held_out)
            exported = pathlib.Path(SCRATCH.name) / "weights.safetensors"
            trainer.export(exported)
            log = pathlib.Path(SCRATCH.name) / "evaluation.jsonl"
            subprocess.run(
                [program, "--init", exported, "--evaluate", "--eval-data", DIGITS / "eval.npz", "--log", log],
                check=True,
                capture_output=True,
            )
            wanted = [row for row in read_log(log) if "eval_loss" in row][-1]
            self.assertEqual(np.float32(found["loss"]), np.float32(wanted["eval_loss"]))
            self.assertEqual(np.float32(found["accuracy"]), np.float32(wanted["eval_accuracy"]))
            self.assertEqual(found["loss_count"], len(held_out["labels"]))
            outputs = trainer.predict(held_out)
            self.assertEqual(outputs.shape, (len(held_out["labels"]), 10))
            self.assertEqual(np.mean(outputs.argmax(1) == held_out["labels"]), found["accuracy"])
            np.testing.assert_array_equal(trainer.predict(held_out["image"][:5].tolist()), outputs[:5])
            np.testing.assert_array_equal(trainer.predict(Columns(held_out)), outputs)
            self.assertEqual(trainer.evaluate([held_out]), found)

    def test_states_come_and_go(self):
        batches = in_batches(digits(), 32)
        with compile() as trainer, compile() as other:
            trainer.fit(batches[:3])
            state = trainer.state_dict(optimizer=True)
            self.assertLess(set(trainer.state_dict()), set(state))
            other.load_state_dict(state)
            for name, value in other.state_dict(optimizer=True).items():
                np.testing.assert_array_equal(value, state[name], name)
            model = trainer.state_dict()
            model["fc.bias"] = np.arange(10)
            other.load_state_dict(model)
            np.testing.assert_array_equal(other.state_dict()["fc.bias"], np.arange(10, dtype=np.float32))
            for change, text in (
                ({"fc.bias": np.zeros(9)}, "fc.bias: has shape"),
                ({"none": np.zeros(9)}, "none is no state"),
            ):
                with self.assertRaisesRegex(ingot_trainer.BadInputError, text):
                    other.load_state_dict({**model, **change, "fc.weight": model["fc.weight"] + 1})
                np.testing.assert_array_equal(other.state_dict()["fc.weight"], model["fc.weight"])
            with self.assertRaisesRegex(ingot_trainer.BadInputError, "has no fc.weight"):
                other.load_state_dict({"fc.bias": model["fc.bias"]} | {n: v for n, v in model.items() if "fc" not in n})
            other.load_state_dict({"fc.bias": np.zeros(10), "more": 1}, strict=False)

    def test_types_that_fit_are_taken(self):
        batch = in_batches(digits(), 32)[0]
        image, labels = batch["image"], batch["labels"]
        with compile() as trainer:
            wanted = trainer.step(image, labels)
            for values in (
                (image.astype(np.float64), labels.astype(np.int32)),
                (np.asfortranarray(image), labels.astype(np.uint8)),
                (image.astype(">f4"), labels.tolist()),
                (Foreign(image), Foreign(labels)),
                ((image, labels),),
                (batch,),
            ):
                trainer.reset()
                self.assertEqual(trainer.step(*values), wanted)
            trainer.reset()
            self.assertEqual(trainer.step(image, labels=labels), wanted)
            self.assertEqual(trainer.results["loss"], wanted)

    def test_mistakes_name_the_input(self):
        image, labels = in_batches(digits(), 32)[0].values()
        with compile() as trainer:
            for values, named, text in (
                ((image[:31], labels), {}, r"image: has shape \[31, 1, 8, 8\] instead of \[32, 1, 8, 8\]"),
                ((image, labels[:, None]), {}, "labels: has shape"),
                ((image, labels + 0.5), {}, "labels: has elements of type float64"),
                ((image, labels + 10), {}, "labels"),
                ((image, ["a"] * 32), {}, "labels: has elements of type"),
                ((Foreign(image, (2, 0)), labels), {}, "image: is not in the memory of the CPU"),
                ((image,), {}, "labels: is missing"),
                ((image, labels, labels), {}, "3 are given"),
                ((image, labels), {"labels": labels}, "labels: is given twice"),
                ((), {"image": image, "label": labels}, "label: is no input"),
            ):
                with self.subTest(text), self.assertRaisesRegex(ingot_trainer.Error, text):
                    trainer.step(*values, **named)
            self.assertEqual(trainer.steps, 0)
            data = digits()
            for source, text in (
                ({"image": data["image"]}, "has no labels"),
                ({**data, "labels": data["labels"][1:]}, "differs in samples"),
                (in_batches(data, 33), "a batch has 33 samples"),
                (in_batches(data, 31), "a batch has 31 samples"),
                ([], "fewer samples"),
                ({name: array[:20] for name, array in data.items()}, "fewer samples"),
            ):
                with self.subTest(text), self.assertRaisesRegex(ingot_trainer.BadInputError, text):
                    trainer.fit(source)
            trainer.reset()
            with self.assertRaisesRegex(ingot_trainer.BadInputError, "nothing for another epoch"):
                trainer.fit(iter(in_batches(data, 32)[:2]), epochs=2)
            self.assertEqual(trainer.steps, 2)
            with self.assertWarnsRegex(RuntimeWarning, "the last 29 samples"):
                trainer.fit(data)
            with self.assertRaisesRegex(ingot_trainer.BadInputError, "image: has shape"):
                trainer.predict(image[:, 0])
            with self.assertRaisesRegex(AttributeError, "learning_rate: is no hyperparameter"):
                trainer.learning_rate = 1
            with self.assertRaisesRegex(ingot_trainer.Error, "."):
                trainer.resume("/nowhere")
        with self.assertRaisesRegex(ingot_trainer.UsageError, "closed"):
            trainer.step(image, labels)
        trainer.close()

    def test_integers_are_kept(self):
        from ingot_trainer import arrays

        int32 = 5
        kept = arrays.to_type("x", np.array([1, -(2**31)]), int32)
        np.testing.assert_array_equal(kept, np.array([1, -(2**31)], np.int32))
        for values in (np.array([2**31]), np.array([2**63], np.uint64)):
            with self.assertRaisesRegex(ingot_trainer.BadInputError, "x: has values that int32 does not hold"):
                arrays.to_type("x", values, int32)
        # bfloat16: halfway values go to the even neighbour.
        values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, np.inf, -2], np.float32)
        bits = arrays.to_type("x", values, 3)
        np.testing.assert_array_equal(arrays.from_type(bits, 3), np.array([1, 1, 1 + 2**-6, np.inf, -2], np.float32))
        self.assertTrue(np.isnan(arrays.from_type(arrays.to_type("x", np.array([np.nan]), 3), 3))[0])

    def test_arrays_that_fit_are_not_copied(self):
        from ingot_trainer import arrays

        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        for value in (array, Foreign(array)):
            self.assertTrue(np.shares_memory(arrays.to_type("x", arrays.to_numpy("x", value), 1), array))
        self.assertFalse(np.shares_memory(arrays.to_type("x", array.T, 1), array))

    def test_libraries_are_opened_by_path(self):
        path = pathlib.Path(SCRATCH.name) / "libtwo-words.so"
        model = ["docs/examples/digits/digits.onnx", "--loss", "cross-entropy", "--batch", "32", "--emit", "lib"]
        subprocess.run([BIN / "ingotc", *model, "-o", path], check=True, cwd=ROOT, capture_output=True)
        batch = in_batches(digits(), 32)[0]
        with ingot_trainer.Trainer(path) as trainer, compile() as other:
            self.assertEqual(trainer.step(batch), other.step(batch))
            with self.assertRaisesRegex(ingot_trainer.UsageError, "compile"):
                trainer.save_trainer(path.with_suffix(""))
        os.utime(path)
        with self.assertRaisesRegex(ingot_trainer.UsageError, "has changed"):
            ingot_trainer.Trainer(path)
        (path.parent / "libother.so").write_bytes(path.read_bytes())
        for name, text in (("libother.so", "is no library"), ("libnone.so", "No such file")):
            with self.assertRaisesRegex(ingot_trainer.BadInputError, text):
                ingot_trainer.Trainer(path.parent / name)
        with self.assertRaisesRegex(ingot_trainer.BadInputError, "cannot be loaded"):
            ingot_trainer.Trainer(DIGITS / "digits.onnx")

    def test_losses_of_the_graph_are_evaluated_in_whole_batches(self):
        random = np.random.default_rng(0)
        data = {"state": random.random((20, 4)), "advantage": random.random((20, 2))}
        with compile(ROOT / "docs/examples/embed/policy.onnx", loss="output:loss", batch=8) as trainer:
            with self.assertWarnsRegex(RuntimeWarning, "leaves out the last 4 samples"):
                found = trainer.evaluate(data)
            whole = trainer.evaluate({name: array[:16] for name, array in data.items()})
            self.assertEqual(found, whole)
            with self.assertRaisesRegex(ingot_trainer.UsageError, "evaluate whole batches"):
                trainer.evaluate({name: array[:4] for name, array in data.items()})

    def test_the_cache_has_a_bound(self):
        from ingot_trainer import compiler

        cache = pathlib.Path(SCRATCH.name) / "bounded"
        for number, name in enumerate(("a", "b", "c", ".left", ".now")):
            (cache / name).mkdir(parents=True)
            (cache / name / compiler.LIBRARY).write_bytes(b"x" * 100)
            os.utime(cache / name, (number, number))
        os.utime(cache / ".now")
        with mock.patch.object(compiler, "MOST_BYTES", 150):
            compiler._make_room(cache, (cache / "a",))
        self.assertEqual(sorted(path.name for path in cache.iterdir()), [".now", "a", "c"])

    def test_options_are_the_compilers(self):
        for options, text in (
            ({"foo_bar": 3}, "--foo-bar: unknown option"),
            ({"loss": "none"}, "hint: "),
            ({"emit": "obj"}, "emit: is no option"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ingot_trainer.CompileError, text):
                compile(**options)
        with self.assertRaisesRegex(ingot_trainer.CompileError, "none.onnx"):
            compile("none.onnx")
        with self.assertRaisesRegex(ingot_trainer.CompileError, "none/ingotc: is no program"):
            ingot_trainer.compile(DIGITS / "digits.onnx", ingotc="none/ingotc")
        from ingot_trainer import compiler

        flags = compiler.make_flags({"dim": {"a": [1, 2], "b": 3}, "clip": True, "guard": False, "loss": None, "O": 2})
        self.assertEqual(flags, ["--dim", "a=1,2", "--dim", "b=3", "--clip", "-O", "2"])

    def test_libraries_are_kept(self):
        cache = pathlib.Path(SCRATCH.name) / "kept"
        calls = pathlib.Path(SCRATCH.name) / "calls"
        compiler = pathlib.Path(SCRATCH.name) / "ingotc"
        compiler.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {BIN / "ingotc"} "$@"\n')
        compiler.chmod(0o755)
        losses = []
        for _ in range(2):
            with (
                ingot_trainer.compile(
                    GOLDENS / "mlp/model.onnx", loss="cross-entropy", batch=32, cache=cache, ingotc=compiler
                ) as trainer,
                np.load(GOLDENS / "mlp/data.npz") as arrays,
            ):
                losses.append(trainer.fit(in_batches(dict(arrays), 32)[:2]))
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(calls.read_text().count("--emit lib"), 1)
        self.assertEqual([path.name for path in cache.iterdir() if path.name.startswith(".")], [])

    def test_external_data_is_a_part_of_models(self):
        from ingot_trainer import compiler

        model = pathlib.Path(SCRATCH.name) / "external.onnx"
        model.write_bytes(b"xx\n\x08location\x12\x07weights")
        first = compiler.hash_model(model)
        (model.parent / "weights").write_bytes(b"1")
        second = compiler.hash_model(model)
        (model.parent / "weights").write_bytes(b"2")
        self.assertEqual(len({first, second, compiler.hash_model(model)}), 3)

    def test_shapes_are_chosen_by_inputs(self):
        data = in_batches(digits(), 32)[0]
        with compile(batch=None, dim={"batch": [32, 16]}) as trainer:
            losses = trainer.fit([data, {name: array[:16] for name, array in data.items()}, data])
            self.assertEqual(len(losses), 3)
        with compile() as single:
            self.assertEqual(single.step(data), losses[0])

    def test_trainers_run_side_by_side(self):
        batches = in_batches(digits(), 32)[:STEPS]
        with compile() as alone:
            wanted = alone.fit(batches)
        found = {}

        def train(number):
            with compile() as trainer:
                found[number] = trainer.fit(batches)

        threads = [threading.Thread(target=train, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {0: wanted, 1: wanted})

    def test_a_second_thread_is_refused(self):
        batch = in_batches(digits(), 32)[0]
        with compile() as trainer:
            stop, errors = threading.Event(), []

            def intrude():
                while not stop.is_set():
                    try:
                        dict(trainer.hyperparameters)
                    except ingot_trainer.UsageError as error:
                        errors.append(str(error))

            thread = threading.Thread(target=intrude)
            thread.start()
            losses = []
            for _ in range(200):
                try:
                    losses.append(trainer.step(batch))
                except ingot_trainer.UsageError as error:
                    errors.append(str(error))
            stop.set()
            thread.join()
            self.assertEqual(trainer.steps, len(losses))
            self.assertTrue(all("thread" in error for error in errors), errors[:3])


class Files(unittest.TestCase):
    def test_what_is_saved_is_mapped(self):
        data = digits()
        folder = pathlib.Path(SCRATCH.name) / "saved"
        batches = [tuple(value[i : i + 100] for value in data.values()) for i in range(0, 1437, 100)]
        for target, source, names in (
            (folder / "arrays.npz", data, None),
            (folder / "columns.npz", Columns(data), list(data)),
            (folder / "batches.npz", iter(batches), list(data)),
            (folder / "arrays", data, None),
            (folder / "batches", batches, list(data)),
            (folder / "batches", batches, list(data)),
        ):
            self.assertEqual(ingot_trainer.save_dataset(source, target, names), 1437)
            if target.suffix == ".npz":
                with np.load(target) as archive:
                    found = dict(archive)
            else:
                found = {path.stem: np.load(path, mmap_mode="r") for path in target.iterdir()}
            self.assertEqual(set(found), set(data))
            for name, value in data.items():
                np.testing.assert_array_equal(found[name], value)
                self.assertEqual(found[name].dtype, value.dtype)
            words = [target] if target.suffix else sorted(target.iterdir())
            said = subprocess.run([BIN / "ingot-data", "inspect", *words], check=True, capture_output=True, text=True)
            self.assertIn("1437", said.stdout)
        self.assertEqual([path.name for path in folder.iterdir() if path.name.startswith(".")], [])

    def test_nothing_is_left_of_a_failure(self):
        folder = pathlib.Path(SCRATCH.name) / "failed"
        for source, names, text in (
            ({"x": np.array(["a", "b"])}, None, "x: has elements of type"),
            ([(np.zeros((2, 3)),), (np.zeros((2, 4)),)], ["x"], "x: samples differ"),
            ([(np.zeros(2), np.zeros(2))], ["x"], "names: a batch has 2 arrays"),
            ([{"x": np.zeros(2)}, {"y": np.zeros(2)}], None, "a batch has y after x"),
            ([{"x": np.zeros(2), "y": np.zeros(3)}], None, "differs in samples"),
            ([], None, "has no samples"),
            ([{"../x": np.zeros(2)}], None, "is no name of a file"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ingot_trainer.BadInputError, text):
                ingot_trainer.save_dataset(source, folder / "out", names)
            self.assertEqual(list(folder.iterdir()), [])


class Programs(unittest.TestCase):
    def test_they_need_no_numpy(self):
        path = str(ROOT / "tools/packaging/python")
        program = (
            f"import sys; sys.path.insert(0, {path!r}); sys.modules['numpy'] = None\n"
            "import ingot_trainer; ingot_trainer.program(); ingot_trainer.CompileError"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


if __name__ == "__main__":
    unittest.main()
