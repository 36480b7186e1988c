# SPDX-License-Identifier: Apache-2.0
"""copies.py N: a step of N copies."""

import sys

print("exec.step @step attributes {arena_bytes = 64 : i64} {")
print("  %from = exec.buffer state 0 : memref<8xf32>")
print("  %to = exec.buffer arena 0 : memref<8xf32>")
for _ in range(int(sys.argv[1])):
    print("  exec.call @ingot_copy(from = %from, to = %to)", end=" ")
    print("<bytes = 32, element_bytes = 4> : memref<8xf32>, memref<8xf32>")
print("}")
