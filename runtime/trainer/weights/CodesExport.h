// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Matrices in codes as exported files have them. Programs link these functions
// by name (-u ingot_exported_codes): trainers whose files have none do without,
// and that function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_WEIGHTS_CODESEXPORT_H
#define INGOT_RUNTIME_TRAINER_WEIGHTS_CODESEXPORT_H

#include "runtime/trainer/session/Session.h"

#include <functional>
#include <optional>
#include <string>

namespace ingot::runtime {

/// Returns the bytes of a piece of an exported file that is a part of a matrix
/// in codes.
using CodesReader = std::function<std::string(const ExportPiece &)>;

/// Returns the loss of some samples; nothing where there are none.
using ComputeLoss = std::function<std::optional<double>()>;

/// The functions of exported codes.
struct ExportedCodes {
  /// Returns a reader of the parts of matrices as they are now. What has an
  /// adapter is merged and encoded; what is encoded alike, and has none, is
  /// read as it is. The session has to outlive it.
  CodesReader (*open)(const Session &session);
  /// Prints how much the weights of each layer change that the file has merged
  /// and in codes, and the loss. It is computed twice, with the session as it
  /// is and with these weights. The session is the same afterwards.
  void (*measure)(Session &session, const ComputeLoss &computeLoss,
                  const std::function<void(const std::string &)> &print);
};

extern "C" {
/// Returns what is linked.
__attribute__((weak)) const ExportedCodes *ingot_exported_codes();
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_WEIGHTS_CODESEXPORT_H
