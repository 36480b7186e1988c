// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A module as the compiler emits it, written by hand: linear regression with
// momentum. The tests of the trainer link it as ingotc links a compiled step.
// With INGOT_TEST_MATMUL the prediction is a library call.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"

namespace {

constexpr int64_t batch = 4, features = 3;

// Places in the state, as the manifest below says.
constexpr int64_t wAt = 0, bAt = 64, wMomentAt = 128, bMomentAt = 192;
constexpr int64_t stepAt = 256;
// Places in the arena.
constexpr int64_t xAt = 0, labelsAt = 64, firstAt = 128, secondAt = 192;
constexpr int64_t outputAt = 256, resultAt = 320, normAt = 384;

template <typename T> T *at(char *block, int64_t offset) {
  return reinterpret_cast<T *>(block + offset);
}

#ifdef INGOT_TEST_MATMUL
constexpr ingot_matmul_desc matmul = {1, batch,     1,         features,  0,
                                      0, INGOT_F32, INGOT_F32, INGOT_F32, 0,
                                      0, 0,         0,         1};
#else
void multiply(void *const *buffers, int64_t begin, int64_t end) {
  const float *x = static_cast<const float *>(buffers[0]);
  const float *w = static_cast<const float *>(buffers[1]);
  float *y = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) {
    y[i] = 0;
    for (int64_t j = 0; j < features; ++j)
      y[i] += x[i * features + j] * w[j];
  }
}
constexpr ingot_kernel multiplyKernel = {multiply, batch, 1, 0, 0, 1};
#endif

void addBias(void *const *buffers, int64_t begin, int64_t end) {
  const float *b = static_cast<const float *>(buffers[0]);
  float *y = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] += *b;
}
constexpr ingot_kernel addBiasKernel = {addBias, batch, 1, 0, 0, 0};

/// y = x w + b.
void forward(ingot_context *context, char *state, char *arena) {
  float *x = at<float>(arena, xAt), *y = at<float>(arena, outputAt);
  float *w = at<float>(state, wAt), *b = at<float>(state, bAt);
#ifdef INGOT_TEST_MATMUL
  ingot_matmul(context, &matmul, x, w, /*a_scales=*/nullptr,
               /*b_scales=*/nullptr, y, /*scratch=*/nullptr);
#else
  void *operands[] = {x, w, y};
  ingot_launch(context, &multiplyKernel, operands);
#endif
  void *biasOperands[] = {b, y};
  ingot_launch(context, &addBiasKernel, biasOperands);
}

void trainStep(ingot_context *context, char *state, char *arena) {
  forward(context, state, arena);
  const float *x = at<float>(arena, xAt);
  const float *labels = at<float>(arena, labelsAt);
  const float *y = at<float>(arena, outputAt);
  double lr = *at<double>(arena, firstAt);
  double momentum = *at<double>(arena, secondAt);
  float loss = 0, bGrad = 0, wGrad[features] = {}, norm = 0;
  for (int64_t i = 0; i < batch; ++i) {
    float difference = y[i] - labels[i];
    loss += difference * difference / batch;
    bGrad += 2 * difference / batch;
    for (int64_t j = 0; j < features; ++j)
      wGrad[j] += 2 * difference * x[i * features + j] / batch;
  }
  auto update = [&](float &value, float &moment, float gradient) {
    norm += gradient * gradient;
    moment = static_cast<float>(momentum) * moment + gradient;
    value -= static_cast<float>(lr) * moment;
  };
  update(*at<float>(state, bAt), *at<float>(state, bMomentAt), bGrad);
  for (int64_t j = 0; j < features; ++j)
    update(at<float>(state, wAt)[j], at<float>(state, wMomentAt)[j], wGrad[j]);
  ++*at<int64_t>(state, stepAt);
  *at<float>(arena, resultAt) = loss;
  *at<float>(arena, normAt) = norm;
}

void evalStep(ingot_context *context, char *state, char *arena) {
  forward(context, state, arena);
  const float *labels = at<float>(arena, labelsAt);
  const float *y = at<float>(arena, outputAt);
  int64_t valid = *at<int64_t>(arena, firstAt);
  float sum = 0, correct = 0;
  for (int64_t i = 0; i < valid; ++i) {
    sum += (y[i] - labels[i]) * (y[i] - labels[i]);
    correct += (y[i] > 0) == (labels[i] > 0);
  }
  *at<float>(arena, resultAt) = sum;
  *at<float>(arena, secondAt) = static_cast<float>(valid);
  *at<float>(arena, normAt) = correct;
}

void predict(ingot_context *context, char *state, char *arena) {
  forward(context, state, arena);
}

constexpr ingot_function functions[] = {
    {"train_step", trainStep}, {"eval_step", evalStep}, {"predict", predict}};

#ifndef INGOT_TEST_FEATURES
#define INGOT_TEST_FEATURES "\"sse4.2\""
#endif
#ifndef INGOT_TEST_WHOLE_BATCH
#define INGOT_TEST_WHOLE_BATCH "false"
#endif
#define INGOT_TEXT_OF(NUMBER) #NUMBER
#define INGOT_TEXT(NUMBER) INGOT_TEXT_OF(NUMBER)
#ifndef INGOT_TEST_ABI
#define INGOT_TEST_ABI INGOT_TEXT(INGOT_ABI_VERSION)
#endif

