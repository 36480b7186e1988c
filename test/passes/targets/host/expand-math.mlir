// RUN: ingot-opt %s --split-input-file --ingot-expand-math | FileCheck %s
// RUN: ingot-opt %s --split-input-file --ingot-expand-math=polynomials=false | FileCheck %s --check-prefix=CALLS
// RUN: ingot-opt %s --split-input-file --ingot-expand-math=ldexp | FileCheck %s --check-prefix=LDEXP
// RUN: ingot-opt %s --split-input-file --ingot-expand-math=round-bf16 | FileCheck %s --check-prefix=ROUND
// RUN: ingot-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(ingot-expand-math{approximate-exp}))' | FileCheck %s --check-prefix=APPROXIMATE

// Nothing is left to call; the errors' bounds are in CompiledMathTest.

// CHECK-LABEL: @polynomials
// CHECK-NOT:     {{math.(exp|log|log1p|tanh|erf) .* : f32|llvm.intr.ldexp}}
// CHECK:         return
// CALLS-LABEL: @polynomials
// CALLS:         math.exp
// CALLS:         math.erf
// Only exp may scale to infinity and to denormal numbers; without the instruction, by two factors.
// LDEXP-LABEL: @polynomials
// LDEXP:         llvm.intr.ldexp
// LDEXP-NOT:     llvm.intr.ldexp
// With a GPU's approximation of 2^x, of which tanh and erf are made as well.
// APPROXIMATE-LABEL: @polynomials
// APPROXIMATE: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// APPROXIMATE: %[[POWER:.*]] = arith.mulf %{{.*}}, %[[LOG2E]] : f32
// APPROXIMATE: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[POWER]])
// APPROXIMATE-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// APPROXIMATE-NOT: ex2
// APPROXIMATE: return
func.func @polynomials(%x: f32) -> (f32, f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.log %x : f32
  %2 = math.log1p %x : f32
  %3 = math.tanh %x : f32
  %4 = math.erf %x : f32
  func.return %0, %1, %2, %3, %4 : f32, f32, f32, f32, f32
}

// -----

// The C library has these exact for every argument.

// CHECK-LABEL: @calls
// LDEXP-LABEL: @calls
// CHECK:         math.sin
// CHECK:         math.exp %{{.*}} : f64
func.func @calls(%x: f32, %y: f64) -> (f32, f64) {
  %0 = math.sin %x : f32
  %1 = math.exp %y : f64
  func.return %0, %1 : f32, f64
}

// -----

// CHECK-LABEL: @bf16
// CHECK-NOT:     arith.{{extf|truncf}}
// CALLS-LABEL: @bf16
// CALLS-NOT:     arith.{{extf|truncf}}
func.func @bf16(%x: bf16) -> bf16 {
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.addf %0, %0 : f32
  %2 = arith.truncf %1 : f32 to bf16
  func.return %2 : bf16
}

// -----

// By integers, or by the processor's instruction.

// CHECK-LABEL: @round
// CHECK-NOT:     truncf
// CHECK:         arith.shrui
// ROUND-LABEL: @round
// ROUND:         %[[HALF:.*]] = llvm.fptrunc %{{.*}} : f32 to bf16
// ROUND-NEXT:    %[[BITS:.*]] = llvm.bitcast %[[HALF]] : bf16 to i16
// ROUND-NEXT:    arith.bitcast %[[BITS]] : i16 to bf16
func.func @round(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  func.return %0 : bf16
}

// -----

// Functions of a module for which the bits of CPUs were asked are polynomials.

// APPROXIMATE-LABEL: @exact
// APPROXIMATE-NOT:     ex2
// APPROXIMATE:         return
module attributes {ingot.exact_math} {
  func.func @exact(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    func.return %0 : f32
  }
}

// -----

// Beside 1, the error of a tangent around 0 does not count.

// APPROXIMATE-LABEL: @tanh_beside_one
// APPROXIMATE:       %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// APPROXIMATE:       %[[SUM:.*]] = arith.addf %[[POWER]], %{{.*}}
// APPROXIMATE:       %[[INVERSE:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[SUM]])
// APPROXIMATE:       %[[TANH:.*]] = math.fma %{{.*}}, %[[INVERSE]], %{{.*}}
// APPROXIMATE-NEXT:  %[[A:.*]] = arith.addf %[[TANH]], %{{.*}}
// APPROXIMATE-NEXT:  %[[SQUARE:.*]] = arith.mulf %[[TANH]], %[[TANH]]
// APPROXIMATE-NEXT:  %[[B:.*]] = arith.subf %{{.*}}, %[[SQUARE]]
// APPROXIMATE-NEXT:  return %[[A]], %[[B]]
func.func @tanh_beside_one(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = math.tanh %x : f32
  %1 = arith.addf %0, %one : f32
  %2 = arith.mulf %0, %0 : f32
  %3 = arith.subf %one, %2 : f32
  func.return %1, %3 : f32, f32
}

// -----

// Beside a smaller number it does.

// APPROXIMATE-LABEL: @tanh_beside_less
// APPROXIMATE:       math.copysign
func.func @tanh_beside_less(%x: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %0 = math.tanh %x : f32
  %1 = arith.addf %0, %half : f32
  func.return %1 : f32
}
