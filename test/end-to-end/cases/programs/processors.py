# SPDX-License-Identifier: Apache-2.0
"""Trainers for several processors: INGOT_MAX_ISA makes this machine one of a lower level."""

from harness import case, check, golden

MODEL = golden("multilabel")
FLAGS = ["--loss", "bce-with-logits", "--batch", "8"]
ONE_STEP = ["--data", MODEL.data, "--steps", "1"]


@case("max-isa-unknown")
def unknown(ingot):
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2")
    ingot.check_error([trainer, *ONE_STEP], 2, "INGOT_MAX_ISA", "avx3", env={"INGOT_MAX_ISA": "avx3"})
    ingot.check_error(
        ingot.ingotc(MODEL.model, *FLAGS, "-o", ingot.path("other")), 2, "avx3", env={"INGOT_MAX_ISA": "avx3"}
    )


@case("missing-features")
def missing(ingot):
    """A processor that lacks what the trainer was compiled for is named, with what to do about it."""
    trainer = ingot.compile(MODEL.model, *FLAGS, "--arch", "x86-64-v2")
    ingot.check_error([trainer, *ONE_STEP], 1, "this CPU", "sse4.2", env={"INGOT_MAX_ISA": "x86-64"})
    check(ingot.run([trainer, *ONE_STEP], env={"INGOT_MAX_ISA": "x86-64-v2"}).status == 0, "x86-64-v2 does not run")
