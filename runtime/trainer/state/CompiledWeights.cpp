// SPDX-License-Identifier: Apache-2.0

#include "runtime/trainer/state/CompiledWeights.h"

#include "runtime/core/Error.h"
#include "runtime/core/LostFiles.h"
#include "runtime/core/Memory.h"
#include "runtime/core/files/Crc32.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace ingot::runtime;

/// Returns the checksum of a mapped file, without all of it in memory.
static uint32_t computeFileCrc(std::string_view bytes) {
  constexpr size_t most = size_t(16) << 20;
  uint32_t crc = 0;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, most);
    crc = computeCrc32(part, crc);
    bytes.remove_prefix(part.size());
    // Of memory, the pages would be lost.
    if (!UnmappedFiles::areInForce())
      releasePages(part);
  }
  return crc;
}

void CompiledWeights::openSidecar(const Manifest &manifest) {
  std::error_code ignored;
  if (!std::filesystem::exists(place, ignored))
    throw badInput(place, "the trainer's weights are missing",
                   "keep the file next to the trainer");
  isFileMapped = !UnmappedFiles::areInForce();
  file.number = open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.number < 0)
    throw badInput(place, "cannot open: " + describeErrno(),
                   "check the path and its permissions");
  sidecar = MappedFile(file.number, place);
  bytes = sidecar.getBytes();
  if (manifest.weightsCrc && computeFileCrc(bytes) != *manifest.weightsCrc)
    throw badInput(place, "damaged: the checksum is not that of the compiler",
                   "copy the file again, or compile again; other weights are "
                   "given with --init");
}

CompiledWeights::CompiledWeights(const Session &session) {
  const Manifest &manifest = session.getManifest();
  if (manifest.weights == WeightsKind::Sidecar) {
    place = session.getSidecar();
    openSidecar(manifest);
  } else if (session.getModule().weights) {
    bytes = {session.getModule().weights, session.getModule().weights_bytes};
  }
  weights = readSafeTensors(bytes, place);
  // Codes have the name of what they encode in files.
  for (const StateSpec &spec : manifest.states)
    if (auto found = weights.tensors.find(spec.name);
        spec.encoding && found != weights.tensors.end()) {
      TensorView &codes = weights.tensors[spec.encoding->parts[0]];
      codes = std::move(found->second);
      weights.tensors.erase(found);
    }
}

CompiledWeights::~CompiledWeights() { releaseMemory(); }

CompiledWeights::Descriptor::~Descriptor() {
  if (number >= 0)
    close(number);
}

void CompiledWeights::releaseMemory() const {
  if (isFileMapped)
    releasePages(bytes);
}

const TensorView *CompiledWeights::find(const std::string &name) const {
  auto found = weights.tensors.find(name);
  return found == weights.tensors.end() ? nullptr : &found->second;
}
