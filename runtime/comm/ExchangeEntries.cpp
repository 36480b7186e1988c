// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The entry points for exchanges of tensors within groups of ranks (Abi.h) in
// the host's memory, and for the regions of a step in which exchanges are in
// flight while the step goes on.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/Context.h"
#include "runtime/core/DType.h"

#include <cstring>
#include <utility>

using namespace ingot::runtime;

namespace {
/// The exchange of a region that is in flight. Regions run one after the other,
/// so that there is one at most.
struct Regions : ingot_context::Cached {
  static constexpr int32_t kNone = -1;

  /// The region whose calls are being made.
  int32_t open = kNone;
  /// The region of the exchange.
  int32_t inFlight = kNone;
  Communicator *group = nullptr;
  Communicator::Ticket ticket = 0;

  void finish() {
    if (std::exchange(inFlight, kNone) != kNone)
      group->wait(ticket);
  }
};
} // namespace

/// Regions have no descriptor in common: there is one object of a context.
static Regions &getRegions(ingot_context *context) {
  static const char key = 0;
  return context->getCached<Regions>(
      &key, /*kind=*/0, [] { return std::make_unique<Regions>(); });
}

/// Runs an exchange, which `start` begins within the group of a descriptor, or
/// leaves it in flight in a region; alone, a rank has its own elements.
template <typename Start>
static void exchange(ingot_context *context, const ingot_exchange_desc *desc,
                     const void *input, void *result, const char *name,
                     Start start) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, name, [&] {
    DType type = getDType(desc->type);
    if (!context->ranks || desc->ranks == 1) {
      std::memcpy(result, input, desc->elements * getSize(type));
      return;
    }
    Regions &regions = getRegions(context);
    const bool isInRegion = regions.open != Regions::kNone;
    if (isInRegion)
      regions.finish();
    Communicator &group = context->ranks->getGroup(desc->axes);
    Communicator::Ticket ticket = start(group, type);
    if (!isInRegion)
      return group.wait(ticket);
    regions.inFlight = regions.open;
    regions.group = &group;
    regions.ticket = ticket;
  });
}

void ingot_all_reduce(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchange(context, desc, input, result, "all-reduce",
           [&](Communicator &group, DType type) {
             std::memcpy(result, input, desc->elements * getSize(type));
             return group.startAllReduce(
                 result, desc->elements, type, "all-reduce",
                 static_cast<Reduction>(desc->reduction));
           });
}

void ingot_all_gather(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchange(context, desc, input, result, "all-gather",
           [&](Communicator &group, DType type) {
             return group.startAllGather(
                 input, result, desc->elements * getSize(type), "all-gather");
           });
}

void ingot_reduce_scatter(ingot_context *context,
                          const ingot_exchange_desc *desc, const void *input,
                          void *result) {
  exchange(context, desc, input, result, "reduce-scatter",
           [&](Communicator &group, DType type) {
             return group.startReduceParts(
                 input, result, desc->elements, type, "reduce-scatter",
                 static_cast<Reduction>(desc->reduction));
           });
}

void ingot_all_to_all(ingot_context *context, const ingot_exchange_desc *desc,
                      const void *input, void *result) {
  exchange(context, desc, input, result, "all-to-all",
           [&](Communicator &group, DType type) {
             return group.startAllToAll(
                 input, result, desc->elements * getSize(type), "all-to-all");
           });
}

void ingot_side_start(ingot_context *context, const ingot_side_desc *desc) {
  ProfileScope scope(context, desc->index);
  if (!context->failed)
    getRegions(context).open = desc->number;
}

void ingot_side_end(ingot_context *context, const ingot_side_desc *desc) {
  ProfileScope scope(context, desc->index);
  getRegions(context).open = Regions::kNone;
}

void ingot_side_wait(ingot_context *context, const ingot_side_desc *desc) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "exchange", [&] {
    Regions &regions = getRegions(context);
    if (regions.inFlight <= desc->number)
      regions.finish();
  });
}
