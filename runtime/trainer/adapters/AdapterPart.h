// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Merging, reading and writing of adapters. Programs link these functions by
// name (-u ingot_adapters): trainers of models without adapters do without, and
// that function is null there.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERPART_H
#define INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERPART_H

#include "runtime/trainer/session/Session.h"

#include <functional>
#include <string>

namespace ingot::runtime {

/// Copies elements [first, first + count) of a weight with its adapter, the
/// sum W + scale * B * A in rows of its magnitudes, to memory of another type.
using MergedReader =
    std::function<void(int64_t first, int64_t count, void *to, DType toType)>;

/// The functions of adapters.
struct AdapterPart {
  /// Returns the reader of a weight with its adapter as both are now. The
  /// session and the adapter have to outlive it.
  MergedReader (*openMerged)(const Session &session,
                             const AdapterSpec &adapter);
  /// Sets magnitudes that the compiler does not know, after a session has taken
  /// its weights from a file, which may be empty: to the norms of the rows of
  /// weights that the file has without magnitudes.
  void (*startMagnitudes)(Session &session, const std::string &weights);
  /// Writes the files that PEFT reads, adapter_model.safetensors and
  /// adapter_config.json, into a folder that is there. Throws failure.
  void (*writeFiles)(Session &session, const std::string &folder);
  /// Gives a model in ONNX, which has its weights as they are without adapters,
  /// slots for these, and writes beside it what goes into them, as ONNX Runtime
  /// reads it (getSlotValuesPath). Throws badInput where a node that reads a
  /// weight has no place for an adapter.
  void (*addSlots)(const Session &session, const std::string &path);
  /// Reads such files into the states. Throws badInput, naming the key, for one
  /// that is missing, unknown, or of another shape or scale.
  void (*readFiles)(Session &session, const std::string &folder);
};

extern "C" {
/// Returns what is linked.
__attribute__((weak)) const AdapterPart *ingot_adapters();
}

/// AdapterPart::startMagnitudes, if the model has adapters.
inline void startAdapters(Session &session, const std::string &weights) {
  if (!session.getManifest().adapters.empty())
    ingot_adapters()->startMagnitudes(session, weights);
}

/// Return the files of a folder.
inline std::string getAdapterModelPath(const std::string &folder) {
  return folder + "/adapter_model.safetensors";
}
inline std::string getAdapterConfigPath(const std::string &folder) {
  return folder + "/adapter_config.json";
}
inline std::string getSlotModelPath(const std::string &folder) {
  return folder + "/model.onnx";
}
inline std::string getSlotValuesPath(const std::string &model) {
  return model + "_adapter";
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_ADAPTERS_ADAPTERPART_H
