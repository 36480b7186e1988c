# SPDX-License-Identifier: Apache-2.0
"""Low-rank adapters: those of PEFT (adapter_goldens.py), what is trained, and what files hold."""

import json
import shutil
import struct

import numpy as np
import onnx
import onnxruntime
from harness import HERE, case, check, check_close, golden, initializers
from launch import compile_for, run_ranks

FOLDER = HERE / "goldens-adapters"
GOLDENS = json.loads((FOLDER / "golden.json").read_text())
G = golden("mlp")
ADAPTER = ["--adapter", "lora:r=2,alpha=4,dropout=0.1@all-linear"]


def read_tensors(path):
    bytes_ = path.read_bytes()
    (size,) = struct.unpack("<Q", bytes_[:8])
    header = json.loads(bytes_[8 : 8 + size])
    header.pop("__metadata__", None)
    data = bytes_[8 + size :]
    return {
        name: np.frombuffer(data[slice(*of["data_offsets"])], np.float32).reshape(of["shape"])
        for name, of in header.items()
    }


def write_tensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def compile_run(ingot, run):
    words = ["--loss", "cross-entropy", "--batch", str(GOLDENS["batch"]), *run["compile"]]
    return ingot.compile(FOLDER / run["model"] / "model.onnx", *words)


def compare(run):
    def compare_run(ingot):
        trainer, folder, data = compile_run(ingot, run), FOLDER / run["folder"], FOLDER / run["model"] / "data.npz"
        out, merged = ingot.path("adapter"), ingot.path("merged.onnx")
        steps, _ = ingot.train(
            trainer, "--data", data, "--no-shuffle", "--steps", len(run["losses"]), "--lr", GOLDENS["lr"],
            "--weight-decay", 0.01, "--init-adapter", folder / "before", "--export-adapter", out,
        )  # fmt: skip
        check_close("losses", [step["loss"] for step in steps], run["losses"], 1e-4)
        got, want = (read_tensors(f / "adapter_model.safetensors") for f in (out, folder / "after"))
        check(got.keys() == want.keys(), f"keys are {sorted(got)}, expected {sorted(want)}")
        for name, values in want.items():
            check_close(name, got[name], values, 1e-3)
        own, peft = (json.loads((f / "adapter_config.json").read_text()) for f in (out, folder / "after"))
        for name in ("peft_type", "bias", "use_rslora", "use_dora", "modules_to_save"):
            check(own[name] == peft[name], f"{name} is {own[name]}, expected {peft[name]}")
        # What PEFT trained computes what PEFT computed, with the adapter and merged.
        predicted, part = ingot.path("predicted.npz"), ingot.path("part.npz")
        first = {name: values[: GOLDENS["batch"]] for name, values in np.load(data).items()}
        np.savez(part, **first)
        first.pop("labels")
        ingot.succeed(
            [trainer, "--steps", 0, "--eval-data", part, "--init-adapter", folder / "after", "--predict", predicted,
             "--export", merged]
        )  # fmt: skip
        want = np.load(folder / "outputs.npy")
        check_close("outputs", np.load(predicted)["output"], want, 1e-5)
        session = onnxruntime.InferenceSession(merged)
        check_close("merged", session.run(None, first)[0], want, 1e-5)
        # ONNX Runtime loads the adapter into the model that is written beside it, or runs that without it.
        out = ingot.path("adapter")
        ingot.succeed(
            [trainer, "--data", data, "--steps", 0, "--init-adapter", folder / "after", "--export-adapter", out]
        )
        onnx.checker.check_model(out / "model.onnx")
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 3  # It warns of each input that has a default.
        session, adapter = onnxruntime.InferenceSession(out / "model.onnx", quiet), onnxruntime.LoraAdapter()
        adapter.Load(str(out / "model.onnx_adapter"))
        options = onnxruntime.RunOptions()
        options.add_active_adapter(adapter)
        check_close("adapter in slots", session.run(None, first, options)[0], want, 1e-5)
        base = onnxruntime.InferenceSession(FOLDER / run["model"] / "model.onnx").run(None, first)[0]
        if not own["modules_to_save"] and own["bias"] == "none":
            check_close("empty slots", session.run(None, first)[0], base, 1e-6)

    return compare_run


for i, run in enumerate(GOLDENS["runs"]):
    case(f"adapters-of-peft-{run['model']}-{i}")(compare(run))


