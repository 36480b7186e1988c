// RUN: ingot-opt %s --ingot-chunk-loss=min-bytes=0 --remarks-filter=chunk-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=WHOLE
// RUN: ingot-opt %s --ingot-chunk-loss="min-bytes=0 memory-budget=1GiB" --remarks-filter=chunk-loss --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=BUDGET

// Tests that a GPU computes a loss whole unless there is a memory budget, and
// then in chunks of as many rows as its rates ask for: 3,991 on an H100.
// WHOLE:  remark: [Missed] ChunkedLoss {{.*}}no memory budget asks for it
// BUDGET: remark: [Passed] ChunkedLoss {{.*}}chunks=4
module attributes {ingot.target = #ingot.target<"cuda", arch = "sm_90">} {
  func.func @gradients(%x: tensor<16384x64xbf16>, %w: tensor<50304x64xbf16>, %labels: tensor<16384xi64>, %g: tensor<16384xf32>) -> (tensor<16384xf32>, tensor<16384x64xbf16>) {
    %logits = ingot.matmul %x, %w transposed : (tensor<16384x64xbf16>, tensor<50304x64xbf16>) -> tensor<16384x50304xbf16>
    %wide = ingot.cast %logits : tensor<16384x50304xbf16> -> tensor<16384x50304xf32>
    %loss, %lse = ingot.cross_entropy %wide, %labels dim = 1 : (tensor<16384x50304xf32>, tensor<16384xi64>) -> (tensor<16384xf32>, tensor<16384xf32>)
    %lses = ingot.broadcast %lse dims = [0] : tensor<16384xf32> -> tensor<16384x50304xf32>
    %shifted = ingot.sub %wide, %lses : tensor<16384x50304xf32>
    %p = ingot.exp %shifted : tensor<16384x50304xf32>
    %gs = ingot.broadcast %g dims = [0] : tensor<16384xf32> -> tensor<16384x50304xf32>
    %dlogits = ingot.mul %p, %gs : tensor<16384x50304xf32>
    %low = ingot.cast %dlogits : tensor<16384x50304xf32> -> tensor<16384x50304xbf16>
    %dx = ingot.matmul %low, %w : (tensor<16384x50304xbf16>, tensor<50304x64xbf16>) -> tensor<16384x64xbf16>
    return %loss, %dx : tensor<16384xf32>, tensor<16384x64xbf16>
  }
}
