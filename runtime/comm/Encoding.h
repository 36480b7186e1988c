//===----------------------------------------------------------------------===//
//
// Buckets of f32 as messages of fewer bytes: what a code can say of them, and
// how (docs/spec/collective.md).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_ENCODING_H
#define INGOT_RUNTIME_COMM_ENCODING_H

#include "runtime/abi/Abi.h"

namespace ingot::runtime {

class Encoding {
public:
  /// `code`: of ingot_bucket_desc, not INGOT_PLAIN. `kept`: elements that
  /// INGOT_TOPK keeps.
  Encoding(int32_t code, int64_t elements, int64_t kept);

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

  int32_t code;
  int64_t elements, kept;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_ENCODING_H
