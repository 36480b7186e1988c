#include "runtime/cuda/ProductTuner.h"

#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

using namespace ingot::runtime;

/// The first line of the file: others are left alone.
static constexpr std::string_view header = "ingot cublaslt 1\n";

static std::string toHex(const cublasLtMatmulAlgo_t &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data) {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx",
                  static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

static std::optional<cublasLtMatmulAlgo_t> fromHex(const std::string &text) {
  constexpr size_t digits = 16;
  cublasLtMatmulAlgo_t algorithm = {};
  size_t words = sizeof(algorithm.data) / sizeof(algorithm.data[0]);
  if (text.size() != words * digits ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (size_t i = 0; i < words; ++i)
    algorithm.data[i] =
        std::strtoull(text.substr(i * digits, digits).c_str(), nullptr, 16);
  return algorithm;
}

/// Where choices are kept by default; empty if the user has no such folder.
static std::string getDefaultPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (cache && *cache)
    return std::string(cache) + "/ingot/cublaslt.txt";
  return home && *home ? std::string(home) + "/.cache/ingot/cublaslt.txt" : "";
}

std::unique_ptr<ProductTuner> ProductTuner::create(const Driver &driver,
                                                   CUstream stream,
                                                   const std::string &machine) {
  const char *setting = std::getenv("INGOT_CUDA_TUNE");
  if (!setting || !*setting || std::strcmp(setting, "0") == 0)
    return nullptr;
  return std::make_unique<ProductTuner>(
      driver, stream, machine,
      std::strcmp(setting, "1") == 0 ? getDefaultPath() : setting);
}

ProductTuner::ProductTuner(const Driver &driver, CUstream stream,
                           std::string machine, std::string path)
    : driver(driver), stream(stream), machine(std::move(machine)),
      path(std::move(path)) {
  std::replace(this->machine.begin(), this->machine.end(), '\t', ' ');
  driver.check(driver.cuEventCreate(&begin, CU_EVENT_DEFAULT),
               "making an event");
  driver.check(driver.cuEventCreate(&end, CU_EVENT_DEFAULT), "making an event");
  read();
}

ProductTuner::~ProductTuner() {
  for (CUevent event : {begin, end})
    if (event)
      (void)driver.cuEventDestroy(event);
}

/// Takes in what is not known yet. A file that cannot be read, or lines that
/// are none, cost nothing but measuring again.
void ProductTuner::read() {
  if (!std::filesystem::is_regular_file(path))
    return;
  try {
    MappedFile file(path);
    std::string_view text = file.getBytes();
    if (text.substr(0, header.size()) != header)
      return;
    text.remove_prefix(header.size());
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      size_t tab = line.rfind('\t');
      if (tab != std::string_view::npos)
        choices.emplace(line.substr(0, tab), line.substr(tab + 1));
    }
  } catch (const Error &) {
    return;
  }
}

std::optional<cublasLtMatmulAlgo_t>
ProductTuner::find(const std::string &key) const {
  auto found = choices.find(machine + '\t' + key);
  return found == choices.end() ? std::nullopt : fromHex(found->second);
}

std::string ProductTuner::keep(const std::string &key,
                               const cublasLtMatmulAlgo_t &algorithm) {
  choices[machine + '\t' + key] = toHex(algorithm);
  if (path.empty())
    return "HOME is not set";
  // Other ranks and trainers write as well.
  read();
  try {
    std::error_code problem;
    if (std::string folder = getDirectory(path); !folder.empty())
      std::filesystem::create_directories(folder, problem);
    AtomicFile file(path);
    file.write(header);
    for (const auto &[name, text] : choices)
      file.write(name + '\t' + text + '\n');
    file.commit();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

std::optional<float> ProductTuner::time(const std::function<bool()> &put) {
  // The first run loads code. Of the others the fastest counts: what disturbs
  // one only makes it slower.
  constexpr int runs = 5;
  if (!put())
    return std::nullopt;
  std::optional<float> best;
  for (int i = 0; i < runs; ++i) {
    driver.check(driver.cuEventRecord(begin, stream), "recording an event");
    if (!put())
      return std::nullopt;
    driver.check(driver.cuEventRecord(end, stream), "recording an event");
    driver.check(driver.cuEventSynchronize(end), "timing a product");
    float milliseconds = 0;
    driver.check(driver.cuEventElapsedTime(&milliseconds, begin, end),
                 "timing a product");
    best = best ? std::min(*best, milliseconds) : milliseconds;
  }
  return best;
}
