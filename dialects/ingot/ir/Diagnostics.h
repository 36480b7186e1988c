//===----------------------------------------------------------------------===//
//
// Errors and warnings for users: where, what is wrong, and what to do about it.
// They travel as MLIR diagnostics whose location names the place and whose note
// is the hint, and drivers print them as
//
//   error: WHERE: WHAT
//   hint: WHAT TO DO
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

/// Reports an error with a hint; always fails. Texts are one line each.
llvm::LogicalResult emitUserError(mlir::Location where, const llvm::Twine &what,
                                  const llvm::Twine &hint);

/// Reports a warning with a hint.
void emitUserWarning(mlir::Location where, const llvm::Twine &what,
                     const llvm::Twine &hint);

/// The place a location names for the user: an ONNX node or option by its name,
/// a file by its path (with the line where there is one); empty if unknown.
std::string describeLocation(mlir::Location location);

/// Names of the ONNX nodes behind a location, first seen first.
llvm::SmallVector<std::string> nodeNames(mlir::Location location);

/// Prints a diagnostic in the form above; a remark or a note of another kind as
/// further lines.
void printUserDiagnostic(llvm::raw_ostream &os, mlir::Diagnostic &diagnostic);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_DIAGNOSTICS_H
