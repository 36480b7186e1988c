// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Compressed buckets of f32: what a payload says of the elements, and how
// (docs/spec/collective.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_ENCODING_H
#define INGOT_RUNTIME_COMM_ENCODING_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

class Encoding {
public:
  /// `compression` is an ingot_compression other than INGOT_UNCOMPRESSED, `k`
  /// the number of elements that INGOT_TOPK sends.
  Encoding(int32_t compression, int64_t elements, int64_t k);

  /// Bytes of one rank's payload.
  int64_t getPayloadBytes() const;
  /// Sets `to` to the values of `from` that a payload represents; NaN where it
  /// represents none.
  void approximate(const float *from, float *to) const;
  /// Writes the payload of elements that approximate() returned.
  void encode(const float *from, char *payload) const;
  /// Sums the elements of `count` consecutive payloads, in their order.
  void decode(const char *payloads, int64_t count, float *sum) const;

private:
  void keepLargest(const float *from, float *to) const;

  int32_t compression;
  int64_t elements, k;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_ENCODING_H
