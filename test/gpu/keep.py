# SPDX-License-Identifier: Apache-2.0
"""keep.py REPORT: adds the figures of PyTorch that a report of check.py has to docs/gpu/peers.json; newer ones replace
those of the same GPU, version, model, precision and mode."""

import json
import os
import sys

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/gpu/peers.json")
KEY = ("gpu", "torch", "model", "precision", "mode")


def merge(kept, measured):
    rows = {tuple(row[name] for name in KEY): row for row in kept + measured}
    return list(rows.values())


def main():
    if len(sys.argv) != 2 or not os.path.exists(sys.argv[1]):
        sys.exit("error: keep: no report\nhint: tools/gpu-check keep FOLDER/out/report.json")
    with open(sys.argv[1]) as file:
        measured = json.load(file)["peers"]
    with open(PEERS) as file:
        kept = json.load(file)
    rows = merge(kept, measured)
    with open(PEERS, "w") as file:
        file.write("[\n" + ",\n".join(" " + json.dumps(row) for row in rows) + "\n]\n")
    print(f"{len(measured)} figures, {len(rows)} in all")


if __name__ == "__main__":
    main()
