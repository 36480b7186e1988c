// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// LowerSteps: lowers steps to LLVM functions of (context, state, arena), and
// defines the module's table.
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/targets/host/Passes.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_LOWERSTEPS
#include "passes/targets/host/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct LowerSteps : ingot::impl::LowerStepsBase<LowerSteps> {
  using LowerStepsBase::LowerStepsBase;

  void runOnOperation() override {
    context = &getContext();
    pointer = LLVM::LLVMPointerType::get(context);
    i32 = IntegerType::get(context, 32);
    i64 = IntegerType::get(context, 64);
    filler = {};
    SmallVector<LLVM::LLVMFuncOp> lowered;
    for (auto step : llvm::to_vector(getOperation().getOps<exec::StepOp>()))
      lowered.push_back(lowerStep(step));
    for (auto state :
         llvm::make_early_inc_range(getOperation().getOps<StateOp>()))
      state.erase();
    defineModule(lowered);
  }

private:
  OpBuilder atModuleEnd() {
    return OpBuilder::atBlockEnd(getOperation().getBody());
  }

  Value constant(OpBuilder &b, Location loc, Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type,
                                    b.getIntegerAttr(type, value));
  }

  /// Creates a constant in memory, field by field.
  LLVM::GlobalOp global(Location loc, Type type, StringRef name,
                        LLVM::Linkage linkage,
                        llvm::function_ref<Value(OpBuilder &)> build) {
    OpBuilder b = atModuleEnd();
    auto op = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, linkage,
                                     name, Attribute());
    b.createBlock(&op.getInitializer());
    LLVM::ReturnOp::create(b, loc, build(b));
    return op;
  }

  /// Creates a struct of values.
  Value structure(OpBuilder &b, Location loc, Type type,
                  ArrayRef<Value> fields) {
    Value result = LLVM::UndefOp::create(b, loc, type);
    for (auto [i, field] : llvm::enumerate(fields))
      result = LLVM::InsertValueOp::create(b, loc, result, field,
                                           ArrayRef<int64_t>(i));
    return result;
  }

  /// Creates a constant of bytes with a name.
  void text(StringRef name, StringRef bytes) {
    OpBuilder b = atModuleEnd();
    Location loc = getOperation().getLoc();
    auto type =
        LLVM::LLVMArrayType::get(IntegerType::get(context, 8), bytes.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           b.getStringAttr(bytes));
  }

  LLVM::LLVMFuncOp declare(StringRef name, LLVM::LLVMFunctionType type) {
    LLVM::LLVMFuncOp &function = declared[name];
    if (!function) {
      OpBuilder b = atModuleEnd();
      function =
          LLVM::LLVMFuncOp::create(b, getOperation().getLoc(), name, type);
    }
    return function;
  }

  /// Returns the function that the runtime calls: it loads the buffers'
  /// addresses and runs the kernel, which takes `indices` indices after them.
  FlatSymbolRefAttr entryOf(StringAttr kernel, unsigned indices) {
    std::string name = (kernel.getValue() + ".entry").str();
    auto symbol = FlatSymbolRefAttr::get(context, name);
    if (!entries.insert(name).second)
      return symbol;
    auto body = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(kernel);
    body.setLinkage(LLVM::Linkage::Internal);
    OpBuilder b = atModuleEnd();
    Location loc = body.getLoc();
    SmallVector<Type> types = {pointer};
    types.append(indices, i64);
    auto entry = LLVM::LLVMFuncOp::create(
        b, loc, name,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types),
        LLVM::Linkage::Internal);
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> arguments;
    for (unsigned i = 0, e = body.getNumArguments() - indices; i < e; ++i) {
      Value slot =
          LLVM::GEPOp::create(b, loc, pointer, pointer, block->getArgument(0),
                              ArrayRef<LLVM::GEPArg>(i));
      arguments.push_back(LLVM::LoadOp::create(b, loc, pointer, slot));
    }
    llvm::append_range(arguments, block->getArguments().drop_front());
    LLVM::CallOp::create(b, loc, body, arguments);
    LLVM::ReturnOp::create(b, loc, ValueRange());
    return symbol;
  }

  /// Returns an address in a descriptor: that of a kernel's name or of its
  /// code.
  Value addressOf(OpBuilder &b, Location loc,
                  const exec::Descriptor::Address *address) {
    auto find = [&](FlatSymbolRefAttr symbol) -> Value {
      return LLVM::AddressOfOp::create(b, loc, pointer, symbol);
    };
    if (!address)
      return LLVM::ZeroOp::create(b, loc, pointer);
    StringAttr kernel = address->kernel;
    if (!address->isName)
      return getOperation().lookupSymbol<LLVM::LLVMFuncOp>(kernel)
                 ? find(entryOf(kernel, address->indices))
                 : LLVM::ZeroOp::create(b, loc, pointer);
    std::string name = (kernel.getValue() + ".name").str();
    if (entries.insert(name).second)
      text(name, (kernel.getValue() + StringRef("\0", 1)).str());
    return find(FlatSymbolRefAttr::get(context, name));
  }

  /// A number or an address of a descriptor.
  struct Field {
    uint32_t offset, bytes;
    bool isAddress;
  };

  /// Lists the fields of a struct, with those of nested structs in their place.
  static void listFields(const abi::Struct &type, uint32_t base,
                         SmallVectorImpl<Field> &fields) {
    for (const abi::Field &field : type.fields)
      for (uint32_t i = 0; i < std::max(field.count, 1u); ++i) {
        uint32_t offset = base + field.offset + i * field.bytes;
        if (field.encoding == abi::Encoding::Struct)
          listFields(*field.type, offset, fields);
        else
          fields.push_back(
              {offset, field.bytes, field.encoding == abi::Encoding::Address});
      }
  }

  /// Returns the constant descriptor of a call.
  Value descriptor(OpBuilder &b, Location loc, exec::AbiCall call,
                   StringRef name, int64_t index) {
    exec::Descriptor desc = call.getDescriptor(index);
    SmallVector<Field> fields;
    listFields(desc.getType(), 0, fields);
    SmallVector<Type> types;
    for (const Field &field : fields)
      types.push_back(field.isAddress
                          ? Type(pointer)
                          : IntegerType::get(context, field.bytes * 8));
    auto type = LLVM::LLVMStructType::getLiteral(context, types);
    auto op =
        global(loc, type, name, LLVM::Linkage::Internal, [&](OpBuilder &inner) {
          SmallVector<Value> values;
          for (auto [field, fieldType] : llvm::zip_equal(fields, types))
            values.push_back(
                field.isAddress
                    ? addressOf(inner, loc, desc.findAddress(field.offset))
                    : constant(inner, loc, fieldType,
                               desc.getInteger(field.offset, field.bytes)));
          return structure(inner, loc, type, values);
        });
    return LLVM::AddressOfOp::create(b, loc, op);
  }

  LLVM::LLVMFuncOp lowerStep(exec::StepOp step) {
    std::string name = step.getSymName().str();
    step.setSymName(name + ".exec");
    int64_t index = 0;
    LLVM::LLVMFuncOp function =
        lowerBlock(step.getBody().front(), name, name, /*loops=*/0, index);
    step.erase();
    return function;
  }

  /// Creates a function of the runtime, the state block, the arena and the
  /// number of the iteration of each loop around it; `b` is then in it.
  LLVM::LLVMFuncOp addStepFunction(OpBuilder &b, Location loc, StringRef name,
                                   unsigned loops) {
    auto voidType = LLVM::LLVMVoidType::get(context);
    SmallVector<Type> types(3, pointer);
    types.append(loops, i64);
    auto function = LLVM::LLVMFuncOp::create(
        b, loc, name, LLVM::LLVMFunctionType::get(voidType, types),
        LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    return function;
  }

  /// Creates a function with the calls of a block within `loops` loops, the
  /// first of which has number `index`.
  LLVM::LLVMFuncOp lowerBlock(Block &block, StringRef name, StringRef step,
                              unsigned loops, int64_t &index) {
    SmallVector<Operation *> calls;
    for (Operation &op : block)
      if (isa<exec::AbiCall, exec::RepeatOp>(op))
        calls.push_back(&op);
    Location loc = block.getParentOp()->getLoc();
    // Steps are split into functions, since the compile time of LLVM is more
    // than linear in the size of a function.
    constexpr size_t callsPerFunction = 64;
    if (calls.size() <= callsPerFunction)
      return lowerCalls(loc, name, step, calls, loops, index);
    OpBuilder b = atModuleEnd();
    LLVM::LLVMFuncOp function = addStepFunction(b, loc, name, loops);
    for (size_t i = 0; i < calls.size(); i += callsPerFunction) {
      LLVM::LLVMFuncOp part =
          lowerCalls(loc, (name + ".part." + Twine(i)).str(), step,
                     ArrayRef(calls).drop_front(i).take_front(callsPerFunction),
                     loops, index);
      part.setNoInline(true);
      LLVM::CallOp::create(b, loc, part, function.getArguments());
    }
    LLVM::ReturnOp::create(b, loc, ValueRange());
    return function;
  }

  /// Calls the function of the body of a loop for each iteration; `b` is in
  /// `function`, which has the arguments of the body's except the last.
  void lowerRepeat(exec::RepeatOp repeat, StringRef step, unsigned loops,
                   int64_t &index, LLVM::LLVMFuncOp function, OpBuilder &b) {
    Location loc = repeat.getLoc();
    LLVM::LLVMFuncOp body = lowerBlock(repeat.getBody().front(),
                                       (step + ".repeat." + Twine(index)).str(),
                                       step, loops + 1, index);
    body.setNoInline(true);
    Block *entry = b.getInsertionBlock();
    Region *region = entry->getParent();
    Block *loop = b.createBlock(region, region->end(), {i64}, {loc});
    Block *exit = b.createBlock(region, region->end());
    b.setInsertionPointToEnd(entry);
    LLVM::BrOp::create(b, loc, ValueRange(constant(b, loc, i64, 0)), loop);
    b.setInsertionPointToStart(loop);
    Value iteration = loop->getArgument(0);
    SmallVector<Value> arguments(function.getArguments());
    arguments.push_back(iteration);
    LLVM::CallOp::create(b, loc, body, arguments);
    Value next =
        LLVM::AddOp::create(b, loc, iteration, constant(b, loc, i64, 1));
    Value count =
        constant(b, loc, i64, static_cast<int64_t>(repeat.getCount()));
    Value isMore =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, next, count);
    LLVM::CondBrOp::create(b, loc, isMore, loop, ValueRange(next), exit,
                           ValueRange());
    b.setInsertionPointToStart(exit);
  }

  /// Returns the address of a buffer in a function of a step.
  Value addressOf(OpBuilder &b, exec::BufferOp buffer,
                  LLVM::LLVMFuncOp function, Value shards) {
    Location loc = buffer.getLoc();
    bool isShard = buffer.getSpace() == exec::Space::Shard;
    bool inArena = buffer.getSpace() == exec::Space::Arena;
    Value offset = constant(b, loc, i64, buffer.getOffset());
    ArrayRef<int64_t> strides =
        buffer.getStrides().value_or(ArrayRef<int64_t>());
    for (auto [i, stride] : llvm::enumerate(strides))
      if (stride != 0) {
        Value moved = LLVM::MulOp::create(b, loc, function.getArgument(3 + i),
                                          constant(b, loc, i64, stride));
        offset = LLVM::AddOp::create(b, loc, offset, moved);
      }
    Value address = LLVM::GEPOp::create(
        b, loc, pointer, IntegerType::get(context, 8),
        isShard ? shards : function.getArgument(inArena ? 2 : 1),
        ArrayRef<LLVM::GEPArg>{offset});
    return isShard ? LLVM::LoadOp::create(b, loc, pointer, address) : address;
  }

  /// Creates a function with these calls and loops of a step.
  LLVM::LLVMFuncOp lowerCalls(Location loc, StringRef name, StringRef step,
                              ArrayRef<Operation *> calls, unsigned loops,
                              int64_t &index) {
    OpBuilder b = atModuleEnd();
    LLVM::LLVMFuncOp function = addStepFunction(b, loc, name, loops);
    Value runtime = function.getArgument(0);
    Value state = function.getArgument(1), arena = function.getArgument(2);

    int64_t most = 1;
    for (Operation *op : calls)
      if (auto call = dyn_cast<exec::AbiCall>(op))
        most = std::max<int64_t>(most, call.getTable().size());
    Value table = LLVM::AllocaOp::create(b, loc, pointer, pointer,
                                         constant(b, loc, i64, most));
    DenseMap<Value, Value> addresses;
    Value shards;
    for (Operation *op : calls) {
      if (auto repeat = dyn_cast<exec::RepeatOp>(op)) {
        lowerRepeat(repeat, step, loops, index, function, b);
        continue;
      }
      auto call = cast<exec::AbiCall>(op);
      Location at = call->getLoc();
      auto address = [&](Value value) -> Value {
        if (!value)
          return LLVM::ZeroOp::create(b, at, pointer);
        Value &known = addresses[value];
        if (!known) {
          auto buffer = value.getDefiningOp<exec::BufferOp>();
          if (buffer.getSpace() == exec::Space::Shard && !shards)
            shards = findShards(b, loc, runtime);
          known = addressOf(b, buffer, function, shards);
        }
        return known;
      };
      SmallVector<Value> arguments = {
          runtime, descriptor(b, at, call,
                              (step + ".call." + Twine(index)).str(), index)};
      llvm::append_range(arguments,
                         llvm::map_range(call.getBuffers(), address));
      SmallVector<Value> entries = call.getTable();
      if (auto places = findPlaces(entries)) {
        std::string name = (step + ".table." + Twine(index)).str();
        Value list = defineTable(b, at, name, *places);
        Value size = constant(b, at, i64, places->size());
        LLVM::CallOp::create(b, at, getFiller(),
                             {table, list, size, state, arena});
      } else {
        for (auto [i, buffer] : llvm::enumerate(entries)) {
          Value slot = LLVM::GEPOp::create(b, at, pointer, pointer, table,
                                           ArrayRef<LLVM::GEPArg>(i));
          LLVM::StoreOp::create(b, at, address(buffer), slot);
        }
      }
      if (!entries.empty())
        arguments.push_back(table);
      SmallVector<Type> types(arguments.size(), pointer);
      auto callee = declare(
          StringRef(call.getAbiEntry().symbol),
          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
      LLVM::CallOp::create(b, at, callee, arguments);
      ++index;
    }
    LLVM::ReturnOp::create(b, loc, ValueRange());
    return function;
  }

  /// Lists the places of the buffers of a long table: twice the offset, plus
  /// one if it is in the arena. A loop fills the table, because LLVM takes more
  /// time than the kernels are worth where steps store many addresses one by
  /// one. None if the table is short, or has shards or slices.
  static std::optional<SmallVector<int64_t>>
  findPlaces(ArrayRef<Value> buffers) {
    constexpr size_t longTable = 16;
    SmallVector<int64_t> places;
    for (Value value : buffers) {
      auto buffer =
          value ? value.getDefiningOp<exec::BufferOp>() : exec::BufferOp();
      if (!buffer || buffer.getSpace() == exec::Space::Shard ||
          buffer.getStrides())
        return std::nullopt;
      bool inArena = buffer.getSpace() == exec::Space::Arena;
      places.push_back(2 * static_cast<int64_t>(buffer.getOffset()) + inArena);
    }
    if (places.size() < longTable)
      return std::nullopt;
    return places;
  }

  Value defineTable(OpBuilder &b, Location loc, StringRef name,
                    ArrayRef<int64_t> places) {
    int64_t size = places.size();
    OpBuilder atEnd = atModuleEnd();
    auto op = LLVM::GlobalOp::create(
        atEnd, loc, LLVM::LLVMArrayType::get(i64, size), /*isConstant=*/true,
        LLVM::Linkage::Internal, name,
        DenseIntElementsAttr::get(RankedTensorType::get({size}, i64), places));
    return LLVM::AddressOfOp::create(b, loc, op);
  }

  /// Returns the function that fills a table with the addresses of places.
  LLVM::LLVMFuncOp getFiller() {
    if (filler)
      return filler;
    OpBuilder b = atModuleEnd();
    Location loc = getOperation().getLoc();
    filler = LLVM::LLVMFuncOp::create(
        b, loc, "ingot_fill_table",
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                    {pointer, pointer, i64, pointer, pointer}),
        LLVM::Linkage::Internal);
    filler.setNoInline(true);
    Block *entry = filler.addEntryBlock(b);
    Region &region = filler.getBody();
    Block *loop = b.createBlock(&region, region.end(), {i64}, {loc});
    Block *exit = b.createBlock(&region, region.end());
    b.setInsertionPointToStart(entry);
    auto [table, places, size, state, arena] = std::array{
        entry->getArgument(0), entry->getArgument(1), entry->getArgument(2),
        entry->getArgument(3), entry->getArgument(4)};
    Value zero = constant(b, loc, i64, 0), one = constant(b, loc, i64, 1);
    LLVM::BrOp::create(b, loc, ValueRange(zero), loop);
    b.setInsertionPointToStart(loop);
    Value i = loop->getArgument(0);
    auto at = [&](Type type, Value base, Value index) -> Value {
      return LLVM::GEPOp::create(b, loc, pointer, type, base,
                                 ArrayRef<LLVM::GEPArg>{index});
    };
    Value place = LLVM::LoadOp::create(b, loc, i64, at(i64, places, i));
    Value inArena =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne,
                             LLVM::AndOp::create(b, loc, place, one), zero);
    Value base = LLVM::SelectOp::create(b, loc, inArena, arena, state);
    Value offset = LLVM::LShrOp::create(b, loc, place, one);
    LLVM::StoreOp::create(b, loc,
                          at(IntegerType::get(context, 8), base, offset),
                          at(pointer, table, i));
    Value next = LLVM::AddOp::create(b, loc, i, one);
    Value isMore =
        LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, next, size);
    LLVM::CondBrOp::create(b, loc, isMore, loop, ValueRange(next), exit,
                           ValueRange());
    b.setInsertionPointToStart(exit);
    LLVM::ReturnOp::create(b, loc, ValueRange());
    return filler;
  }

  /// Returns the table of addresses of shards.
  Value findShards(OpBuilder &b, Location loc, Value runtime) {
    auto callee = declare("ingot_shards",
                          LLVM::LLVMFunctionType::get(pointer, {pointer}));
    return LLVM::CallOp::create(b, loc, callee, runtime).getResult();
  }

  /// Returns an address that the link provides, or null.
  Value blob(OpBuilder &b, Location loc, StringRef name, uint64_t bytes) {
    if (bytes == 0)
      return LLVM::ZeroOp::create(b, loc, pointer);
    OpBuilder atEnd = atModuleEnd();
    auto op = LLVM::GlobalOp::create(
        atEnd, loc, IntegerType::get(context, 8), /*isConstant=*/true,
        LLVM::Linkage::External, name, Attribute());
    return LLVM::AddressOfOp::create(b, loc, op);
  }

  /// Returns a string or size that an attribute of the module has, and removes
  /// the attribute, since the function table contains it from now on.
  std::string takeString(StringRef name) {
    auto attribute =
        dyn_cast_or_null<StringAttr>(getOperation()->removeAttr(name));
    return attribute ? attribute.str() : "";
  }
  uint64_t takeSize(StringRef name) {
    auto attribute =
        dyn_cast_or_null<IntegerAttr>(getOperation()->removeAttr(name));
    return attribute ? attribute.getInt() : 0;
  }

  void defineModule(MutableArrayRef<LLVM::LLVMFuncOp> steps) {
    Location loc = getOperation().getLoc();
    std::string manifest = takeString(exec::kManifestAttr);
    std::string deviceCode = takeString(exec::kDeviceCodeAttr);
    std::string deviceText = takeString(exec::kDeviceTextAttr);
    std::string next = takeString(exec::kNextModuleAttr);
    uint64_t weightBytes = takeSize(exec::kWeightBytesAttr);
    uint64_t exportBytes = takeSize(exec::kExportBytesAttr);
    if (manifest.empty())
      manifest = "{}";
    auto functionType =
        LLVM::LLVMStructType::getLiteral(context, {pointer, pointer});
    auto tableType = LLVM::LLVMArrayType::get(functionType, steps.size());
    for (LLVM::LLVMFuncOp step : steps)
      text((step.getName() + ".name").str(),
           (step.getName() + StringRef("\0", 1)).str());
    text("ingot_manifest", manifest);
    text("ingot_device_code", deviceCode);
    // The driver expects PTX as a null-terminated string.
    text("ingot_device_ptx",
         StringRef(deviceText.c_str(), deviceText.size() + 1));
    global(loc, tableType, "ingot_functions", LLVM::Linkage::Internal,
           [&](OpBuilder &b) {
             Value table = LLVM::UndefOp::create(b, loc, tableType);
             for (auto [i, step] : llvm::enumerate(steps)) {
               Value name = LLVM::AddressOfOp::create(
                   b, loc, pointer,
                   FlatSymbolRefAttr::get(context,
                                          (step.getName() + ".name").str()));
               Value run = LLVM::AddressOfOp::create(b, loc, step);
               table = LLVM::InsertValueOp::create(
                   b, loc, table, structure(b, loc, functionType, {name, run}),
                   ArrayRef<int64_t>(i));
             }
             return table;
           });
    auto moduleType = LLVM::LLVMStructType::getLiteral(
        context, {i32, i32, pointer, pointer, i64, pointer, i64, pointer, i64,
                  pointer, i64, pointer, pointer});
    global(loc, moduleType, "ingot_module", LLVM::Linkage::External,
           [&](OpBuilder &b) {
             auto address = [&](StringRef name) -> Value {
               return LLVM::AddressOfOp::create(
                   b, loc, pointer, FlatSymbolRefAttr::get(context, name));
             };
             auto size = [&](uint64_t bytes) {
               return constant(b, loc, i64, bytes);
             };
             return structure(
                 b, loc, moduleType,
                 {constant(b, loc, i32, INGOT_ABI_VERSION),
                  constant(b, loc, i32, steps.size()),
                  address("ingot_functions"), address("ingot_manifest"),
                  size(manifest.size()),
                  blob(b, loc, "_binary_ingot_weights_start", weightBytes),
                  size(weightBytes),
                  blob(b, loc, "_binary_ingot_export_start", exportBytes),
                  size(exportBytes), address("ingot_device_code"),
                  size(deviceCode.size()), address("ingot_device_ptx"),
                  blob(b, loc, next, next.size())});
           });
  }

  MLIRContext *context = nullptr;
  LLVM::LLVMPointerType pointer;
  IntegerType i32, i64;
  llvm::StringSet<> entries;
  llvm::StringMap<LLVM::LLVMFuncOp> declared;
  LLVM::LLVMFuncOp filler;
};

} // namespace
