// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors and warnings for users: where, what is wrong, and what to do about it.
// They are MLIR diagnostics whose location is the place, whose note is the
// hint, and whose metadata is the kind, and drivers print them as
//
// error: WHERE: WHAT
//
// hint: WHAT TO DO
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_DIAGNOSTICS_H
#define INGOT_DIALECTS_INGOT_IR_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace ingot {

/// The subject of an error, from which the exit status follows.
enum class ErrorKind : unsigned {
  /// An option: exit status 2.
  Usage,
  /// The model or another file: exit status 3.
  BadInput
};

/// Reports bad input with a hint, and always fails. Both texts are single
/// lines.
llvm::LogicalResult emitUserError(mlir::Location where, const llvm::Twine &what,
                                  const llvm::Twine &hint);

/// Reports wrong usage of the option, which is named without dashes: passes,
/// pipelines and tools call it the same.
llvm::LogicalResult emitOptionError(mlir::MLIRContext *context,
                                    llvm::StringRef option,
                                    const llvm::Twine &what,
                                    const llvm::Twine &hint);

/// The kind of an error that this file's functions reported; none for an error
/// of MLIR, which is a defect of the compiler.
std::optional<ErrorKind> getErrorKind(mlir::Diagnostic &diagnostic);

/// A UserError for places without a context, as while options are parsed.
struct UserError : public llvm::ErrorInfo<UserError> {
  UserError(ErrorKind kind, std::string where, std::string what,
            std::string hint)
      : kind(kind), where(std::move(where)), what(std::move(what)),
        hint(std::move(hint)) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  static char ID;
  ErrorKind kind;
  std::string where, what, hint;
};

/// A UserError about the option, which is named without dashes.
llvm::Error makeOptionError(llvm::StringRef option, const llvm::Twine &what,
                            const llvm::Twine &hint);

/// Returns the UserError in an error.
UserError takeUserError(llvm::Error error);

/// Reports a UserError as a diagnostic; always fails.
llvm::LogicalResult emitUserError(mlir::MLIRContext *context,
                                  llvm::Error error);

/// Reports a warning with a hint.
void emitUserWarning(mlir::Location where, const llvm::Twine &what,
                     const llvm::Twine &hint);

/// Returns what a location names for the user: an ONNX node or option by its
/// name, a file by its path (with the line if known); empty if unknown.
std::string describeLocation(mlir::Location location);

/// Returns the text as one line that is safe to print: without control
/// characters, which names in models may hold, and shortened in the middle if
/// it is very long.
std::string printableLine(const llvm::Twine &text);

/// Returns the names of the ONNX nodes that a location refers to, in the order
/// of their first occurrence; the first `most` of them.
llvm::SmallVector<std::string>
nodeNames(mlir::Location location,
          size_t most = std::numeric_limits<size_t>::max());

/// Prints a diagnostic in the form above; a remark or another kind of note is
/// printed as additional lines.
void printUserDiagnostic(llvm::raw_ostream &os, mlir::Diagnostic &diagnostic);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_DIAGNOSTICS_H
