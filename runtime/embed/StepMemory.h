// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Memory of the C++ library in steps. Kernels make small tables with each call;
// what one step frees is kept for the next, so that malloc is not called once
// each thread has taken part in a step.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_STEPMEMORY_H
#define INGOT_RUNTIME_EMBED_STEPMEMORY_H

namespace ingot::runtime {

/// While one lives, what any thread of the library frees is kept, if a step has
/// allocated it.
class StepMemoryScope {
public:
  StepMemoryScope();
  StepMemoryScope(const StepMemoryScope &) = delete;
  StepMemoryScope &operator=(const StepMemoryScope &) = delete;
  ~StepMemoryScope();
};

/// Frees what is kept. No step may be running.
void releaseStepMemory();

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_STEPMEMORY_H
