// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Updates follow torch.optim (2.x) step by step where it has the optimizer:
// sgd, momentum, nesterov, adam, adamw, nadam, adagrad, rmsprop, adadelta,
// adafactor, muon. lamb: You et al., "Large batch optimization for deep
// learning", 2020, algorithm 2; lion: Chen et al., "Symbolic discovery of
// optimization algorithms", 2023, algorithm 2; ademamix: Pagliardini et al.,
// "The AdEMAMix optimizer: better, faster, older", 2024, algorithm 1;
// schedule-free: Defazio et al., "The road less scheduled", 2024, algorithm 1.
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

SmallVector<Moment> Optimizer::getMoments(RankedTensorType parameter) const {
  SmallVector<Moment> all;
  for (StringRef name : moments())
    all.push_back({name, llvm::to_vector(parameter.getShape())});
  return all;
}

namespace {

/// Stochastic gradient descent, with momentum or without.
class Sgd : public Optimizer {
public:
  enum class Momentum { None, Plain, Nesterov };

  explicit Sgd(Momentum kind)
      : hasMomentum(kind != Momentum::None),
        looksAhead(kind == Momentum::Nesterov) {}

  StringRef getName() const override {
    return !hasMomentum ? "sgd" : looksAhead ? "nesterov" : "momentum";
  }
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
  /// Updates the moments and returns sqrt(v) * scaleOfRoot + eps.
  Value updateMoments(Arithmetic a, Value g, SmallVectorImpl<Value> &moments) {
    Value &m = moments[0], &v = moments[1];
    m = addScaled(a, m, oneMinusBeta1, a.sub(g, m));
    v = addScaled(a, a.mul(v, spread(a, beta2, v)), oneMinusBeta2, a.square(g));
    Value root = a.mul(a.sqrt(v), spread(a, scaleOfRoot, v));
    return a.add(root, spread(a, eps, v));
  }

  /// Updates the moments and returns the direction without the correction of m,
  /// which belongs in the rate.
  Value direction(Arithmetic a, Value g, SmallVectorImpl<Value> &moments) {
    Value denominator = updateMoments(a, g, moments);
    return a.div(moments[0], denominator);
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

  StringRef getName() const override { return decoupled ? "adamw" : "adam"; }
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
  StringRef getName() const override { return "adamw-hf"; }
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
  StringRef getName() const override { return "lamb"; }
  StringRef whyNotInBlocks() const override { return "norms of whole updates"; }
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
  StringRef getName() const override { return "adagrad"; }
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

/// Divides by the root of a running mean of squares, with momentum or without.
class RmsProp : public Optimizer {
public:
  explicit RmsProp(bool hasMomentum) : hasMomentum(hasMomentum) {}

  StringRef getName() const override {
    return hasMomentum ? "rmsprop-momentum" : "rmsprop";
  }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {{"lr", 1e-2},
                                             {"alpha", 0.99},
                                             {"eps", 1e-8},
                                             {"weight_decay", 0.0},
                                             {"momentum", 0.9}};
    return ArrayRef(all).drop_back(hasMomentum ? 0 : 1);
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"square_avg", "momentum"};
    return ArrayRef(all).drop_back(hasMomentum ? 0 : 1);
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    alpha = hyper.lookup("alpha");
    oneMinusAlpha = a.sub(1.0, alpha);
    eps = hyper.lookup("eps");
    decay = hyper.lookup("weight_decay");
    momentum = hyper.lookup("momentum");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient, &v = u.moments[0];
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    v = addScaled(a, a.mul(v, spread(a, alpha, v)), oneMinusAlpha, a.square(g));
    Value denominator = a.add(a.sqrt(v), spread(a, eps, v));
    Value direction = a.div(g, denominator);
    if (hasMomentum)
      direction = u.moments[1] =
          addScaled(a, direction, momentum, u.moments[1]);
    return addScaled(a, u.parameter, minusRate, direction);
  }

private:
  bool hasMomentum;
  Value momentum, minusRate, alpha, oneMinusAlpha, eps, decay;
};

/// Steps whose size is that of earlier steps, relative to that of gradients.
class Adadelta : public Optimizer {
public:
  StringRef getName() const override { return "adadelta"; }
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
  StringRef getName() const override { return "lion"; }
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

/// Adam with the momentum of Nesterov; the weight of the first moment grows
/// with the steps.
class NAdam : public AdamBase {
public:
  StringRef getName() const override { return "nadam"; }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 2e-3},  {"beta1", 0.9},        {"beta2", 0.999},
        {"eps", 1e-8}, {"weight_decay", 0.0}, {"momentum_decay", 4e-3}};
    return all;
  }
  ArrayRef<StringLiteral> accumulators() const override {
    // 1 - the product of all weights so far.
    static constexpr StringLiteral all[] = {"momentum_used"};
    return all;
  }
  void accumulate(Arithmetic a, const Hyperparameters &hyper, Value step,
                  MutableArrayRef<Value> values) override {
    auto weight = [&](Value number) {
      Value power = a.mul(number, hyper.lookup("momentum_decay"));
      Value part = a.pow(a.constantLike(power, 0.96), power);
      return a.mul(hyper.lookup("beta1"), a.sub(1.0, a.mul(part, 0.5)));
    };
    Value mu = weight(step), muNext = weight(a.add(step, 1.0));
    Value product = a.mul(a.sub(1.0, values[0]), mu);
    values[0] = a.sub(1.0, product);
    ofGradient = a.div(a.sub(1.0, mu), values[0]);
    ofMoment = a.div(muNext, a.sub(1.0, a.mul(product, muNext)));
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    AdamBase::buildScalars(a, hyper, step);
    minusRate = a.neg(rate);
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value g = u.gradient;
    if (u.decays)
      g = addScaled(a, g, decay, u.parameter);
    Value denominator = updateMoments(a, g, u.moments);
    Value ahead = addScaled(a, a.mul(g, spread(a, ofGradient, g)), ofMoment,
                            u.moments[0]);
    return addScaled(a, u.parameter, minusRate, a.div(ahead, denominator));
  }

