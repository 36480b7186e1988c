# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs, and calls of CUDA's libraries, on fakes (fakes.py)."""

import importlib
import json
import os
import re
import shutil
import sys

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper
import onnx.parser
from fakes import recorded, trainer
from harness import EXPORTED, ROOT, Skip, case, check, golden

GOLDENS = ["mlp", "cnn", "segmentation", "multilabel"]
LIMITS = json.loads((ROOT / "test/gpu/model/kernels.json").read_text())["limits"]
GRAPH_CALLS_OF_RECORDING = ("cuStreamBeginCapture", "cuStreamEndCapture")


@case("cuda kernels assemble without spills")
def kernels_assemble(ingot):
    if not shutil.which("ptxas") and not shutil.which("/usr/local/cuda/bin/ptxas"):
        raise Skip("no ptxas")
    models = [(golden(name).model, golden(name).compile_flags("adamw")) for name in GOLDENS]
    mlp = golden("mlp")
    models += [
        (mlp.model, [*mlp.compile_flags("sgd"), "--data-parallel", "--grad-comm", f"{code},start:0"])
        for code in ("int8", "topk:0.05")
    ]
    models += [(EXPORTED / "gpt-default.onnx", ["--loss", "cross-entropy"])]
    for model, flags in models:
        for arch, precision in [("sm_80", "fp32"), ("sm_90", "fp32"), ("sm_90", "bf16"), ("sm_80", "fp16")]:
            remarks = ingot.path("remarks.yaml")
            ptx = remarks.with_name("kernels.ptx")
            ingot.succeed(
                ingot.ingotc(
                    model,
                    *flags,
                    "--target",
                    "cuda",
                    "--arch",
                    arch,
                    "--emit",
                    "ptx",
                    "--precision",
                    precision,
                    "--remarks",
                    remarks,
                    "-o",
                    ptx,
                )
            )
            kernels = ptx.read_text().count(".entry ")
            text = remarks.read_text()
            registers = [int(n) for n in re.findall(r"registers: +'?(\d+)", text)]
            what = f"{model.parent.name} {arch} {precision}"
            check(kernels > 0 and len(registers) == kernels, f"{what}: {len(registers)} of {kernels} assembled")
            # Of 65,536; with 256 threads a block, two blocks have room on a multiprocessor.
            check(max(registers) <= LIMITS["registers"], f"{what}: {max(registers)} registers")
            check("Spills" not in text, f"{what}: a kernel spills")


@case("cuda machine code stays within limits")
def machine_code(ingot):
    sys.path.insert(0, str(ROOT / "tools/scripts"))
    device_code = importlib.import_module("device_code")
    if not device_code.find_tool("ptxas") or not device_code.find_tool("nvdisasm"):
        raise Skip("no ptxas, or no nvdisasm")
    script = [sys.executable, ROOT / "tools/scripts/device_code.py", "--bin", ingot.bin, "--check"]
    models = [
        f"{ROOT}/docs/examples/bytes/bytes.onnx:--loss=cross-entropy:--batch=8:--precision=bf16",
        f"{ROOT}/docs/examples/digits/digits.onnx:--loss=cross-entropy:--batch=32",
    ]
    result = ingot.run([*script, *models, "--arch", "sm_80", "sm_90"], timeout=400)
    check(result.status == 0, result.err[-500:])
    # Generated matmuls have as many registers as a block of 384 threads can have.
    result = ingot.run([*script, f"{models[0]}:--matmul-kernels=own", "--arch", "sm_90a"], timeout=400)
    check(result.status == 0, result.err[-500:])
    # Each limit is one that code can be beyond.
    figures = {name: limit * 2 + 1 for name, limit in LIMITS.items()}
    figures |= {"least_blocks": 0, "wide_share": 0}
    found = list(device_code.judge("x", figures, LIMITS))
    check(len(found) == len(LIMITS), f"{found}")


@case("cuda machine code in the table is within limits")
def table_of_machine_code(ingot):
    sys.path.insert(0, str(ROOT / "tools/scripts"))
    device_code = importlib.import_module("device_code")
    settings = json.loads(device_code.SETTINGS.read_text())
    page = device_code.PAGE.read_text()
    known = list(device_code.check_page(settings, page))
    check(not known, f"{known}")
    # A row that is beyond a limit, and one that is missing.
    row = next(line for line in page.splitlines() if line.startswith(f"| {settings['models'][0]['name']} | sm_90 |"))
    cells = row.split("|")
    cells[4] = " 8 "
    found = list(device_code.check_page(settings, page.replace(row, "|".join(cells))))
    check(len(found) == 1 and any("spills" in problem for problem in found), f"{found}")
    found = list(device_code.check_page(settings, page.replace(row + "\n", "")))
    check(len(found) == 1, f"{found}")


