# SPDX-License-Identifier: Apache-2.0
"""The scripts that count tests and run documents: what they count is what CI says; and patches of mutations."""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

JUNIT = """<testsuite>
<testcase name="google" time="1" status="run"><system-out>[==========] 4 tests ran.
[  PASSED  ] 3 tests.
/x/Test.cpp:7: Skipped
no tile units
[  SKIPPED ] 1 test, listed below:
</system-out></testcase>
<testcase name="lit" time="1" status="{lit}"><system-out>Total Discovered Tests: 6
  Unsupported      : 1 (16%)
  Passed           : 3 (50%)
  Expectedly Failed: 1 (16%)
  Failed           : {failed} (16%)
</system-out></testcase>
<testcase name="runner" time="1" status="run"><system-out>ok a
skip b: no printer (0.1 s, 0.0 s of processors)
skip c: no tile units (0.1 s, 0.0 s of processors)
2 skipped
4 passed, 0 failed
</system-out></testcase>
<testcase name="silent" time="1" status="{silent}"><system-out>nothing</system-out></testcase>
<testcase name="crashed" time="1" status="{crashed}"><system-out>[  PASSED  ] 2 tests.
</system-out></testcase>
</testsuite>
"""


def run(script, *arguments):
    command = [sys.executable, str(ROOT / "tools/scripts" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class Check(unittest.TestCase):
    def run_check(self, *arguments, **variables):
        # Were they ignored, the whole check would start, without an end in sight.
        command = ["bash", str(ROOT / "tools/check"), *arguments]
        environment = {**os.environ, **variables}
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env=environment)

    def test_prints_help_instead_of_starting(self):
        done = self.run_check("--help")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("usage: tools/check"), done.stdout)
        self.assertIn("N passed, N failed", done.stdout)

    def test_refuses_arguments(self):
        done = self.run_check("--fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--fast: not an argument", done.stderr)

    def test_refuses_unknown_parts(self):
        done = self.run_check(INGOT_CHECK_PART="some")
        self.assertEqual(done.returncode, 2)
        self.assertIn("some is not a part", done.stderr)


