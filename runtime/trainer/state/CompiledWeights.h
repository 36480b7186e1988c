// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The weights that the compiler found in the model, which are in the executable
// or next to it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_STATE_COMPILEDWEIGHTS_H
#define INGOT_RUNTIME_TRAINER_STATE_COMPILEDWEIGHTS_H

#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/File.h"
#include "runtime/trainer/session/Session.h"

#include <string>

namespace ingot::runtime {

class CompiledWeights {
public:
  /// Throws badInput if the file next to the executable is missing or damaged.
  explicit CompiledWeights(const Session &session);
  CompiledWeights(const CompiledWeights &) = delete;
  CompiledWeights &operator=(const CompiledWeights &) = delete;
  /// Gives the memory of the weights back to the system.
  ~CompiledWeights();

  /// The file, or what stands for it in messages.
  const std::string &getPlace() const { return place; }
  /// Returns the weights of that state; null if there are none.
  const TensorView *find(const std::string &name) const;

  /// The open file next to the executable; -1 without one, or where files must
  /// not be mapped.
  int getDescriptor() const { return isFileMapped ? file.number : -1; }
  /// Returns where the file has the bytes of one of its tensors.
  uint64_t getFileOffset(const TensorView &tensor) const {
    return static_cast<uint64_t>(tensor.data.data() - bytes.data());
  }
  /// Whether the views stay valid without memory of the process.
  bool isMapped() const { return isFileMapped; }
  /// Gives the memory of what was read back to the system; it is read again.
  void releaseMemory() const;

private:
  void openSidecar(const Manifest &manifest);

  /// An open file.
  struct Descriptor {
    Descriptor() = default;
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    ~Descriptor();
    int number = -1;
  } file;
  bool isFileMapped = true;
  std::string place = "embedded weights";
  MappedFile sidecar;
  std::string_view bytes;
  SafeTensors weights;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_STATE_COMPILEDWEIGHTS_H