# Instructions as nvdisasm writes them: a loop that adds elements of 16 bytes at positions that another load gives.
DISASSEMBLY = """
//--------------------- .text.gathers --------------------------
	.section	.text.gathers,"ax",@progbits
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDG.E R2, desc[UR4][R4.64] ;
        /*0020*/                   IMAD.WIDE R6, R2, 0x10, R8 ;
        /*0030*/                   LDG.E.128 R12, desc[UR4][R6.64] ;
        /*0040*/                   FADD R12, R12, R13 ;
        /*0050*/                   STG.E.U16 desc[UR4][R4.64], R12 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
"""


@case("cuda machine code is read as it is")
def reading_machine_code(ingot):
    sys.path.insert(0, str(ROOT / "tools/scripts"))
    device_code = importlib.import_module("device_code")
    functions = device_code.disassemble(DISASSEMBLY)
    check(list(functions) == ["gathers"] and len(functions["gathers"]) == 8, f"{functions}")
    figures = device_code.analyse(functions["gathers"])
    check(figures["bytes"] == 22 and figures["wide"] == 16 and figures["chain"] == 2, f"{figures}")
    check(abs(figures["per_byte"] - 6 / 22) < 1e-9, f"{figures}")


# Says that a kernel spills, unless it may have a multiprocessor to itself.
SPILLING_PTXAS = r"""#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" = -o ] && output=$2
  shift
done
grep -o '\.entry [a-z0-9_]*' "$1" | while read -r _ kernel; do
  entry=$(sed -n "/\.entry $kernel(/,/^{/p" "$1")
  case "$kernel $entry" in
    "KERNEL "*minnctapersm*) bytes=0 ;;
    "KERNEL "*) bytes=8 ;;
    *) bytes=0 ;;
  esac
  echo "ptxas info    : Compiling entry function '$kernel' for 'sm_90'"
  echo "    0 bytes stack frame, $bytes bytes spill stores, 0 bytes spill loads"
  echo "ptxas info    : Used 40 registers"
done
cp "$1" "$output"
"""


@case("cuda kernels that spill take more registers")
def spilling_kernels(ingot):
    mlp = golden("mlp")
    ptx, remarks = ingot.path("kernels.ptx"), ingot.path("remarks.yaml")

    def heads(**settings):
        ingot.succeed(
            ingot.ingotc(
                mlp.model,
                *mlp.compile_flags("sgd"),
                "--target",
                "cuda",
                "--emit",
                "ptx",
                "--remarks",
                remarks,
                "-o",
                ptx,
            ),
            env={**os.environ, **settings},
        )
        return dict(re.findall(r"\.entry (\w+)\(([^{]*)\{", ptx.read_text()))

    # Kernels of one block have a multiprocessor to themselves anyway.
    shared = [name for name, head in heads().items() if "minnctapersm" not in head]
    check(shared, "each kernel has a multiprocessor to itself")
    kernel = shared[0]
    ptxas = ingot.path("cuda") / "bin/ptxas"
    ptxas.parent.mkdir(parents=True)
    ptxas.write_text(SPILLING_PTXAS.replace("KERNEL", kernel))
    ptxas.chmod(0o755)
    check("minnctapersm 1" in heads(CUDA_HOME=str(ptxas.parent.parent))[kernel], "the kernel is as it was")
    check("Spills" not in remarks.read_text(), "the first assembly is reported")
    # An assembler that is a package of a Python, as pip installs it.
    environment = ingot.path("environment")
    packaged = environment / "lib/python3.99/site-packages/nvidia/cu13/bin/ptxas"
    packaged.parent.mkdir(parents=True)
    shutil.copy2(ptxas, packaged)
    found = heads(CUDA_HOME="", CUDA_PATH="", PATH="/usr/bin:/bin", VIRTUAL_ENV=str(environment))
    check("minnctapersm 1" in found[kernel], "ptxas is not found among Python's packages")


