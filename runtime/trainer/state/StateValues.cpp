// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The values of states.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/StateValues.h"

#include "runtime/trainer/state/EncodedStates.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace ingot::runtime;

/// The number of elements that are joined at a time.
static constexpr int64_t kPiece = 4096;

/// Calls `take` with elements of an encoded state, one piece after the other.
template <typename Take>
static void forEachDecoded(const Session &session, const StateSpec &spec,
                           int64_t first, int64_t count, Take take) {
  std::array<float, kPiece> values;
  for (int64_t i = 0; i < count; i += kPiece) {
    int64_t some = std::min(kPiece, count - i);
    ingot_encoded_states()->read(session, spec, first + i, some, values.data());
    take(i, values.data(), some);
  }
}

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
  if (spec.home == StateHome::Encoded) {
    forEachDecoded(session, spec, first, count,
                   [&](int64_t at, const float *values, int64_t some) {
                     convert(values, DType::F32,
                             static_cast<char *>(to) + at * getSize(toType),
                             toType, some);
                   });
    return;
  }
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
  if (spec.home == StateHome::Encoded) {
    // Scales are those of whole blocks, and of all elements.
    std::vector<float> whole(spec.getElements());
    if (count < spec.getElements())
      ingot_encoded_states()->read(session, spec, 0, spec.getElements(),
                                   whole.data());
    convert(from, fromType, whole.data() + first, DType::F32, count);
    ingot_encoded_states()->write(session, spec, whole.data());
    return;
  }
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
  if (spec.home == StateHome::Encoded) {
    std::array<float, kPiece> rounded;
    forEachDecoded(
        session, spec, 0, spec.getElements(),
        [&](int64_t, const float *values, int64_t some) {
          auto *bytes = reinterpret_cast<char *>(rounded.data());
          convert(values, DType::F32, bytes, spec.dtype, some);
          take({bytes, static_cast<size_t>(some * getSize(spec.dtype))});
        });
    return;
  }
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
