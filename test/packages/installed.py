# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts together works where it is moved to, without the build tree: the compiler makes the same
trainers byte for byte, needs no other program, and builds of others find it."""

import argparse
import pathlib
import shutil
import tempfile

from programs import FLAGS, check, check_needs, digest, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        run([options.cmake, "--install", options.build_dir, "--prefix", scratch / "there"])
        tree = scratch / "moved here"
        (scratch / "there").rename(tree)
        programs = sorted((tree / "bin").iterdir())
        check(len(programs) == 5, f"there are {programs}")
        for program in programs:
            check_needs(program)
            run([program, "--help"], env={})

        model = tree / "share/ingot/examples/digits/digits.onnx"
        shutil.copy(ROOT / "docs/examples/digits/digits.onnx", scratch / "digits.onnx")
        check(digest(model) == digest(scratch / "digits.onnx"), "the example differs")
        environment = {"INGOT_MACHINE": "built-in", "PATH": "/nowhere"}
        architectures = ["x86-64-v3"]
        if (options.build_dir / "lib/ingot/aarch64/link-cpu.txt").exists():
            architectures.append("aarch64")
        for architecture in architectures:
            digests = set()
            for place in (tree, options.build_dir):
                command = [place / "bin/ingotc", scratch / "digits.onnx", "-o", scratch / "digits", *FLAGS]
                run([*command, "--arch", architecture], env=environment, cwd=scratch)
                digests.add(digest(scratch / "digits"))
            check(len(digests) == 1, f"the installed compiler makes another trainer for {architecture}")

        build = [options.cmake, "-G", "Ninja", "-S", ROOT / "test/packages/consumer", "-B", scratch / "build"]
        build.append(f"-DMODEL={model}")
        run([*build, f"-DCMAKE_PREFIX_PATH={tree}"])
        run([options.cmake, "--build", scratch / "build"])
        run([scratch / "build/digits", "--inspect"])
    print(f"{len(programs)} programs, trainers for {', '.join(architectures)}, one build of others")


if __name__ == "__main__":
    main()
