// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/ops/runtime/Runtime.h"

using namespace ingot;
using namespace ingot::onnx_import;

void onnx_import::registerOnnxRuntime(Registry &registry) {
  registerFusions(registry);
  registerSkipNorms(registry);
  registerRuntimeAttention(registry);
  registerRotaryEmbedding(registry);
}
