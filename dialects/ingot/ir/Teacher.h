// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Conventions of modules in which a model learns from another one: the teacher
// is a function beside @forward until the loss is attached.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_TEACHER_H
#define INGOT_DIALECTS_INGOT_IR_TEACHER_H

#include "runtime/abi/TeacherNames.h"
#include "llvm/ADT/StringRef.h"

namespace ingot {

/// The name of the teacher's function, whose inputs are those of @forward.
inline constexpr llvm::StringLiteral kTeacherName = "teacher";
/// The prefix of names of the teacher's states and nodes.
inline constexpr llvm::StringRef kTeacherPrefix = abi::kTeacherPrefix;
/// The prefix of names of results that are compared with those of the teacher,
/// and are no outputs of the model. A number follows.
inline constexpr llvm::StringLiteral kPairPrefix = "distill.";

/// Whether a result of this name is compared with one of the teacher's.
inline bool isPaired(llvm::StringRef name) {
  return name.starts_with(kPairPrefix);
}

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_TEACHER_H
