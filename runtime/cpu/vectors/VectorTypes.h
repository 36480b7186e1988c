// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The parts of the standard library that kernels for vectors (Vectors.h) need,
// whose functions are compiled for any CPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_VECTORS_VECTORTYPES_H
#define INGOT_RUNTIME_CPU_VECTORS_VECTORTYPES_H

#include <cstdint>

namespace ingot::runtime {

template <int Value> struct Constant {
  constexpr operator int() const { return Value; }
};
template <int...> struct Sequence {};
template <int Count, int... Values>
struct MakeLanes : MakeLanes<Count - 1, Count - 1, Values...> {};
template <int... Values> struct MakeLanes<0, Values...> {
  using Type = Sequence<Values...>;
};
template <int Count> using Lanes = typename MakeLanes<Count>::Type;

inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_VECTORS_VECTORTYPES_H
