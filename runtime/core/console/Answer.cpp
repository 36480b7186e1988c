// SPDX-License-Identifier: Apache-2.0

#include "runtime/core/console/Answer.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <cerrno>
#include <cstdio>

bool ingot::runtime::printAnswer(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0)
    return true;
  if (errno == EPIPE)
    return false;
  throw failure("stdout", "cannot write: " + describeErrno(),
                "check where the output goes");
}
