# SPDX-License-Identifier: Apache-2.0
"""Gradients of loops that are one op, simplified: rolled_gradients.py takes what gradients.py takes."""

import sys

import gradients

run = gradients.run


def run_rolled(command):
    if "--ingot-differentiate" in command:
        command = [*command, "--loops=rolled", "--ingot-simplify"]
    return run(command)


if __name__ == "__main__":
    gradients.run = run_rolled
    sys.exit(gradients.main())
