// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs what MakeCases.cpp made on the GPU, each function twice, and compares
// with the interpreter's results and with itself. One line of JSON per
// function: {"library", "case", "ok", "difference"}; a library that does not
// run at all has a line without a function.
//
// --copies BYTES...: times copies on the GPU as profiles time kernels; a line
// for each size: {"bytes", "us": the time of each, "times": what took them}.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Context.h"
#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/core/libraries/JsonLibrary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

using namespace ingot::runtime;
using nlohmann::json;

static std::string fromHex(const std::string &text) {
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

namespace {
struct Value {
  char *place;
  std::string bytes;
  DType type;
  /// Relative to the larger of 1 and the magnitude.
  double leeway;
  /// The bound of each element, if not empty.
  std::vector<double> bounds;

  double getBound(int64_t i, double expected) const {
    return bounds.empty() ? leeway * std::max(1.0, std::fabs(expected))
                          : bounds[i];
  }
};

class Library {
public:
  explicit Library(const char *path);
  /// Prints a line per function; returns whether all are as expected.
  bool run();

private:
  std::vector<Value> readValues(const json &list) const;
  /// The bytes of all results after a run from fresh memory.
  std::vector<std::string> run(ingot_step_fn function,
                               const std::vector<Value> &arguments,
                               const std::vector<Value> &results);

  const char *path;
  const ingot_module_t *module;
  json description;
  Manifest manifest;
  std::unique_ptr<Device> device;
  /// For ingot_shards.
  std::vector<char *> addresses;
  Transfers::Mark done = 0;
  /// The notes of the last run.
  std::vector<std::string> notes;
};
} // namespace

Library::Library(const char *path) : path(path) {
  void *handle = dlopen(path, RTLD_NOW);
  if (!handle)
    throw failure(path, dlerror(), "make the cases again");
  module = static_cast<const ingot_module_t *>(dlsym(handle, "ingot_module"));
  if (!module || module->abi_version != INGOT_ABI_VERSION)
    throw failure(path, "another version", "make the cases again");
  description =
      json::parse(std::string_view(module->manifest, module->manifest_bytes));
  manifest.target.kind = "cuda";
  manifest.target.arch = description["arch"];
  manifest.stateBytes = description["state_bytes"];
  manifest.arenaBytes = description["arena_bytes"];
  for (const json &message : description["messages"])
    manifest.payloads.push_back({message["offset"], message["rank_bytes"]});
  device = openDevice(*module, manifest);
  done = device->getTransfers()->makeMark();
  if (manifest.payloads.empty())
    return;
  char *place = device->allocateShards(manifest.getPayloadBytes(/*ranks=*/1));
  for (const PayloadSpec &payload : manifest.payloads) {
    size_t number = payload.offset / sizeof(char *);
    addresses.resize(std::max(addresses.size(), number + 1));
    addresses[number] = place;
    place += payload.getBytes(/*ranks=*/1);
  }
}

std::vector<Value> Library::readValues(const json &list) const {
  std::vector<Value> values;
  for (const json &item : list) {
    char *block = item["state"] ? device->getState() : device->getArena();
    std::string bytes = fromHex(item.value("bounds", ""));
    std::vector<double> bounds(bytes.size() / sizeof(double));
    std::memcpy(bounds.data(), bytes.data(), bytes.size());
    values.push_back({block + item["offset"].get<int64_t>(),
                      fromHex(item["data"]),
                      *parseName<DType>(item["dtype"].get<std::string>()),
                      item.value("leeway", 0.0), std::move(bounds)});
  }
  return values;
}

std::vector<std::string> Library::run(ingot_step_fn function,
                                      const std::vector<Value> &arguments,
                                      const std::vector<Value> &results) {
  Transfers &transfers = *device->getTransfers();
  auto wait = [&] {
    transfers.setMark(done, Queue::Runs);
    transfers.wait(done);
  };
  // All ones is NaN as a float.
  std::string poison(manifest.arenaBytes, '\xff');
  transfers.copyIn(Queue::Runs, device->getArena(), poison.data(),
                   poison.size());
  for (const json &state : description["states"]) {
    std::string bytes = fromHex(state["data"]);
    transfers.copyIn(Queue::Runs,
                     device->getState() + state["offset"].get<int64_t>(),
                     bytes.data(), bytes.size());
    wait();
  }
  for (const Value &argument : arguments)
    transfers.copyIn(Queue::Runs, argument.place, argument.bytes.data(),
                     argument.bytes.size());
  wait();
  ingot_context context;
  context.device = device.get();
  context.shards = addresses;
  function(&context, device->getState(), device->getArena());
  if (context.failed)
    throw failure("run", context.message, "see compute-sanitizer");
  notes = context.notes;
  std::vector<std::string> bytes;
  for (const Value &result : results) {
    bytes.emplace_back(result.bytes.size(), '\0');
    transfers.copyOut(bytes.back().data(), result.place, bytes.back().size());
  }
  wait();
  return bytes;
}

/// Empty if they are as close as they should be; else the first element that is
/// not, and how many there are.
static std::string compare(const std::string &got, const Value &expected) {
  if (got == expected.bytes)
    return "";
  int64_t count = static_cast<int64_t>(got.size()) / getSize(expected.type);
  std::vector<double> a(count), b(count);
  convert(got.data(), expected.type, a.data(), DType::F64, count);
  convert(expected.bytes.data(), expected.type, b.data(), DType::F64, count);
  std::string first;
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    double bound = expected.getBound(i, b[i]);
    if (std::isinf(bound) || std::fabs(a[i] - b[i]) <= bound)
      continue;
    if (wrong++ == 0)
      first = "element " + std::to_string(i) + ": " + std::to_string(a[i]) +
              ", expected " + std::to_string(b[i]) + " within " +
              std::to_string(bound);
  }
  if (wrong > 1)
    first += " (" + std::to_string(wrong) + " of " + std::to_string(count) +
             " elements)";
  return first;
}

