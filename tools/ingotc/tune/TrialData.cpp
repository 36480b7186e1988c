// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/tune/TrialData.h"

#include "runtime/core/DType.h"
#include "runtime/core/Error.h"
#include "runtime/core/machine/Process.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Zip.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace ingot;

/// Writes the elements of one array.
static void fill(runtime::ZipWriter &writer, runtime::DType dtype,
                 int64_t elements) {
  constexpr int64_t most = 4096;
  int64_t size = runtime::getSize(dtype);
  std::string block(static_cast<size_t>(most * size), '\0');
  std::mt19937_64 source(1);
  std::uniform_real_distribution<double> numbers(0, 1);
  std::vector<double> values(static_cast<size_t>(most));
  std::vector<int64_t> integers;
  for (double &value : values) {
    value = numbers(source);
    integers.push_back(value < 0.5 ? 0 : 1);
  }
  bool isFloat = runtime::isFloat(dtype);
  for (int64_t done = 0; done < elements; done += most) {
    int64_t count = std::min(most, elements - done);
    if (isFloat)
      runtime::convert(values.data(), runtime::DType::F64, block.data(), dtype,
                       count);
    else
      runtime::convert(integers.data(), runtime::DType::I64, block.data(),
                       dtype, count);
    writer.write({block.data(), static_cast<size_t>(count * size)});
  }
}

void ingot::writeTrialData(const std::string &program, const std::string &path,
                           int64_t samples) {
  runtime::ProcessOutput said =
      runtime::runProcess(program, {program, "--inspect=json"}, {},
                          /*isQuiet=*/false, "--tune");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(said.text);
  const llvm::json::Array *inputs =
      json && json->getAsObject() ? json->getAsObject()->getArray("inputs")
                                  : nullptr;
  if (!json)
    llvm::consumeError(json.takeError());
  if (!inputs)
    throw runtime::failure("--tune", program + " does not say its inputs",
                           "give --tune-data FILE");
  runtime::ZipWriter writer(path);
  for (const llvm::json::Value &value : *inputs) {
    const llvm::json::Object &input = *value.getAsObject();
    runtime::DType dtype = runtime::parseName<runtime::DType>(
                               input.getString("dtype").value_or("").str())
                               .value();
    std::vector<int64_t> shape;
    int64_t elements = samples;
    for (const llvm::json::Value &extent : *input.getArray("shape"))
      shape.push_back(extent.getAsInteger().value_or(1));
    shape.front() = samples;
    for (size_t i = 1; i < shape.size(); ++i)
      elements *= shape[i];
    std::string header = runtime::makeNpyHeader(dtype, shape);
    int64_t bytes = elements * runtime::getSize(dtype);
    writer.begin(input.getString("name").value_or("").str() + ".npy",
                 header.size() + static_cast<uint64_t>(bytes));
    writer.write(header);
    fill(writer, dtype, elements);
    writer.end();
  }
  writer.commit();
}