private:
  Value ofGradient, ofMoment, minusRate;
};

/// adamw with a second, slower mean of the gradient, whose share and whose
/// slowness grow from the first step on.
class AdEMAMix : public AdamBase {
public:
  StringRef getName() const override { return "ademamix"; }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 1e-3},          {"beta1", 0.9},
        {"beta2", 0.999},      {"beta3", 0.9999},
        {"slow_weight", 5.0},  {"eps", 1e-8},
        {"weight_decay", 0.0}, {"slow_weight_warmup", 0.0},
        {"beta3_warmup", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"exp_avg", "exp_avg_sq",
                                            "exp_avg_slow"};
    return all;
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    AdamBase::buildScalars(a, hyper, step);
    // The part of a warm-up that is over; one of no steps is over at once.
    auto part = [&](StringRef name) {
      Value steps = hyper.lookup(name);
      return a.select(a.compare(Predicate::GT, steps, 0.0),
                      a.min(a.div(step, a.max(steps, 1.0)), 1.0), 1.0);
    };
    alpha = a.mul(hyper.lookup("slow_weight"), part("slow_weight_warmup"));
    // 1 / log(beta), which is the negative time of a mean, grows linearly.
    Value beta1 = hyper.lookup("beta1"), beta3 = hyper.lookup("beta3");
    Value done = part("beta3_warmup");
    Value time =
        a.add(a.div(a.sub(1.0, done), a.log(beta1)), a.div(done, a.log(beta3)));
    oneMinusBeta3 = a.sub(1.0, a.exp(a.div(1.0, time)));
    inverseCorrection1 = a.div(1.0, correction1);
    minusRate = a.neg(rate);
    shrink = a.sub(1.0, a.mul(rate, decay));
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value p = u.parameter, &slow = u.moments[2];
    if (u.decays)
      p = a.mul(p, spread(a, shrink, p));
    Value denominator = updateMoments(a, u.gradient, u.moments);
    slow = addScaled(a, slow, oneMinusBeta3, a.sub(u.gradient, slow));
    Value m = u.moments[0];
    Value both =
        addScaled(a, a.mul(m, spread(a, inverseCorrection1, m)), alpha, slow);
    return addScaled(a, p, minusRate, a.div(both, denominator));
  }

