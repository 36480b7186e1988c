# SPDX-License-Identifier: Apache-2.0
"""What --tune tries on a GPU and keeps, on fakes (fakes.py)."""

import re

from fakes import read_calls, run_ranks, trainer
from harness import case, check, golden


@case("cuda algorithms of products are tried and kept")
def tuning(ingot):
    mlp, program, fakes = trainer(ingot)

    def run(*flags, **settings):
        log = ingot.path("calls.txt")
        env = {**fakes, "INGOT_FAKE_LOG": str(log), **settings}
        result = ingot.succeed([program, "--data", mlp.data, "--steps", "3", *flags], env=env)
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        check("cublasLtDestroy objects=0" in lines and lines[-1].endswith("objects=0 blocks=0"), f"left: {lines[-1]}")
        recorded = lines[lines.index("cuStreamBeginCapture") :]
        check("cuEventElapsedTime" not in recorded, "products are timed in the recording")
        chosen = {re.search(r"algorithm=(\d)", line)[1] for line in recorded if line.startswith("cublasLtMatmul ")}
        return chosen, lines.count("cuEventElapsedTime"), result.err

    chosen, timings, _ = run("--tune=off")
    check(chosen == {"1"} and timings == 0, f"--tune=off: algorithms {chosen}, {timings} timings")
    # Epilogues first, so that only algorithms are timed. Five times of each: the second is the fastest.
    kept = ingot.path("kept") / "choices.txt"
    run(f"--tune={kept}")
    with_epilogues = keep_only(kept, "fake\tepilogue")
    chosen, timings, _ = run(f"--tune={kept}", INGOT_FAKE_TIMES="555552222244444")
    check(chosen == {"2"} and timings > 0 and timings % 15 == 0, f"algorithms {chosen}, {timings} timings")
    chosen, timings, _ = run(f"--tune={kept}")
    check(chosen == {"2"} and timings == 0, f"with the file: algorithms {chosen}, {timings} timings")
    # Of a run, the fastest time counts.
    other = ingot.path("other.txt")
    other.write_text(with_epilogues)
    chosen, _, _ = run(f"--tune={other}", INGOT_FAKE_TIMES="555553333395919")
    check(chosen == {"3"}, f"algorithms {chosen}")
    # Other machines' choices, and what is none, are no choices.
    text = kept.read_text()
    for broken in [
        text.replace("fake", "another"),
        text.replace("000000000000002", "00000000000000z"),
        "",
    ]:
        kept.write_text(broken)
        chosen, timings, _ = run(f"--tune={kept}")
        check(chosen == {"1"} and timings > 0, f"algorithms {chosen}, {timings} timings from {broken[:80]!r}")
    # A file of somebody else is not replaced.
    kept.write_text("junk\n" + text)
    command = [program, "--data", mlp.data, "--steps", "3", f"--tune={kept}"]
    ingot.check_error(command, 2, "--tune", "would be replaced", env=fakes)
    check(kept.read_text() == "junk\n" + text, "a file of somebody else was replaced")
    # One that the library does not know is not run.
    kept.write_text(text.replace("0000000000000002", "0000000000000009"))
    chosen, timings, _ = run(f"--tune={kept}")
    check(chosen == {"1"} and timings > 0, f"an unknown algorithm: {chosen}, {timings} timings")
    home = ingot.path("home")
    chosen, _, said = run("--tune", XDG_CACHE_HOME=str(home))
    check((home / "ingot/tuned.txt").exists(), f"no file in the cache: {said}")
    blocked = ingot.path("file")
    blocked.write_text("")
    _, _, said = run(f"--tune={blocked / 'choices.txt'}")
    check(said.count("is not kept") == 1, said)


def keep_only(path, start):
    """Leaves the header and the choices that begin so; returns the text."""
    header, *lines = path.read_text().splitlines(keepends=True)
    chosen = [line for line in lines if line.startswith(start)]
    check(chosen and len(chosen) < len(lines), f"{path.read_text()}")
    path.write_text(header + "".join(chosen))
    return path.read_text()