@case("adapters-train")
def train(ingot):
    """Training lowers the loss and changes adapters alone; a seed says where they begin, and dropout is of training."""
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), *ADAPTER, "--adapter-train", "net.4")
    base, weights, merged, out = initializers(G.model), *(
        ingot.path(name) for name in ("out.safetensors", "merged.onnx", "adapter")
    )  # fmt: skip
    flags = ["--data", G.data, "--eval-data", G.data, "--lr", "0.01", "--steps", "60"]
    predicted = ingot.path("predicted.npz")
    steps, evaluations = ingot.train(
        trainer, *flags, "--seed", "3", "--export", weights, "--export-adapter", out, "--predict", predicted
    )
    check(steps[-1]["loss"] < 0.95 * steps[0]["loss"], f"the loss goes from {steps[0]['loss']} to {steps[-1]['loss']}")
    ingot.succeed([trainer, *flags, "--seed", "3", "--export", merged])
    values, trained = read_tensors(weights), initializers(merged)
    for name, value in base.items():
        is_trained = name.startswith("net.4")
        check(is_trained != np.array_equal(values[name], value), f"{name}: trained is not {is_trained}")
        a, b = (values.get(name.replace("weight", f"lora_{part}.weight")) for part in "AB")
        want = values[name] if a is None or name.endswith("bias") else value + 2 * (
            b @ a if value.shape == (b.shape[0], a.shape[1]) else (b @ a).T
        )  # fmt: skip
        check_close(name, trained[name], want, 1e-6)
    check("net.0.lora_A.weight" in values and "net.4.lora_A.weight" not in values, f"there are {sorted(values)}")
    session = onnxruntime.InferenceSession(merged)
    x = np.load(G.data)["x"]
    rows = [session.run(None, {session.get_inputs()[0].name: x[i : i + G.batch]})[0] for i in range(0, len(x), G.batch)]
    (name,) = np.load(predicted).files
    check_close("predictions", np.load(predicted)[name], np.concatenate(rows), 1e-5)
    config = json.loads((out / "adapter_config.json").read_text())
    check(config["r"] == 2 and config["lora_alpha"] == 4 and config["lora_dropout"] == 0.1, f"settings are {config}")
    check(config["modules_to_save"] == ["net.4"], f"modules_to_save is {config['modules_to_save']}")
    # Bases without adapters start with them as the seed draws them.
    start, again = ingot.path("start.safetensors"), ingot.path("again.safetensors")
    ingot.succeed([trainer, *flags[:2], "--steps", "0", "--seed", "3", "--export", start])
    drawn = read_tensors(start)
    bound = 1 / np.sqrt(drawn["net.0.lora_A.weight"].shape[1])
    largest = np.abs(drawn["net.0.lora_A.weight"]).max()
    check(0.8 * bound < largest <= bound, f"A is within {largest}, expected {bound}")
    check(not drawn["net.0.lora_B.weight"].any(), "B does not begin at zero")
    plain = ingot.path("plain.safetensors")
    write_tensors(plain, {name: values[name] for name in base})
    ingot.succeed([trainer, *flags[:2], "--steps", "0", "--seed", "3", "--init", plain, "--export", again])
    check(np.array_equal(read_tensors(again)["net.0.lora_A.weight"], drawn["net.0.lora_A.weight"]), "A of the seed")
    ingot.succeed([trainer, *flags[:2], "--steps", "0", "--seed", "4", "--export", again])
    check(not np.array_equal(read_tensors(again)["net.0.lora_A.weight"], drawn["net.0.lora_A.weight"]), "another seed")


