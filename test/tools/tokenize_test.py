# SPDX-License-Identifier: Apache-2.0
"""tools/tokenize: text becomes the tokens that its tokenizer gives. Needs the package tokenizers."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
INGOT_DATA = sys.argv.pop(1) if len(sys.argv) > 1 else None
TEXTS = ["The digits, one by one.", "Ünïcode, and\nlines", "", "one digit " * 50]
END = "<|endoftext|>"


class Tokenize(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.tokenizer = tokenizers.Tokenizer(models.BPE())
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=320,
            special_tokens=[END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        self.tokenizer.train_from_iterator(TEXTS, trainer)
        self.tokenizer.save(str(self.folder / "tokenizer.json"))
        self.ids = [self.tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
        (self.folder / "a.jsonl").write_text("".join(json.dumps({"text": t, "n": 1}) + "\n" for t in TEXTS[:3]) + "\n")
        (self.folder / "b.txt").write_text(TEXTS[3])

    def tearDown(self):
        self.scratch.cleanup()

    def run_tool(self, *words, files=("a.jsonl", "b.txt"), tokenizer="tokenizer.json"):
        command = [sys.executable, ROOT / "tools/tokenize", tokenizer, *files, "-o", "out.bin", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def read(self, kind="H", bytes_each=2):
        content = (self.folder / "out.bin").read_bytes()
        header, body = struct.unpack("<3i", content[:12]), content[1024:]
        self.assertEqual(header[2] * bytes_each, len(body))
        return header[:2], list(struct.unpack(f"<{header[2]}{kind}", body))

    def check_error(self, run, status, *parts):
        self.assertEqual(run.returncode, status, run.stderr)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2, run.stderr)
        self.assertTrue(lines[0].startswith("error: ") and lines[1].startswith("hint: "), run.stderr)
        for part in parts:
            self.assertIn(part, run.stderr)
        self.assertEqual([p.name for p in self.folder.glob("out*")], [])

    def test_documents_end_with_a_token(self):
        run = self.run_tool()
        self.assertEqual(run.returncode, 0, run.stderr)
        end = self.tokenizer.token_to_id(END)
        magic, tokens = self.read()
        self.assertEqual(magic, (20240520, 1))
        self.assertEqual(tokens, [token for ids in self.ids for token in [*ids, end]])
        self.assertIn(f"4 documents, {len(tokens)} tokens", run.stdout)
        self.assertIn(f"split:{end}", run.stdout)
        if INGOT_DATA:
            seen = subprocess.run([INGOT_DATA, "inspect", self.folder / "out.bin"], capture_output=True, text=True)
            self.assertIn(f"{len(tokens) - 1} tokens", seen.stdout)

    def test_an_index_has_the_documents(self):
        run = self.run_tool("--index")
        self.assertEqual(run.returncode, 0, run.stderr)
        content, index = (self.folder / "out.bin").read_bytes(), (self.folder / "out.idx").read_bytes()
        self.assertEqual(list(struct.unpack(f"<{len(content) // 2}H", content)), sum(self.ids, []))
        self.assertEqual(struct.unpack("<QBQQ", index[9:34]), (1, 8, 4, 5))
        self.assertEqual(list(struct.unpack("<4i", index[34:50])), [len(ids) for ids in self.ids])
        if INGOT_DATA:
            seen = subprocess.run([INGOT_DATA, "verify", self.folder / "out.bin"], capture_output=True, text=True)
            self.assertEqual(seen.returncode, 0, seen.stderr)

    def test_large_vocabularies_take_32_bits(self):
        words = {f"w{i}": i for i in range(70000)}
        wide = tokenizers.Tokenizer(models.WordLevel(words, unk_token="w0"))
        wide.pre_tokenizer = pre_tokenizers.Whitespace()
        wide.save(str(self.folder / "wide.json"))
        (self.folder / "w.txt").write_text("w69999 w1 nothing")
        run = self.run_tool("--end", "w2", files=("w.txt",), tokenizer="wide.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.read("I", 4), ((20240801, 7), [69999, 1, 0, 2]))

    def test_other_fields(self):
        (self.folder / "c.jsonl").write_text('{"content": "one"}\n')
        run = self.run_tool("--field", "content", files=("c.jsonl",))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.read()[1][:-1], self.tokenizer.encode("one").ids)

    def test_what_is_wrong_is_named(self):
        def write(name, content):
            (self.folder / name).write_bytes(content)
            return (name,)

        self.check_error(self.run_tool("--end", "<none>"), 2, "--end", "<none>")
        self.check_error(self.run_tool("--field", "x"), 3, "a.jsonl: line 1", "--field")
        self.check_error(self.run_tool("--field", "n"), 3, "'n' of line 1 is no text")
        self.check_error(self.run_tool(files=write("b.jsonl", b'{"text": "a"}\n{\n')), 3, "line 2 is no JSON")
        self.check_error(self.run_tool(files=write("b.jsonl", b"[1]\n")), 3, "line 1 has no 'text'")
        self.check_error(self.run_tool(files=write("l.txt", b"a\xff")), 3, "l.txt: byte 1 is no UTF-8")
        self.check_error(self.run_tool(files=("absent.txt",)), 3, "absent.txt")
        self.check_error(self.run_tool("--index", files=write("e.txt", b"")), 3, "there is no text")
        self.check_error(self.run_tool(tokenizer="absent.json"), 3, "absent.json")
        write("bad.json", b"{}")
        self.check_error(self.run_tool(tokenizer="bad.json"), 3, "bad.json")
        plain = tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
        plain.save(str(self.folder / "plain.json"))
        self.check_error(self.run_tool(tokenizer="plain.json"), 2, "--end")


if __name__ == "__main__":
    run = unittest.main(exit=False, verbosity=0).result
    failed = len(run.failures) + len(run.errors)
    print(f"{run.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