class Setup(unittest.TestCase):
    def test_refuses_unknown_options(self):
        command = ["bash", str(ROOT / "tools/setup"), "--everything"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--everything: not an option", done.stderr)

    def test_says_what_is_missing_and_changes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            deps = pathlib.Path(folder, "deps")
            done = subprocess.run(
                ["bash", str(ROOT / "tools/setup"), "--dry-run", "--aarch64"],
                env={**os.environ, "INGOT_DEPS": str(deps)},
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
            for part in (
                "Python environment with cmake,lit",
                "ONNX ",
                "cuDNN frontend ",
                "zlib and codecs for AArch64",
            ):
                self.assertRegex(done.stdout, rf"\[setup\] {part}.*: downloads [0-9]+ [kM]B")
            self.assertFalse(deps.exists())


class Lock(unittest.TestCase):
    def test_has_the_versions_of_versions_env(self):
        self.assertEqual(run("lock.py", "--check"), (0, ""))

    def read(self, record, header):
        """What becomes of a wheel with a header, whose sums `record` has."""
        sys.path.insert(0, str(ROOT / "tools/scripts"))
        import wheel_parts

        digest = base64.urlsafe_b64encode(hashlib.sha256(record).digest()).rstrip(b"=").decode()
        lines = f"nvidia/x/include/a/b.h,sha256={digest},{len(record)}\nx.dist-info/RECORD,,\n".encode()
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(pathlib.Path(folder, "x.whl"), "w") as archive:
                archive.writestr("nvidia/x/include/a/b.h", header)
                archive.writestr("nvidia/x/lib/c.so", b"never read")
                archive.writestr("x.dist-info/RECORD", lines)
                wheel_parts.extract(archive, hashlib.sha256(lines).hexdigest(), pathlib.Path(folder))
                with self.assertRaisesRegex(SystemExit, "list of files has the sha256 sum"):
                    wheel_parts.extract(archive, "0" * 64, pathlib.Path(folder))
            return pathlib.Path(folder, "include/a/b.h").read_bytes()

    def test_refuses_other_files(self):
        self.assertEqual(self.read(b"int b;", b"int b;"), b"int b;")
        with self.assertRaisesRegex(SystemExit, "b.h is not what its list of files says"):
            self.read(b"int b;", b"int c;")


class Mutations(unittest.TestCase):
    def test_apply_to_the_tree_as_it_is(self):
        # Only some runs build and test them.
        for patch in sorted((ROOT / "test/mutations").glob("*.patch")):
            with self.subTest(patch.stem):
                command = ["git", "apply", "--check", str(patch)]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


class SumTests(unittest.TestCase):
    def sum(self, **values):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tests.xml"
            path.write_text(JUNIT.format(**values))
            return run("sum_tests.py", path)

    def test_adds_the_suites_own_numbers(self):
        status, text = self.sum(lit="run", failed=0, silent="run", crashed="run")
        self.assertEqual(status, 0)
        wanted = ["1 in runner: no printer", "1 in lit: no reason given", "2 in google, runner: no tile units"]
        self.assertEqual(text.splitlines()[-4:], [*(f"skipped: {line}" for line in wanted), "14 passed, 0 failed"])

    def test_counts_failures_crashes_and_silence(self):
        status, text = self.sum(lit="fail", failed=2, silent="fail", crashed="fail")
        self.assertEqual(status, 1)
        self.assertEqual(text.splitlines()[-1], "13 passed, 4 failed")

    def test_a_suite_that_ran_nothing_has_failed(self):
        status, text = self.sum(lit="run", failed=0, silent="disabled", crashed="run")
        self.assertEqual((status, text.splitlines()[-1]), (1, "13 passed, 1 failed"))


class Figures(unittest.TestCase):
    def test_writes_values_behind_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs/performance").mkdir(parents=True)
            (root / "docs/performance/figures.toml").write_text(
                "[gpu]\nmachine = 'M'\ndate = 2026-11-27\ncommand = 'C'\npage = 'docs/gpu.md'\n"
                "[gpu.figures]\nstep = { value = '16.9', unit = 'ms', what = 'a step' }\n"
            )
            (root / "docs/gpu.md").write_text("| <!-- figure gpu.step -->**16.8** |\n")
            (root / "README.md").write_text("<!-- figure gpu.step -->1,016 ms\n")
            status, text = run("figures.py", "--root", root)
            self.assertEqual((status, text.count("error: ")), (1, 2))
            self.assertEqual(run("figures.py", "--root", root, "--write"), (0, ""))
            self.assertEqual((root / "docs/gpu.md").read_text(), "| <!-- figure gpu.step -->**16.9** |\n")
            self.assertEqual((root / "README.md").read_text(), "<!-- figure gpu.step -->16.9 ms\n")


class RunDocs(unittest.TestCase):
    def run_document(self, text):
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text(text)
            return run("run_docs.py", path)

    def test_runs_sh_blocks_only(self):
        status, text = self.run_document("```sh\ntest -e LICENSE\ntools/check\n```\nwords\n```text\nfalse\n```\n")
        self.assertEqual((status, text.splitlines()[-1]), (0, "1 passed, 0 failed"))

    def test_any_failing_line_fails_the_block(self):
        status, text = self.run_document("```sh\nfalse\ntrue\n```\n```sh\ntrue\n```\n")
        self.assertEqual((status, text.splitlines()[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("page.md:1", text)

    def test_counts_all_documents(self):
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            pages = [pathlib.Path(folder) / name for name in ("a.md", "b.md", "c.md")]
            for page in pages:
                page.write_text(f"```sh\necho >{folder}/{page.stem}\n```\n```sh\nrm {folder}/{page.stem}\n```\n")
            status, text = run("run_docs.py", *pages)
            self.assertEqual((status, text.splitlines()[-1]), (0, "6 passed, 0 failed"))


if __name__ == "__main__":
    unittest.main()
