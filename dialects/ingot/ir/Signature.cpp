// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Signature.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ingot;

FlatSymbolRefAttr Signature::argumentState(unsigned index) const {
  if (auto slot = func.getArgAttrOfType<FlatSymbolRefAttr>(index, kSlotAttr))
    return slot;
  return func.getArgAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
}

FlatSymbolRefAttr Signature::resultState(unsigned index) const {
  if (auto slot = func.getResultAttrOfType<FlatSymbolRefAttr>(index, kSlotAttr))
    return slot;
  return func.getResultAttrOfType<FlatSymbolRefAttr>(index, kStateAttr);
}

FlatSymbolRefAttr Signature::resultGradient(unsigned index) const {
  return func.getResultAttrOfType<FlatSymbolRefAttr>(index, kGradientAttr);
}

static StringRef textOrEmpty(StringAttr attribute) {
  return attribute ? attribute.getValue() : StringRef();
}

StringRef Signature::argumentName(unsigned index) const {
  return textOrEmpty(func.getArgAttrOfType<StringAttr>(index, kNameAttr));
}

StringRef Signature::resultName(unsigned index) const {
  return textOrEmpty(func.getResultAttrOfType<StringAttr>(index, kNameAttr));
}

StringRef Signature::argumentKind(unsigned index) const {
  return textOrEmpty(func.getArgAttrOfType<StringAttr>(index, kKindAttr));
}

BlockArgument Signature::findArgument(FlatSymbolRefAttr state) const {
  for (BlockArgument argument : func.getArguments())
    if (argumentState(argument.getArgNumber()) == state)
      return argument;
  return {};
}

llvm::DenseMap<Attribute, BlockArgument> Signature::mapStates() const {
  llvm::DenseMap<Attribute, BlockArgument> arguments;
  for (BlockArgument argument : func.getArguments())
    if (FlatSymbolRefAttr state = argumentState(argument.getArgNumber()))
      arguments.try_emplace(state, argument);
  return arguments;
}

std::optional<unsigned> Signature::findInput(StringRef kind) const {
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (argumentKind(i) == kind)
      return i;
  return std::nullopt;
}

std::optional<unsigned> Signature::findResult(StringRef name) const {
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (resultName(i) == name)
      return i;
  return std::nullopt;
}

unsigned Signature::numInputs() const {
  unsigned index = 0;
  while (index < func.getNumArguments() && !argumentState(index))
    ++index;
  return index;
}

LogicalResult Signature::checkIsFree(StringRef name) const {
  for (unsigned i = 0; i < numInputs(); ++i)
    if (argumentName(i) == name)
      return emitUserError(func.getLoc(),
                           "the model has an input '" + name +
                               "', a name that training uses itself",
                           "rename the input before exporting, as with "
                           "input_names of PyTorch's exporter");
  return success();
}

BlockArgument Signature::addInput(StringRef name, StringRef kind,
                                  Type type) const {
  Builder builder(func.getContext());
  unsigned index = numInputs();
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
       builder.getNamedAttr(kKindAttr, builder.getStringAttr(kind))});
  (void)func.insertArgument(index, type, attributes, func.getLoc());
  return func.getArgument(index);
}

BlockArgument Signature::addState(FlatSymbolRefAttr state, Type type) const {
  return addStates({{state, type}}).front();
}

SmallVector<BlockArgument> Signature::addStates(ArrayRef<State> states) const {
  Builder builder(func.getContext());
  unsigned first = func.getNumArguments();
  SmallVector<unsigned> indices(states.size(), first);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations(states.size(), func.getLoc());
  for (const State &state : states) {
    types.push_back(state.type);
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(kStateAttr, state.symbol)}));
  }
  (void)func.insertArguments(indices, types, attributes, locations);
  return llvm::to_vector(func.getArguments().drop_front(first));
}

void Signature::eraseUnused() const {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(func.getNumArguments());
  for (BlockArgument argument : func.getArguments())
    if (argument.use_empty() && argumentState(argument.getArgNumber()))
      unused.set(argument.getArgNumber());
  (void)func.eraseArguments(unused);
}

//===----------------------------------------------------------------------===//
// ResultList
//===----------------------------------------------------------------------===//

FlatSymbolRefAttr ResultList::Entry::state() const {
  return attributes.getAs<FlatSymbolRefAttr>(kStateAttr);
}

FlatSymbolRefAttr ResultList::Entry::gradient() const {
  return attributes.getAs<FlatSymbolRefAttr>(kGradientAttr);
}

ResultList ResultList::of(Signature signature) {
  ResultList list;
  func::FuncOp func = signature.getFunction();
  for (auto [i, value] : llvm::enumerate(signature.getReturn()->getOperands()))
    list.add(value, func.getResultAttrDict(i));
  return list;
}

void ResultList::add(Value value, DictionaryAttr attributes) {
  if (!attributes)
    attributes = DictionaryAttr::get(value.getContext());
  entries.push_back({value, attributes});
}

static DictionaryAttr single(Value value, StringRef key, Attribute attribute) {
  Builder builder(value.getContext());
  return builder.getDictionaryAttr({builder.getNamedAttr(key, attribute)});
}

void ResultList::addNamed(StringRef name, Value value) {
  add(value,
      single(value, kNameAttr, StringAttr::get(value.getContext(), name)));
}

void ResultList::addState(FlatSymbolRefAttr state, Value value) {
  add(value, single(value, kStateAttr, state));
}

void ResultList::addGradient(FlatSymbolRefAttr parameter, Value value) {
  add(value, single(value, kGradientAttr, parameter));
}

bool ResultList::hasGradients() const {
  return llvm::any_of(entries,
                      [](const Entry &entry) { return entry.gradient(); });
}

void ResultList::apply(Signature signature) const {
  func::FuncOp func = signature.getFunction();
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (const Entry &entry : entries) {
    values.push_back(entry.value);
    attributes.push_back(entry.attributes);
  }
  signature.getReturn()->setOperands(values);
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         func.getArgumentTypes(),
                                         TypeRange(ValueRange(values))));
  func.setResAttrsAttr(ArrayAttr::get(func.getContext(), attributes));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

func::FuncOp ingot::findFunction(ModuleOp module, StringRef name) {
  auto func = module.lookupSymbol<func::FuncOp>(name);
  return func && !func.isExternal() ? func : func::FuncOp();
}

StateOp ingot::findState(ModuleOp module, FlatSymbolRefAttr symbol) {
  return module.lookupSymbol<StateOp>(symbol.getAttr());
}
