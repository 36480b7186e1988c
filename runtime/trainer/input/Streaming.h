// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Whether a run takes its samples as a program writes them to a pipe, and how.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_INPUT_STREAMING_H
#define INGOT_RUNTIME_TRAINER_INPUT_STREAMING_H

#include "runtime/data/files/Sources.h"
#include "runtime/trainer/input/StreamOrder.h"
#include "runtime/trainer/run/RunContext.h"

#include <cstddef>
#include <memory>

namespace ingot::runtime {

/// Opens the samples of --data if they come through a pipe and are taken as
/// they come; returns null for others, and says so if they are read to their
/// end first. The run uses `variants` variants. Throws usageError.
std::shared_ptr<SampleStream>
openStream(const RunContext &context, const DataFiles &files, size_t variants);

/// Orders the samples of a stream, in steps of `stepSamples`, behind those that
/// a resumed run took. Throws usageError if an option needs the length of the
/// stream.
std::unique_ptr<StreamOrder> orderStream(const RunContext &context,
                                         const RunStart &start,
                                         std::shared_ptr<SampleStream> stream,
                                         int64_t stepSamples);

/// Returns how many samples the run that is resumed took of its stream.
int64_t countTaken(const RunStart &start);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_INPUT_STREAMING_H
