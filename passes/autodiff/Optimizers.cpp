// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Updates follow torch.optim (2.x) step by step where it has the optimizer:
// sgd, momentum, nesterov, adam, adamw, adagrad, rmsprop, adadelta. lamb: You
// et al., "Large batch optimization for deep learning", 2020, algorithm 2;
// lion: Chen et al., "Symbolic discovery of optimization algorithms", 2023,
// algorithm 2.
//
// Per element there are as few divisions as the formula allows: they, not
// memory, would set the pace.
//
//===----------------------------------------------------------------------===//

#include "passes/autodiff/Optimizers.h"

using namespace mlir;
using namespace ingot;

Value ingot::sumSquares(Arithmetic a, Value x) {
  if (tensorType(x).getRank() == 0)
    x = a.reshape(x, {1});
  return a.sumAll(a.square(x));
}

/// A f64 scalar in every element of a tensor like `like`.
static Value spread(Arithmetic a, Value scalar, Value like) {
  RankedTensorType type = tensorType(like);
  return a.fill(a.cast(scalar, type.getElementType()), type.getShape());
}

/// x + factor * y
static Value addScaled(Arithmetic a, Value x, Value factor, Value y) {
  return a.add(x, a.mul(spread(a, factor, y), y));
}

namespace {

/// Stochastic gradient descent, with momentum or without.
class Sgd : public Optimizer {
public:
  enum class Momentum { None, Plain, Nesterov };

  explicit Sgd(Momentum kind)
      : hasMomentum(kind != Momentum::None),
        looksAhead(kind == Momentum::Nesterov) {}

  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-3}, {"weight_decay", 0.0}, {"momentum", 0.9}};
    return ArrayRef(all).drop_back(hasMomentum ? 0 : 1);
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"momentum"};
    return ArrayRef(all).drop_back(hasMomentum ? 0 : 1);
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    decay = hyper.lookup("weight_decay");
    momentum = hyper.lookup("momentum");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient;
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    if (hasMomentum) {
      // A buffer of zeros gives the first gradient, as PyTorch starts it.
      Value next = u.moments[0] = addScaled(a, g, momentum, u.moments[0]);
      g = looksAhead ? addScaled(a, g, momentum, next) : next;
    }
    return addScaled(a, u.parameter, minusRate, g);
  }

private:
  bool hasMomentum, looksAhead;
  Value minusRate, decay, momentum;
};

/// Base of adam, adamw and lamb: running means of the gradient and its square,
/// each divided by 1 - beta^step because it started as zero.
class AdamBase : public Optimizer {
public:
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"exp_avg", "exp_avg_sq"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    Value beta1 = hyper.lookup("beta1");
    beta2 = hyper.lookup("beta2");
    oneMinusBeta1 = a.sub(1.0, beta1);
    oneMinusBeta2 = a.sub(1.0, beta2);
    correction1 = a.sub(1.0, a.pow(beta1, step));
    // rsqrt(1 - beta2^step)
    scaleOfRoot = a.div(1.0, a.sqrt(a.sub(1.0, a.pow(beta2, step))));
    eps = hyper.lookup("eps");
    rate = hyper.lookup("lr");
    decay = hyper.lookup("weight_decay");
  }

protected:
  /// Updates the moments and returns m / (sqrt(v) * scaleOfRoot + eps): the
  /// direction without the correction of m, which belongs in the rate.
  Value direction(Arithmetic a, Value g, SmallVectorImpl<Value> &moments) {
    Value &m = moments[0], &v = moments[1];
    m = addScaled(a, m, oneMinusBeta1, a.sub(g, m));
    v = addScaled(a, a.mul(v, spread(a, beta2, v)), oneMinusBeta2, a.square(g));
    Value root = a.mul(a.sqrt(v), spread(a, scaleOfRoot, v));
    return a.div(m, a.add(root, spread(a, eps, v)));
  }

  Value rate, decay, eps, correction1;

private:
  Value beta2, oneMinusBeta1, oneMinusBeta2, scaleOfRoot;
};

