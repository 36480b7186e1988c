// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A broadcast along the ring of ranks: each rank passes on the chunks that it
// receives, while others come.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_CHAIN_H
#define INGOT_RUNTIME_COMM_CHAIN_H

#include "runtime/comm/WireOperation.h"

namespace ingot::runtime {

class Chain : public WireOperation {
public:
  Chain(Wire &wire, int32_t tag, void *data, int64_t bytes, int64_t root);

  bool test() override;

private:
  int64_t getAwaited() const override;
  bool advance();

  char *data;
  int64_t bytes;
  int64_t last, next;
  /// The messages to receive, none at the root, and to send, none at the end.
  int64_t incoming, outgoing;
  Lane receives, sends;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_CHAIN_H
