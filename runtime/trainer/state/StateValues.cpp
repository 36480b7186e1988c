// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of states.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/StateValues.h"

#include <algorithm>
#include <array>

using namespace ingot::runtime;

/// The number of elements that are joined at a time.
static constexpr int64_t kPiece = 4096;

/// Returns the addresses of an element in the two halves of a split master.
static std::array<char *, 2> findHalves(const Session &session,
                                        const StateSpec &spec, int64_t first) {
  std::array<char *, 2> places;
  for (int i = 0; i < 2; ++i) {
    const StateSpec &half = *session.getManifest().findState(spec.halves[i]);
    places[i] = const_cast<char *>(session.getPlace(half)) +
                first * getSize(half.dtype);
  }
  return places;
}

void ingot::runtime::readValues(const Session &session, const StateSpec &spec,
                                int64_t first, int64_t count, void *to,
                                DType toType) {
  if (spec.halves.empty() || session.findWhole(spec)) {
    convert(session.getPlace(spec) + first * getSize(spec.dtype), spec.dtype,
            to, toType, count);
    return;
  }
  std::array<float, kPiece> values;
  auto [upper, lower] = findHalves(session, spec, first);
  auto *target = static_cast<char *>(to);
  for (int64_t i = 0; i < count; i += kPiece) {
    int64_t some = std::min(kPiece, count - i);
    joinHalves(upper + i * getSize(DType::BF16),
               lower + i * getSize(DType::I16), values.data(), some);
    convert(values.data(), DType::F32, target + i * getSize(toType), toType,
            some);
  }
}

void ingot::runtime::writeValues(Session &session, const StateSpec &spec,
                                 int64_t first, int64_t count, const void *from,
                                 DType fromType) {
  session.makeOwn(spec);
  if (spec.halves.empty()) {
    convert(from, fromType,
            session.getPlace(spec) + first * getSize(spec.dtype), spec.dtype,
            count);
    return;
  }
  std::array<float, kPiece> values;
  auto [upper, lower] = findHalves(session, spec, first);
  const auto *source = static_cast<const char *>(from);
  for (int64_t i = 0; i < count; i += kPiece) {
    int64_t some = std::min(kPiece, count - i);
    convert(source + i * getSize(fromType), fromType, values.data(), DType::F32,
            some);
    splitHalves(values.data(), upper + i * getSize(DType::BF16),
                lower + i * getSize(DType::I16), some);
  }
}

void ingot::runtime::readPieces(
    const Session &session, const StateSpec &spec,
    const std::function<void(std::string_view)> &take) {
  if (spec.halves.empty()) {
    take({session.getPlace(spec), static_cast<size_t>(spec.getBytes())});
    return;
  }
  auto [upper, lower] = findHalves(session, spec, 0);
  joinPieces(upper, lower, spec.getElements(), take);
}

void ingot::runtime::joinPieces(
    const char *upper, const char *lower, int64_t elements,
    const std::function<void(std::string_view)> &take) {
  std::array<float, kPiece> values;
  for (int64_t i = 0; i < elements; i += kPiece) {
    int64_t some = std::min(kPiece, elements - i);
    joinHalves(upper + i * getSize(DType::BF16),
               lower + i * getSize(DType::I16), values.data(), some);
    take({reinterpret_cast<const char *>(values.data()),
          static_cast<size_t>(some) * sizeof(float)});
  }
}
