// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Names of enums, rows and archives: the parts that the generated types of the
// manifest (ManifestTypes.h), and those who read or write them, have in common.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_MANIFESTSUPPORT_H
#define INGOT_RUNTIME_ABI_MANIFESTSUPPORT_H

#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ingot::runtime {

/// The names that the manifest has for the cases of an enum, in order; null for
/// other types.
template <typename Enum> inline constexpr std::nullptr_t kNames = nullptr;

/// An enum of the manifest.
template <typename Enum>
concept HasNames =
    std::is_enum_v<Enum> && !std::is_null_pointer_v<decltype(kNames<Enum>)>;

/// Returns the name of a case.
template <HasNames Enum> constexpr std::string_view getName(Enum value) {
  return kNames<Enum>[static_cast<size_t>(value)];
}

/// Returns the case of the name, if there is one.
template <HasNames Enum>
constexpr std::optional<Enum> parseName(std::string_view name) {
  for (size_t i = 0; i < kNames<Enum>.size(); ++i)
    if (kNames<Enum>[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

/// Whether the manifest has a list of an object's values rather than an object.
template <typename Object> inline constexpr bool kIsRow = false;

/// Whether an integer may be negative.
enum class Sign { NotNegative, Any };

template <typename T, typename Object>
concept IsConstOrNot = std::same_as<std::remove_const_t<T>, Object>;

/// `T`, and const if `Like` is.
template <typename Like, typename T>
using LikeConst = std::conditional_t<std::is_const_v<Like>, const T, T>;

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_ABI_MANIFESTSUPPORT_H