@case("cuda algorithms are tried by default, for a limited time, once")
def by_default(ingot):
    mlp, program, fakes = trainer(ingot)

    def run(cache, *flags, **settings):
        """Algorithms in the recording, how often is timed, launches of kernels that are tried, and what is said."""
        log = ingot.path("calls.txt")
        env = {**fakes, "INGOT_FAKE_LOG": str(log), "XDG_CACHE_HOME": str(cache), "INGOT_FAKE_MULTIPROCESSORS": "1"}
        result = ingot.succeed([program, "--data", mlp.data, "--steps", "3", *flags], env={**env, **settings})
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        recorded = lines[lines.index("cuStreamBeginCapture") :] if "cuStreamBeginCapture" in lines else []
        chosen = {re.search(r"algorithm=(\d)", line)[1] for line in recorded if line.startswith("cublasLtMatmul ")}
        heuristics = sum(line.startswith("cublasLtMatmulAlgoGetHeuristic") for line in lines)
        return chosen, lines.count("cuEventElapsedTime"), heuristics, result.err

    cache = ingot.path("cache")
    # The step is recorded as early as without: no launches of kernels are tried.
    chosen, timings, heuristics, said = run(cache)
    check(timings > 0 and timings % 5 == 0, f"{timings} timings")
    check(said.count("tune: took the fastest algorithms") == 1, said)
    kept = (cache / "ingot/tuned.txt").read_text()
    check("matmul by cuBLASLt" in kept and "epilogue by cuBLASLt" in kept and "blocks of" not in kept, kept)
    # With the record a run times nothing, and says nothing; a profile takes it, too.
    for flags in ([], ["--profile", ingot.path("profile.json")]):
        _, timings, asked, said = run(cache, *flags)
        check("tune:" not in said and asked == 0, f"{asked} heuristics: {said}")
        check(flags or timings == 0, f"{timings} timings with the record")
    # A profile without a record measures nothing.
    _, _, _, said = run(ingot.path("none"), "--profile", ingot.path("profile.json"))
    check("tune:" not in said, said)
    # Where the time is over, the library's first choices remain, and are kept as such.
    cache = ingot.path("cache")
    chosen, timings, _, said = run(cache, "--tune-seconds", 1, INGOT_FAKE_SLOW="30")
    check("library's first choice" in said and "--tune-seconds" in said, said)
    some = (cache / "ingot/tuned.txt").read_text()
    left = some.count("(not measured)")
    check(0 < left < some.count("\n") - 1, f"{left} of {some} are not measured")
    # The next run has the same algorithms, although others would now be faster.
    again, timings, asked, said = run(cache, INGOT_FAKE_TIMES="555552222244444")
    check(again == chosen and timings == asked == 0, f"{again}, first {chosen}, {timings} timings: {said}")
    check((cache / "ingot/tuned.txt").read_text() == some, "a run without time to measure changes the choices")
    # It goes on where the user permits other bits.
    for flag in ("--nondeterministic", "--tune"):
        (cache / "ingot/tuned.txt").write_text(some)
        _, timings, _, said = run(cache, flag)
        check(timings > 0 and "took the fastest" in said, f"{flag}: {timings} timings, {said}")
        check((cache / "ingot/tuned.txt").read_text().count("\n") == kept.count("\n"), f"{flag} leaves out some")
        check("(not measured)" not in (cache / "ingot/tuned.txt").read_text(), f"{flag} leaves out some")
    # Matmuls of one shape have one choice.
    products = {line.split("\t")[1] for line in kept.splitlines() if "\tmatmul by" in line}
    check(heuristics <= 2 * len(products), f"{heuristics} heuristics for {len(products)} kinds of matmuls")


@case("cuda ranks keep choices of their own")
def by_rank(ingot):
    kept = ingot.path("choices.txt")
    command, env, logs = run_ranks(ingot, 2, trainer_flags=f"--tune={kept}")

    def run(times=None):
        """The last algorithms of each rank, in order, and how often the library proposes some."""
        # Another algorithm is the fastest on each rank.
        prefix = f"times=({times}); export INGOT_FAKE_TIMES=${{times[OMPI_COMM_WORLD_RANK]}}; " if times else ""
        for rank in range(2):
            logs.with_name(f"{logs.name}.{rank}").unlink(missing_ok=True)
        ingot.succeed([*command[:-1], prefix + command[-1]], env=env)
        chosen, asked = [], 0
        for rank in range(2):
            lines = read_calls(logs, rank)
            products = [line for line in lines if line.startswith("cublasLtMatmul ")]
            chosen.append([re.search(r"algorithm=(\d)", line)[1] for line in products[-8:]])
            asked += sum(line.startswith("cublasLtMatmulAlgoGetHeuristic") for line in lines)
        return chosen, asked

    # Epilogues first, so that only algorithms are timed.
    run()
    header, *lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(header + "".join(line for line in lines if "matmul by" not in line))
    chosen, asked = run("555552222244444 555554444422222")
    check(asked > 0 and set(chosen[0]) == {"2"}, f"{chosen}, {asked} heuristics")
    again, asked = run()
    check(again == chosen and asked == 0, f"{again}, first {chosen}, {asked} heuristics")


