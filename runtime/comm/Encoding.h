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

  /// Of one rank's message.
  int64_t getMessageBytes() const;
  /// `to` = what a message says of `from`; NaN where it cannot.
  void approximate(const float *from, float *to) const;
  /// The message for elements that came from approximate().
  void encode(const float *from, char *message) const;
  /// `sum` = what `count` messages, one after another, say, added up in their
  /// order.
  void decode(const char *messages, int64_t count, float *sum) const;

private:
  void keepLargest(const float *from, float *to) const;

  int32_t compression;
  int64_t elements, k;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_ENCODING_H
