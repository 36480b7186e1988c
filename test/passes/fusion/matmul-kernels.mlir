// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a" --ingot-form-fusions --split-input-file | FileCheck %s
// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a" --ingot-form-fusions --split-input-file --remarks-filter=form-fusions --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a options=matmul-kernels=own" --ingot-form-fusions --split-input-file | FileCheck %s --check-prefix=OWN
// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90a options=matmul-kernels=library" --ingot-form-fusions --split-input-file | FileCheck %s --check-prefix=LIBRARY
// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90 options=matmul-kernels=own" --ingot-form-fusions --split-input-file | FileCheck %s --check-prefix=LIBRARY

// Tests that a matmul becomes one generated kernel with SiLU, which the
// library does not have, where the model predicts that it is faster: what the kernel
// saves is more than what its products lose.
//  CHECK-LABEL: func @silu
//        CHECK: ingot.fusion epilogue(%arg0, %arg1) :
//        CHECK: ingot.matmul
//        CHECK: ingot.logistic
//       REMARK: remark: {{\[}}Passed] MatmulKernel {{.*}}kernel_us={{[0-9]+}}, library_us={{[0-9]+}}
//    OWN-LABEL: func @silu
//          OWN: ingot.fusion epilogue(%arg0, %arg1) :
// LIBRARY-LABEL: func @silu
//       LIBRARY: ingot.matmul
//       LIBRARY: ingot.fusion loop
func.func @silu(%a: tensor<8192x768xbf16>, %w: tensor<768x3072xbf16>) -> tensor<8192x3072xbf16> {
  %0 = ingot.matmul %a, %w : (tensor<8192x768xbf16>, tensor<768x3072xbf16>) -> tensor<8192x3072xbf16>
  %1 = ingot.cast %0 : tensor<8192x3072xbf16> -> tensor<8192x3072xf32>
  %2 = ingot.logistic %1 : tensor<8192x3072xf32>
  %4 = ingot.mul %2, %1 : tensor<8192x3072xf32>
  %c = ingot.constant dense<0.5> : tensor<8192x3072xf32>
  %5 = ingot.mul %4, %c : tensor<8192x3072xf32>
  %6 = ingot.cast %5 : tensor<8192x3072xf32> -> tensor<8192x3072xbf16>
  return %6 : tensor<8192x3072xbf16>
}

// -----

// Tests that an epilogue of the library is left to it, unless own kernels are
// asked for.
//  CHECK-LABEL: func @bias
//        CHECK: ingot.fusion epilogue{{.*}}{library =
//    OWN-LABEL: func @bias
//          OWN: ingot.fusion epilogue(%arg0, %arg1, %arg2) :
func.func @bias(%a: tensor<256x64xbf16>, %w: tensor<64x128xbf16>, %b: tensor<128xbf16>) -> tensor<256x128xbf16> {
  %0 = ingot.matmul %a, %w : (tensor<256x64xbf16>, tensor<64x128xbf16>) -> tensor<256x128xbf16>
  %1 = ingot.cast %0 : tensor<256x128xbf16> -> tensor<256x128xf32>
  %2 = ingot.cast %b : tensor<128xbf16> -> tensor<128xf32>
  %3 = ingot.broadcast %2 dims = [1] : tensor<128xf32> -> tensor<256x128xf32>
  %4 = ingot.add %1, %3 : tensor<256x128xf32>
  %5 = ingot.cast %4 : tensor<256x128xf32> -> tensor<256x128xbf16>
  return %5 : tensor<256x128xbf16>
}

// -----

// Tests that rows of 12 numbers, 24 bytes, stay with the library: the tensor
// memory accelerator has strides of multiples of 16 bytes.
//   CHECK-LABEL: func @odd
//        REMARK: remark: {{\[}}Missed] MatmulKernel {{.*}}rows of its matrices are not of multiples of 16 bytes
//     OWN-LABEL: func @odd
//           OWN: ingot.matmul
//           OWN: ingot.fusion loop
func.func @odd(%a: tensor<256x12xbf16>, %w: tensor<12x128xbf16>) -> tensor<256x128xbf16> {
  %0 = ingot.matmul %a, %w : (tensor<256x12xbf16>, tensor<12x128xbf16>) -> tensor<256x128xbf16>
  %1 = ingot.cast %0 : tensor<256x128xbf16> -> tensor<256x128xf32>
  %2 = ingot.logistic %1 : tensor<256x128xf32>
  %3 = ingot.cast %2 : tensor<256x128xf32> -> tensor<256x128xbf16>
  return %3 : tensor<256x128xbf16>
}

// -----

// Tests that a matmul alone is the library's, and a kernel without epilogue if
// asked for.
//   CHECK-LABEL: func @alone
//     CHECK-NOT: ingot.fusion
//        REMARK: remark: {{\[}}Missed] MatmulKernel {{.*}}Reason="no loop reads the result"
//     OWN-LABEL: func @alone
//           OWN: ingot.fusion epilogue(%arg0, %arg1) :
// LIBRARY-LABEL: func @alone
//   LIBRARY-NOT: ingot.fusion
func.func @alone(%a: tensor<256x64xbf16>, %w: tensor<64x128xbf16>) -> tensor<256x128xf32> {
  %0 = ingot.matmul %a, %w : (tensor<256x64xbf16>, tensor<64x128xbf16>) -> tensor<256x128xf32>
  return %0 : tensor<256x128xf32>
}
