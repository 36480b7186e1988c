# SPDX-License-Identifier: Apache-2.0
"""The cache of trainers: what changes its keys, that entries come back whole, and its bound."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from trainer_cache import TrainerCache


class TrainerCaches(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.root = pathlib.Path(self.scratch.name)
        self.write("build/bin/ingotc", "compiler")
        self.write("build/lib/ingot/libtrainer.a", "archive")
        self.model = self.write("model.onnx", "model")
        self.profile = self.write("machine.json", "{}")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def cache(self, **kwargs):
        return TrainerCache(self.root / "build/bin", **kwargs)

    def key(self, *flags):
        return self.cache().key(self.model, flags)

    def test_keys_follow_content(self):
        flags = ["--machine", str(self.profile)]
        first = self.key(*flags)
        self.assertEqual(first, self.key(*flags))
        found = {first, self.key(), self.key("--batch", "4")}
        for name, text in (
            ("build/bin/ingotc", "other compiler"),
            ("build/lib/ingot/libtrainer.a", "other archive"),
            ("build/lib/ingot/new.a", ""),
            ("machine.json", '{"threads": 1}'),
            ("model.onnx", "other model"),
        ):
            self.write(name, text)
            found.add(self.key(*flags))
        self.assertEqual(len(found), 8)
        os.environ["INGOT_TEST_OF_KEYS"] = "1"
        self.addCleanup(os.environ.pop, "INGOT_TEST_OF_KEYS")
        self.assertNotIn(self.key(*flags), found)

    def test_a_new_time_alone_changes_nothing(self):
        first = self.key()
        os.utime(self.root / "build/bin/ingotc", (1, 1))
        self.assertEqual(first, self.key())

    def test_takes_no_part_where_not_all_is_known(self):
        self.assertIsNone(self.key("--checkpoint", str(self.root)))
        self.assertIsNone(self.key(f"--checkpoint={self.root}"))
        self.model.write_text("a tensor whose location is elsewhere")
        self.assertIsNone(self.key())

    def test_entries_come_back_whole(self):
        cache, key = self.cache(), self.key()
        self.assertFalse(cache.fetch(key, self.root / "none"))
        self.assertFalse((self.root / "none").exists())
        program = self.write("made/trainer", "program")
        self.write("made/trainer.libs/lib.so", "library")
        program.chmod(0o755)
        cache.store(key, self.root / "made")
        # A second process that compiled the same one loses nothing.
        cache.store(key, self.root / "made")
        self.assertTrue(cache.fetch(key, self.root / "got"))
        self.assertEqual((self.root / "got/trainer").read_text(), "program")
        self.assertTrue(os.access(self.root / "got/trainer", os.X_OK))
        self.assertEqual((self.root / "got/trainer.libs/lib.so").read_text(), "library")
        self.assertEqual([path for path in cache.folder.iterdir() if path.name.startswith(".")], [])

    def test_what_was_used_longest_ago_goes(self):
        cache = self.cache(most_bytes=250)
        self.write("made/trainer", "x" * 100)
        for at, key in enumerate(("a", "b", "c")):
            cache.store(key, self.root / "made")
            for known in ("a", "b"):
                if (cache.folder / known).exists():
                    os.utime(cache.folder / known, (at + (known == "a"), at + (known == "a")))
        self.assertEqual(sorted(path.name for path in cache.folder.iterdir()), ["a", "c"])


if __name__ == "__main__":
    unittest.main()
