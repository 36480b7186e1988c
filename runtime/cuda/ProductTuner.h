//===----------------------------------------------------------------------===//
//
// Which algorithm of cuBLASLt is the fastest for a product, by trying. Off
// unless the environment variable INGOT_CUDA_TUNE is `1`, or the file to keep
// choices in.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_PRODUCTTUNER_H
#define INGOT_RUNTIME_CUDA_PRODUCTTUNER_H

#include "runtime/cuda/Driver.h"

#include <cublasLt.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ingot::runtime {

class ProductTuner {
public:
  /// Null unless the user asks for it. Choices hold for `machine`: the GPU and
  /// the library's version.
  static std::unique_ptr<ProductTuner>
  create(const Driver &driver, CUstream stream, const std::string &machine);

  ProductTuner(const Driver &driver, CUstream stream, std::string machine,
               std::string path);
  ~ProductTuner();

  /// What was chosen before for the product that `key` describes.
  std::optional<cublasLtMatmulAlgo_t> find(const std::string &key) const;
  /// Keeps a choice, in the file as well. Returns what went wrong with that;
  /// empty if nothing did.
  std::string keep(const std::string &key,
                   const cublasLtMatmulAlgo_t &algorithm);
  /// Milliseconds that what `put` puts into the stream takes; nothing if it
  /// returns false. Waits for the GPU. Throws failure.
  std::optional<float> time(const std::function<bool()> &put);

private:
  void read();

  const Driver &driver;
  CUstream stream;
  std::string machine, path;
  CUevent begin = nullptr, end = nullptr;
  /// Lines of the file: machine and key, and the algorithm in hexadecimal.
  std::map<std::string, std::string> choices;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_PRODUCTTUNER_H