@case("cuda updates move 16 bytes at a time")
def wide_updates(ingot):
    size, layers = 1024, 3
    weight = np.zeros((size, size), np.float32)
    tensors = [onnx.numpy_helper.from_array(weight, f"w{i}") for i in range(layers)]
    nodes = [oh.make_node("MatMul", [f"y{i}", f"w{i}"], [f"y{i + 1}"]) for i in range(layers)]
    value = oh.make_tensor_value_info
    graph = oh.make_graph(nodes, "network", [value("y0", 1, [8, size])], [value(f"y{layers}", 1, [8, size])], tensors)
    model, ptx = ingot.path("network.onnx"), ingot.path("kernels.ptx")
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=10), model)
    ingot.succeed(ingot.ingotc(model, "--loss", "mse", "--target", "cuda", "--emit", "ptx", "-o", ptx))
    kernels = re.findall(r"\.entry \w+\(([^{]*)\{(.*?)\n\}", ptx.read_text(), re.S)
    # One kernel for the weights, gradients and two moments of all layers.
    updates = [code for parameters, code in kernels if parameters.count(".param") > 4 * layers]
    check(len(updates) == 1, f"{len(updates)} kernels update")
    check("ld.global.v4.b32" in updates[0] and "st.global.v4.b32" in updates[0], "elements are moved one by one")
    # The loss's sum is in the same grid.
    check(updates[0].count("st.global.b32") <= 1, "some elements are moved one by one")


