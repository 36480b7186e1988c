// SPDX-License-Identifier: Apache-2.0

#include "runtime/embed/ModelLists.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <iterator>

using namespace ingot::runtime;

/// The types of the manifest by those of ingot.h.
static constexpr DType kTypes[] = {DType::F64,  DType::F32, DType::F16,
                                   DType::BF16, DType::I64, DType::I32,
                                   DType::I8,   DType::U8,  DType::Bool};

ingot_type ingot::runtime::getPublicType(DType type) {
  const auto *found = std::find(std::begin(kTypes), std::end(kTypes), type);
  if (found == std::end(kTypes))
    throw failure("module manifest",
                  "a tensor has the type " + std::string(getName(type)),
                  "compile the model again");
  return static_cast<ingot_type>(found - std::begin(kTypes));
}

std::optional<DType> ingot::runtime::getDType(ingot_type type) {
  auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? std::optional(kTypes[index])
                                   : std::nullopt;
}

bool ingot::runtime::isResult(const TensorSpec &output) {
  return output.getElements() == 1 && !output.name.starts_with("metric.");
}

bool ingot::runtime::isListed(const StateSpec &state) {
  return state.isSaved();
}

static ingot_role getRole(StateRole role) {
  switch (role) {
  case StateRole::Parameter:
    return INGOT_ROLE_PARAMETER;
  case StateRole::Frozen:
    return INGOT_ROLE_FROZEN;
  case StateRole::Running:
    return INGOT_ROLE_RUNNING;
  default:
    return INGOT_ROLE_OPTIMIZER;
  }
}

const int64_t *ModelLists::keep(const std::vector<int64_t> &shape) {
  return extents.emplace_back(shape).data();
}

ingot_tensor ModelLists::describe(const TensorSpec &spec, int64_t batches) {
  std::vector<int64_t> shape = spec.shape;
  if (!shape.empty())
    shape[0] *= batches;
  ingot_tensor tensor = {};
  tensor.name = spec.name.c_str();
  tensor.shape = keep(shape);
  tensor.rank = shape.size();
  tensor.elements = static_cast<size_t>(spec.getElements() * batches);
  tensor.bytes = static_cast<size_t>(spec.getBytes() * batches);
  tensor.type = getPublicType(spec.dtype);
  return tensor;
}

void ModelLists::addFunction(Lists &lists, const FunctionSpec *function,
                             ingot_list inputs, int64_t batches) {
  if (!function)
    return;
  for (const InputSpec &input : function->inputs)
    if (input.isBatched())
      lists[inputs].push_back(describe(input, batches));
  std::vector<ingot_tensor> &outputs = lists[inputs + 1];
  for (const TensorSpec &output : function->outputs)
    if (inputs == INGOT_PREDICT_INPUTS || isResult(output))
      outputs.push_back(describe(output));
}

ModelLists::ModelLists(const Manifest &manifest) {
  auto number = [&](const std::string &name) {
    ingot_tensor tensor = {};
    tensor.name = name.c_str();
    tensor.elements = 1;
    tensor.bytes = sizeof(double);
    tensor.type = INGOT_TYPE_F64;
    return tensor;
  };
  for (size_t shape = 0; shape < manifest.variants.size(); ++shape) {
    Lists &lists = all.emplace_back();
    addFunction(lists, manifest.findFunction("train_step", shape),
                INGOT_STEP_INPUTS, manifest.gradAccumulation);
    addFunction(lists, manifest.findFunction("eval_step", shape),
                INGOT_EVALUATE_INPUTS, 1);
    addFunction(lists, manifest.findFunction("predict", shape),
                INGOT_PREDICT_INPUTS, 1);
    for (const StateSpec &state : manifest.states) {
      if (!isListed(state))
        continue;
      ingot_tensor tensor = describe(state);
      tensor.role = getRole(state.role);
      lists[INGOT_STATES].push_back(tensor);
    }
    for (const HyperparameterSpec &spec : manifest.hyperparameters)
      lists[INGOT_HYPERPARAMETERS].push_back(number(spec.name));
    for (const std::string &name : manifest.variants)
      lists[INGOT_SHAPES].push_back(number(name));
  }
}

const std::vector<ingot_tensor> &ModelLists::get(ingot_list list,
                                                 size_t shape) const {
  static const std::vector<ingot_tensor> none;
  auto index = static_cast<size_t>(list);
  return index < kLists ? all[shape][index] : none;
}
