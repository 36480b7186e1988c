// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors as users see them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"

#include <utility>

using namespace ingot::runtime;

/// Replaces control characters, which names from files may bring into messages.
static std::string sanitize(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return text;
}

Error::Error(ExitCode code, std::string where, std::string what,
             std::string hint)
    : code(code), where(sanitize(std::move(where))),
      problem(sanitize(std::move(what))), hint(sanitize(std::move(hint))) {}

std::string Error::format() const {
  return "error: " + where + ": " + problem + "\nhint: " + hint + "\n";
}

Error ingot::runtime::failure(std::string where, std::string what,
                              std::string hint) {
  return Error(ExitCode::Failed, std::move(where), std::move(what),
               std::move(hint));
}

Error ingot::runtime::usageError(std::string where, std::string what,
                                 std::string hint) {
  return Error(ExitCode::Usage, std::move(where), std::move(what),
               std::move(hint));
}

Error ingot::runtime::badInput(std::string where, std::string what,
                               std::string hint) {
  return Error(ExitCode::BadInput, std::move(where), std::move(what),
               std::move(hint));
}
