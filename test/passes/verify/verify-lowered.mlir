// RUN: ingot-opt %s --ingot-verify-lowered --split-input-file --verify-diagnostics

llvm.func @step(%context: !llvm.ptr) {
  llvm.return
}

// -----

// expected-error @below {{is not of the LLVM dialect}}
func.func @step() {
  return
}

// -----

llvm.func @step(%x: i64) {
  // expected-error @below {{is not of the LLVM dialect}}
  %0 = builtin.unrealized_conversion_cast %x : i64 to index
  llvm.return
}
