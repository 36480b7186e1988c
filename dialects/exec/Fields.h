// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The textual form of descriptors (header private to the dialect).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_EXEC_FIELDS_H
#define INGOT_DIALECTS_EXEC_FIELDS_H

#include "dialects/ingot/ir/CallDescriptor.h"
#include "mlir/IR/OpImplementation.h"

namespace ingot::exec {

/// Prints the fields that are not 0, as in `<batch = 1, m = 8, a_type = bf16>`.
void printFields(mlir::AsmPrinter &printer, const CallDescriptor &desc);
mlir::FailureOr<CallDescriptor> parseFields(mlir::AsmParser &parser,
                                            const abi::Struct &type);

} // namespace ingot::exec

#endif // INGOT_DIALECTS_EXEC_FIELDS_H
