// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The changes of weights and of the loss by merging adapters into codes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_CODESCHANGE_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_CODESCHANGE_H

#include "runtime/trainer/session/Session.h"

#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

/// Prints how much the weights of each layer change that the exported file has
/// merged and in codes, and the loss. `computeLoss` is called twice, with the
/// session as it is and with these weights; it returns nothing where there is
/// no data to evaluate. The session is the same afterwards.
void measureCodes(Session &session,
                  const std::function<std::optional<double>()> &computeLoss,
                  const std::function<void(const std::string &)> &print);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_CODESCHANGE_H