class Adam : public AdamBase {
public:
  /// `decoupled`: weight decay shrinks the parameter (adamw) instead of adding
  /// to the gradient.
  explicit Adam(bool decoupled) : decoupled(decoupled) {}

  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter coupledAll[] = {{"lr", 1e-3},
                                                    {"beta1", 0.9},
                                                    {"beta2", 0.999},
                                                    {"eps", 1e-8},
                                                    {"weight_decay", 0.0}};
    static constexpr Hyperparameter decoupledAll[] = {{"lr", 1e-3},
                                                      {"beta1", 0.9},
                                                      {"beta2", 0.999},
                                                      {"eps", 1e-8},
                                                      {"weight_decay", 1e-2}};
    return decoupled ? ArrayRef(decoupledAll) : ArrayRef(coupledAll);
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    AdamBase::buildScalars(a, hyper, step);
    minusStepSize = a.neg(a.div(rate, correction1));
    shrink = a.sub(1.0, a.mul(rate, decay));
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value p = u.parameter, g = u.gradient;
    if (u.decays && decoupled)
      p = a.mul(p, spread(a, shrink, p));
    else if (u.decays)
      g = addScaled(a, g, decay, p);
    return addScaled(a, p, minusStepSize, direction(a, g, u.moments));
  }

private:
  bool decoupled;
  Value minusStepSize, shrink;
};

/// AdamW as Hugging Face Transformers and ONNX Runtime compute it: eps is added
/// to a root that is not corrected, and the parameter shrinks after the update.
class HuggingFaceAdamW : public Optimizer {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-3},  {"beta1", 0.9},        {"beta2", 0.999},
        {"eps", 1e-6}, {"weight_decay", 0.0}, {"correct_bias", 1.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"exp_avg", "exp_avg_sq"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    Value beta1 = hyper.lookup("beta1"), rate = hyper.lookup("lr");
    beta2 = hyper.lookup("beta2");
    eps = hyper.lookup("eps");
    oneMinusBeta1 = a.sub(1.0, beta1);
    oneMinusBeta2 = a.sub(1.0, beta2);
    // 1 - beta^step, or 1 without the correction and in a step of number 0,
    // which imported counts may start from.
    Value isCounted = a.compare(Predicate::GT, step, 0.0);
    auto correction = [&](Value beta) {
      return a.select(
          isCounted,
          a.sub(1.0, a.mul(hyper.lookup("correct_bias"), a.pow(beta, step))),
          1.0);
    };
    minusStepSize =
        a.neg(a.div(a.mul(rate, a.sqrt(correction(beta2))), correction(beta1)));
    shrink = a.sub(1.0, a.mul(rate, hyper.lookup("weight_decay")));
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient, &m = u.moments[0], &v = u.moments[1];
    m = addScaled(a, m, oneMinusBeta1, a.sub(g, m));
    v = addScaled(a, a.mul(v, spread(a, beta2, v)), oneMinusBeta2, a.square(g));
    Value direction = a.div(m, a.add(a.sqrt(v), spread(a, eps, v)));
    Value p = addScaled(a, u.parameter, minusStepSize, direction);
    return u.decays ? a.mul(p, spread(a, shrink, p)) : p;
  }

private:
  Value beta2, eps, oneMinusBeta1, oneMinusBeta2, minusStepSize, shrink;
};

class Lamb : public AdamBase {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {{"lr", 1e-3},
                                             {"beta1", 0.9},
                                             {"beta2", 0.999},
                                             {"eps", 1e-6},
                                             {"weight_decay", 1e-2}};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    AdamBase::buildScalars(a, hyper, step);
    inverseCorrection1 = a.div(1.0, correction1);
    minusRate = a.neg(rate);
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value r = direction(a, u.gradient, u.moments);
    r = a.mul(r, spread(a, inverseCorrection1, r));
    if (u.decays)
      r = addScaled(a, r, decay, u.parameter);
    Value weightNorm = a.sqrt(sumSquares(a, u.parameter));
    Value stepNorm = a.sqrt(sumSquares(a, r));
    // A norm of zero says nothing about the scale: the ratio is 1.
    Value bothPositive = a.logicalAnd(a.compare(Predicate::GT, weightNorm, 0.0),
                                      a.compare(Predicate::GT, stepNorm, 0.0));
    Value ratio = a.select(bothPositive, a.div(weightNorm, stepNorm), 1.0);
    Value scale =
        a.mul(ratio, a.cast(minusRate, tensorType(ratio).getElementType()));
    return addScaled(a, u.parameter, scale, r);
  }

private:
  Value inverseCorrection1, minusRate;
};

