// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors as users see them.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"

#include "runtime/core/Text.h"

using namespace ingot::runtime;

static std::string sanitize(const std::string &text) {
  return shortenMessage(makePrintable(text));
}

Error::Error(ExitCode code, const std::string &where, const std::string &what,
             const std::string &hint)
    : code(code), where(sanitize(where)), problem(sanitize(what)),
      hint(sanitize(hint)) {}

std::string Error::format() const {
  return "error: " + where + ": " + problem + "\nhint: " + hint + "\n";
}

Error ingot::runtime::failure(const std::string &where, const std::string &what,
                              const std::string &hint) {
  return Error(ExitCode::Failed, where, what, hint);
}

Error ingot::runtime::lostRank(const std::string &where,
                               const std::string &what,
                               const std::string &hint) {
  return Error(ExitCode::LostRank, where, what, hint);
}

Error ingot::runtime::usageError(const std::string &where,
                                 const std::string &what,
                                 const std::string &hint) {
  return Error(ExitCode::Usage, where, what, hint);
}

Error ingot::runtime::badInput(const std::string &where,
                               const std::string &what,
                               const std::string &hint) {
  return Error(ExitCode::BadInput, where, what, hint);
}
