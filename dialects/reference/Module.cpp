// SPDX-License-Identifier: Apache-2.0

#include "dialects/reference/Module.h"

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/EncodedState.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/partition/Partition.h"
#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Registry.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;

template <typename T> static std::string toText(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

llvm::Expected<NamedTensors> ingot::reference::initialStates(ModuleOp module) {
  NamedTensors states;
  for (StateOp state : module.getOps<StateOp>()) {
    llvm::Expected<Tensor> value = Tensor::fromAttribute(state.getInitial());
    if (!value)
      return invalid("state '" + state.getSymName() +
                     "': " + llvm::toString(value.takeError()));
    states[state.getSymName().str()] = std::move(*value);
  }
  if (llvm::Error error = refreshCopies(module, states))
    return std::move(error);
  return states;
}

llvm::Error ingot::reference::refreshCopies(ModuleOp module,
                                            NamedTensors &states) {
  SymbolTable symbols(module);
  for (StateOp state : module.getOps<StateOp>()) {
    if (!state.getOf())
      continue;
    auto original = states.find(state.getOf()->str());
    auto of = symbols.lookup<StateOp>(*state.getOf());
    if (original == states.end() || !of)
      return invalid("state '" + state.getSymName() +
                     "': the module has no state '" + *state.getOf() + "'");
    const Tensor &whole = original->second;
    Tensor &copy = states[state.getSymName().str()];
    if (!of.getHalves()) {
      copy = whole.converted(state.getTensorType().getElementType());
      continue;
    }
    Tensor half(RankedTensorType::get(whole.getShape(),
                                      state.getTensorType().getElementType()));
    for (int64_t i = 0; i < half.size(); ++i)
      if (half.isFloat())
        half.real(i) = upperHalf(whole.real(i));
      else
        half.integer(i) = lowerHalf(whole.real(i));
    copy = std::move(half);
  }
  return llvm::Error::success();
}

/// Gives states in halves, which functions do not take, their values.
static void joinStates(func::FuncOp function, NamedTensors &states) {
  auto module = function->getParentOfType<ModuleOp>();
  if (!module)
    return;
  for (StateOp state : module.getOps<StateOp>()) {
    if (!state.getHalves())
      continue;
    auto half = [&](unsigned i) -> const Tensor & {
      auto symbol = cast<FlatSymbolRefAttr>((*state.getHalves())[i]);
      return states[symbol.getValue().str()];
    };
    Tensor whole(state.getWholeType());
    for (int64_t i = 0; i < whole.size(); ++i)
      whole.real(i) = joinHalves(half(0).real(i), half(1).integer(i));
    states[state.getSymName().str()] = std::move(whole);
  }
}

/// Returns the name of the state that an argument or result carries, and an
/// empty name otherwise.
static StringRef stateName(Attribute attribute) {
  auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attribute);
  return symbol ? symbol.getValue() : StringRef();
}

std::string ingot::reference::argumentName(func::FuncOp function,
                                           unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr))
    return name.str();
  return ("arg" + llvm::Twine(index)).str();
}

std::string ingot::reference::resultName(func::FuncOp function,
                                         unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr))
    return name.str();
  StringRef parameter = stateName(function.getResultAttr(index, kGradientAttr));
  if (!parameter.empty())
    return (parameter + ".grad").str();
  return ("result" + llvm::Twine(index)).str();
}

/// Returns a scalar of the type with this value.
static Tensor scalar(RankedTensorType type, double value) {
  Tensor tensor(RankedTensorType::get({}, Float64Type::get(type.getContext())));
  tensor.real(0) = value;
  return tensor.converted(type.getElementType());
}