private:
  Value alpha, oneMinusBeta3, inverseCorrection1, minusRate, shrink;
};

/// Squares of gradients are kept as means of rows and of columns: of a matrix
/// their product takes the place of the mean of squares.
class Adafactor : public Optimizer {
public:
  StringRef getName() const override { return "adafactor"; }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {{"lr", 1e-2},
                                             {"beta2_decay", -0.8},
                                             {"eps", 1e-3},
                                             {"clip_threshold", 1.0},
                                             {"weight_decay", 0.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"exp_avg_sq"};
    return all;
  }
  SmallVector<Moment> getMoments(RankedTensorType parameter) const override {
    if (parameter.getRank() < 2)
      return Optimizer::getMoments(parameter);
    SmallVector<int64_t> rows(parameter.getShape()), columns(rows);
    rows.pop_back();
    columns.erase(std::prev(columns.end(), 2));
    return {{"row_var", rows}, {"col_var", columns}};
  }
  StringRef needsWhole() const override {
    return "means of whole rows and columns";
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    Value rate = hyper.lookup("lr");
    oneMinusBeta2 = a.pow(step, hyper.lookup("beta2_decay"));
    minusRate = a.neg(a.min(rate, a.div(1.0, a.sqrt(step))));
    shrink = a.sub(1.0, a.mul(rate, hyper.lookup("weight_decay")));
    eps = hyper.lookup("eps");
    threshold = hyper.lookup("clip_threshold");
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value p = u.parameter, g = u.gradient;
    double small = tensorType(p).getElementType().isF32()
                       ? std::numeric_limits<float>::epsilon()
                       : std::numeric_limits<double>::epsilon();
    // The step is relative to the parameter before it shrinks.
    Value size = a.max(rootMeanSquare(a, p), eps);
    Value variance = updateVariance(a, g, u.moments, small);
    Value direction = a.mul(g, a.rsqrt(a.max(variance, small * small)));
    Value excess = a.max(a.div(rootMeanSquare(a, direction), threshold), 1.0);
    if (u.decays)
      p = a.mul(p, spread(a, shrink, p));
    return addScaled(a, p, a.div(a.mul(minusRate, size), excess), direction);
  }

private:
  /// The root of the mean square of all elements, in f64.
  static Value rootMeanSquare(Arithmetic a, Value x) {
    Value squares = a.cast(sumSquares(a, x), Float64Type::get(x.getContext()));
    return a.sqrt(
        a.div(squares, static_cast<double>(tensorType(x).getNumElements())));
  }

  Value updateVariance(Arithmetic a, Value g, SmallVectorImpl<Value> &moments,
                       double small) {
    auto follow = [&](Value &mean, Value next) {
      mean = addScaled(a, mean, oneMinusBeta2, a.sub(next, mean));
    };
    Value squares = a.square(g);
    if (moments.size() == 1) {
      follow(moments[0], squares);
      return moments[0];
    }
    ArrayRef<int64_t> shape = tensorType(g).getShape();
    int64_t rank = shape.size();
    auto meanOver = [&](Value x, int64_t dim) {
      return a.div(a.sum(x, {dim}),
                   static_cast<double>(tensorType(x).getDimSize(dim)));
    };
    follow(moments[0], meanOver(squares, rank - 1));
    follow(moments[1], meanOver(squares, rank - 2));
    Value ofAll = a.max(meanOver(moments[0], rank - 2), small);
    // One division for each row instead of one for each element.
    Value relative = a.div(
        moments[0],
        a.broadcastOver(ofAll, tensorType(moments[0]).getShape(), {rank - 2}));
    return a.mul(a.broadcastOver(relative, shape, {rank - 1}),
                 a.broadcastOver(moments[1], shape, {rank - 2}));
  }

  Value oneMinusBeta2, minusRate, shrink, eps, threshold;
};

