// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Weights that are merged with their adapters, and encoded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_MERGEDCODES_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_MERGEDCODES_H

#include "runtime/abi/BlockEncoding.h"
#include "runtime/trainer/session/Session.h"

#include <vector>

namespace ingot::runtime {

/// Returns the encoding of merged weights in an exported file.
quantization::Encoding getFileEncoding(const ExportCodes &how);

/// Returns the numbers of a state, with its adapter.
std::vector<float> readMerged(const Session &session, const StateSpec &spec);

/// Returns the numbers that codes of these numbers of a state stand for.
std::vector<float> roundToCodes(const StateSpec &spec, const ExportCodes &how,
                                const std::vector<float> &numbers);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_MERGEDCODES_H
