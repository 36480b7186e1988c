//===----------------------------------------------------------------------===//
//
// From an object file to a trainer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_LINK_H
#define INGOT_TOOLS_INGOTC_LINK_H

#include <string>

namespace ingot {

/// What the trainer is made of besides the runtime. Empty blobs are left out.
struct LinkInput {
  /// The device that the trainer runs on: cpu or cuda.
  std::string target = "cpu";
  std::string object;
  /// Embedded under the names that `--ingot-lower-steps` refers to.
  std::string weights, exportLiteral;
  /// Takes the transports along.
  bool dataParallel = false;
};

/// Links the executable `output` with LLD and the prebuilt runtime, and puts
/// the shared libraries it needs into `output`.libs. Nothing is left behind on
/// failure. Throws runtime::Error.
void linkTrainer(const LinkInput &input, const std::string &output);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_LINK_H