@case("adapters-magnitudes")
def magnitudes(ingot):
    """Magnitudes begin with the norms of the weights that a run starts with; a merged weight has rows of that norm."""
    trainer = ingot.compile(G.model, *G.compile_flags("adamw"), "--adapter", "dora:r=2,alpha=4@all-linear")
    base, name = initializers(G.model), "net.0.weight"
    start, plain, again, weights = (ingot.path("a.safetensors") for _ in range(4))
    merged, flags = ingot.path("merged.onnx"), ["--data", G.data, "--lr", "0.01"]
    ingot.succeed([trainer, *flags, "--steps", "0", "--export", start])
    magnitude = read_tensors(start)["net.0.lora_magnitude_vector"]
    axis = 1 if base[name].shape[0] == len(magnitude) else 0
    check_close("magnitudes", magnitude, np.linalg.norm(base[name], axis=axis), 1e-6)
    write_tensors(plain, {key: 2 * value for key, value in base.items()})
    ingot.succeed([trainer, *flags, "--steps", "0", "--init", plain, "--export", again])
    check_close("magnitudes of --init", read_tensors(again)["net.0.lora_magnitude_vector"], 2 * magnitude, 1e-6)
    ingot.succeed([trainer, *flags, "--steps", "20", "--export", weights])
    ingot.succeed([trainer, *flags, "--steps", "20", "--export", merged])
    values = read_tensors(weights)
    a, b, trained = (values[f"net.0.lora_{part}"] for part in ("A.weight", "B.weight", "magnitude_vector"))
    check(not np.array_equal(trained, magnitude), "magnitudes are not trained")
    rows = (base[name] if axis else base[name].T) + 2 * b @ a
    rows *= (trained / np.linalg.norm(rows, axis=1))[:, None]
    check_close("merged", initializers(merged)[name], rows if axis else rows.T, 1e-5)
    # Steps divide by norms of the weights that a run starts with: they compute what the merged model does.
    predicted = ingot.path("predicted.npz")
    ingot.succeed([trainer, *flags, "--steps", "20", "--init", plain, "--eval-data", G.data, "--predict", predicted,
                   "--export", merged])  # fmt: skip
    (output,) = np.load(predicted).files
    session, x = onnxruntime.InferenceSession(merged), np.load(G.data)["x"][: G.batch]
    want = session.run(None, {session.get_inputs()[0].name: x})[0]
    check_close("outputs of --init", np.load(predicted)[output][: G.batch], want, 1e-5)
    # Values of a file with adapters stay as they are.
    ingot.succeed([trainer, *flags, "--steps", "0", "--init", weights, "--export", again])
    check(np.array_equal(read_tensors(again)["net.0.lora_magnitude_vector"], trained), "magnitudes of a file")


@case("adapters-resume")
def resume(ingot):
    """A resumed run has the bits of one that went on; averages, clipping and 16 bits go along."""
    for words in ([], ["--clip"], ["--precision", "bf16"], ["--grad-accumulation", "2"]):
        trainer = ingot.compile(G.model, *G.compile_flags("adamw"), *ADAPTER, *words)
        out, resumed, folder = ingot.path("out.onnx"), ingot.path("resumed.onnx"), ingot.path("save")
        adapters = ingot.path("adapter"), ingot.path("adapter")
        flags = ["--data", G.data, "--lr", "0.01"]
        ingot.succeed([trainer, *flags, "--steps", 10, "--export", out, "--export-adapter", adapters[0]])
        ingot.succeed([trainer, *flags, "--steps", 4, "--save", folder])
        ingot.succeed(
            [trainer, *flags, "--resume", folder, "--steps", 10, "--export", resumed, "--export-adapter", adapters[1]]
        )
        check(out.read_bytes() == resumed.read_bytes(), f"{words}: the model differs")
        for name in ("adapter_model.safetensors", "adapter_config.json"):
            check((adapters[0] / name).read_bytes() == (adapters[1] / name).read_bytes(), f"{words}: {name} differs")


@case("adapters-ranks")
def ranks(ingot):
    """Two ranks do what one does, and exchange adapters alone."""
    flags = ["--data", G.data, "--steps", 20, "--lr", "0.01", "--seed", 5]
    words = ["--adapter", "rslora:r=2,alpha=4@net.0,net.2"]
    want, _ = run_ranks(ingot, 1, compile_for(ingot, G, "adamw", 1, *words), *flags)
    for more in ([], ["--zero", "2"], ["--zero", "3"]):
        trainer, out = compile_for(ingot, G, "adamw", 2, *words, *more), ingot.path("adapter")
        merged = ingot.path("merged.onnx")
        got, _ = run_ranks(ingot, 2, trainer, *flags, "--export-adapter", out, "--export", merged)
        check_close(f"{more}", [step["loss"] for step in got], [step["loss"] for step in want], 1e-5)
        tensors, trained, base = (
            read_tensors(out / "adapter_model.safetensors"), initializers(merged), initializers(G.model)
        )  # fmt: skip
        a, b = (tensors[f"base_model.model.net.0.lora_{part}.weight"] for part in "AB")
        change = trained["net.0.weight"] - base["net.0.weight"]
        scale = 4 / np.sqrt(2)
        check_close("merged", change, scale * (b @ a if change.shape == (b.shape[0], a.shape[1]) else (b @ a).T), 1e-6)


