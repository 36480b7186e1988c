// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Data of random numbers for trainers that are only measured.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_TUNE_TRIALDATA_H
#define INGOT_TOOLS_INGOTC_TUNE_TRIALDATA_H

#include <cstdint>
#include <string>

namespace ingot {

/// Writes an .npz file with that many samples of each input of the trainer at
/// `program`: numbers from 0 to 1, and integers 0 and 1. Throws failure.
void writeTrialData(const std::string &program, const std::string &path,
                    int64_t samples);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_TUNE_TRIALDATA_H
