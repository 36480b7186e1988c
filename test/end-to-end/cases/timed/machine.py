# SPDX-License-Identifier: Apache-2.0
"""Profiles of this machine: measured where it is idle, kept, and read again."""

import json
import os
import subprocess
import time

from harness import Skip, case, check, golden

MLP = golden("mlp")


@case("machine-measured")
def machine_measured(ingot):
    """What ingot-measure finds is what ingotc takes, and it is no nonsense."""
    path = ingot.path("machine.json")
    ingot.succeed([ingot.bin / "ingot-measure", "-o", path])
    figures = json.loads(path.read_text())
    check(figures["matmul_f32"] > figures["vector_f32"] / 10 > 0, f"rates {figures}")
    check(1e8 < figures["memory_bandwidth"] < 1e13, f"bandwidth {figures['memory_bandwidth']}")
    command = ingot.ingotc(MLP.model, "-o", ingot.path("t"), *MLP.compile_flags("sgd"))
    ingot.succeed([*command, "--machine", path])
    ingot.check_error([ingot.bin / "ingot-measure", "--fast"], 2, "--fast")


def measure(ingot, command, environment):
    """Runs the compiler until it has measured the machine, which it does where that is idle."""
    for _ in range(5):
        said = ingot.run(command, env=environment).err
        if "the machine is busy" not in said:
            check("measuring this machine" in said and "delete it to measure again" in said, f"said {said!r}")
            return said
        time.sleep(2)
    raise Skip("other processes take the machine")


@case("machine-cached")
def machine_cached(ingot):
    """--machine measured measures once; the profile that is kept is the one that plans."""
    command = ingot.ingotc(MLP.model, "-o", ingot.path("t"), *MLP.compile_flags("sgd"), "--machine", "measured")
    cache, file = ingot.path("cache"), ingot.path("file")
    environment = {"XDG_CACHE_HOME": str(cache)}
    said = measure(ingot, command, environment)
    (kept,) = cache.glob("ingot/machine-*.json")
    check(str(kept) in said, f"does not name {kept}: {said}")
    figures = kept.read_text()
    check("measured on" in json.loads(figures)["sources"]["threads"], figures)
    ingot.succeed(command, env=environment)
    check(kept.read_text() == figures, "measured twice")
    kept.write_text('{"speed": 1}')
    ingot.check_error(command, 3, kept.name, env=environment)
    file.write_text("")
    environment["XDG_CACHE_HOME"] = str(file)
    ingot.check_error(command, 1, "--machine measured", env=environment)


@case("machine-busy")
def machine_busy(ingot):
    """On a busy machine nothing is measured: built-in figures, a word, and no file."""
    cache = ingot.path("cache")
    command = ingot.ingotc(MLP.model, "-o", ingot.path("t"), *MLP.compile_flags("sgd"))
    spin = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        environment = {"XDG_CACHE_HOME": str(cache), "INGOT_MACHINE": ""}
        said = ingot.succeed(command, env=environment).err
        check("built-in figures" in said and "the machine is busy" in said, said)
        ingot.check_error([*command, "--machine", "measured"], 1, "--machine measured", "busy", env=environment)
    finally:
        for process in spin:
            process.kill()
            process.wait()
    check(not list(cache.glob("ingot/machine-*")), "a profile of a busy machine is kept")


@case("machine-default")
def machine_default(ingot):
    """Without --machine the profile that is kept is used, for this CPU alone; without one, built-in figures."""
    command = ingot.ingotc(MLP.model, "-o", ingot.path("t"), *MLP.compile_flags("sgd"))
    cache, file = ingot.path("cache"), ingot.path("file")
    environment = {"XDG_CACHE_HOME": str(cache), "INGOT_MACHINE": "", "INGOT_MAX_ISA": "x86-64-v2"}
    measure(ingot, command, environment)
    (kept,) = cache.glob("ingot/machine-*-x86-64-v2-*.json")
    check(ingot.succeed(command, env=environment).err == "", "says something again")
    # A file of a version with other fields has another digest, and is not read.
    name, digest = kept.stem.rsplit("-", 1)
    check(len(digest) == 16, f"named {kept.name}")
    for other in (name, f"{name}-{digest[::-1]}"):
        kept.with_name(f"{other}.json").write_text('{"speed": 1}')
    check(ingot.succeed(command, env=environment).err == "", "reads a profile with other fields")
    kept.write_text('{"speed": 1}')
    ingot.check_error(command, 3, kept.name, env=environment)
    for flags in (["--machine", "built-in"], ["--arch", "x86-64-v2"]):
        ingot.succeed([*command, *flags], env=environment)
    ingot.succeed(command, env={**environment, "INGOT_MACHINE": "built-in"})
    ingot.check_error(command, 3, "none.json", env={**environment, "INGOT_MACHINE": "none.json"})
    file.write_text("")
    answer = ingot.succeed(command, env={**environment, "XDG_CACHE_HOME": str(file)})
    check("built-in figures" in answer.err, f"said {answer.err!r}")
