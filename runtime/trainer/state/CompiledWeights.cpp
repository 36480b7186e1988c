// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/CompiledWeights.h"

#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/files/Crc32.h"

#include <filesystem>

using namespace ingot::runtime;

CompiledWeights::CompiledWeights(const Session &session) {
  const Manifest &manifest = session.getManifest();
  if (manifest.weights == WeightsKind::Sidecar) {
    place = session.getSidecar();
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored))
      throw badInput(place, "the trainer's weights are missing",
                     "keep the file next to the trainer");
    sidecar = MappedFile(place);
    bytes = sidecar.getBytes();
    if (manifest.weightsCrc && computeCrc32(bytes) != *manifest.weightsCrc)
      throw badInput(place, "damaged: the checksum is not that of the compiler",
                     "copy the file again, or compile again; other weights are "
                     "given with --init");
  } else if (session.getModule().weights) {
    bytes = {session.getModule().weights, session.getModule().weights_bytes};
  }
  weights = readSafeTensors(bytes, place);
}

CompiledWeights::~CompiledWeights() { releasePages(bytes); }

const TensorView *CompiledWeights::find(const std::string &name) const {
  auto found = weights.tensors.find(name);
  return found == weights.tensors.end() ? nullptr : &found->second;
}
