// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors for users: where, what, and what to do about it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_ERROR_H
#define INGOT_RUNTIME_CORE_ERROR_H

#include <exception>
#include <string>

namespace ingot::runtime {

/// The exit statuses of a trainer, a contract with scripts.
enum class ExitCode {
  Done = 0,
  Failed = 1,
  Usage = 2,
  BadInput = 3,
  LostRank = 4
};

/// An error that ends the run. It is thrown anywhere in the runtime, and main
/// prints it as `error: WHERE: WHAT` and `hint: HINT`. It never crosses the C
/// boundary of compiled code: entry points record it in the context instead.
/// Control characters in it are replaced, and long words shortened.
class Error : public std::exception {
public:
  Error(ExitCode code, const std::string &where, const std::string &what,
        const std::string &hint);

  ExitCode getCode() const { return code; }
  const std::string &getWhere() const { return where; }
  const std::string &getWhat() const { return problem; }
  const std::string &getHint() const { return hint; }
  /// Returns both lines, without color, each ended by a newline.
  std::string format() const;
  const char *what() const noexcept override { return problem.c_str(); }

private:
  ExitCode code;
  std::string where, problem, hint;
};

/// An error of a run that failed (exit 1).
Error failure(const std::string &where, const std::string &what,
              const std::string &hint);
/// An error of a rank that another one does not answer (exit 4), for scripts
/// that start such runs anew.
Error lostRank(const std::string &where, const std::string &what,
               const std::string &hint);
/// An error of usage (exit 2).
Error usageError(const std::string &where, const std::string &what,
                 const std::string &hint);
/// An error of the model, the data or a checkpoint (exit 3).
Error badInput(const std::string &where, const std::string &what,
               const std::string &hint);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_ERROR_H
