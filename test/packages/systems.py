# SPDX-License-Identifier: Apache-2.0
"""The packages of tools/package, made twice, are the same bytes, small enough, and what is installed from them in empty
systems of Debian 11, 12 and 13 compiles and trains digits to the bytes of the build tree, and the wheel's API trains
them in the Python of each. auditwheel finds in the wheel what its name says. Needs root and mmdebstrap."""

import argparse
import os
import pathlib
import re
import shutil
import tempfile
import time

from programs import EPOCHS, FLAGS, LEAST_ACCURACY, NEWEST, accuracy_of, check, digest, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEMS = ("bullseye", "bookworm", "trixie")
MOST_WHEEL_BYTES = 50_000_000
MOST_SECONDS = 60

# Modules of Python for the wheel, whose API needs NumPy alone. Debian 13 keeps pip from its own modules.
PYTHON = "python3,python3-pip,python3-venv,python3-numpy"
# Says which systems a wheel is for.
AUDITWHEEL = re.search("^AUDITWHEEL_VERSION=(.+)$", (ROOT / "tools/versions.env").read_text(), re.MULTILINE)[1]

# Python 3.9, 3.11 and 3.13, with NumPy 1.19 to 2.2.
API = """
import sys, numpy, ingot_trainer
digits = sys.argv[1]
def read(name):
    with numpy.load(f"{digits}/{name}") as arrays:
        return dict(arrays)
train, held_out = read("train.npz"), read("eval.npz")
with ingot_trainer.compile(f"{digits}/digits.onnx", loss="cross-entropy", optimizer="adamw", batch=32) as trainer:
    losses = trainer.fit(train, epochs=15, seed=1)
    found = trainer.evaluate(held_out)
    right = trainer.predict(held_out["image"]).argmax(axis=1) == held_out["labels"]
    assert right.mean() == found["accuracy"], (right.mean(), found)
    state = trainer.state_dict()
    trainer.save("/tmp/checkpoints")
    trainer.fit(train, epochs=1, seed=2)
    trainer.resume("/tmp/checkpoints")
    assert all((value == trainer.state_dict()[name]).all() for name, value in state.items())
    trainer.export("/tmp/api.onnx")
print(f"python {sys.version.split()[0]}, numpy {numpy.__version__}: eval_accuracy {found['accuracy']:.4f}")
"""


def make_system(suite, folder):
    if (folder / "usr/bin/python3").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run(["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", f"--include={PYTHON}", suite, folder])


def inside(folder, script):
    """Runs a script of bash in the system with its own processes and devices."""
    mounts = f'mount -t proc proc "{folder}/proc" && mount --bind /dev "{folder}/dev"'
    enter = f'{mounts} && exec chroot "{folder}" bash -ec "$0"'
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/srv", "LC_ALL": "C.UTF-8"}
    environment |= {"INGOT_MACHINE": "built-in", "OMP_NUM_THREADS": "2"}
    return run(["unshare", "--mount", "--pid", "--fork", "bash", "-c", enter, script], env=environment)


def train(compiler, examples, folder):
    data = [f"--data {examples}/train.npz --eval-data {examples}/eval.npz --export out.onnx", *EPOCHS]
    return (
        f"cd {folder}; rm -f digits out.onnx; {compiler} {examples}/digits.onnx -o digits {' '.join(FLAGS)} 2>&1; "
        f"./digits {' '.join(data)} 2>&1; sha256sum digits out.onnx"
    )


def audit(wheel, scratch):
    """Checks that auditwheel gives the wheel the tag of its name, or one of older systems."""
    run(["python3", "-m", "venv", scratch / "audit"])
    run([scratch / "audit/bin/pip", "-q", "install", f"auditwheel=={AUDITWHEEL}"])
    printed = run([scratch / "audit/bin/auditwheel", "show", wheel])
    # Older ones than that of its name are fine.
    found = re.search(r'platform tag:\s+"manylinux_2_(\d+)_x86_64"', printed)
    check(found and int(found[1]) <= NEWEST[1], f"auditwheel says {printed}")
    print(f"auditwheel: {found[0]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--systems", type=pathlib.Path, help="folder that keeps the systems")
    parser.add_argument("--packages", type=pathlib.Path, help="folder of packages, instead of making them twice")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("skipped: systems are made by root, with mmdebstrap")
        return
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        made = options.packages or scratch / "one"
        if not options.packages:
            for output in ("one", "two"):
                command = [ROOT / "tools/package", "--build-dir", options.build_dir, "--no-build"]
                run([*command, "--output", scratch / output])
            one = {path.name: digest(path) for path in (scratch / "one").iterdir()}
            two = {path.name: digest(path) for path in (scratch / "two").iterdir()}
            check(one == two, f"packages differ from build to build: {one} {two}")
        for path in sorted(made.iterdir()):
            print(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}")
        wheel, deb, tar = (next(made.glob(kind)) for kind in ("*.whl", "*.deb", "*-linux-*.tar.xz"))
        check(wheel.stat().st_size <= MOST_WHEEL_BYTES, f"the wheel has {wheel.stat().st_size} bytes")
        audit(wheel, scratch)

        examples = ROOT / "docs/examples/digits"
        environment = {**os.environ, "INGOT_MACHINE": "built-in", "OMP_NUM_THREADS": "2"}
        script = train(options.build_dir.resolve() / "bin/ingotc", examples, scratch)
        expected = run(["bash", "-ec", script], env=environment)
        sums = expected.split("\n")[-3:-1]
        check(accuracy_of(expected) >= LEAST_ACCURACY, expected[-500:])

        for suite in SYSTEMS:
            system = (options.systems or scratch) / suite
            make_system(suite, system)
            for path in (wheel, deb, tar):
                shutil.copy(path, system / "srv")
            shutil.copytree(examples, system / "srv/digits", dirs_exist_ok=True)
            ways = {
                deb.name: (f"dpkg -i /srv/{deb.name}", "ingotc", "dpkg -r ingot"),
                # Unpacked above.
                tar.name: (
                    "true",
                    f"/opt/{tar.name.removesuffix('.tar.xz')}/bin/ingotc",
                    "rm -rf /opt/ingot-*",
                ),
                wheel.name: (
                    "python3 -m venv --system-site-packages /srv/venv; "
                    f"/srv/venv/bin/pip install --no-index /srv/{wheel.name}",
                    "/srv/venv/bin/ingotc",
                    "rm -rf /srv/venv",
                ),
            }
            # Empty systems have no xz.
            run(["tar", "-xJf", tar, "-C", system / "opt"])
            for package, (install, compiler, remove) in ways.items():
                inside(system, install)
                start = time.monotonic()
                printed = inside(system, train(compiler, "/srv/digits", "/tmp"))
                seconds = time.monotonic() - start
                if package == wheel.name:
                    (system / "srv/api.py").write_text(API)
                    called = inside(system, "cd /tmp; rm -rf checkpoints; /srv/venv/bin/python /srv/api.py /srv/digits")
                    check(accuracy_of(called) >= LEAST_ACCURACY, called)
                    print(f"{suite}: {called.strip()}", flush=True)
                inside(system, remove)
                got = [line.split()[0] for line in printed.split("\n")[-3:-1]]
                check(
                    got == [line.split()[0] for line in sums], f"{suite}: other bytes than the build tree's: {package}"
                )
                check(seconds < MOST_SECONDS, f"{suite}: {seconds:.0f} s")
                print(f"{suite}: {package}: {accuracy_of(printed):.4f} in {seconds:.1f} s, the same bytes", flush=True)


if __name__ == "__main__":
    main()
