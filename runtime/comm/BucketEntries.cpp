// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The entry points for collectives (Abi.h) with buckets in the host's memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/abi/Shard.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Encoding.h"
#include "runtime/core/Context.h"
#include "runtime/core/DType.h"
#include "runtime/core/Memory.h"

#include <cstring>
#include <utility>

using namespace ingot::runtime;

namespace {
/// A bucket in flight, cached under its address.
struct Bucket : ingot_context::Cached {
  Communicator::Ticket ticket = 0;
  /// The sum of shards over other groups of ranks.
  Communicator::Ticket sumOfShards = 0;
  /// For a compressed bucket, the payload of this rank and those of all ranks.
  Block payload, payloads;
};
} // namespace

static Bucket &getBucket(ingot_context *context, const void *address) {
  return context->getCached<Bucket>(address, /*kind=*/0,
                                    [] { return std::make_unique<Bucket>(); });
}

/// Returns the group along axes, all ranks where there are none.
static Communicator &getGroup(Communicator &ranks, int32_t axes) {
  return axes == 0 ? ranks : ranks.getGroup(axes);
}

/// Returns the group that exchanges a bucket or message; null for a rank that
/// is alone.
template <typename Desc>
static Communicator *getGroup(ingot_context *context, const Desc &desc) {
  return context->ranks ? &getGroup(*context->ranks, desc.axes) : nullptr;
}

using Start = Communicator::Ticket (Communicator::*)(void *, int64_t, DType,
                                                     std::string);

/// Starts the operation that users know as `name`, like "all-reduce".
static void startBucket(ingot_context *context, const ingot_bucket_desc *desc,
                        void *bucket, const char *name, Start start) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, name, [&] {
    if (Communicator *group = getGroup(context, *desc))
      getBucket(context, bucket).ticket = (group->*start)(
          bucket, desc->elements, getDType(desc->type),
          name + (" of bucket " + std::to_string(desc->number)));
  });
}

/// Waits for the operation that was started for `address`.
template <typename Desc>
static void wait(ingot_context *context, const Desc *desc, void *address) {
  ProfileScope scope(context, desc->index);
  if (context->failed || !context->ranks)
    return;
  Bucket &kept = getBucket(context, address);
  try {
    getGroup(context, *desc)->wait(kept.ticket);
  } catch (const Error &error) {
    context->fail(error);
  }
  kept.ticket = 0;
}

static Encoding getEncoding(const ingot_bucket_desc &desc) {
  return {desc.compression, desc.elements, desc.k};
}

/// Starts the all-gather of a compressed bucket's payloads.
static void startEncoded(ingot_context *context, const ingot_bucket_desc *desc,
                         void *bucket) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "all-reduce", [&] {
    Communicator *group = getGroup(context, *desc);
    if (!group)
      return;
    Encoding encoding = getEncoding(*desc);
    int64_t bytes = encoding.getPayloadBytes();
    Bucket &kept = getBucket(context, bucket);
    if (kept.payload.getSize() == 0) {
      kept.payload = Block(bytes, "a compressed bucket");
      kept.payloads = Block(bytes * group->getSize(),
                            "the compressed buckets of all ranks");
    }
    encoding.encode(static_cast<const float *>(bucket), kept.payload.getData());
    kept.ticket = group->startAllGather(
        kept.payload.getData(), kept.payloads.getData(), bytes,
        "all-reduce of bucket " + std::to_string(desc->number));
  });
}

void ingot_all_reduce_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket) {
  if (desc->compression != INGOT_UNCOMPRESSED) {
    startEncoded(context, desc, bucket);
    return;
  }
  if (desc->reduction == INGOT_SUM) {
    startBucket(context, desc, bucket, "all-reduce",
                &Communicator::startBucketReduce);
    return;
  }
  auto reduction = static_cast<Reduction>(desc->reduction);
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "all-reduce", [&] {
    if (Communicator *group = getGroup(context, *desc))
      getBucket(context, bucket).ticket = group->startAllReduce(
          bucket, desc->elements, getDType(desc->type),
          "all-reduce of bucket " + std::to_string(desc->number), reduction);
  });
}

void ingot_all_reduce_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *bucket) {
  wait(context, desc, bucket);
  if (desc->compression != INGOT_UNCOMPRESSED && context->ranks &&
      !context->failed)
    getEncoding(*desc).decode(getBucket(context, bucket).payloads.getData(),
                              getGroup(context, *desc)->getSize(),
                              static_cast<float *>(bucket));
}

void ingot_gather_messages_start(ingot_context *context,
                                 const ingot_message_desc *desc,
                                 const void *message, void *messages) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "all-reduce", [&] {
    if (Communicator *group = getGroup(context, *desc))
      getBucket(context, messages).ticket = group->startAllGather(
          message, messages, desc->bytes,
          "all-reduce of bucket " + std::to_string(desc->number));
    else
      std::memcpy(messages, message, desc->bytes);
  });
}

void ingot_gather_messages_wait(ingot_context *context,
                                const ingot_message_desc *desc,
                                void *messages) {
  wait(context, desc, messages);
}

void ingot_compress(ingot_context *context, const ingot_compress_desc *desc,
                    const float *input, float *result) {
  if (context->failed)
    return;
  ProfileScope scope(context, desc->index);
  Encoding(desc->compression, desc->elements, desc->k)
      .approximate(input, result);
}

void ingot_reduce_scatter_start(ingot_context *context,
                                const ingot_bucket_desc *desc, void *bucket) {
  ProfileScope scope(context, desc->index);
  guardLibraryCall(context, "reduce-scatter", [&] {
    if (!context->ranks)
      return;
    const std::string name = " of bucket " + std::to_string(desc->number);
    const DType type = getDType(desc->type);
    const int32_t axis = RankMesh::getLastAxis(desc->axes);
    Communicator &shards = getGroup(*context->ranks, axis);
    Bucket &kept = getBucket(context, bucket);
    kept.ticket = shards.startReduceScatter(bucket, desc->elements, type,
                                            "reduce-scatter" + name);
    if (desc->axes == axis)
      return;
    ElementRange own =
        getShard(desc->elements, shards.getRank(), shards.getSize());
    kept.sumOfShards =
        context->ranks->getGroup(desc->axes & ~axis)
            .startAllReduce(static_cast<char *>(bucket) +
                                own.begin * getSize(type),
                            own.getCount(), type, "sum of shards" + name,
                            Reduction::Sum, kept.ticket);
  });
}

void ingot_reduce_scatter_wait(ingot_context *context,
                               const ingot_bucket_desc *desc, void *bucket) {
  ProfileScope scope(context, desc->index);
  if (context->failed || !context->ranks)
    return;
  Bucket &kept = getBucket(context, bucket);
  try {
    const int32_t axis = RankMesh::getLastAxis(desc->axes);
    getGroup(*context->ranks, axis).wait(std::exchange(kept.ticket, 0));
    if (Communicator::Ticket sum = std::exchange(kept.sumOfShards, 0))
      context->ranks->getGroup(desc->axes & ~axis).wait(sum);
  } catch (const Error &error) {
    context->fail(error);
  }
}

void ingot_all_gather_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket) {
  startBucket(context, desc, bucket, "all-gather",
              &Communicator::startGatherShards);
}

void ingot_all_gather_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *bucket) {
  wait(context, desc, bucket);
}
