# SPDX-License-Identifier: Apache-2.0
"""The wheel `ingot-trainer`: one for all Pythons, since it has programs and modules in pure Python. Nothing of it is
linked with an interpreter."""

import base64
import hashlib
import pathlib

import archives

# What auditwheel says of programs that need symbols of glibc 2.28 at most.
TAG = "py3-none-manylinux_2_28_x86_64"

METADATA = """\
Metadata-Version: 2.1
Name: ingot-trainer
Version: {version}
Summary: A training compiler: from an ONNX model to one native program that trains it
License: Apache-2.0
Keywords: training,compiler,onnx,mlir
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Provides-Extra: torch
Requires-Dist: numpy; extra == "torch"
Requires-Dist: onnx; extra == "torch"
Requires-Dist: onnxscript; extra == "torch"
Requires-Dist: torch; extra == "torch"
Description-Content-Type: text/markdown
License-File: LICENSE
License-File: third-party.md

{readme}"""

WHEEL = f"Wheel-Version: 1.0\nGenerator: ingot\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def entry_points(programs):
    lines = [f"{name} = ingot_trainer:{name.replace('-', '_')}" for name in programs]
    return "\n".join(["[console_scripts]", *lines, ""])


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write(folder, root, stage, version, time):
    """Writes the wheel of what is installed under `stage`. Returns its path."""
    members = []
    python = root / "tools/packaging/python/ingot_trainer"
    for path in sorted(python.glob("*.py")):
        content = path.read_bytes()
        if path.name == "__init__.py":
            content += f'\n__version__ = "{version}"\n'.encode()
        members.append((f"ingot_trainer/{path.name}", content))
    for part in ("bin", "lib/ingot"):
        for path in sorted((stage / part).rglob("*")):
            if path.is_file():
                members.append((f"ingot_trainer/{path.relative_to(stage)}", path))
    for path in sorted((root / "frontends/torch").glob("ingot_torch*.py")):
        members.append((path.name, path.read_bytes()))

    info = f"ingot_trainer-{version}.dist-info"
    programs = sorted(path.name for path in (stage / "bin").iterdir())
    readme = (root / "README.md").read_text()
    members += [
        (f"{info}/METADATA", METADATA.format(version=version, readme=readme).encode()),
        (f"{info}/WHEEL", WHEEL.encode()),
        (f"{info}/entry_points.txt", entry_points(programs).encode()),
        (f"{info}/top_level.txt", b"ingot_torch\ningot_trainer\n"),
        (f"{info}/licenses/LICENSE", (root / "LICENSE").read_bytes()),
        (f"{info}/licenses/third-party.md", (root / "docs/third-party.md").read_bytes()),
    ]
    record = []
    for name, content in members:
        data = content.read_bytes() if isinstance(content, pathlib.Path) else content
        record.append(f"{name},sha256={digest(data)},{len(data)}\n")
    members.append((f"{info}/RECORD", "".join([*record, f"{info}/RECORD,,\n"]).encode()))
    output = folder / f"ingot_trainer-{version}-{TAG}.whl"
    archives.write_zip(output, members, time)
    return output