@case("cuda convolutions take an exact engine that fits")
def convolutions(ingot):
    _, _, env = trainer(ingot)
    cnn = golden("cnn")
    program = ingot.compile(cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda")
    log = ingot.path("calls.txt")
    env = {**env, "INGOT_FAKE_LOG": str(log)}
    ingot.succeed([program, "--data", cnn.data, "--steps", 3], env=env)
    calls = log.read_text()
    check("violation" not in calls, "a call is wrong: " + calls[calls.find("violation") :][:200])
    engines = set(re.findall(r"cudnnBackendExecute engine=(\d)", calls))
    check(engines == {"2"}, f"engines {engines}")
    check("cudnnDestroy objects=0" in calls, "cuDNN objects are left")
    ingot.check_error(
        [program, "--data", cnn.data, "--steps", 1],
        1,
        "convolution",
        "cuDNN",
        env={**env, "INGOT_FAKE_FAIL": "cudnnCreate"},
    )


@case("cuda convolutions have channels last on tensor cores")
def convolution_layouts(ingot):
    _, _, env = trainer(ingot)
    cnn = golden("cnn")
    for precision, order in [("fp32", "first"), ("fp32 --tf32", "last"), ("bf16", "last"), ("fp16", "last")]:
        program = ingot.compile(
            cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda", "--precision", *precision.split()
        )
        log = ingot.path("calls.txt")
        ingot.succeed([program, "--data", cnn.data, "--steps", 1], env={**env, "INGOT_FAKE_LOG": str(log)})
        calls = log.read_text()
        check("violation" not in calls, "a call is wrong: " + calls[calls.find("violation") :][:200])
        lines = re.findall(r"convolution channels (.*)", calls)
        # Data, filter and result of each convolution and each gradient.
        check(
            len(lines) >= 5 and set(lines) == {f"data={order} filter={order} result={order}"}, f"{precision}: {lines}"
        )


@case("cuda attention reads and writes parts of one tensor in half precision")
def packed_attention(ingot):
    trainer(ingot)
    model, loss = ROOT / "docs/examples/bytes/bytes.onnx", ["--loss", "cross-entropy", "--batch", "8"]
    for precision in ["fp32", "bf16", "fp16"]:
        steps = ingot.path("steps.mlir")
        ingot.succeed(
            ingot.ingotc(model, *loss, "--target", "cuda", "--precision", precision, "--emit", "exec", "-o", steps)
        )
        calls, places = 0, {}
        for line in steps.read_text().splitlines():
            part = re.search(
                r"(%\w+) = exec\.buffer +arena (\d+) : memref<8x128x4x16x\w+, strided<\[24576, 192, 16, 1\]>>", line
            )
            if part:
                places[part[1]] = int(part[2])
            call = re.search(r"exec\.call @ingot_attention(_grad)?\(([^)]*)\)", line)
            if not call:
                continue
            calls += 1
            buffers = dict(re.findall(r"(\w+) = (%\w+)", call[2]))
            names = ["query", "key", "value"]
            # Four heads of 16 columns, 128 bytes, from one part to the next.
            for parts in [names, *([[f"{name}_grad" for name in names]] if call[1] else [])]:
                first, second, third = (places.get(buffers[part], 0) for part in parts)
                check(third - second == second - first == 128, f"{precision}: {line}")
        # In f32 it is products and a softmax.
        check((calls > 0) == (precision != "fp32"), f"{precision}: {calls} calls")


def write_padded(path):
    """Two layers of causal attention with dropout, over sequences of which the first keys count."""
    batch, rows, heads, size = 2, 64, 4, 16
    layers = "".join(
        f"""{n}p = MatMul({n}x, w{n})
            {n}h = Reshape({n}p, apart)
            {n}q = Transpose<perm = [0, 2, 1, 3]>({n}h)
            {n}k = Transpose<perm = [0, 2, 3, 1]>({n}h)
            {n}s = MatMul({n}q, {n}k)
            {n}m = Where(allowed, {n}s, hidden)
            {n}w = Softmax<axis = -1>({n}m)
            {n}d = Dropout({n}w, ratio, on)
            {n}r = MatMul({n}d, {n}q)
            {n}t = Transpose<perm = [0, 2, 1, 3]>({n}r)
            {after} = Reshape({n}t, together)
            """
        for n, after in (("a", "bx"), ("b", "y"))
    )
    width = heads * size
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        padded (float[{batch},{rows},{width}] ax, int64[{batch}] lengths) => (float[{batch},{rows},{width}] y) {{
            ends = Unsqueeze(lengths, axes)
            real = Less(positions, ends)
            allowed = And(real, causal)
            {layers}
        }}""")
    draw = np.random.default_rng(0).normal
    constants = {
        "wa": draw(0, 0.1, (width, width)).astype("f"),
        "wb": draw(0, 0.1, (width, width)).astype("f"),
        "apart": np.array([batch, rows, heads, size]),
        "together": np.array([batch, rows, width]),
        "axes": np.array([1, 2, 3]),
        "positions": np.arange(rows),
        "causal": np.tri(rows, dtype=bool),
        "hidden": np.float32(-np.inf),
        "ratio": np.float32(0.25),
        "on": np.bool_(True),
    }
    model.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    onnx.save(model, path)


@case("cuda attention takes lengths and a seed of its own for each layer in half precision")
def attention_terms(ingot):
    trainer(ingot)
    model, machine = ingot.path("padded.onnx"), ingot.path("machine.json")
    write_padded(model)
    # So little memory traffic a second that scores are not worth storing.
    machine.write_text(json.dumps({"memory_bandwidth": 1e6}))
    for precision in ["fp32", "bf16", "fp16"]:
        steps = ingot.path("steps.mlir")
        ingot.succeed(
            ingot.ingotc(
                model,
                "--loss",
                "mse",
                "--machine",
                machine,
                "--target",
                "cuda",
                "--precision",
                precision,
                "--emit",
                "exec",
                "-o",
                steps,
            )
        )
        text = steps.read_text()
        train = text[text.index("@train_step") :].split("exec.step")[0]
        places = dict(re.findall(r"(%\w+) = exec\.buffer +(\w+ \d+) : memref<", train))
        if precision == "fp32":
            check("@ingot_attention" not in text, "attention in fp32")
            continue
        seeds = {"": [], "_grad": []}
        for kind, call in re.findall(r"@ingot_attention(_grad)?(\(.*)", train):
            terms = re.search(r"lengths = (%\w+), seed = (%\w+), step = (%\w+)", call)
            check(terms and "ratio = 2.5" in call, f"{precision}: {call}")
            seeds[kind].append(tuple(places[part] for part in terms.groups()))
        # Of each layer both directions read the same; the other's seed is elsewhere.
        check(len(seeds[""]) == 2 and seeds[""] == seeds["_grad"][::-1], f"{precision}: {seeds}")
        check(len({seed for _, seed, _ in seeds[""]}) == 2, f"{precision}: {seeds}")
        check(len({(lengths, step) for lengths, _, step in seeds[""]}) == 1, f"{precision}: {seeds}")
        # In evaluation there is none.
        check(len(re.findall(r"@ingot_attention\(.*seed = ", text)) == 2, f"{precision}: dropout in evaluation")


def write_network(ingot, transposed=False):
    """Layers with GELU by tanh and ReLU, with weights that may be transposed; the model and data for it."""
    rng = np.random.default_rng(0)
    sizes = [24, 32, 16, 8]
    tensors, nodes = [], []
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        shape = (outputs, inputs) if transposed else (inputs, outputs)
        for name, value in [(f"w{i}", rng.normal(0, 0.3, shape)), (f"b{i}", rng.normal(0, 0.3, outputs))]:
            tensors.append(onnx.numpy_helper.from_array(value.astype(np.float32), name))
        last = i + 2 == len(sizes)
        inputs = [f"y{i}" if i else "x", f"w{i}", f"b{i}"]
        nodes.append(oh.make_node("Gemm", inputs, ["y" if last else f"z{i}"], transB=int(transposed)))
    nodes.insert(1, oh.make_node("Gelu", ["z0"], ["y1"], approximate="tanh"))
    nodes.insert(3, oh.make_node("Relu", ["z1"], ["y2"]))
    value = oh.make_tensor_value_info
    graph = oh.make_graph(nodes, "network", [value("x", 1, ["n", 24])], [value("y", 1, ["n", 8])], tensors)
    model, data = ingot.path("network.onnx"), ingot.path("data.npz")
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 20)], ir_version=10), model)
    np.savez(data, x=rng.normal(size=(64, 24)).astype(np.float32), labels=rng.integers(0, 8, 64))
    return model, data


@case("cuda products have the library's epilogues")
def library_epilogues(ingot):
    _, _, fakes = trainer(ingot)
    model, data = write_network(ingot)
    flags = ["--loss", "cross-entropy", "--batch", "16", "--target", "cuda"]
    program = ingot.compile(model, *flags, "--precision", "bf16")

    def run(program=program, **settings):
        log = ingot.path("calls.txt")
        env = {**fakes, "INGOT_FAKE_LOG": str(log), **settings}
        result = ingot.succeed([program, "--data", data, "--steps", "4", "--tune=off"], env=env)
        lines = log.read_text().splitlines()
        broken = [line for line in lines if line.startswith("violation")]
        check(not broken, f"calls: {broken[:3]}")
        begin, end = (
            next(i for i, line in enumerate(lines) if line.startswith(name)) for name in GRAPH_CALLS_OF_RECORDING
        )
        launches = [line for line in lines[:begin] if line.startswith(("cuLaunchKernel", "cublasLtMatmul "))]
        check(launches == lines[begin + 1 : end], "the recording differs from the first step")
        return launches, result.err

    def find_epilogues(lines):
        return sorted(int(n) for n in re.findall(r"epilogue=(\d+)", "\n".join(lines)) if n != "1")

    bias, auxiliary, of_result, of_operand = 4, 128, 16, 256
    gelu, relu, gelu_gradient, relu_gradient = 32 | auxiliary, 2, 64 | auxiliary, 8 | auxiliary
    # Each with the kernels that do the same. Biases' gradients come with weights' gradients.
    kernels = {bias | gelu: 1, bias | relu: 1, relu_gradient: 1, gelu_gradient: 1, of_operand: 1}
    with_epilogues, said = run()
    found, wanted = find_epilogues(with_epilogues), sorted([*kernels, of_operand, of_operand])
    check(found == wanted, f"epilogues {found}, want {wanted}")
    check("cuBLASLt has no" not in said, said)
    # Of the other operand, for weights as PyTorch stores them.
    torch_like, _ = run(ingot.compile(write_network(ingot, transposed=True)[0], *flags, "--precision", "bf16"))
    found, other_operand = find_epilogues(torch_like), 512
    wanted = sorted(other_operand if n == of_operand else n for n in wanted)
    check(found == wanted, f"epilogues {found}, want {wanted}")
    # In fp32, where the result has all digits, they come with it.
    in_fp32, _ = run(ingot.compile(model, *flags))
    found = find_epilogues(in_fp32)
    wanted = sorted([bias, bias | gelu, bias | relu, relu_gradient | of_result, gelu_gradient | of_result, of_operand])
    check(found == wanted, f"epilogues in fp32 {found}, want {wanted}")
    # A library without them: the product, then kernels, and a line that says so.
    without, said = run(INGOT_FAKE_NO_EPILOGUES="1")
    at = 0
    for line in with_epilogues:
        name = line.split()[0]
        check(without[at].split()[0] == name, f"{without[at]} in place of {line}")
        at += 1
        if name == "cublasLtMatmul":
            check("epilogue=1 " in without[at - 1], f"{without[at - 1]}")
        for _ in range(sum(kernels[n] for n in find_epilogues([line]))):
            check(without[at].startswith("cuLaunchKernel"), f"{without[at]} after a product without its epilogue")
            at += 1
    check(at == len(without), f"{len(without)} launches, want {at}")
    for words in ("bias and gelu:", "bias and relu:", "with gelu's gradient:", "with relu's gradient:"):
        check(said.count(words) == 1, f"not said once: {words} in {said}")
    check(said.count("with a bias's gradient:") == 3, said)
    # One that finds out when it runs.
    late, said = run(INGOT_FAKE_NO_EPILOGUES="2")
    check(late == without, f"{late} in place of {without}")
    check(said.count("cuBLASLt has no") == 7, said)


@case("cuda products are in TF32 where the user says so")
def tf32(ingot):
    mlp = golden("mlp")
    for flags, compute in [((), "68"), (("--tf32",), "77"), (("--tf32", "--precision", "bf16"), "68")]:
        _, log = recorded(ingot, "--tune=off", compiled=flags)
        found = set(re.findall(r"cublasLtMatmulDescCreate compute=(\d+)", log))
        check(found == {compute}, f"{flags}: computes in {found}")
    ingot.check_error(
        ingot.ingotc(mlp.model, "-o", ingot.path("out"), *mlp.compile_flags("sgd"), "--tf32"), 2, "--tf32"
    )
    # Convolutions: the first engine rounds so.
    _, _, env = trainer(ingot)
    cnn = golden("cnn")
    for flags, engine in [((), "2"), (("--tf32",), "0")]:
        program = ingot.compile(cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda", *flags)
        log = ingot.path(f"calls-{engine}.txt")
        ingot.succeed(
            [program, "--data", cnn.data, "--steps", 1, "--tune=off"],
            env={**env, "INGOT_FAKE_LOG": str(log), "INGOT_FAKE_TENSOR_CORES": "1"},
        )
        engines = set(re.findall(r"cudnnBackendExecute engine=(\d)", log.read_text()))
        check(engines == {engine}, f"{flags}: engines {engines}")


def attention_trainer(ingot):
    """A language model in bf16, data for it, and where the fakes are."""
    _, _, env = trainer(ingot)
    example = ROOT / "docs/examples/bytes"
    data = ingot.path("train.bin")
    ingot.succeed([sys.executable, example / "tokens.py", data, ROOT / "LICENSE"])
    flags = ["--loss", "cross-entropy", "--batch", "2", "--precision", "bf16", "--target", "cuda"]
    return [ingot.compile(example / "bytes.onnx", *flags), "--data", data, "--steps", 3, "--tune=off"], env


@case("cuda layers of one shape share their plans")
def shared_plans(ingot):
    run, env = attention_trainer(ingot)
    log = ingot.path("calls.txt")
    ingot.succeed(run, env={**env, "INGOT_FAKE_LOG": str(log)})
    lines = log.read_text().splitlines()
    check(not [line for line in lines if line.startswith("violation")], f"{log.read_text()[-300:]}")
    calls = sum(line.startswith("cudnnBackendExecute") for line in lines)
    plans = sum(line.startswith("cudnnFinalizePlan") for line in lines)
    # The first step and the recording, of several layers: a plan for each direction.
    check(plans == 2 and calls > 3 * plans, f"{plans} plans for {calls} calls")
    varying = [line for line in lines if line.endswith("varies=1")]
    check(not varying, f"sums that vary from run to run: {varying}")
    # The faster gradient only where it is asked for.
    ingot.succeed([*run, "--nondeterministic"], env={**env, "INGOT_FAKE_LOG": str(log)})
    check("varies=1" in log.read_text(), "the gradient is the deterministic one")
    # What graphs hold goes with them.
    check(any(line.startswith("cudaGraphRetainUserObject") for line in lines), "plans are not kept for the graph")
    check(lines[-1].endswith("objects=0 blocks=0"), lines[-1])


@case("cuda attention in addition to the planned memory")
def unplanned_workspace(ingot):
    run, env = attention_trainer(ingot)
    said = ingot.succeed(run, env=env).err
    check("in addition to the planned" not in said, said)
    wanted = 1 << 28
    env["INGOT_FAKE_DNN_WORKSPACE"] = str(wanted)
    said = ingot.succeed(run, env=env).err
    found = re.search(r"cuDNN's attention takes (\d+) bytes of the GPU's memory in addition to the planned ones", said)
    check(found and wanted <= int(found[1]) < wanted + (1 << 20), said)
    ingot.check_error(run, 1, "in addition to the planned", found[1], env={**env, "INGOT_FAKE_MEMORY": str(wanted)})