@case("cuda epilogues of the library are tried against kernels")
def epilogue_tuning(ingot):
    mlp, program, fakes = trainer(ingot)
    kept = ingot.path("choices.txt")

    def run(**settings):
        """Products with an epilogue in the recording, all of it, and how often is timed."""
        log = ingot.path("calls.txt")
        env = {**fakes, "INGOT_FAKE_LOG": str(log), **settings}
        ingot.succeed([program, "--data", mlp.data, "--steps", "3", f"--tune={kept}"], env=env)
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        recorded = lines[lines.index("cuStreamBeginCapture") :]
        products = [line for line in recorded if line.startswith("cublasLtMatmul ")]
        with_epilogue = [line for line in products if "epilogue=1 " not in line + " "]
        return len(with_epilogue), sum(line.startswith("cuLaunchKernel") for line in recorded), timed(lines)

    def timed(lines):
        return lines.count("cuEventElapsedTime")

    # All times are 0: the library's epilogue stays, and algorithms and launches have their choices.
    fused, kernels, _ = run()
    check(fused > 1, f"{fused} products with an epilogue")
    base = keep_only(kept, ("fake\tmatmul", "fake\tblocks"))
    # Five times of either way, the product with its kernels being the faster one.
    got = run(INGOT_FAKE_TIMES="5555522222")
    check(got[0] == 0 and got[1] > kernels and got[2] > 0 and got[2] % 10 == 0, f"{got}, {kernels} before")
    check(kept.read_text().count("\tkernels\n") * 10 == got[2], kept.read_text())
    again = run()
    check(again == (0, got[1], 0), f"with the file: {again}")
    kept.write_text(base)
    got = run(INGOT_FAKE_TIMES="2222255555")
    check(got[:2] == (fused, kernels) and got[2] > 0, f"{got}")


@case("cuda algorithms of convolutions are tried and kept")
def convolution_tuning(ingot):
    _, _, fakes = trainer(ingot)
    cnn = golden("cnn")
    program = ingot.compile(cnn.model, *cnn.compile_flags("sgd"), "--target", "cuda")
    kept, last = ingot.path("choices.txt"), ingot.path("last.txt")

    def run(path=None, **settings):
        """Engines in the recording and before it, and how often is timed. Products and launches have their choices."""
        log = ingot.path("calls.txt")
        flags = [f"--tune={path or 'off'}"]
        env = {**fakes, "INGOT_FAKE_LOG": str(log), "INGOT_FAKE_ENGINES": "6", **settings}
        ingot.succeed([program, "--data", cnn.data, "--steps", "24", *flags], env=env)
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        check("cudnnDestroy objects=0" in lines and lines[-1].endswith("objects=0 blocks=0"), f"left: {lines[-1]}")
        at = lines.index("cuStreamBeginCapture")
        engines = [
            [int(n) for n in re.findall(r"cudnnBackendExecute engine=(\d)", "\n".join(part))]
            for part in (lines[at:], lines[:at])
        ]
        return set(engines[0]), engines[1], lines.count("cuEventElapsedTime")

    def without_convolutions(text):
        return "".join(line + "\n" for line in text.splitlines() if not line.startswith("fake\tconvolution"))

    chosen, tried, _ = run()
    check(chosen == {2} == set(tried), f"--tune=off: engines {chosen}, {tried}")
    # Products and launches first, so that only convolutions are timed.
    run(kept)
    text = kept.read_text()
    others = without_convolutions(text)
    check(others != text and others.count("\n") > 1, text)

    def retry(text, **settings):
        last.write_text(text)
        return run(last, **settings)

    # The first two do not fit; of four, the third is the fastest.
    chosen, tried, timings = retry(others, INGOT_FAKE_TIMES="55555444442222233333")
    check(chosen == {4} and set(tried) == {2, 3, 4, 5}, f"engines {chosen}, tried {tried}")
    check(timings > 0 and timings % 20 == 0, f"{timings} timings")
    found = last.read_text()
    lines = [line for line in found.splitlines() if line.startswith("fake\tconvolution by cuDNN ")]
    check(len(lines) * 20 == timings and all(re.search(r"\t3 \d+=1$", line) for line in lines), f"{lines}")
    # With the file the same is taken, and nothing else run.
    chosen, tried, timings = retry(found)
    check(chosen == {4} == set(tried) and timings == 0, f"with the file: {chosen}, {tried}, {timings} timings")
    # One that cannot run is no choice.
    chosen, _, timings = retry(others, INGOT_FAKE_TIMES="333332222255555", INGOT_FAKE_BROKEN_ENGINE="2")
    check(chosen == {4} and timings > 0, f"a broken engine: {chosen}, {timings} timings")
    # What the library does not propose, another version's choice, and a GPU's other than this.
    for stale, settings in [
        (re.sub(r"\t3 (\d+)=1\n", r"\t3 \1=7\n", found), {}),
        (re.sub(r"\t3 \d+=1\n", "\tjunk\n", found), {}),
        (found, {"INGOT_FAKE_DNN_VERSION": "99999"}),
        (found.replace("fake\tconvolution", "another\tconvolution"), {}),
    ]:
        chosen, _, timings = retry(stale, **settings)
        check(chosen == {2} and timings > 0, f"{settings}: engines {chosen}, {timings} timings from {stale[:300]!r}")


