// RUN: not ingot-opt %s --ingot-apply-optimizer=optimizer=shampoo 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ingot-opt %s --ingot-apply-optimizer=no-decay="(" 2>&1 | FileCheck %s --check-prefix=REGEX

// UNKNOWN: unknown optimizer 'shampoo'
// UNKNOWN: hint: choose sgd, momentum, nesterov, adam, adamw, adamw-hf, nadam, ademamix, adagrad, rmsprop, rmsprop-momentum, adadelta, lamb, lion, adafactor, muon or schedule-free-adamw
// REGEX:   '(' is not a regular expression
ingot.state parameter @w : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%w: tensor<f32> {ingot.state = @w})
    -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.gradient = @w}) {
  return %w, %w : tensor<f32>, tensor<f32>
}
