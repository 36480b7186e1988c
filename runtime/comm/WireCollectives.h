// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Collectives over a wire.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_COMM_WIRECOLLECTIVES_H
#define INGOT_RUNTIME_COMM_WIRECOLLECTIVES_H

#include "runtime/comm/Ring.h"

namespace ingot::runtime {

class WireCollectives : public Collectives {
public:
  explicit WireCollectives(std::unique_ptr<Wire> wire);

  std::unique_ptr<Collectives> makeGroup(const std::vector<int64_t> &members,
                                         int32_t axes) override;
  void finish() override { wire->finish(); }
  std::string describe() const override { return wire->describe(); }

  std::unique_ptr<Pending> startAllReduce(void *data, int64_t elements,
                                          DType type,
                                          Reduction reduction) override;
  std::unique_ptr<Pending> startReduceScatter(void *data, int64_t elements,
                                              DType type) override;
  std::unique_ptr<Pending> startGatherShards(void *data, int64_t elements,
                                             DType type) override;
  std::unique_ptr<Pending> startAllGather(const void *from, void *to,
                                          int64_t bytes) override;
  std::unique_ptr<Pending> startReduceParts(const void *from, void *to,
                                            int64_t elements, DType type,
                                            Reduction reduction) override;
  std::unique_ptr<Pending> startAllToAll(const void *from, void *to,
                                         int64_t bytes) override;
  std::unique_ptr<Pending> startBroadcast(void *data, int64_t bytes,
                                          int64_t root) override;

private:
  WireCollectives(std::shared_ptr<Wire> wire, int32_t tags);

  std::unique_ptr<Pending> startRing(Ring::Part part, void *data,
                                     int64_t elements, DType type,
                                     Reduction reduction = Reduction::Sum);
  int32_t getTag();

  std::shared_ptr<Wire> wire;
  StagingPool staging;
  /// The number of tags.
  int32_t tags;
  int32_t lastTag = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_COMM_WIRECOLLECTIVES_H
