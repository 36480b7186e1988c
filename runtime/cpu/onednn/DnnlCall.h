// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A call of oneDNN.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CPU_ONEDNN_DNNLCALL_H
#define INGOT_RUNTIME_CPU_ONEDNN_DNNLCALL_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"

#include <dnnl.hpp>

#include <array>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

namespace ingot::runtime {

const dnnl::engine &getDnnlEngine();

/// A stream whose work runs on the threads of ThreadPool.h.
dnnl::stream &getDnnlStream();

/// Lets the library divide what it plans on the calling thread among as many
/// threads as there are. Called before primitives are made.
void useAllThreads();

/// The library's name of an ingot_dtype. Throws std::invalid_argument for types
/// that it does not compute in.
dnnl::memory::data_type getDnnlType(int32_t type);

/// A primitive with its operands. Where the layout that the library prefers
/// differs from the caller's, the operand has a copy in scratch memory.
class DnnlCall : public ingot_context::Cached {
public:
  /// Adds an operand that the primitive takes as `inner` and the caller has as
  /// `outer`.
  void addInput(int argument, const dnnl::memory::desc &outer,
                const dnnl::memory::desc &inner);
  void addOutput(int argument, const dnnl::memory::desc &outer,
                 const dnnl::memory::desc &inner);
  void setPrimitive(const dnnl::primitive &primitive,
                    const dnnl::memory::desc &scratchpad);

  bool hasPrimitive() const { return static_cast<bool>(primitive); }

  /// Runs on the caller's pointers, in the order in which operands were added.
  /// It works in the `planned` bytes at `given` if they are enough.
  void run(ingot_context *context, std::initializer_list<const void *> pointers,
           void *given, int64_t planned);

private:
  struct Operand {
    int argument;
    bool isOutput;
    dnnl::memory outer, inner;
    /// The copy between the two layouts, if they differ.
    dnnl::reorder reorder;
    size_t scratchOffset = 0;
    bool reordered = false;
  };
  void add(int argument, bool isOutput, const dnnl::memory::desc &outer,
           const dnnl::memory::desc &inner);
  size_t reserve(size_t bytes);

  std::vector<Operand> operands;
  dnnl::primitive primitive;
  dnnl::memory scratchpad;
  std::unordered_map<int, dnnl::memory> arguments;
  size_t scratchBytes = 0, scratchpadOffset = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_ONEDNN_DNNLCALL_H
