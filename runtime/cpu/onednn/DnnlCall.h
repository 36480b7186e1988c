// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A call of oneDNN: what its matmul and its convolutions share.
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
dnnl::stream &getDnnlStream();

/// Throws std::runtime_error for types the library does not compute in.
dnnl::memory::data_type getDnnlType(int32_t type);

/// A primitive with its operands: each is in the caller's layout, and in the
/// library's preferred one where that differs, which then lives in scratch.
class DnnlCall : public ingot_context::Cached {
public:
  /// `inner` is what the primitive wants, `outer` what the caller has, except
  /// the element type: the caller's is `type`, converted to f32 where `outer`
  /// says f32.
  void addInput(int argument, int32_t type, const dnnl::memory::desc &outer,
                const dnnl::memory::desc &inner);
  void addOutput(int argument, int32_t type, const dnnl::memory::desc &outer,
                 const dnnl::memory::desc &inner);
  void setPrimitive(const dnnl::primitive &primitive,
                    const dnnl::memory::desc &scratchpad);

  /// Runs on the caller's pointers, in the order operands were added, in
  /// the `planned` bytes that are given if they are enough.
  void run(ingot_context *context, std::initializer_list<const void *> pointers,
           void *given, int64_t planned);

private:
  struct Operand {
    int argument;
    bool isOutput;
    dnnl::memory outer, inner;
    /// Valid when the layouts differ.
    dnnl::reorder reorder;
    size_t scratchOffset = 0;
    bool reordered = false;
    /// The caller's elements, and where they lie converted.
    int32_t type;
    int64_t elements = 0;
    size_t convertedOffset = 0;
    bool converted = false;
  };
  void add(int argument, bool isOutput, int32_t type,
           const dnnl::memory::desc &outer, const dnnl::memory::desc &inner);
  size_t reserve(size_t bytes);

  std::vector<Operand> operands;
  dnnl::primitive primitive;
  dnnl::memory scratchpad;
  std::unordered_map<int, dnnl::memory> arguments;
  size_t scratchBytes = 0, scratchpadOffset = 0;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CPU_ONEDNN_DNNLCALL_H