class Adagrad : public Optimizer {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-2}, {"eps", 1e-10}, {"weight_decay", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"sum"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    eps = hyper.lookup("eps");
    decay = hyper.lookup("weight_decay");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient;
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    Value &sum = u.moments[0];
    sum = a.add(sum, a.square(g));
    Value denominator = a.add(a.sqrt(sum), spread(a, eps, sum));
    return addScaled(a, u.parameter, minusRate, a.div(g, denominator));
  }

private:
  Value minusRate, eps, decay;
};

/// Divides by the root of a running mean of squares.
class RmsProp : public Optimizer {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-2}, {"alpha", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"square_avg"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    alpha = hyper.lookup("alpha");
    oneMinusAlpha = a.sub(1.0, alpha);
    eps = hyper.lookup("eps");
    decay = hyper.lookup("weight_decay");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient, &v = u.moments[0];
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    v = addScaled(a, a.mul(v, spread(a, alpha, v)), oneMinusAlpha, a.square(g));
    Value denominator = a.add(a.sqrt(v), spread(a, eps, v));
    return addScaled(a, u.parameter, minusRate, a.div(g, denominator));
  }

private:
  Value minusRate, alpha, oneMinusAlpha, eps, decay;
};

/// Steps whose size is that of earlier steps, relative to that of gradients.
class Adadelta : public Optimizer {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1.0}, {"rho", 0.9}, {"eps", 1e-6}, {"weight_decay", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"square_avg", "acc_delta"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    rho = hyper.lookup("rho");
    oneMinusRho = a.sub(1.0, rho);
    eps = hyper.lookup("eps");
    decay = hyper.lookup("weight_decay");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient, &v = u.moments[0], &steps = u.moments[1];
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    auto mean = [&](Value old, Value next) {
      return addScaled(a, a.mul(old, spread(a, rho, old)), oneMinusRho,
                       a.square(next));
    };
    v = mean(v, g);
    Value small = spread(a, eps, v);
    // One root of a quotient instead of a quotient of roots.
    Value ratio = a.sqrt(a.div(a.add(steps, small), a.add(v, small)));
    Value delta = a.mul(ratio, g);
    steps = mean(steps, delta);
    return addScaled(a, u.parameter, minusRate, delta);
  }

private:
  Value minusRate, rho, oneMinusRho, eps, decay;
};

class Lion : public Optimizer {
public:
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-4}, {"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"exp_avg"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    Value rate = hyper.lookup("lr");
    minusRate = a.neg(rate);
    shrink = a.sub(1.0, a.mul(rate, hyper.lookup("weight_decay")));
    oneMinusBeta1 = a.sub(1.0, hyper.lookup("beta1"));
    oneMinusBeta2 = a.sub(1.0, hyper.lookup("beta2"));
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value p = u.parameter, &m = u.moments[0];
    Value towards = a.sub(u.gradient, m);
    Value direction = a.sign(addScaled(a, m, oneMinusBeta1, towards));
    m = addScaled(a, m, oneMinusBeta2, towards);
    if (u.decays)
      p = a.mul(p, spread(a, shrink, p));
    return addScaled(a, p, minusRate, direction);
  }

private:
  Value minusRate, shrink, oneMinusBeta1, oneMinusBeta2;
};

} // namespace

llvm::ArrayRef<StringLiteral> Optimizer::getNames() {
  static constexpr StringLiteral names[] = {
      "sgd",     "momentum", "nesterov", "adam", "adamw", "adamw-hf",
      "adagrad", "rmsprop",  "adadelta", "lamb", "lion"};
  return names;
}

std::unique_ptr<Optimizer> Optimizer::create(StringRef name) {
  if (name == "sgd")
    return std::make_unique<Sgd>(Sgd::Momentum::None);
  if (name == "momentum")
    return std::make_unique<Sgd>(Sgd::Momentum::Plain);
  if (name == "nesterov")
    return std::make_unique<Sgd>(Sgd::Momentum::Nesterov);
  if (name == "adam" || name == "adamw")
    return std::make_unique<Adam>(/*decoupled=*/name == "adamw");
  if (name == "adamw-hf")
    return std::make_unique<HuggingFaceAdamW>();
  if (name == "adagrad")
    return std::make_unique<Adagrad>();
  if (name == "rmsprop")
    return std::make_unique<RmsProp>();
  if (name == "adadelta")
    return std::make_unique<Adadelta>();
  if (name == "lamb")
    return std::make_unique<Lamb>();
  if (name == "lion")
    return std::make_unique<Lion>();
  return nullptr;
}