@case("cuda launches are tried and kept")
def launches(ingot):
    mlp, program, fakes = trainer(ingot)
    kept = ingot.path("choices.txt")
    # Two and more blocks for one multiprocessor.
    env = {**fakes, "INGOT_FAKE_MULTIPROCESSORS": "1"}

    def run(steps):
        """Blocks of the launches of each kernel, and of those in the recording; how often is timed."""
        log = ingot.path("calls.txt")
        ingot.succeed(
            [program, "--data", mlp.data, "--steps", steps, f"--tune={kept}"], env={**env, "INGOT_FAKE_LOG": str(log)}
        )
        lines = log.read_text().splitlines()
        check(not [line for line in lines if line.startswith("violation")], "violations")
        check(lines[-1].endswith("objects=0 blocks=0"), f"left: {lines[-1]}")
        at, end = lines.index("cuStreamBeginCapture"), lines.index("cuStreamEndCapture")
        grids = {}
        for line in lines[:at]:
            if found := re.match(r"cuLaunchKernel (\S+) grid=(\d+)", line):
                grids.setdefault(found[1], []).append(int(found[2]))
        recorded = {}
        for line in lines[at:end]:
            if found := re.match(r"cuLaunchKernel (\S+) grid=(\d+)", line):
                recorded.setdefault(found[1], []).append(int(found[2]))
        return grids, recorded, lines.count("cuEventElapsedTime")

    grids, recorded, timings = run(24)
    tried = {name: used for name, used in grids.items() if len(set(used)) > 1}
    check(tried and timings > 0, f"nothing is tried: {grids}")
    for name, used in tried.items():
        full, launches = max(used), len(recorded[name])
        expected = [full] + [blocks for blocks in (32, 16, 8, 4, 2) if blocks < full]
        # Each three times, one a step; then what was chosen, until all are.
        for turns in (used[i::launches] for i in range(launches)):
            check(turns[: 3 * len(expected)] == 3 * expected, f"{name}: {turns}")
            check(set(turns[3 * len(expected) :]) <= {full}, f"{name}: {turns}")
        check(set(recorded[name]) == {full}, f"{name}: {recorded[name]}")
    # Sums take the blocks that their order is of.
    check(len(tried) < len(grids), "every kernel runs in any number of blocks")
    # What the file says is launched from the first step on.
    lines = [
        line.rsplit("\t", 1)[0] + "\t2" if "\tblocks of " in line else line for line in kept.read_text().splitlines()
    ]
    kept.write_text("\n".join(lines) + "\n")
    grids, recorded, timings = run(3)
    check(timings == 0, f"{timings} timings with the file")
    check(all(set(grids[name]) == {2} == set(recorded[name]) for name in tried), f"{grids}")
    cpu = ingot.compile(mlp.model, *mlp.compile_flags("adamw"))
    ingot.check_error([cpu, "--data", mlp.data, "--steps", 1, "--nondeterministic"], 2, "--nondeterministic")