/// Prints a line that is there even if the next function crashes.
static void print(const json &line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

bool Library::run() {
  bool all = true;
  for (const json &item : description["functions"]) {
    std::string name = item["name"], difference;
    notes.clear();
    ingot_step_fn function = nullptr;
    for (uint32_t i = 0; i < module->function_count; ++i)
      if (name == module->functions[i].name)
        function = module->functions[i].run;
    std::vector<Value> arguments = readValues(item["arguments"]);
    std::vector<Value> results = readValues(item["results"]);
    try {
      std::vector<std::string> got = run(function, arguments, results);
      for (size_t i = 0; i < results.size() && difference.empty(); ++i)
        if (difference = compare(got[i], results[i]); !difference.empty())
          difference = "result " + std::to_string(i) + ", " + difference;
      if (difference.empty() && run(function, arguments, results) != got)
        difference = "other bits in the second run";
    } catch (const Error &error) {
      difference = error.getWhere() + ": " + error.getWhat();
    }
    all &= difference.empty();
    json line = {{"library", path},
                 {"case", name},
                 {"ok", difference.empty()},
                 {"difference", difference},
                 {"notes", notes}};
    print(line);
  }
  return all;
}

namespace {
/// Copies between parts of one block, each time others.
class Copies {
public:
  explicit Copies(int64_t most);
  /// Prints the line of copies of `bytes`.
  void run(int64_t bytes);

private:
  static void step(ingot_context *context, char *state, char *arena);

  inline static ingot_copy_desc desc = {};
  inline static int64_t from = 0, to = 0;
  ingot_module_t module = {};
  Manifest manifest;
  std::unique_ptr<Device> device;
};
} // namespace

Copies::Copies(int64_t most) {
  // More than any cache holds.
  constexpr int64_t least = int64_t(1) << 30;
  module.device_ptx = ".version 7.0\n.target sm_80\n.address_size 64\n";
  manifest.target.kind = "cuda";
  manifest.target.arch = "sm_80";
  manifest.arenaBytes = std::max(2 * most, least);
  manifest.functions.emplace_back();
  // A graph would copy the same bytes each time.
  setenv("INGOT_CUDA_GRAPH", "0", /*overwrite=*/1);
  device = openDevice(module, manifest);
  device->prepareProfile();
}

void Copies::step(ingot_context *context, char *, char *arena) {
  ingot_copy(context, &desc, arena + from, arena + to);
}

void Copies::run(int64_t bytes) {
  constexpr int times = 12, warmup = 2;
  desc.bytes = bytes;
  desc.element_bytes = 1;
  ingot_context context;
  context.device = device.get();
  context.profiling = true;
  int64_t places = manifest.arenaBytes / bytes;
  std::vector<double> microseconds;
  for (int64_t i = 0; i < times; ++i) {
    from = 2 * i % places * bytes;
    to = (2 * i + 1) % places * bytes;
    context.events.clear();
    device->run(context, /*index=*/0, step);
    if (context.failed || context.error || context.events.empty())
      throw failure("copies", "nothing was timed: " + context.message,
                    "see nvidia-smi");
    auto time = context.events.back().end - context.events.back().begin;
    if (i >= warmup)
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(time).count());
  }
  print({{"bytes", bytes},
         {"us", microseconds},
         {"times", device->describeTimes()}});
}

/// Times copies of all sizes; returns the exit status.
static int timeCopies(char **arguments, int count) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < count; ++i)
    sizes.push_back(std::max<int64_t>(1, std::atoll(arguments[i])));
  try {
    Copies copies(sizes.empty() ? 1 : *std::ranges::max_element(sizes));
    for (int64_t bytes : sizes)
      copies.run(bytes);
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s: %s\n", error.getWhere().c_str(),
                 error.getWhat().c_str());
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--copies")
    return timeCopies(argv + 2, argc - 2);
  bool all = true;
  for (int i = 1; i < argc; ++i)
    try {
      all &= Library(argv[i]).run();
    } catch (const Error &error) {
      all = false;
      print({{"library", argv[i]},
             {"case", ""},
             {"ok", false},
             {"difference", error.getWhere() + ": " + error.getWhat()}});
    }
  return all ? 0 : 1;
}
