// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The names of states of a model that another one learns from.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_TEACHERNAMES_H
#define INGOT_RUNTIME_ABI_TEACHERNAMES_H

#include <string_view>

namespace ingot::abi {

/// The prefix of names of the teacher's states. They are in no checkpoint,
/// export or file of weights; models with such names of their own are refused.
inline constexpr std::string_view kTeacherPrefix = "@teacher/";

} // namespace ingot::abi

#endif // INGOT_RUNTIME_ABI_TEACHERNAMES_H