/// Returns the default value of an argument that the caller may omit.
static std::optional<Tensor> defaultValue(func::FuncOp function,
                                          unsigned index) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  auto kind = function.getArgAttrOfType<StringAttr>(index, kKindAttr);
  auto module = function->getParentOfType<ModuleOp>();
  if (!type || type.getRank() != 0 || !kind || !module)
    return std::nullopt;
  if (kind.getValue() == "valid") {
    // Variants of a model may have batches of their own.
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto data = function.getArgAttrOfType<StringAttr>(i, kKindAttr);
      auto shaped = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (data && data.getValue() == "data" && shaped && shaped.getRank() > 0)
        return scalar(type, static_cast<double>(shaped.getDimSize(0)));
    }
    if (auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr))
      return scalar(type, static_cast<double>(batch.getInt()));
    return std::nullopt;
  }
  if (kind.getValue() != "hyper")
    return std::nullopt;
  auto table = module->getAttrOfType<ArrayAttr>(kHyperparametersAttr);
  if (!table)
    return std::nullopt;
  for (auto entry : table.getAsRange<DictionaryAttr>()) {
    auto name = entry.getAs<StringAttr>("name");
    auto value = entry.getAs<FloatAttr>("default");
    if (name && value && name.getValue() == argumentName(function, index))
      return scalar(type, value.getValueAsDouble());
  }
  return std::nullopt;
}

std::vector<std::string>
ingot::reference::requiredInputs(func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (stateName(function.getArgAttr(i, kStateAttr)).empty() &&
        !defaultValue(function, i))
      names.push_back(argumentName(function, i));
  return names;
}

static llvm::Expected<Tensor> bindArgument(func::FuncOp function,
                                           unsigned index,
                                           const NamedTensors &inputs,
                                           const NamedTensors &states) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type)
    return invalid("argument " + llvm::Twine(index) + " is not a tensor");
  if (llvm::Error error = Tensor::checkType(type))
    return std::move(error);
  StringRef state = stateName(function.getArgAttr(index, kStateAttr));
  if (!state.empty()) {
    auto found = states.find(state.str());
    if (found == states.end())
      return invalid("the module has no state '" + state + "'");
    if (found->second.getType() != type)
      return invalid("state '" + state + "' has type " +
                     toText(found->second.getType()) + ", the function takes " +
                     toText(type));
    return found->second;
  }
  std::string name = argumentName(function, index);
  auto found = inputs.find(name);
  if (found == inputs.end()) {
    if (std::optional<Tensor> value = defaultValue(function, index))
      return std::move(*value);
    return invalid("input '" + name + "' is missing");
  }
  const Tensor &given = found->second;
  if (given.getShape() != type.getShape())
    return invalid("input '" + name + "' has type " + toText(given.getType()) +
                   ", the function takes " + toText(type));
  Tensor converted = given.converted(type.getElementType());
  // What fits in integers does so exactly.
  for (int64_t i = 0; !converted.isFloat() && i < converted.size(); ++i)
    if (given.isFloat() || given.integer(i) != converted.integer(i))
      return invalid("input '" + name + "' has type " +
                     toText(given.getType()) + " and values that " +
                     toText(type.getElementType()) + " does not hold");
  return converted;
}

/// Returns the arguments of a run, by name.
static llvm::Expected<std::vector<Tensor>>
bindArguments(func::FuncOp function, const NamedTensors &inputs,
              const NamedTensors &states) {
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    llvm::Expected<Tensor> value = bindArgument(function, i, inputs, states);
    if (!value)
      return value.takeError();
    arguments.push_back(std::move(*value));
  }
  return arguments;
}

/// Puts updated states in their place; returns the other results by name.
static NamedTensors sortResults(func::FuncOp function,
                                std::vector<Tensor> results,
                                NamedTensors &states) {
  NamedTensors outputs;
  for (auto [i, result] : llvm::enumerate(results)) {
    StringRef state = stateName(function.getResultAttr(i, kStateAttr));
    if (state.empty())
      outputs[resultName(function, i)] = std::move(result);
    else
      states[state.str()] = std::move(result);
  }
  return outputs;
}

llvm::Expected<NamedTensors>
ingot::reference::runByName(func::FuncOp function, const NamedTensors &inputs,
                            NamedTensors &states, Evaluator evaluator) {
  llvm::Expected<std::vector<Tensor>> arguments =
      bindArguments(function, inputs, states);
  if (!arguments)
    return arguments.takeError();
  llvm::Expected<std::vector<Tensor>> results =
      evaluator(function, std::move(*arguments));
  if (!results)
    return results.takeError();
  NamedTensors outputs = sortResults(function, std::move(*results), states);
  joinStates(function, states);
  return outputs;
}

