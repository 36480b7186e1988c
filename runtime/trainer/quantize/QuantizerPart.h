// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Scales of models that are trained to be quantized. Programs link these
// functions by name (-u ingot_quantizers): trainers of other models do without,
// and that function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_QUANTIZE_QUANTIZERPART_H
#define INGOT_RUNTIME_TRAINER_QUANTIZE_QUANTIZERPART_H

#include "runtime/trainer/input/Feed.h"
#include "runtime/trainer/run/RunContext.h"

#include <string>
#include <vector>

namespace ingot::runtime {

/// The functions of quantizers.
struct QuantizerPart {
  /// Sets all scales by the batches that --calibrate names; without it, those
  /// that are trained and not known yet, by one batch, if the run takes steps.
  /// `data` are the training samples. Throws Error.
  void (*calibrate)(const RunContext &context, const Datasets &data,
                    const std::vector<size_t> &variants);
  /// Throws failure if scales are not known, so that nothing can be exported to
  /// the path.
  void (*checkKnown)(const Session &session, const std::string &path);
};

extern "C" {
/// Returns what is linked.
__attribute__((weak)) const QuantizerPart *ingot_quantizers();
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_QUANTIZE_QUANTIZERPART_H