/// Momentum whose matrix is made nearly orthogonal by five Newton-Schulz steps.
/// Takes matrices between embeddings and head; the rest is for another
/// optimizer.
class Muon : public Optimizer {
public:
  StringRef getName() const override { return "muon"; }
  bool accepts(const TrainedParameter &parameter) const override {
    return parameter.type.getRank() == 2 && !parameter.isEmbedding &&
           !parameter.isHead;
  }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {{"lr", 1e-3},
                                             {"weight_decay", 0.1},
                                             {"momentum", 0.95},
                                             {"match_rms_adamw", 1.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"momentum"};
    return all;
  }
  StringRef needsWhole() const override { return "products of whole matrices"; }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    Value rate = hyper.lookup("lr");
    minusRate = a.neg(rate);
    shrink = a.sub(1.0, a.mul(rate, hyper.lookup("weight_decay")));
    oneMinusMomentum = a.sub(1.0, hyper.lookup("momentum"));
    momentum = hyper.lookup("momentum");
    matches = a.compare(Predicate::NE, hyper.lookup("match_rms_adamw"), 0.0);
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value p = u.parameter, g = u.gradient, &m = u.moments[0];
    m = addScaled(a, m, oneMinusMomentum, a.sub(g, m));
    Value ahead = addScaled(a, g, momentum, a.sub(m, g));
    Value direction = orthogonalize(u.builder, a, ahead);
    double rows = tensorType(p).getDimSize(0),
           columns = tensorType(p).getDimSize(1);
    Value scale = a.select(
        matches,
        a.constantLike(minusRate, 0.2 * std::sqrt(std::max(rows, columns))),
        std::sqrt(std::max(1.0, rows / columns)));
    if (u.decays)
      p = a.mul(p, spread(a, shrink, p));
    return addScaled(a, p, a.mul(minusRate, scale), direction);
  }

private:
  /// Moves all singular values near 1 by x -> ax + bx^3 + cx^5, five times.
  static Value orthogonalize(OpBuilder &builder, Arithmetic a, Value x) {
    constexpr double kA = 3.4445, kB = -4.775, kC = 2.0315, kEps = 1e-7;
    constexpr int kSteps = 5;
    Location loc = x.getLoc();
    auto product = [&](Value lhs, Value rhs, bool transposeLhs,
                       bool transposeRhs) -> Value {
      return MatmulOp::create(builder, loc, lhs, rhs, transposeLhs,
                              transposeRhs);
    };
    // The square matrix is the smaller of the two that are possible.
    bool isTall = tensorType(x).getDimSize(0) > tensorType(x).getDimSize(1);
    Value norm = a.max(a.sqrt(sumSquares(a, x)), kEps);
    x = a.mul(x, a.fill(a.div(1.0, norm), tensorType(x).getShape()));
    for (int i = 0; i < kSteps; ++i) {
      Value square = product(x, x, isTall, !isTall);
      Value polynomial = a.add(
          a.mul(square, kB), a.mul(product(square, square, false, false), kC));
      Value change = isTall ? product(x, polynomial, false, false)
                            : product(polynomial, x, false, false);
      x = a.add(a.mul(x, kA), change);
    }
    return x;
  }

  Value minusRate, shrink, momentum, oneMinusMomentum, matches;
};

