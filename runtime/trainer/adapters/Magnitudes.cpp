// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Magnitudes of adapters that a run starts with.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/TensorFiles.h"
#include "runtime/trainer/adapters/AdapterFiles.h"
#include "runtime/trainer/state/AdapterStates.h"
#include "runtime/trainer/state/State.h"
#include "runtime/trainer/state/StateValues.h"

#include <cmath>
#include <optional>
#include <vector>

using namespace ingot::runtime;

/// Sets the squares of the norms of the rows of a weight, and the magnitudes of
/// its adapter to these norms if they start there; null stands for the weight
/// of the session.
static void setMagnitude(Session &session, const AdapterSpec &adapter,
                         const TensorView *weight, bool starts) {
  const Manifest &manifest = session.getManifest();
  const StateSpec &own = *manifest.findState(adapter.weight);
  const StateSpec &magnitude = *manifest.findState(adapter.magnitude);
  int64_t rows = own.getWholeShape()[0],
          columns = own.getWholeElements() / rows;
  std::vector<double> norms(adapter.transposed ? columns : rows), row(columns);
  for (int64_t i = 0; i < rows; ++i) {
    if (weight)
      convert(weight->data.data() + i * columns * getSize(weight->dtype),
              weight->dtype, reinterpret_cast<char *>(row.data()), DType::F64,
              columns);
    else
      readValues(session, own, i * columns, columns, row.data(), DType::F64);
    for (int64_t k = 0; k < columns; ++k)
      norms[adapter.transposed ? k : i] += row[k] * row[k];
  }
  auto assign = [&](const StateSpec &spec, const std::vector<double> &values) {
    std::string_view data(reinterpret_cast<const char *>(values.data()),
                          values.size() * sizeof(double));
    assignState(session, spec, {DType::F64, spec.getWholeShape(), data},
                spec.name);
  };
  assign(*manifest.findState(getSquaresName(adapter)), norms);
  if (!starts)
    return;
  for (double &norm : norms)
    norm = std::sqrt(norm);
  assign(magnitude, norms);
}

void ingot::runtime::startMagnitudes(Session &session,
                                     const std::string &weights) {
  const Manifest &manifest = session.getManifest();
  std::optional<TensorFiles> files;
  if (!weights.empty())
    files.emplace(weights);
  auto find = [&](const std::string &name) -> const TensorView * {
    if (!files)
      return nullptr;
    const auto &tensors = files->getContent().tensors;
    auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  };
  for (const AdapterSpec &adapter : manifest.adapters) {
    const StateSpec *magnitude = manifest.findState(adapter.magnitude);
    if (!magnitude)
      continue;
    bool starts = !find(adapter.magnitude);
    if (const TensorView *weight = find(adapter.weight))
      setMagnitude(session, adapter, weight, starts);
    // Without weights of the compiler, it is drawn.
    else if (magnitude->init.kind == InitKind::Normal)
      setMagnitude(session, adapter, nullptr, starts);
  }
  refreshCopies(session);
}
