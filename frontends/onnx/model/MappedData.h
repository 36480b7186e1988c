// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Large tensors of external data, which are mapped instead of read: a model of
// many gigabytes then takes the memory of what is looked at. Such a tensor has
// raw data without bytes, and refers to the mapping by an entry of its external
// data, which copies of the tensor have as well.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_MAPPEDDATA_H
#define INGOT_FRONTENDS_ONNX_MODEL_MAPPEDDATA_H

#include "mlir/IR/BuiltinAttributes.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <vector>

namespace ingot::onnx_import {

/// Keeps the mappings that tensors refer to, while it lives, for the thread.
/// Attributes that are made of them keep their own.
class MappedDataScope {
public:
  MappedDataScope();
  MappedDataScope(const MappedDataScope &) = delete;
  MappedDataScope &operator=(const MappedDataScope &) = delete;
  ~MappedDataScope();

private:
  size_t before;
};

/// Makes a tensor refer to bytes of an open file, if it is worth it: they are
/// many, elements are floating point and aligned, and there is a scope. Returns
/// whether it does.
bool mapData(onnx::TensorProto &tensor, int descriptor, uint64_t offset,
             uint64_t bytes);

/// Makes a tensor one whose bytes nobody has: only its type and its sizes are
/// known. Returns false if its elements are not floating point, or its sizes
/// are none.
bool leaveOutData(onnx::TensorProto &tensor);

/// Whether leaveOutData() has made the tensor.
bool hasNoData(const onnx::TensorProto &tensor);

/// Whether the bytes of the tensor are mapped, or left out.
bool isMapped(const onnx::TensorProto &tensor);

/// Returns the raw data of a tensor, mapped or not; nothing if it is left out.
llvm::StringRef rawBytes(const onnx::TensorProto &tensor);

/// Returns the size of the raw data of a tensor, also if it is left out.
size_t rawSize(const onnx::TensorProto &tensor);

/// Returns a tensor without its raw data and the reference to it.
onnx::TensorProto withoutData(onnx::TensorProto &tensor);

/// Returns the elements of a mapped tensor as an attribute: a splat if they are
/// equal, otherwise a resource called `name` that refers to the mapping. What
/// is left out is a splat: 0 in vectors whose name ends in `bias`, 1 in others,
/// and in matrices NaN, which says that a trainer has to draw elements.
mlir::ElementsAttr mappedAttr(mlir::RankedTensorType type,
                              const onnx::TensorProto &tensor);

/// Gives the memory of bytes that are mapped, and have been looked at, back to
/// the system. Does nothing with other bytes.
void releaseMapped(llvm::StringRef bytes);

/// While it lives, mapped tensors of a graph have no elements: the ONNX library
/// checks that others have their bytes.
class EmptyMappedTensors {
public:
  explicit EmptyMappedTensors(onnx::GraphProto &graph);
  EmptyMappedTensors(const EmptyMappedTensors &) = delete;
  EmptyMappedTensors &operator=(const EmptyMappedTensors &) = delete;
  ~EmptyMappedTensors();

private:
  std::vector<std::pair<onnx::TensorProto *, std::vector<int64_t>>> tensors;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_MAPPEDDATA_H