#define X_INPUT                                                                \
  R"({"name": "x", "kind": "data", "dtype": "f32", "shape": [4, 3],
      "offset": 0})"
#define LABELS_INPUT                                                           \
  R"({"name": "labels", "kind": "labels", "dtype": "f32", "shape": [4, 1],
      "offset": 64})"
#define KERNELS                                                                \
  R"("kernels": [{"name": "bias", "kind": "loop", "onnx_nodes": ["/fc/Add"],
                  "bytes": 36, "flops": 4},
                 {"name": "fc", "kind": "matmul", "onnx_nodes": ["/fc/MatMul"],
                  "bytes": 76, "flops": 24}],
     "live": [], "intervals": [], "interval_kinds": [])"

constexpr char manifest[] =
    R"({
  "variants": [""], "abi": )" INGOT_TEST_ABI
    R"(, "model": "linear.onnx", "producer": "ingot test",
  "target": {"kind": "cpu", "features": [)" INGOT_TEST_FEATURES R"(]},
  "precision": "fp32", "loss": "mse", "optimizer": "momentum", "batch": 4,
  "loss_terms": [{"kind": "mse", "labels": "labels",
                  "whole_batch": )" INGOT_TEST_WHOLE_BATCH R"(}],
  "weights": "embed",
  "state_bytes": 384, "arena_bytes": 448,
  "states": [
    {"name": "w", "role": "parameter", "dtype": "f32", "shape": [3, 1],
     "offset": 0, "init": {"kind": "weights"}},
    {"name": "b", "role": "parameter", "dtype": "f32", "shape": [1],
     "offset": 64, "init": {"kind": "weights"}},
    {"name": "w.momentum", "role": "moment", "dtype": "f32", "shape": [3, 1],
     "offset": 128, "init": {"kind": "fill", "value": 0}},
    {"name": "b.momentum", "role": "moment", "dtype": "f32", "shape": [1],
     "offset": 192, "init": {"kind": "fill", "value": 0}},
    {"name": "step", "role": "step", "dtype": "i64", "shape": [],
     "offset": 256, "init": {"kind": "fill", "value": 0}},
    {"name": "seed", "role": "seed", "dtype": "i64", "shape": [],
     "offset": 320, "init": {"kind": "fill", "value": 0}}],
  "hyperparameters": [{"name": "lr", "default": 0.05},
                      {"name": "momentum", "default": 0.9}],
  "functions": {
    "train_step": {"arena_bytes": 448,
      "inputs": [)" X_INPUT "," LABELS_INPUT R"(,
        {"name": "lr", "kind": "hyper", "dtype": "f64", "shape": [],
         "offset": 128},
        {"name": "momentum", "kind": "hyper", "dtype": "f64", "shape": [],
         "offset": 192}],
      "outputs": [{"name": "loss", "dtype": "f32", "shape": [],
                   "offset": 320},
                  {"name": "grad_norm", "dtype": "f32", "shape": [],
                   "offset": 384}],
      "memory": {"peak_bytes": 832, "weights_bytes": 128,
                 "optimizer_bytes": 256, "gradient_bytes": 0,
                 "activation_bytes": 448, "workspace_bytes": 0,
                 "communication_bytes": 0},
      )" KERNELS R"(},
    "eval_step": {"arena_bytes": 448,
      "inputs": [)" X_INPUT "," LABELS_INPUT R"(,
        {"name": "valid", "kind": "valid", "dtype": "i64", "shape": [],
         "offset": 128}],
      "outputs": [
        {"name": "loss_sum", "dtype": "f32", "shape": [], "offset": 320},
        {"name": "loss_count", "dtype": "f32", "shape": [], "offset": 192},
        {"name": "correct", "dtype": "f32", "shape": [], "offset": 384}],
      )" KERNELS R"(},
    "predict": {"arena_bytes": 448,
      "inputs": [)" X_INPUT R"(],
      "outputs": [{"name": "y", "dtype": "f32", "shape": [4, 1],
                   "offset": 256}],
      )" KERNELS R"(}},
  "export": [{"literal": 4}, {"state": "w", "dtype": "f32"}, {"literal": 1},
             {"state": "b", "dtype": "f64"}, {"literal": 4}]
})";

constexpr char header[] =
    R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},)"
    R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}} )";

/// A safetensors file.
struct __attribute__((packed)) Weights {
  uint64_t headerSize = sizeof(header) - 1;
  char text[sizeof(header) - 1];
  float w[features] = {0.5f, -0.25f, 0.125f}, b = 0.0625f;
  constexpr Weights() {
    for (unsigned i = 0; i < sizeof(text); ++i)
      text[i] = header[i];
  }
};
constexpr Weights weights;

} // namespace

const ingot_module_t ingot_module = {INGOT_ABI_VERSION,
                                     3,
                                     functions,
                                     manifest,
                                     sizeof(manifest) - 1,
                                     reinterpret_cast<const char *>(&weights),
                                     sizeof(weights),
                                     "HEAD|TAIL",
                                     10,
                                     nullptr,
                                     0,
                                     nullptr,
                                     nullptr};
