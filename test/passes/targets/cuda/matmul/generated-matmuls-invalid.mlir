// RUN: ingot-opt %s "--ingot-attach-target=target=cuda arch=sm_90" --ingot-emit-cuda-kernels --split-input-file --verify-diagnostics

// Tests that a matmul without an epilogue of the library is refused where there
// is no generated kernel, as for another architecture.
exec.step @train_step attributes {arena_bytes = 128 : i64} {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  %b = exec.buffer arena 64 : memref<4x4xf32>
  // expected-error @+1 {{has no generated kernel: generated matmuls are for sm_90a}}
  exec.matmul_epilogue %a, %a <batch = 1, m = 4, n = 4, k = 4>() -> (%b) {flops = 9 : i64, product = 0 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}

// -----

// Tests that the epilogue has to be a kernel still.
func.func private @finish()
exec.step @train_step attributes {arena_bytes = 128 : i64} {
  %a = exec.buffer arena 0 : memref<4x4xf32>
  %b = exec.buffer arena 64 : memref<4x4xf32>
  // expected-error @+1 {{has an epilogue that is not an 'exec.kernel' any more}}
  exec.matmul_epilogue %a, %a <batch = 1, m = 4, n = 4, k = 4> finish @finish() -> (%b) {flops = 9 : i64, product = 0 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
}
