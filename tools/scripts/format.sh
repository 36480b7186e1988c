#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats C++ with clang-format and Python with ruff, in the versions that
# tools/versions.env pins. With --check it changes nothing, and fails where it would.
#
#   format.sh [--check] [PATHSPEC...]     all that git tracks, or some of it
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source tools/versions.env

cpp=(-i)
python=()
lint=(--fix)
if [ "${1:-}" = --check ]; then
  shift
  cpp=(--dry-run -Werror)
  python=(--check)
  lint=()
fi

# files PATTERN: which of them match, NUL-terminated. A deleted file is not one.
files() {
  local name
  git ls-files -z --cached --others --exclude-standard -- "${pathspecs[@]}" |
    while IFS= read -r -d '' name; do
      if [[ $name =~ $1 && -f $name ]]; then printf '%s\0' "$name"; fi
    done
}

pathspecs=("$@")
failed=0
files '\.(c|cpp|h|hpp|inc)$' | xargs -0 -r "clang-format-$LLVM_VERSION" "${cpp[@]}" || failed=1
files '\.py$|^tools/bisect$' | xargs -0 -r ruff check -q --output-format concise "${lint[@]}" || failed=1
files '\.py$|^tools/bisect$' | xargs -0 -r ruff format -q "${python[@]}" || failed=1
exit "$failed"
