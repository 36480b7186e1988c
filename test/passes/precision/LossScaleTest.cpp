// SPDX-License-Identifier: Apache-2.0

// The state machine of --ingot-guard-updates, run by the interpreter, against a
// plain one, over random sequences of finite and overflowing steps.

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Module.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/precision/Passes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace ingot;

namespace {

constexpr const char *kStep = R"mlir(
module attributes {ingot.hyperparameters = []} {
  ingot.state parameter @w : tensor<1xf32> = dense<1.0> : tensor<1xf32>
  ingot.state loss_scale @loss_scale : tensor<f32> = dense<16.0> : tensor<f32>
  func.func @train_step(%norm: tensor<f32> {ingot.kind = "data", ingot.name = "norm"},
                        %w: tensor<1xf32> {ingot.state = @w},
                        %scale: tensor<f32> {ingot.state = @loss_scale})
      -> (tensor<f32> {ingot.name = "loss"}, tensor<f32> {ingot.name = "grad_norm"},
          tensor<1xf32> {ingot.state = @w}) {
    %n = ingot.broadcast %norm dims = [] : tensor<f32> -> tensor<1xf32>
    %0 = ingot.add %w, %n : tensor<1xf32>
    return %norm, %norm, %0 : tensor<f32>, tensor<f32>, tensor<1xf32>
  }
})mlir";

/// The states of loss scaling, as the documentation of the pass has them.
struct Machine {
  double growth, backoff, interval, hysteresis;
  double scale = 16, weight = 1;
  int good = 0, overflows = 0;

  void step(double norm) {
    if (std::isfinite(norm)) {
      weight += norm;
      if (++good < interval)
        return;
      scale = std::fmin(scale * growth, 0x1p127);
      good = overflows = 0;
      return;
    }
    good = 0;
    if (++overflows < hysteresis)
      return;
    scale = std::fmax(scale * backoff, 1);
    overflows = 0;
  }
};

TEST(LossScaleTest, EqualsPlainStateMachine) {
  mlir::DialectRegistry registry;
  registry.insert<IngotDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context);
  manager.addPass(createGuardUpdates());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  auto step = module->lookupSymbol<mlir::func::FuncOp>(kTrainStepName);
  auto initial = reference::initialStates(*module);
  ASSERT_TRUE(static_cast<bool>(initial));

  mlir::Builder builder(&context);
  auto scalar = [&](mlir::Type element, double value) {
    reference::Tensor tensor(mlir::RankedTensorType::get({}, element));
    tensor.real(0) = value;
    return tensor;
  };
  std::mt19937 random(7);
  auto choose = [&](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  for (int sequence = 0; sequence < 10000; ++sequence) {
    Machine machine{choose({2, 4, 1}), choose({0.5, 0.25, 1}),
                    choose({1, 2, 3, 5}), choose({1, 2, 3})};
    reference::NamedTensors states = *initial, inputs;
    inputs["loss_scale_growth"] = scalar(builder.getF64Type(), machine.growth);
    inputs["loss_scale_backoff"] =
        scalar(builder.getF64Type(), machine.backoff);
    inputs["loss_scale_interval"] =
        scalar(builder.getF64Type(), machine.interval);
    inputs["loss_scale_hysteresis"] =
        scalar(builder.getF64Type(), machine.hysteresis);
    unsigned length = 1 + random() % 12, overflowsIn = 1 + random() % 4;
    for (unsigned i = 0; i < length; ++i) {
      double norm = random() % overflowsIn != 0
                        ? choose({1, 2, 3})
                        : choose({std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()});
      inputs["norm"] = scalar(builder.getF32Type(), norm);
      double before = machine.scale;
      machine.step(norm);
      auto outputs = reference::runByName(step, inputs, states);
      ASSERT_TRUE(static_cast<bool>(outputs));
      ASSERT_EQ((*outputs)["loss_scale"].real(0), before);
      ASSERT_EQ((*outputs)["skipped"].real(0), std::isfinite(norm) ? 0 : 1);
      ASSERT_EQ(states["loss_scale"].real(0), machine.scale);
      ASSERT_EQ(states["w"].real(0), machine.weight);
    }
  }
}

} // namespace
