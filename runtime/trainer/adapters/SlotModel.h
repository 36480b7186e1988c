// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The model below adapters as ONNX with slots for them: inputs whose defaults
// leave the model as it is, and which ONNX Runtime's file of an adapter sets.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_ADAPTERS_SLOTMODEL_H
#define INGOT_RUNTIME_TRAINER_ADAPTERS_SLOTMODEL_H

#include "runtime/trainer/session/Session.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// An input of the model that an adapter sets.
struct Slot {
  std::string name;
  DType dtype = DType::F32;
  /// The rank of the adapter is -1, as are other dimensions that the default
  /// has not.
  std::vector<int64_t> dims;
  /// The value of all elements of the default, whose size is `defaultSize`
  /// where `dims` has -1.
  double defaultValue = 0;
  int64_t defaultSize = 0;
  /// The shape and the elements of the adapter.
  std::vector<int64_t> shape;
  std::string data;
};

/// Returns the number that ONNX has for a type of floats.
int getOnnxType(DType type);

/// Finds the layers in the bytes of a model that read the weights of adapters,
/// and returns their slots. Throws badInput, naming the node, where a weight is
/// read in a way that has no slot.
class SlotModel {
public:
  SlotModel(const Session &session, std::string_view bytes);

  const std::vector<Slot> &getSlots() const { return slots; }
  /// Writes the model with slots.
  void write(const std::string &path) const;

private:
  /// How a node reads a weight.
  struct Use {
    const AdapterSpec *adapter = nullptr;
    bool isConv = false, isLookup = false;
    /// The bias in the node's result that magnitudes are not of; empty if none.
    std::string bias;
  };

  void findUses();
  Use makeUse(std::string_view node, const AdapterSpec &adapter) const;
  void addSlots(const Use &use);
  /// Returns what comes in place of a node.
  std::string replace(std::string_view node, const Use &use) const;

  const Session &session;
  std::string_view bytes;
  std::vector<Slot> slots;
  /// Initializers that the nodes of adapters read.
  std::string constants;
  /// The nodes with adapters, by where their bytes begin.
  std::map<const char *, Use> uses;
};

/// Writes ONNX Runtime's file of an adapter: a flatbuffer.
void writeAdapterFormat(const std::string &path,
                        const std::vector<Slot> &slots);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_ADAPTERS_SLOTMODEL_H
