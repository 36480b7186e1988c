# SPDX-License-Identifier: Apache-2.0
"""Training a compiled model in the process: compile() and Trainer."""

import functools
import os
import pathlib
import re
import sys
import warnings
from collections.abc import Mapping

import numpy as np

from ingot_trainer import _native, arrays, batches, compiler
from ingot_trainer.errors import BadInputError, CompileError, UsageError

# Libraries of this process: what identified their file, and what was loaded of it.
_loaded = {}

# What compile() says itself.
_RESERVED = ("emit", "output", "o", "help", "h", "version", "print_config")


def compile(
    model,
    example=None,
    *,
    loss=None,
    optimizer=None,
    seed=0,
    threads=0,
    cache=None,
    ingotc=None,
    export_options=None,
    **options,
):
    """Compiles a model and returns a Trainer of it.

    model           the path of an ONNX file, or a module of PyTorch
    example         of a module: what forward is called with, a tensor, a tuple of
                    tensors or a dictionary of arguments by name, of two samples
                    or more; their number is the batch, unless `batch` is given
    loss, optimizer and any other option
                    those of ingotc, with underscores: `grad_accumulation=4`,
                    `dim={"seq": [128, 256]}`, `clip=True`; a list gives an
                    option several times
    seed            of initial values that the model lacks, and of dropout
    threads         of a step; 0 for OMP_NUM_THREADS, else the processors
    cache           a folder for compiled libraries; by default in the user's cache
    ingotc          the compiler; by default that of the package, or in PATH
    export_options  further arguments of ingot_torch.export

    Raises CompileError with what ingotc says.
    """
    for name in _RESERVED:
        if name in options:
            raise CompileError(f"{name}: is no option of compile() (it makes a library)")
    program = compiler.find_compiler(ingotc)
    cache = pathlib.Path(cache) if cache is not None else compiler.default_cache()
    options = {"loss": loss, "optimizer": optimizer, **options}
    if not isinstance(model, (str, os.PathLike)):
        if example is None:
            raise CompileError("example: a module needs one (give what forward is called with)")
        options.setdefault("batch", _count_samples(example))
        model = _export(model, example, cache, export_options or {})
    elif example is not None or export_options:
        raise CompileError("example: is for a module (an ONNX model states its inputs)")
    model = pathlib.Path(model).absolute()
    flags = compiler.make_flags(options)
    library, notes = compiler.compile_library(program, model, flags, cache)
    if notes:
        print(notes, end="", file=sys.stderr)
    source = (program, model, compiler.hash_model(model), flags)
    return Trainer(library, seed=seed, threads=threads, source=source)


def _count_samples(example):
    values = list(example.values()) if isinstance(example, Mapping) else batches.as_sequence(example)
    shapes = [value.shape for value in values if getattr(value, "shape", ())]
    if not shapes:
        raise CompileError("example: has no tensors (give what forward is called with)")
    return int(shapes[0][0])


def _export(module, example, cache, options):
    """The module as an ONNX file in the cache, named by what is in it."""
    import ingot_torch

    if isinstance(example, Mapping):
        arguments = {"kwargs": dict(example)}
    else:
        arguments = {"args": tuple(batches.as_sequence(example))}
    with compiler.new_entry(cache) as made:
        written = made / "model.onnx"
        ingot_torch.export(module, path=written, **arguments, **options)
        folder = cache / f"model-{compiler.hash_model(written)}"
        compiler.keep_entry(made, folder, written.name)
    return folder / written.name


def _name_of(path):
    """The name that ingotc gives a model by its library's, as an identifier."""
    stem = os.fsencode(path.stem)
    stem = stem[len(b"lib") :] if stem.startswith(b"lib") else stem
    name = re.sub(rb"[^A-Za-z0-9]", b"_", stem).decode()
    name = f"_{name}" if not name or name[0].isdigit() else name
    return f"model{name}" if name[0] == "_" else name


