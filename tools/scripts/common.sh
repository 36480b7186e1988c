# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside tools/setup: where things are, how they speak.
# The sourcing script is at the repository root when this returns.

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
script=$(basename "$0")
deps=$(tools/setup --print)
python=$deps/python/bin/python
bin=build/release/bin

say() { printf '[%s] %s\n' "$script" "$*"; }
die() {
  printf 'error: %s: %s\nhint: %s\n' "$script" "$1" "$2" >&2
  exit 1
}

# What tools/setup installed goes first, a CMake that is new enough above all.
export PATH="$deps/python/bin:$PATH"
