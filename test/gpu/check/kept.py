# SPDX-License-Identifier: Apache-2.0
"""What is kept of a run of check.py. The machine may go at any second: every result is in its file at once."""

import csv
import gzip
import io
import os
import shutil
import subprocess
import tarfile

# Of one file, so that all of them can be taken along.
MOST_BYTES = 15 << 20


class Kept:
    """Files of a folder, no more than eight: report.md and report.json (report.py), tables, choices and traces."""

    def __init__(self, out, work):
        self.out, self.work = out, work
        self.cache = os.path.join(work, "cache")
        self.left_out = []
        os.makedirs(out, exist_ok=True)
        choices = os.path.join(self.cache, "ingot/tuned.txt")
        os.makedirs(os.path.dirname(choices), exist_ok=True)
        if not os.path.exists(choices) and os.path.exists(os.path.join(out, "tuned.txt")):
            shutil.copy(os.path.join(out, "tuned.txt"), choices)
        self.choices = choices
        self.clocks, self.clocks_read = None, 0

    def add_rows(self, name, rows):
        """Appends rows, which are dictionaries with the same keys, to a table."""
        if not rows:
            return
        path = os.path.join(self.out, name + ".csv")
        is_new = not os.path.exists(path)
        with open(path, "a", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), extrasaction="ignore")
            if is_new:
                table.writeheader()
            table.writerows(rows)

    def add_trace(self, path, name=None):
        """Appends a file to traces.tar.gz: each is a compressed part of its own, so that the archive can be read
        wherever it ends."""
        name = name or os.path.basename(path)
        archive = os.path.join(self.out, "traces.tar.gz")
        with open(path, "rb") as file:
            data = file.read()
        item = tarfile.TarInfo(name)
        item.size = len(data)
        part = io.BytesIO(item.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE))
        packed = gzip.compress(part.getvalue(), 6)
        size = os.path.getsize(archive) if os.path.exists(archive) else 0
        if size + len(packed) > MOST_BYTES:
            self.left_out.append(name)
            return
        with open(archive, "ab") as file:
            file.write(packed)

    def start_clocks(self):
        """Notes clocks and power from now on."""
        if not shutil.which("nvidia-smi"):
            return
        path = os.path.join(self.work, "clocks.csv")
        query = "timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu"
        with open(path, "w") as file:
            self.clocks = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=" + query, "--format=csv,nounits", "-lms", "500"],
                stdout=file,
                stderr=subprocess.DEVNULL,
            )

    def end_section(self, name):
        """Takes the clocks of a section, and the choices so far."""
        path = os.path.join(self.work, "clocks.csv")
        if self.clocks and os.path.exists(path):
            with open(path) as file:
                file.seek(self.clocks_read)
                said = file.read()
                self.clocks_read = file.tell()
            if said:
                part = os.path.join(self.work, f"clocks-{name}.csv")
                with open(part, "w") as file:
                    file.write(said)
                self.add_trace(part)
        if os.path.exists(self.choices):
            shutil.copy(self.choices, os.path.join(self.out, "tuned.txt"))

    def stop(self):
        if self.clocks:
            self.clocks.terminate()
            self.clocks.wait()