def _load(path, is_cached):
    """The library of a path. The system would not load another file of the same name."""
    try:
        status = path.stat()
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}") from None
    identity = (status.st_dev, status.st_ino, status.st_mtime_ns)
    if path not in _loaded:
        _loaded[path] = identity, _native.Library(path, _name_of(path))
    # In the cache, what has the same name has the same content.
    if not is_cached and _loaded[path][0] != identity:
        raise UsageError(f"{path}: has changed since this process loaded it (write it to another name, or start again)")
    return _loaded[path][1]


class _Shape:
    """The lists of one of the shapes that a model was compiled for."""

    def __init__(self, session):
        self.lists = {which: session.list(which) for which in range(_native.STATES)}

    def count_samples(self, which):
        """Samples that the inputs of a call hold; 1 if there are none."""
        shapes = [entry.shape for entry in self.lists[which] if entry.shape]
        return shapes[0][0] if shapes else 1


class Trainer:
    """A model with its own parameters, optimizer and memory, which a process trains.

    It is used by one thread at a time; different trainers are independent. Hyperparameters are attributes: `trainer.lr
    = 1e-4`. `hyperparameters` lists all of them by name. A call is never interrupted half way: after Ctrl-C the state
    is that of the last whole step, and can be saved.
    """

    def __init__(self, library, *, seed=0, threads=0, weights=None, source=None):
        """Opens a library that `ingotc --emit lib -o libNAME.so` wrote; `weights` are initial ones, of a safetensors
        file."""
        set_own = functools.partial(object.__setattr__, self)
        set_own("_session", None)
        library = pathlib.Path(library).resolve()
        set_own("_source", source)
        loaded = _load(library, source is not None)
        set_own("_session", _native.Session(loaded, seed, threads, weights))
        set_own("_shapes", [])
        for index in range(max(1, len(self._session.list(_native.SHAPES)))):
            self._session.select_shape(index)
            self._shapes.append(_Shape(self._session))
        self._session.select_shape(0)
        set_own("_shape", 0)
        set_own("_states", {entry.name: entry for entry in self._session.list(_native.STATES)})
        names = [entry.name for entry in self._session.list(_native.HYPERPARAMETERS)]
        set_own("hyperparameters", Hyperparameters(self._session, names))
        set_own("results", {})
        set_own("losses", [])

    def close(self):
        """Frees the memory; again is no error. The trainer is of no use afterwards."""
        if self._session is not None:
            self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    # Hyperparameters as attributes. Other names are not set: they would be misspelled ones.

    def __getattr__(self, name):
        own = self.__dict__.get("hyperparameters", {})
        if name in own:
            return own[name]
        raise AttributeError(f"{name}: is neither of Trainer nor a hyperparameter ({', '.join(own)})")

    def __setattr__(self, name, value):
        if name not in self.hyperparameters:
            raise AttributeError(f"{name}: is no hyperparameter ({', '.join(self.hyperparameters)})")
        self.hyperparameters[name] = value

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self.hyperparameters if name.isidentifier())]

    # What the model has.

    @property
    def inputs(self):
        """Shapes of the inputs of a step by name, in their order."""
        return {entry.name: entry.shape for entry in self._lists(_native.STEP_INPUTS)}

    @property
    def outputs(self):
        """Shapes of what predict() computes, of a whole batch, by name."""
        return {entry.name: entry.shape for entry in self._lists(_native.PREDICT_OUTPUTS)}

    @property
    def step_samples(self):
        """Samples that a step takes."""
        return self._shapes[self._shape].count_samples(_native.STEP_INPUTS)

    @property
    def steps(self):
        """Steps since the start, also those before a checkpoint."""
        return self._session.get_statistics()["steps"]

    @property
    def statistics(self):
        """Steps, bytes of memory by kind, and threads."""
        return self._session.get_statistics()

    def _lists(self, which):
        return self._shapes[self._shape].lists[which]

    # Calls that compute.

    def step(self, *values, **named):
        """Trains one step. Arguments are the inputs in their order, or by name, or one tuple or dictionary of them.
        Returns the loss; `results` has all that the step computes."""
        inputs, _ = self._place(_native.STEP_INPUTS, values, named)
        entries = self._lists(_native.STEP_RESULTS)
        found = self._session.step(inputs, len(entries))
        object.__setattr__(self, "results", {entry.name: value for entry, value in zip(entries, found)})
        return self.results.get("loss", found[0] if found else None)

    def fit(self, data, epochs=1, *, shuffle=True, seed=0, skip=0, callback=None):
        """Trains on all of `data`, `epochs` times. Returns the losses of the steps, which `losses` has as well while it
        runs and after Ctrl-C.

        data      a dictionary of arrays whose first axis counts samples, a data
                  set of Hugging Face, whose columns have the inputs' names, or an
                  iterable of batches, such as a DataLoader: dictionaries, or
                  tuples in the order of the inputs. What has another name than
                  an input is left out
        shuffle   whether samples of arrays and data sets come in an order drawn
                  from `seed`, another one each epoch; batches come as they are
        skip      steps to leave out, which an earlier fit() took: `fit(data,
                  epochs=5, skip=trainer.steps)` goes on after resume()
        callback  is called with the trainer and the loss after each step

        What is left at the end of an epoch and fills no step is left out, with a warning.
        """
        losses = []
        object.__setattr__(self, "losses", losses)
        names = list(self.inputs)
        if not names:
            raise UsageError("fit: the model has no inputs (call step())")
        sizes = [shape.count_samples(_native.STEP_INPUTS) for shape in self._shapes]
        parts = self._micro_batches()
        order = np.random.default_rng(seed) if shuffle else None
        for batch in batches.training_batches(data, names, sizes, parts, epochs, order):
            if skip > 0:
                skip -= 1
                continue
            loss = self.step(batch)
            losses.append(loss)
            if callback is not None:
                callback(self, loss)
        return losses

    def evaluate(self, data):
        """Evaluates all samples of `data`, as fit() takes it. Returns `loss`, `accuracy` where the loss has one, and
        the sums that they are made of."""
        which = _native.EVALUATE_INPUTS
        self._require("evaluate", which)
        entries, sums = self._lists(_native.EVALUATE_RESULTS), None
        for batch in batches.evaluation_batches(data, self._names(which), self._batch(which)):
            inputs, samples = self._place(which, (batch,), {})
            try:
                found = self._session.evaluate(inputs, samples, len(entries))
            except UsageError as error:
                # A loss that the graph computes has no mask for the rest of a batch.
                if sums is None or "evaluate whole batches" not in str(error):
                    raise
                warnings.warn(f"evaluation leaves out the last {samples} samples", RuntimeWarning, stacklevel=2)
                continue
            sums = found if sums is None else [a + b for a, b in zip(sums, found)]
        if sums is None:
            raise BadInputError("data: has no samples")
        return _summarize({entry.name: value for entry, value in zip(entries, sums)})

    def predict(self, *values, **named):
        """Computes the model's outputs for any number of samples; arguments as for step(), without labels. Returns an
        array, or a dictionary of several."""
        which = _native.PREDICT_INPUTS
        self._require("predict", which)
        given = self._by_name(which, values, named)
        entries, parts = self._lists(_native.PREDICT_OUTPUTS), []
        data = {name: arrays.to_numpy(name, given[name]) for name in self._names(which)}
        for batch in batches.evaluation_batches(data, list(data), self._batch(which)):
            inputs, samples = self._place(which, (batch,), {})
            entries = self._lists(_native.PREDICT_OUTPUTS)
            shapes = [self._shape_of(which, entry, samples) for entry in entries]
            outputs = [arrays.allocate(entry.type, shape) for entry, shape in zip(entries, shapes)]
            self._session.predict(inputs, samples, outputs)
            parts.append([arrays.from_type(array, entry.type) for entry, array in zip(entries, outputs)])
        if not parts:
            raise BadInputError("data: has no samples")
        joined = [np.concatenate(list(found)) if len(parts) > 1 else found[0] for found in zip(*parts)]
        return joined[0] if len(joined) == 1 else {entry.name: array for entry, array in zip(entries, joined)}

    def _require(self, call, which):
        if not self._lists(which):
            raise UsageError(f"{call}: the model has no inputs for it (compile it from a graph that has them)")

    def _micro_batches(self):
        if not self._lists(_native.EVALUATE_INPUTS):
            return 1
        first = self._shapes[0]
        return first.count_samples(_native.STEP_INPUTS) // max(1, first.count_samples(_native.EVALUATE_INPUTS))

    def _names(self, which):
        return [entry.name for entry in self._lists(which)]

    def _batch(self, which):
        return self._shapes[self._shape].count_samples(which)

    def _shape_of(self, which, entry, samples):
        """The shape of an input or output of a number of samples."""
        if which == _native.STEP_INPUTS or not entry.shape or entry.shape[0] != self._batch(which):
            return entry.shape
        return (samples, *entry.shape[1:])

    def _by_name(self, which, values, named):
        """Values by the names of inputs."""
        names = self._names(which)
        if len(values) == 1 and not named and isinstance(values[0], Mapping):
            values, named = (), values[0]
        elif len(values) == 1 and not named and isinstance(values[0], (tuple, list)) and len(names) > 1:
            values = values[0]
        elif len(values) == 1 and not named and isinstance(values[0], tuple):
            values = values[0]
        elif len(values) == 1 and not named and batches.is_columns(values[0]):
            values, named = (), batches.open_samples(values[0], names).take(slice(None))
        order = self._names(_native.STEP_INPUTS) if which == _native.EVALUATE_INPUTS else names
        if len(values) > len(order):
            raise UsageError(f"inputs: {len(values)} are given, there are {len(order)} ({', '.join(order)})")
        given = dict(zip(order, values))
        for name, value in named.items():
            if name in given:
                raise UsageError(f"{name}: is given twice")
            # What other calls take is no mistake: labels are not predicted from.
            if name not in names and name not in self.inputs:
                raise UsageError(f"{name}: is no input (the inputs are {', '.join(names)})")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise UsageError(f"{missing[0]}: is missing (the inputs are {', '.join(names)})")
        return given

    def _place(self, which, values, named):
        """The inputs of a call in order as arrays that the library takes, and the number of samples. Selects the shape
        that they have."""
        given = self._by_name(which, values, named)
        found = {entry.name: arrays.to_numpy(entry.name, given[entry.name]) for entry in self._lists(which)}
        samples = self._select(which, found)
        return [arrays.to_type(entry.name, found[entry.name], entry.type) for entry in self._lists(which)], samples

    def _select(self, which, found):
        current = self._shape
        mistakes = []
        for index in [current, *(i for i in range(len(self._shapes)) if i != current)]:
            object.__setattr__(self, "_shape", index)
            samples = self._samples(which, found)
            mistake = self._find_mistake(which, found, samples)
            if mistake is None:
                if index != current:
                    self._session.select_shape(index)
                return samples
            mistakes.append(mistake)
        object.__setattr__(self, "_shape", current)
        others = f"; neither do the other {len(mistakes) - 1} shapes take it" if len(mistakes) > 1 else ""
        raise BadInputError(mistakes[0] + others)

    def _samples(self, which, found):
        for entry in self._lists(which):
            if entry.shape and entry.shape[0] == self._batch(which) and found[entry.name].ndim:
                return found[entry.name].shape[0]
        return self._batch(which)

    def _find_mistake(self, which, found, samples):
        """What is wrong with the shapes of inputs, or None."""
        most = self._batch(which)
        for entry in self._lists(which):
            shape = self._shape_of(which, entry, samples)
            if found[entry.name].shape != shape:
                return f"{entry.name}: has shape {list(found[entry.name].shape)} instead of {list(shape)}"
        if which != _native.STEP_INPUTS and not 1 <= samples <= most:
            return f"{self._names(which)[0]}: has {samples} samples, and a batch has 1 to {most}"
        return None

    # States.

    def state_dict(self, *, optimizer=False):
        """Parameters and statistics of the model by name, as arrays of their own; with `optimizer`, its state as well.
        bfloat16 comes as float32."""
        found = {}
        for name, entry in self._states.items():
            if entry.role == _native.ROLE_OPTIMIZER and not optimizer:
                continue
            type = _native.FLOAT32 if _native.TYPES[entry.type] == "bfloat16" else entry.type
            found[name] = arrays.allocate(type, entry.shape)
            self._session.get_state(name, type, found[name])
        return found

    def load_state_dict(self, values, *, strict=True):
        """Sets states from arrays or tensors by name. With `strict`, all of the model must be there, and nothing else.
        Nothing is set unless everything fits."""
        model = [name for name, entry in self._states.items() if entry.role != _native.ROLE_OPTIMIZER]
        unknown = [name for name in values if name not in self._states]
        missing = [name for name in model if name not in values]
        if strict and (unknown or missing):
            what = f"has no {missing[0]}" if missing else f"{unknown[0]} is no state of the model"
            count = len(missing or unknown)
            raise BadInputError(f"state: {what}" + (f", and {count - 1} more" if count > 1 else "") + " (strict=False)")
        found = []
        for name, value in values.items():
            if name not in self._states:
                continue
            entry, array = self._states[name], arrays.to_numpy(name, value)
            if array.shape != entry.shape:
                raise BadInputError(f"{name}: has shape {list(array.shape)} instead of {list(entry.shape)}")
            type = _native.FLOAT32 if _native.TYPES[entry.type] == "bfloat16" else entry.type
            found.append((name, type, arrays.to_type(name, array, type)))
        for name, type, array in found:
            self._session.set_state(name, type, array)

    def reset(self, seed=0):
        """Starts again: initial values by a seed, and step 0."""
        self._session.reset(seed)

    # Files.

    def save(self, folder, keep=0):
        """Saves a checkpoint in a folder, as `--save` of a trainer does, and keeps the last ones (0: two)."""
        self._session.save(folder, keep)

    def resume(self, path):
        """Resumes from a folder of checkpoints, or one of them: states, steps and hyperparameters."""
        self._session.resume(path)

    def load(self, path):
        """Loads weights from a safetensors file."""
        self._session.load(path)

    def export(self, path):
        """Writes the trained model as ONNX, or to a file *.safetensors its weights."""
        self._session.export(path)

    def save_trainer(self, path):
        """Writes a program that trains the model, from its initial weights: `--resume` of it takes what save() wrote.
        Needs the model as it was compiled."""
        if self._source is None:
            raise UsageError("trainer: it was opened from a library (compile() knows the model)")
        program, model, content, flags = self._source
        if compiler.hash_model(model) != content:
            raise UsageError(f"{model}: has changed since it was compiled (compile it again)")
        compiler.run(program, model, flags, path)


class Hyperparameters(Mapping):
    """Hyperparameters by name, to be read and set."""

    def __init__(self, session, names):
        self._session = session
        self._names = names

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        return self._session.get_hyperparameter(name)

    def __setitem__(self, name, value):
        self._session.set_hyperparameter(name, float(value))

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return f"Hyperparameters({dict(self)})"


def _summarize(sums):
    """Means of sums: the loss is that of all its terms."""
    found = {}
    terms = [name[len("loss_sum") :] for name in sums if name == "loss_sum" or name.startswith("loss_sum.")]
    if terms:
        found["loss"] = sum(_divide(sums[f"loss_sum{term}"], sums[f"loss_count{term}"]) for term in terms)
    if "correct" in sums:
        found["accuracy"] = _divide(sums["correct"], sums.get("correct_count", sums.get("loss_count", 0)))
    return {**found, **sums}


def _divide(value, count):
    return value / count if count else float("nan")