llvm::Expected<NamedTensors>
ingot::reference::runRanksByName(func::FuncOp function,
                                 llvm::ArrayRef<NamedTensors> inputs,
                                 NamedTensors &states) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  auto isOwn = [&](const std::string &name) {
    auto state = symbols.lookup<StateOp>(name);
    bool isSum =
        state && state.getRole() == Role::Accumulator && !state.getShardAttr();
    return isSum || (state && state.getRole() == Role::Residual);
  };
  // Of states in shards: where they are in how large a bucket.
  auto placeOf = [&](const std::string &name) -> ShardAttr {
    auto state = symbols.lookup<StateOp>(name);
    if (auto shard = state ? state.getShardAttr() : ShardAttr())
      return shard;
    if (auto gathered = state ? state.getGatheredAttr() : GatheredAttr())
      return gathered.getShard();
    return {};
  };
  // Of states in parts: where a rank's elements are. A step takes the whole
  // state until its partition has been applied.
  Mesh mesh = Mesh::of(function);
  auto partOf = [&](const std::string &name) -> std::optional<Partition> {
    auto state = symbols.lookup<StateOp>(name);
    // Copies of a state are in the same parts.
    auto of = state && state.getOf() ? symbols.lookup<StateOp>(*state.getOf())
                                     : state;
    Attribute attribute = of ? of->getAttr(kPartitionAttr) : Attribute();
    if (!attribute)
      return std::nullopt;
    Partition partition = Partition::get(
        attribute,
        withElement(of.getWholeType(), state.getTensorType().getElementType()),
        mesh);
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (stateName(function.getArgAttr(i, kStateAttr)) == name &&
          type == partition.getLocalType() && !partition.isWhole())
        return partition;
    return std::nullopt;
  };
  auto takePart = [](const Tensor &whole, const Partition &partition,
                     size_t rank) {
    Tensor part(partition.getLocalType());
    for (auto [i, place] : llvm::enumerate(partition.getPlaces(rank)))
      if (place >= 0)
        part.copy(static_cast<int64_t>(i), whole, place);
    return part;
  };
  auto putPart = [](Tensor &whole, const Tensor &part,
                    const Partition &partition, size_t rank) {
    for (auto [i, place] : llvm::enumerate(partition.getPlaces(rank)))
      if (place >= 0)
        whole.copy(place, part, static_cast<int64_t>(i));
  };
  auto blockOf = [&](const std::string &name) -> int64_t {
    auto state = symbols.lookup<StateOp>(name);
    return state ? getStateBlock(state) : 1;
  };
  auto nameOn = [](const std::string &name, size_t rank) {
    return rank == 0 ? name : name + "@" + std::to_string(rank);
  };
  std::vector<std::vector<Tensor>> arguments;
  for (auto [rank, own] : llvm::enumerate(inputs)) {
    NamedTensors before = states;
    for (auto &[name, value] : before) {
      if (auto state = symbols.lookup<StateOp>(name);
          state && state.getRole() == Role::Coordinates)
        for (auto [axis, at] : llvm::enumerate(
                 mesh.getCoordinates(static_cast<int64_t>(rank),
                                     static_cast<int64_t>(inputs.size()))))
          value.integer(static_cast<int64_t>(axis)) = at;
      if (auto found = states.find(nameOn(name, rank));
          isOwn(name) && found != states.end())
        value = found->second;
      if (std::optional<Partition> partition = partOf(name))
        value = takePart(value, *partition, rank);
      // What uses elements that a rank does not have shows.
      if (ShardAttr place = placeOf(name)) {
        Tensor whole = std::exchange(value, Tensor(value.getType()));
        constexpr int64_t noCode = 255;
        for (int64_t i = 0; i < value.size(); ++i)
          if (isa<FloatType>(value.getType().getElementType()))
            value.real(i) = std::numeric_limits<double>::quiet_NaN();
          else
            value.integer(i) = noCode;
        ShardPlace at = getShardPlace(function, static_cast<int64_t>(rank),
                                      static_cast<int64_t>(inputs.size()));
        copyShard(value, whole, place.getFirst(), place.getOf(), at.place,
                  at.count, blockOf(name));
      }
    }
    llvm::Expected<std::vector<Tensor>> bound =
        bindArguments(function, own, before);
    if (!bound)
      return bound.takeError();
    arguments.push_back(std::move(*bound));
  }
  llvm::Expected<std::vector<std::vector<Tensor>>> results =
      evaluateRanks(function, std::move(arguments));
  if (!results)
    return results.takeError();
  NamedTensors before = states;
  NamedTensors outputs = sortResults(function, results->front(), states);
  for (auto &[name, value] : states)
    if (partOf(name))
      value = before.at(name);
  auto ranks = static_cast<int64_t>(results->size());
  for (auto [rank, own] : llvm::enumerate(*results)) {
    NamedTensors others;
    sortResults(function, std::move(own), others);
    for (const auto &[name, value] : others) {
      std::optional<Partition> partition = partOf(name);
      if (isOwn(name)) {
        // Of a part, the whole tensor with nothing else.
        Tensor own = partition ? Tensor(before.at(name).getType()) : value;
        if (partition)
          putPart(own, value, *partition, rank);
        states[nameOn(name, rank)] = std::move(own);
      } else if (ShardAttr place = placeOf(name)) {
        ShardPlace at =
            getShardPlace(function, static_cast<int64_t>(rank), ranks);
        Tensor part = partition ? takePart(states[name], *partition, rank)
                                : std::move(states[name]);
        copyShard(part, value, place.getFirst(), place.getOf(), at.place,
                  at.count, blockOf(name));
        if (partition)
          putPart(states[name], part, *partition, rank);
        else
          states[name] = std::move(part);
      } else if (partition) {
        putPart(states[name], value, *partition, rank);
      } else if (states[name].getRawData() != value.getRawData())
        return invalid("state '" + name + "' of rank " + llvm::Twine(rank) +
                       " is not rank 0's");
    }
  }
  joinStates(function, states);
  return outputs;
}

