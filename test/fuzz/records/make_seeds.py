# SPDX-License-Identifier: Apache-2.0
"""Writes seeds/RECORD/: small valid files for the fuzzers to start from.

    python make_seeds.py build/release/bin

compiles and runs a trainer, whose manifest, checkpoint, log, trace and report they are.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parents[1] / "end-to-end/goldens/multilabel"


def find_manifest(trainer):
    """The JSON in a trainer that begins with its version of the ABI."""
    content = trainer.read_bytes()
    decoder = json.JSONDecoder()
    begin = content.index(b'{"abi":')
    return decoder.raw_decode(content[begin : begin + (1 << 20)].split(b"\0")[0].decode())[0]


def shorten(manifest):
    """One kernel for each function, and no ABI: the fuzzer adds the current one."""
    del manifest["abi"]
    for function in manifest["functions"].values():
        for field in ("kernels", "live", "intervals"):
            if field in function:
                function[field] = function[field][:1]
    return json.dumps(manifest).encode()


def shorten_trace(text):
    trace = json.loads(text)
    kinds = {}
    for event in trace["traceEvents"]:
        kinds.setdefault((event.get("ph"), event.get("cat")), event)
    trace["traceEvents"] = list(kinds.values())
    return json.dumps(trace).encode()


def prune(tree):
    """A tree with one item in each list."""
    if isinstance(tree, dict):
        return {name: prune(value) for name, value in tree.items()}
    return [prune(value) for value in tree[:1]] if isinstance(tree, list) else tree


def page(report):
    """The beginning of a page, and its data: scripts are not read."""
    start, end = report.index(b'<script type="application/json"'), report.index(b"\n</script>")
    data = json.loads(report[start:end].split(b"\n", 1)[1])
    head = report[: report.index(b"<title>")] + report[start:].split(b"\n", 1)[0]
    return head + b"\n" + json.dumps(prune(data)).encode() + b"\n</script>\n"


def index(*members):
    names = b"".join(name for name, _, _ in members)
    records, at = b"", 0
    for name, offset, size in members:
        records += struct.pack("<4Q", offset, size, at, len(name))
        at += len(name)
    return struct.pack("<8s6Q", b"INGOTTX1", 0, 0, 0, len(members), len(names), 0) + records + names


def picture(width, height, step):
    """Without its hash, which the fuzzers would have to find."""
    return struct.pack("<8s4Q3q", b"ipicing1", 0, 0, 0, 0, width, height, step) + bytes(width * height * step)


def main(programs):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "INGOT_MACHINE": "built-in"}
    with tempfile.TemporaryDirectory() as folder:

        def run(*words):
            subprocess.run([str(word) for word in words], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)

        out = pathlib.Path(folder)
        data = GOLDEN / "data.npz"
        (out / "data.npz").write_bytes(data.read_bytes())
        run(programs / "ingotc", GOLDEN / "model.onnx", "-o", "trainer", "--loss", "bce-with-logits", "--batch", "4",
            "-O0", "--report", "report.html", "--remarks", "remarks.yaml")  # fmt: skip
        run(out / "trainer", "--data", "data.npz", "--eval-data", "data.npz", "--steps", "4", "--save", "saved",
            "--best", "eval_loss", "--early-stop", "5", "--log", "log.jsonl", "--profile", "trace.json")  # fmt: skip
        run(out / "trainer", "--data", "data.npz", "--steps", "2", "--log", "short.jsonl")
        with open(out / "diagnosis.json", "w") as file:
            subprocess.run([out / "trainer", "--data", "data.npz", "--steps", "60", "--diagnose=json"],
                           cwd=folder, env=env, check=True, stdout=file)  # fmt: skip

        def read(name):
            return (out / name).read_bytes()

        log = read("log.jsonl") + b'{"step": 0, "classes": ["circle", "square"]}\n'
        log += b'{"step": 4, "eval_loss": 0.5, "eval_accuracy": 0.5, "eval_confusion": [[1, 2], [3, 4]]}\n'
        beside = log + b"\0" + read("log.jsonl.toml")
        remarks = b"...\n".join(read("remarks.yaml").split(b"...\n")[:3])
        info = json.loads(read("saved/step-4/checkpoint.json"))
        more = json.loads(json.dumps(info))
        more["settings"] |= {"epoch_samples": [4, 8], "classes": ["circle", "square"], "ema": 0.5, "eval_batches": 3,
                             "plateau": {"metric": "eval_loss", "since": 1, "factor": 0.5, "best": 0.25}}  # fmt: skip
        del more["settings"]["epoch_sample"]
        seeds = {
            "cache/tuned": b"ingot tuned 1\nmachine\tkey\t0.8589 0.6896 1 OMP_PROC_BIND=close\n",
            "cache/pictures": picture(2, 2, 4),
            "config/run": read("log.jsonl.toml"),
            "config/lists": b"# a note\n[files]\ndata = [\"a.npz\", # one\n  'b.npz']\nno_shuffle = true\nsteps = 3\n",
            "progress/best": read("saved/step-4/checkpoint.json"),
            "progress/more": json.dumps(more, indent=1).encode() + b"\n",
            "progress/shards": json.dumps({"format": 2, "step": 1, "seed": 2, "shuffle": False, "samples": 3,
                "state_crc32": 4, "shards_crc32": [5, 6], "constants_crc32": 7}, indent=1).encode(),
            "manifest/multilabel": shorten(find_manifest(out / "trainer")),
            "report/log": beside,
            "report/trace": shorten_trace(read("trace.json")),
            "report/diagnosis": read("diagnosis.json"),
            "report/remarks": remarks,
            "report/page": page(read("report.html")),
            "sources/files": b"a.bin:u16:0.7\nb.bin:0.3",
            "sources/weights": b"a.bin:1e308\nb.bin:1e308",
            "sources/ranges": b"x{0..1}.npz\n@list\n*.bin\0# files\na.bin\nx{0..1}.npz\n@list\n",
            "sources/classes": b"dir\n",
            "tarindex/two": index((b"a.cls", 512, 1), (b"b.cls", 1536, 1)),
            "top/log": beside,
            "top/short": read("short.jsonl") + b"\0" + read("short.jsonl.toml"),
            "machine/cluster": json.dumps({"ranks": [1, 8, 64], "ranks_per_node": 8,
                "inside": {"latency_us": 3, "bandwidth_gbps": 800}, "between": {"latency_us": 10,
                "bandwidth_gbps": 200}, "host": {"exchange_us": 300, "bandwidth_gbps": 25}, "step_ms": 120}).encode(),
            "machine/profile": json.dumps({"threads": 2, "vector_f32": 8e9, "matmul_f32": 6e10, "cache_bytes": 1048576,
                "memory_bandwidth": 1.2e10, "link_seconds": 2e-05, "sources": {"threads": "counted"}}).encode(),
        }  # fmt: skip
        for name, content in seeds.items():
            folder_of = HERE.parent / "importers/seeds" if name.startswith("machine/") else HERE / "seeds"
            path = folder_of / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
