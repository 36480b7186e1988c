# SPDX-License-Identifier: Apache-2.0
"""PyTorch's convolutions, which call the oneDNN in it, of the shapes that standard input has.

A line has batch, size, channels in and out, filter, stride and groups, as ingot-bench-convolutions prints them. Prints
GFLOP/s of the forward pass and of the gradients of input and filter, fp32, channels last, one thread, processor time,
the best of ROUNDS; then the version of oneDNN. Run with PyTorch: `convolution_peer.py ROUNDS < SHAPES`.
"""

import re
import sys
import time

import torch

# Seconds that one measurement takes at least.
LEAST = 0.05


def measure(run):
    """Seconds of one run, of at least LEAST seconds of runs."""
    run()
    count, start = 0, time.process_time()
    while time.process_time() - start < LEAST:
        run()
        count += 1
    return (time.process_time() - start) / count


def rates(batch, size, inputs, outputs, kernel, stride, groups, rounds):
    def draw(*shape):
        return torch.randn(*shape).contiguous(memory_format=torch.channels_last)

    x, weight = draw(batch, inputs, size, size), draw(outputs, inputs // groups, kernel, kernel)
    sizes = ([stride] * 2, [kernel // 2] * 2, [1] * 2, False, [0] * 2, groups)
    y = torch.ops.aten.convolution(x, weight, None, *sizes)
    cotangent = torch.randn_like(y)
    flops = 2e-9 * y.numel() * weight.numel() / outputs

    def gradient(mask):
        return lambda: torch.ops.aten.convolution_backward(cotangent, x, weight, None, *sizes, mask)

    runs = [
        lambda: torch.ops.aten.convolution(x, weight, None, *sizes),
        gradient([True, False, False]),
        gradient([False, True, False]),
    ]
    return [max(flops / measure(run) for _ in range(rounds)) for run in runs]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        shape = [int(word) for word in line.split()[:7]]
        print(*shape, *(f"{rate:.1f}" for rate in rates(*shape, int(sys.argv[1]))), flush=True)
    print("oneDNN", re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show()).group(1))
