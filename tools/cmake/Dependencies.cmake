# SPDX-License-Identifier: Apache-2.0
# Finds what Ingot is built from; what is missing is one line that says what to do.

if(DEFINED ENV{INGOT_DEPS})
  set(INGOT_DEPS "$ENV{INGOT_DEPS}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(INGOT_DEPS "$ENV{XDG_CACHE_HOME}/ingot/deps")
else()
  set(INGOT_DEPS "$ENV{HOME}/.cache/ingot/deps")
endif()

macro(ingot_find name what)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "error: ${what} not found\nhint: run tools/setup")
  endif()
endmacro()

set(llvm_cmake "/usr/lib/llvm-${INGOT_LLVM_VERSION}/lib/cmake")
ingot_find(MLIR "MLIR ${INGOT_LLVM_VERSION}" CONFIG HINTS "${llvm_cmake}/mlir")
if(NOT LLVM_VERSION_MAJOR EQUAL INGOT_LLVM_VERSION)
  message(FATAL_ERROR "error: LLVM ${LLVM_PACKAGE_VERSION} at ${LLVM_DIR}: Ingot needs ${INGOT_LLVM_VERSION}\n"
                      "hint: run tools/setup, or set MLIR_DIR to an LLVM ${INGOT_LLVM_VERSION} installation")
endif()

set(Protobuf_USE_STATIC_LIBS OFF)
ingot_find(Protobuf "protobuf")
ingot_find(ONNX "ONNX ${INGOT_ONNX_VERSION}" CONFIG HINTS "${INGOT_DEPS}/onnx-${INGOT_ONNX_VERSION}")
ingot_find(dnnl "oneDNN" CONFIG HINTS "${INGOT_DEPS}/onednn-${INGOT_ONEDNN_VERSION}")
ingot_find(CLI11 "CLI11" CONFIG)
ingot_find(nlohmann_json "nlohmann-json" CONFIG)
ingot_find(fmt "fmt" CONFIG)
ingot_find(ZLIB "zlib")
ingot_find(GTest "GoogleTest")

# Trainers for GPUs are built where CUDA's headers are; nothing runs there.
set(INGOT_CUDA AUTO CACHE STRING "Runtime for NVIDIA GPUs: AUTO, ON or OFF")
if(INGOT_CUDA STREQUAL "OFF")
  unset(CUDA_INCLUDE_DIR CACHE)
else()
  find_path(CUDA_INCLUDE_DIR cublasLt.h HINTS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
  if(INGOT_CUDA STREQUAL "ON" AND NOT CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "error: the headers of CUDA not found\nhint: set CUDA_HOME, or INGOT_CUDA=OFF")
  endif()
  set(frontend "${INGOT_DEPS}/cudnn-frontend-${INGOT_CUDNN_FRONTEND_VERSION}/include")
  find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS "${frontend}")
  if(CUDA_INCLUDE_DIR AND NOT CUDNN_FRONTEND_INCLUDE_DIR)
    message(FATAL_ERROR "error: cuDNN's frontend not found\nhint: run tools/setup, or set INGOT_CUDA=OFF")
  endif()
endif()

set(INGOT_PYTHON "${INGOT_DEPS}/python/bin/python")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
