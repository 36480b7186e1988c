// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Errors and warnings for users: where, what is wrong, and what to do about it.
// They are MLIR diagnostics whose location is the place and whose note is the
// hint, and drivers print them as
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
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace ingot {

/// Reports an error with a hint, and always fails. Both texts are single lines.
llvm::LogicalResult emitUserError(mlir::Location where, const llvm::Twine &what,
                                  const llvm::Twine &hint);

/// Reports a warning with a hint.
void emitUserWarning(mlir::Location where, const llvm::Twine &what,
                     const llvm::Twine &hint);

/// Returns what a location names for the user: an ONNX node or option by its
/// name, a file by its path (with the line if known); empty if unknown.
std::string describeLocation(mlir::Location location);

/// Returns the names of the ONNX nodes that a location refers to, in the order
/// of their first occurrence.
llvm::SmallVector<std::string> nodeNames(mlir::Location location);

/// Prints a diagnostic in the form above; a remark or another kind of note is
/// printed as additional lines.
void printUserDiagnostic(llvm::raw_ostream &os, mlir::Diagnostic &diagnostic);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_DIAGNOSTICS_H
