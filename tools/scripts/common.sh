# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside tools/setup: where things are, how they speak.
# The sourcing script is at the repository root when this returns.

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
script=$(basename "$0")
deps=$(tools/setup --print)
python=$deps/python/bin/python
bin=build/release/bin

say() { printf '[%s] %s\n' "$script" "$*"; }
# die WHAT HINT [STATUS]: 1 is a failure, 2 wrong usage.
die() {
  printf 'error: %s: %s\nhint: %s\n' "$script" "$1" "$2" >&2
  exit "${3:-1}"
}

# build PRESET ARGUMENT...: builds, and says every tenth of it, with the time.
# The output goes to standard output whole, so that it can be kept.
build() {
  local start=$SECONDS line percent next=10
  NINJA_STATUS='[%p] ' cmake --build --preset "$@" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[\ *([0-9]+)%\] ]] || continue
    percent=${BASH_REMATCH[1]}
    [ "$percent" -ge "$next" ] || continue
    say "built $percent % ($((SECONDS - start)) s)" >&3
    next=$((percent / 10 * 10 + 10))
  done
}

# Kernels for GPUs are assembled by what tools/setup has where no toolkit is.
if [ -z "${CUDA_HOME:-}" ] && [ -e "$deps/cuda/bin/ptxas" ]; then
  export CUDA_HOME=$deps/cuda
fi
# What tools/setup installed goes first, a CMake that is new enough above all.
export PATH="$deps/python/bin:$PATH"