@case("adapters-ranks-of-layers")
def ranks_of_layers(ingot):
    """Adapters of convolutions and embeddings are trained by two ranks as by one, whatever ranks have parts of."""
    for name, rule, *meshes in (
        ("cnn", "dora:r=4@conv1,conv2,fc", (2, "--data-parallel", "--zero", "2")),
        ("bert", "lora:r=4@word_embeddings,query", (2, "--data-parallel", "--zero", "3"),
         (4, "--mesh", "tensor=2", "--partition", "word_embeddings=1:tensor")),
    ):  # fmt: skip
        flags = ["--data", FOLDER / name / "data.npz", "--no-shuffle", "--steps", 6, "--lr", 0.01, "--seed", 5]

        def run(ranks, batch, *more, name=name, rule=rule, flags=flags):
            words = ["--loss", "cross-entropy", "--adapter", rule, "--batch", str(batch), *more]
            trainer, out = ingot.compile(FOLDER / name / "model.onnx", *words), ingot.path("adapter")
            steps, _ = run_ranks(ingot, ranks, trainer, *flags, "--export-adapter", out)
            return [step["loss"] for step in steps], read_tensors(out / "adapter_model.safetensors")

        losses, tensors = run(1, 4)
        for batch, *more in meshes:
            got, own = run(2, batch, *more)
            check_close(f"{name} {more}", got, losses, 1e-5)
            for key, value in tensors.items():
                check_close(f"{name} {more} {key}", own[key], value, 1e-3)


@case("adapters-without-slots")
def without_slots(ingot):
    """Where a node has no place for an adapter, a note says so, and PEFT's files are there all the same."""
    model = onnx.load(G.model)
    for node in model.graph.node:
        for setting in node.attribute:
            if setting.name == "alpha":
                setting.f = 0.5
    path, out = ingot.path("scaled.onnx"), ingot.path("adapter")
    onnx.save(model, path)
    trainer = ingot.compile(path, *G.compile_flags("adamw"), *ADAPTER)
    done = ingot.succeed([trainer, "--data", G.data, "--steps", 1, "--export-adapter", out])
    check("model.onnx: not written: the weight of 'net.0' is read by the node" in done.err, done.err)
    check({path.name for path in out.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}, f"{out}")


@case("adapters-and-errors")
def errors(ingot):
    """Layers that are not there, and files that do not fit, are errors that name them."""
    run = GOLDENS["runs"][0]
    base = [FOLDER / run["model"] / "model.onnx", "-o", ingot.path("t"), "--loss", "cross-entropy", "--batch", "4"]
    for words, said in (
        (["--adapter", "lora@qproj"], "'qproj' matches no layer"),
        (["--adapter", "lora@/q_proj/"], "'lora@/q_proj/' matches no layer"),
        (["--adapter", "lora@q_proj", "--adapter", "lora:r=4@q_proj"], "takes no layer that is left"),
        (["--adapter", "lora:r=x@q_proj"], "r of 'x' is no rank"),
        (["--adapter", "vera@q_proj"], "unknown kind of adapter 'vera'"),
        (["--adapter", "lora@q_proj", "--adapter", "dora@v_proj"], "some rules are dora"),
    ):
        ingot.check_error(ingot.ingotc(*base, *words), 2, "--adapter", said)
    ingot.check_error(ingot.ingotc(*base, "--adapter-train", "lm_head"), 2, "--adapter-train", "requires --adapter")
    trainer, data = compile_run(ingot, run), FOLDER / run["model"] / "data.npz"
    command = [trainer, "--data", data, "--steps", "1", "--init-adapter"]
    ingot.check_error([*command, ingot.path("nothing")], 3, "adapter_config.json")
    tensors = read_tensors(FOLDER / run["folder"] / "before/adapter_model.safetensors")
    key = "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight"

    def change(said, tensors=tensors, **settings):
        folder = ingot.path("adapter")
        shutil.copytree(FOLDER / run["folder"] / "before", folder)
        write_tensors(folder / "adapter_model.safetensors", tensors)
        config = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps({**config, **settings}))
        ingot.check_error([*command, folder], 3, *said)

    change([f"no '{key}'"], {name: value for name, value in tensors.items() if name != key})
    change(
        ["'base_model.model.up.lora_A.weight' is of no adapter"],
        {**tensors, "base_model.model.up.lora_A.weight": tensors[key]},
    )
    change([key, "shape [2, 32], the model has [4, 32]"], {**tensors, key: tensors[key][:2].copy()})
    change(["has the scale 4.0, the trainer's 2.0"], lora_alpha=16)
    change(["has the scale 4.0"], use_rslora=True)
    change(["use_dora is set"], use_dora=True)
    change(["peft_type is not LORA"], peft_type="IA3")
    plain = ingot.compile(G.model, *G.compile_flags("adamw"))
    ingot.check_error([plain, "--data", G.data, "--export-adapter", ingot.path("a")], 2, "--export-adapter")