/// adamw without a schedule. The parameter is the average x of all iterates z,
/// which evaluation reads; gradients are those at y, between x and z. The
/// moment `ahead` is z - x: it starts as zero.
class ScheduleFreeAdamW : public Optimizer {
public:
  StringRef getName() const override { return "schedule-free-adamw"; }
  ArrayRef<Hyperparameter> hyperparameters() const override {
    static constexpr Hyperparameter all[] = {
        {"lr", 2.5e-3},          {"beta1", 0.9},        {"beta2", 0.999},
        {"eps", 1e-8},           {"weight_decay", 0.0}, {"r", 0.0},
        {"weight_lr_power", 2.0}};
    return all;
  }
  ArrayRef<StringLiteral> moments() const override {
    static constexpr StringLiteral all[] = {"ahead", "exp_avg_sq"};
    return all;
  }
  ArrayRef<StringLiteral> accumulators() const override {
    static constexpr StringLiteral all[] = {"largest_lr", "weight_sum"};
    return all;
  }
  StringRef needsWhole() const override {
    return "whole weights and moments before each forward pass";
  }
  void accumulate(Arithmetic a, const Hyperparameters &hyper, Value step,
                  MutableArrayRef<Value> values) override {
    Value &largest = values[0], &sum = values[1];
    largest = a.max(largest, hyper.lookup("lr"));
    Value weight = a.mul(a.pow(step, hyper.lookup("r")),
                         a.pow(largest, hyper.lookup("weight_lr_power")));
    sum = a.add(sum, weight);
    // A rate of zero moves nothing.
    share =
        a.select(a.compare(Predicate::GT, sum, 0.0), a.div(weight, sum), 0.0);
    rest = a.sub(1.0, share);
  }
  void buildScalars(Arithmetic a, const Hyperparameters &hyper,
                    Value step) override {
    minusRate = a.neg(hyper.lookup("lr"));
    beta2 = hyper.lookup("beta2");
    oneMinusBeta1 = a.sub(1.0, hyper.lookup("beta1"));
    oneMinusBeta2 = a.sub(1.0, beta2);
    scaleOfRoot = a.div(1.0, a.sqrt(a.sub(1.0, a.pow(beta2, step))));
    eps = hyper.lookup("eps");
    decay = hyper.lookup("weight_decay");
  }
  Value buildPoint(Arithmetic a, const Hyperparameters &hyper, Value parameter,
                   ArrayRef<Value> moments) const override {
    return addScaled(a, parameter, a.sub(1.0, hyper.lookup("beta1")),
                     moments[0]);
  }
  Value buildUpdate(Arithmetic a, ParameterUpdate &u) override {
    Value x = u.parameter, g = u.gradient;
    Value &ahead = u.moments[0], &v = u.moments[1];
    v = addScaled(a, a.mul(v, spread(a, beta2, v)), oneMinusBeta2, a.square(g));
    Value root = a.mul(a.sqrt(v), spread(a, scaleOfRoot, v));
    Value direction = a.div(g, a.add(root, spread(a, eps, v)));
    if (u.decays)
      direction =
          addScaled(a, direction, decay, addScaled(a, x, oneMinusBeta1, ahead));
    Value next = addScaled(a, ahead, minusRate, direction);
    ahead = a.mul(next, spread(a, rest, next));
    return addScaled(a, x, share, next);
  }

private:
  Value share, rest, minusRate, beta2, oneMinusBeta1, oneMinusBeta2,
      scaleOfRoot, eps, decay;
};

} // namespace

llvm::ArrayRef<StringLiteral> Optimizer::getNames() {
  static constexpr StringLiteral names[] = {"sgd",
                                            "momentum",
                                            "nesterov",
                                            "adam",
                                            "adamw",
                                            "adamw-hf",
                                            "nadam",
                                            "ademamix",
                                            "adagrad",
                                            "rmsprop",
                                            "rmsprop-momentum",
                                            "adadelta",
                                            "lamb",
                                            "lion",
                                            "adafactor",
                                            "muon",
                                            "schedule-free-adamw"};
  return names;
}

static std::unique_ptr<Optimizer> createOne(StringRef name) {
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
  if (name == "nadam")
    return std::make_unique<NAdam>();
  if (name == "ademamix")
    return std::make_unique<AdEMAMix>();
  if (name == "adagrad")
    return std::make_unique<Adagrad>();
  if (name == "rmsprop" || name == "rmsprop-momentum")
    return std::make_unique<RmsProp>(/*hasMomentum=*/name != "rmsprop");
  if (name == "adadelta")
    return std::make_unique<Adadelta>();
  if (name == "lamb")
    return std::make_unique<Lamb>();
  if (name == "lion")
    return std::make_unique<Lion>();
  if (name == "adafactor")
    return std::make_unique<Adafactor>();
  if (name == "muon")
    return std::make_unique<Muon>();
  if (name == "schedule-free-adamw")
    return std::make_unique<ScheduleFreeAdamW>();
  return nullptr;
}

SmallVector<std::unique_ptr<Optimizer>> Optimizer::create(StringRef name) {
  SmallVector<std::unique_ptr<Optimizer>> all;
  if (auto first = createOne(name))
    all.push_back(std::move(first));
  // Muon is one of matrices only.
  if (name == "muon")
    all.push_back(createOne("adamw"));
  return all;
}
