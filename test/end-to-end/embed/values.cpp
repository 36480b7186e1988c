// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// values FOLDER: a session through ingot.hpp: states and hyperparameters by
// name, predictions, evaluations of parts of a batch, and starting again.
//
//===----------------------------------------------------------------------===//

#include "ingot.hpp"

#include "Support.h"

#include <cmath>
#include <cstring>

extern "C" const ingot_model *MODEL(void);

static ingot_tensor find(const std::vector<ingot_tensor> &list,
                         ingot_role role) {
  for (const ingot_tensor &tensor : list)
    if (tensor.role == role)
      return tensor;
  CHECK(false);
  return {};
}

int main(int, char **argv) {
  ingot::Options options;
  options.threads = 1;
  ingot::Session session(MODEL(), options);
  CHECK(session.getStatistics().threads == 1);
  Batches batches = readBatches(session.get(), argv[1]);
  double first = train(session.get(), &batches, 0);

  // A parameter leaves and comes back in other types.
  std::vector<ingot_tensor> states = session.list(INGOT_STATES);
  ingot_tensor weight = find(states, INGOT_ROLE_PARAMETER);
  CHECK(find(states, INGOT_ROLE_OPTIMIZER).elements > 0);
  std::vector<float> values(weight.elements);
  std::vector<double> wide(weight.elements);
  session.getState(weight.name, values);
  session.getState(weight.name, wide);
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == wide[i] && std::isfinite(wide[i]));
  for (double &value : wide)
    value = 0.25;
  session.setState(weight.name, wide);
  session.getState(weight.name, values);
  for (float value : values)
    CHECK(value == 0.25f);

  // A rate of zero changes nothing.
  CHECK(session.getHyperparameter("lr") > 0);
  session.setHyperparameter("lr", 0);
  train(session.get(), &batches, 1);
  session.getState(weight.name, values);
  for (float value : values)
    CHECK(value == 0.25f);

  // Starting again makes the same first step.
  session.reset(0);
  CHECK(session.getStatistics().steps == 0);
  CHECK(train(session.get(), &batches, 0) == first);
  CHECK(session.getStatistics().steps == 1);

  // The sums of two parts of a batch are those of the whole.
  ingot_tensor input = session.list(INGOT_EVALUATE_INPUTS)[0];
  size_t batch = static_cast<size_t>(input.shape[0]), half = batch / 2;
  size_t results = ingot_count(session.get(), INGOT_EVALUATE_RESULTS);
  std::vector<double> sums(3 * results);
  const size_t starts[] = {0, 0, half}, counts[] = {batch, half, batch - half};
  for (int part = 0; part < 3; ++part) {
    std::vector<ingot_input> inputs(batches.inputs);
    for (size_t i = 0; i < batches.inputs; ++i)
      inputs[i] = {batches.data[i] + batches.bytes[i] / batch * starts[part],
                   batches.bytes[i] / batch * counts[part]};
    ingot::check(ingot_evaluate(session.get(), inputs.data(), inputs.size(),
                                counts[part], &sums[part * results], results));
  }
  for (size_t i = 0; i < results; ++i)
    CHECK(std::fabs(sums[i] - sums[results + i] - sums[2 * results + i]) <
          1e-4 * (1 + std::fabs(sums[i])));

  // Predictions of one sample are the first of those of all.
  ingot_tensor output = session.list(INGOT_PREDICT_OUTPUTS)[0];
  std::vector<char> all(output.bytes), one(output.bytes / batch);
  ingot::Input image(batches.data[0], batches.bytes[0]);
  session.predict({image}, batch, {all});
  session.predict({{batches.data[0], batches.bytes[0] / batch}}, 1, {one});
  for (size_t i = 0; i < one.size() / sizeof(float); ++i) {
    float a = 0, b = 0;
    std::memcpy(&a, &all[i * sizeof(a)], sizeof(a));
    std::memcpy(&b, &one[i * sizeof(b)], sizeof(b));
    CHECK(std::fabs(a - b) < 1e-5 * (1 + std::fabs(a)));
  }

  try {
    session.setHyperparameter("speed", 1);
    CHECK(false);
  } catch (const ingot::Error &error) {
    CHECK(error.getStatus() == INGOT_USAGE);
  }
  freeBatches(&batches);
  return 0;
}