//===----------------------------------------------------------------------===//
// Expectations
//===----------------------------------------------------------------------===//

static bool equalBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, 8) == 0;
}

static bool isClose(double actual, double expected, double tolerance) {
  if (equalBits(actual, expected) || actual == expected)
    return true;
  if (!std::isfinite(actual) || !std::isfinite(expected))
    return false;
  return std::fabs(actual - expected) <=
         tolerance * std::max(1.0, std::fabs(expected));
}

/// Empty if the tensors agree.
static std::string compare(const Tensor &actual, const Tensor &expected,
                           std::optional<double> tolerance) {
  if (actual.getType() != expected.getType())
    return "has type " + toText(actual.getType()) + ", expected " +
           toText(expected.getType());
  for (int64_t i = 0; i < actual.size(); ++i) {
    bool same = !actual.isFloat() ? actual.integer(i) == expected.integer(i)
                : tolerance
                    ? isClose(actual.real(i), expected.real(i), *tolerance)
                    : equalBits(actual.real(i), expected.real(i));
    if (same)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "differs at element " << i << ": ";
    if (actual.isFloat())
      os << llvm::format("%.17g, expected %.17g", actual.real(i),
                         expected.real(i));
    else
      os << actual.integer(i) << ", expected " << expected.integer(i);
    return text;
  }
  return {};
}

llvm::Expected<std::vector<std::string>>
ingot::reference::runExpectations(func::FuncOp function, Evaluator evaluator,
                                  llvm::function_ref<double(Type)> leeway) {
  auto toleranceFor = [&](Type element) -> std::optional<double> {
    double tolerance = leeway(element);
    if (auto attribute = function->getAttrOfType<FloatAttr>("ingot.tolerance"))
      return std::max(tolerance, attribute.getValueAsDouble());
    return tolerance > 0 ? std::optional(tolerance) : std::nullopt;
  };
  llvm::Expected<std::vector<Tensor>> results = evaluator(function, {});
  if (!results)
    return results.takeError();
  if (results->size() % 2 != 0)
    return invalid("returns an odd number of tensors, expected pairs of an "
                   "actual and an expected one");
  std::vector<std::string> differences;
  for (size_t i = 0; i < results->size(); i += 2) {
    std::string difference =
        compare((*results)[i], (*results)[i + 1],
                toleranceFor((*results)[i].getElementType()));
    if (!difference.empty())
      differences.push_back(
          ("result " + llvm::Twine(i) + " " + difference).str());
  }
  return differences;
}
