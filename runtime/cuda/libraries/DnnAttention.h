// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attention in 16-bit precision by cuDNN's fused kernels, through its graph
// library (cudnn-frontend): the forward pass with the log-sum-exp that the
// gradient reads, and the gradient. Every run computes the same bits, unless a
// faster gradient is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_LIBRARIES_DNNATTENTION_H
#define INGOT_RUNTIME_CUDA_LIBRARIES_DNNATTENTION_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"
#include "runtime/cuda/driver/Driver.h"
#include "runtime/cuda/libraries/Dnn.h"

#include <memory>
#include <string>

namespace ingot::runtime {

/// Which operands an attention has besides queries, keys and values. A seed
/// means dropout.
struct DnnAttentionTerms {
  bool bias = false, lengths = false, seed = false;
};

class DnnAttention {
public:
  /// Operands of ingot_attention and ingot_attention_grad.
  struct Inputs {
    const void *query, *key, *value;
  };
  /// Operands that may be null. The bias is finite, and lengths are not 0.
  struct Terms {
    const void *bias, *lengths, *seed, *step;
  };
  struct Forward {
    Inputs inputs;
    Terms terms;
    void *result, *lse;
  };
  struct Backward {
    Inputs inputs;
    Terms terms;
    const void *output, *lse, *cotangent;
    void *queryGrad, *keyGrad, *valueGrad;
  };

  /// Works on `stream`, the stream of `dnn`. Throws failure if CUDA's runtime
  /// library, which the graphs use, is missing.
  DnnAttention(const Dnn &dnn, const Driver &driver, CUstream stream,
               bool isDeterministic);
  ~DnnAttention();

  /// Puts the work into the stream. The compiler leaves to this what cuDNN
  /// takes: AttentionSizes::fitDevice. Throws failure.
  void forward(ingot_context &context, const ingot_attention_desc &desc,
               const Forward &operands, void *scratch);
  void backward(ingot_context &context, const ingot_attention_desc &desc,
                const Backward &operands, void *scratch);

private:
  struct Plan;
  class Pointers;

  std::unique_ptr<Plan> plan(const ingot_attention_desc &desc,
                             const DnnAttentionTerms &terms,
                             bool isGradient) const;
  /// Returns the plan for the shapes. Notes where its workspace is larger than
  /// the planned scratch.
  const Plan &getPlan(ingot_context &context, const ingot_attention_desc &desc,
                      const DnnAttentionTerms &terms, bool isGradient);
  void run(const Plan &plan, Pointers pointers, void *scratch) const;

  const Dnn &dnn;
  const Driver &driver;
  CUstream stream;
  bool isDeterministic;
  Library cudart;
  PlanCache<Plan> plans;
};

/// Returns the reason why cuDNN has no kernel for an attention, or for its
/// gradient, on a GPU that need not be present; empty if it has one. `device`
/// is cuDNN's description of the GPU
/// (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION), `architecture` is 90 for sm_90.
[[gnu::visibility("default")]] std::string
findAttentionProblem(const Library &cudnn, const ingot_attention_desc &desc,
                     const DnnAttentionTerms &terms, bool isGradient,
                     const std::string &device, int architecture);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_LIBRARIES_DNNATTENTION_H
