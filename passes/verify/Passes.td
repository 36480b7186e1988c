// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Passes that verify the levels of the pipeline. Each pass changes nothing and
// fails where a pass before it broke a rule that passes after it rely on.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_VERIFY_PASSES_TD
#define INGOT_PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckSamples : Pass<"ingot-check-samples", "::mlir::ModuleOp"> {
  let summary = "warns where samples of a batch influence each other";
  let description = [{
    The first dimension of a model's inputs counts samples, which a trainer shuffles. Where it counts something else,
    such as the time steps of a recurrent layer that takes them first, training would be wrong without a word. The
    analysis SampleFlow follows the dimension through `@forward`; one warning names the first op that computes along it
    (a recurrence, a window, attention), or says that the first output has lost it. Statistics of the batch, losses and
    comparisons of samples with each other (contrastive losses) are no reason for a warning.

    Before and after: `@forward` is unchanged.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def CheckTokens : Pass<"ingot-check-tokens", "::mlir::ModuleOp"> {
  let summary = "finds out whether a language model shifts its labels itself";
  let description = [{
    Integer inputs `[samples, tokens]` hold sequences. One of which `@forward` reads nothing but the tokens from the
    second on is shifted by the model itself, as labels are by the models of Hugging Face: a note says so, and the
    attribute `ingot.shifted_labels` of the module names it for the trainer. An output `[samples, 1, classes]` beside
    such an input is of the last position only, with which the labels of a file of tokens cannot be compared: a
    warning, unless the loss is an output of the model.

    Before: `%0 = ingot.slice %labels starts = [0, 1] ...`

    After: `module attributes {ingot.shifted_labels = ["labels"]}`
  }];
  let options = [Option<"loss", "loss", "std::string", "\"\"", "the loss, as --ingot-attach-loss takes it">];
}

def VerifyTrainingGraph : Pass<"ingot-verify-training-graph", "::mlir::ModuleOp"> {
  let summary = "checks that a module is a complete training graph";
  let description = [{
    After autodiff, precision and parallel passes:

    - there is a `@train_step`, and no `@forward` any more;
    - no gradient is a result, and no cotangent an argument: the optimizer has taken them;
    - `@eval_step` and `@predict` update no state;
    - a state is the value of at most one argument and one result of a function; every other argument has a name and a
      kind, and every other result a name, each of them once;
    - what a collective starts is waited for by exactly one op.

    Before and after: `@train_step(...) -> (tensor<f32> {ingot.name = "loss"}, tensor<4x3xf32> {ingot.state = @w})`
  }];
}

def VerifyKernels : Pass<"ingot-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "checks that functions are kernels and library calls";
  let description = [{
    After fusion. A function holds fusions, library calls that the target supports, collectives, views and constants,
    and nothing else. Fusions hold no composite but the library call that they are the epilogue of: what is inside them
    has code for one element or for a whole kernel.

    Before and after:
    ```mlir
    %0 = ingot.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = ingot.fusion loop(%0) : (tensor<8x3xf32>) -> tensor<8x3xf32> { ... }
    ```
  }];
}

def VerifyPlaced : Pass<"ingot-verify-placed", "::mlir::ModuleOp"> {
  let summary = "checks the offsets of placed steps";
  let description = [{
    After `--ingot-place-steps`. The parts of a step's `memory` add up to the peak. Its `intervals` are aligned, and no
    two that are in use at the same call overlap. Each buffer in the arena that a call takes, and its scratch, lie in an
    interval which is in use at that call; inputs in one before the first call, outputs in one after the last. States
    are aligned, lie in the state block, and do not overlap. Regions concurrent with other calls start, end and are
    waited for in order, and no call concurrent with a region touches what a call in it writes, or writes what one in it
    reads. That offsets are within the arena is verified by `exec.step` itself.

    Before and after:
    ```mlir
    exec.step @forward attributes {arena_bytes = 128 : i64, intervals = [#exec.interval<...>, ...], ...} {
      %x = exec.buffer arena 0 : memref<8xf32>
    ```
  }];
}

def VerifyLowered : Pass<"ingot-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "checks that a module has only the LLVM dialect";
  let description = [{
    After `--ingot-lower-steps`, and after a device's kernels were taken out: what is left is translated to LLVM IR.

    Before and after: `llvm.func @train_step(%context: !llvm.ptr, %state: !llvm.ptr, %arena: !llvm.ptr) { ... }`
  }];
}

#endif // INGOT_PASSES_VERIFY_PASSES_TD
