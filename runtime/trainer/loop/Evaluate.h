// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes over data that do not train.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_LOOP_EVALUATE_H
#define INGOT_RUNTIME_TRAINER_LOOP_EVALUATE_H

#include "runtime/data/Dataset.h"
#include "runtime/trainer/loop/Session.h"

#include <map>
#include <optional>
#include <string>

namespace ingot::runtime {

class Communicator;
class Console;

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;
};

/// The loss over every sample once; in whole batches only if the module cannot
/// mask padding. `data` is by variant, null where there is none. Ranks share
/// the batches out and get the same result. Throws.
Evaluation evaluate(Session &session,
                    const std::vector<std::unique_ptr<Dataset>> &data,
                    const std::map<std::string, double> &hyperparameters,
                    Communicator &ranks, Console &console);

/// Writes the model's outputs for every sample as an .npz file. The samples are
/// all of one variant. Throws.
void predict(Session &session,
             const std::vector<std::unique_ptr<Dataset>> &data,
             const std::map<std::string, double> &hyperparameters,
             const std::string &path, Console &console);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_LOOP_EVALUATE_H
