// SPDX-License-Identifier: Apache-2.0

#include "passes/fusion/FusionPlan.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/support/Remarks.h"
#include "mlir/IR/Matchers.h"
#include <queue>

using namespace mlir;
using namespace ingot;

FusionPlan::FusionPlan(Block &block, const Shards &shards,
                       const FusionLimits &limits)
    : block(block), shards(shards), limits(limits) {
  for (Operation &op : block)
    position[&op] = position.size();
  chooseStored();
  if (!limits.each) {
    if (limits.library && !limits.forcesKernels)
      chooseLibraryEpilogues();
    storeColumns();
    storeChosen();
    storeDeep();
    findBlockGroups();
    storeShared();
  }
  createNodes();
  if (!limits.each) {
    // First: what is in blocks is in no other kernel. Where threads share rows
    // and merge what each of them has, all rows have one length.
    if (!limits.mergesPartials)
      formBlocks();
    formLibraryEpilogues();
    // First: rows would take what could be written in two orders at once.
    if (limits.tiles)
      formTiles();
    mergeNodes();
    if (limits.epilogues && !limits.library)
      formEpilogues();
    if (limits.epilogues && limits.library && limits.kernels)
      formMatmulKernels();
  }
  dropUnreadRoots();
  sortNodes();
}

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

/// Splats take no memory: every reader has its own.
bool FusionPlan::isFree(Operation *op) const {
  DenseElementsAttr value;
  return matchPattern(op, m_Constant(&value)) && value.isSplat();
}

bool FusionPlan::isView(Operation *op) const {
  return op->hasTrait<SameBytes>() && isStored(op);
}

/// Returns whether the op can be computed element by element within a kernel.
bool FusionPlan::isComputed(Operation *op) const {
  if (!isa<ScalarBody>(op) || (isa<LibraryCall>(op) && !limits.each))
    return false;
  return !op->hasTrait<OpTrait::ConstantLike>() || isFree(op);
}

bool FusionPlan::isLooped(Operation *op) const {
  auto body = dyn_cast<ScalarBody>(op);
  return body && body.isLooped();
}

/// Returns whether the op becomes a kernel of reductions.
bool FusionPlan::isReduction(Operation *op) const {
  auto reduction = dyn_cast<Reduction>(op);
  return reduction && isLooped(op) &&
         (limits.mergesPartials || reduction.getPartialTypes().size() == 1);
}

//===----------------------------------------------------------------------===//
// Stored values
//===----------------------------------------------------------------------===//

void FusionPlan::store(Operation *op) {
  if (op)
    stored.insert(op);
}

/// Stores an op; a view of a computed value has no memory of its own.
void FusionPlan::storeThroughViews(Operation *op) {
  SmallVector<Operation *> work = {op};
  while (!work.empty()) {
    Operation *current = work.pop_back_val();
    store(current);
    if (current->hasTrait<SameBytes>())
      for (Value operand : current->getOperands())
        if (Operation *def = operand.getDefiningOp())
          work.push_back(def);
  }
}

void FusionPlan::chooseStored() {
  // The iteration is from the last op to the first, so that a stored view
  // stores its operand.
  for (Operation &op : llvm::reverse(block)) {
    bool inKernel = isComputed(&op);
    if (!inKernel || isLooped(&op) || (limits.each && !isFree(&op)))
      stored.insert(&op);
    // A window reads elements several times, a reduction reads them once.
    bool readsStored = !inKernel || isView(&op) ||
                       (isLooped(&op) && !isReduction(&op)) || limits.each;
    if (!readsStored)
      continue;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (!inKernel || isView(&op) || !isFree(def))
          store(def);
  }
}

/// Returns true if the op is computed wherever it is read.
bool FusionPlan::isWithin(Operation *op) const {
  return op && !isStored(op) && !isFree(op);
}

/// Stores values in between where a kernel would have more ops or inputs than
/// the limit: the time to compile a kernel grows faster than its size.
void FusionPlan::storeDeep() {
  // The ops of the kernel that ends in an op, and their reads of inputs. What
  // has several readers counts for each, until that exceeds the limit; then
  // only for those that read it at other elements.
  struct Size {
    unsigned ops = 1, inputs = 0;
  };
  DenseMap<Operation *, Size> sizes;
  auto isTooLarge = [&](Size size) {
    return std::max(size.ops, size.inputs) > limits.maxRootOps;
  };
  auto count = [&](Operation *root) {
    llvm::SetVector<Operation *> ops;
    ops.insert(root);
    Size size;
    for (size_t i = 0; i < ops.size() && !isTooLarge(size); ++i)
      for (OpOperand &operand : ops[i]->getOpOperands()) {
        Operation *def = operand.get().getDefiningOp();
        if (!isWithin(def)) {
          ++size.inputs;
        } else if (!cast<ScalarBody>(ops[i]).readsPointwise(
                       operand.getOperandNumber())) {
          // Another element is computed anew, with all that it takes.
          Size part = sizes.lookup(def);
          size.ops += part.ops;
          size.inputs += part.inputs;
        } else if (ops.insert(def)) {
          ++size.ops;
        }
      }
    return size;
  };
  auto measure = [&](Operation *op) {
    Size size;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      Size part = isWithin(def) ? sizes.lookup(def) : Size{0, 1};
      size.ops += part.ops;
      size.inputs += part.inputs;
    }
    return isTooLarge(size) ? count(op) : size;
  };
  for (Operation &op : block) {
    if (isFree(&op) || !isComputed(&op))
      continue;
    Size &size = sizes[&op] = measure(&op);
    // The largest operands first, until the rest fits.
    while (isTooLarge(size)) {
      Operation *largest = nullptr;
      unsigned most = 1;
      for (Value operand : op.getOperands())
        if (Operation *def = operand.getDefiningOp(); isWithin(def)) {
          Size part = sizes.lookup(def);
          if (std::max(part.ops, part.inputs) >= most) {
            most = std::max(part.ops, part.inputs) + 1;
            largest = def;
          }
        }
      if (!largest)
        break;
      storeThroughViews(largest);
      size = measure(&op);
    }
  }
}

/// Stores what all elements of a column compute alike, such as the deviation of
/// a channel from its variance, where that takes longer than a kernel for it.
void FusionPlan::storeColumns() {
  if (limits.opsOfLaunch == 0)
    return;
  for (auto broadcast : block.getOps<BroadcastOp>()) {
    RankedTensorType type = broadcast.getType();
    Operation *op = broadcast.getOperand().getDefiningOp();
    bool isColumn = !broadcast.getDims().empty() &&
                    broadcast.getDims().back() == type.getRank() - 1 &&
                    tensorType(broadcast.getOperand()).getShape().back() != 1;
    if (!isWithin(op) || !isComputed(op) || !isColumn)
      continue;
    // What is computed for an element: quotients and roots are sequences of
    // instructions.
    llvm::SetVector<Operation *> within;
    within.insert(op);
    for (size_t i = 0; i < within.size(); ++i)
      for (Value operand : within[i]->getOperands())
        if (Operation *def = operand.getDefiningOp(); isWithin(def))
          within.insert(def);
    double flops = 0;
    constexpr double instructions = 4;
    for (Operation *part : within)
      if (auto cost = dyn_cast<CostModel>(part))
        flops += static_cast<double>(cost.getFlops()) /
                 static_cast<double>(
                     tensorType(part->getResult(0)).getNumElements());
    double again =
        instructions * flops *
        static_cast<double>(type.getNumElements() -
                            tensorType(op->getResult(0)).getNumElements());
    if (again <= limits.opsOfLaunch)
      continue;
    remark::missed(op->getLoc(), remarkOptions("form-fusions", "StoredValue"))
        << remark::reason("all elements of a column would compute it")
        << remark::metric("operations", again);
    storeThroughViews(op);
  }
}

/// Returns the stored ops that only `ops` read.
SmallVector<Operation *>
FusionPlan::findTerms(const llvm::SetVector<Operation *> &ops) const {
  llvm::SetVector<Operation *> terms;
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && isStored(def) && def->getNumResults() == 1 &&
          llvm::all_of(def->getUsers(),
                       [&](Operation *user) { return ops.contains(user); }))
        terms.insert(def);
    }
  return terms.takeVector();
}

/// Stores values with several readers where that moves fewer bytes.
void FusionPlan::storeShared() {
  using Set = llvm::SmallSetVector<void *, 8>;
  auto bytesOf = [](Value value) { return byteSize(tensorType(value)); };
  // The number of operations that a CPU executes while memory moves one byte.
  constexpr int64_t flopsPerByte = 8;
  // The stored ops that depend on a computed op.
  DenseMap<Operation *, Set> readers;
  for (Operation &op : llvm::reverse(block)) {
    if (isStored(&op) || isFree(&op))
      continue;
    Set &set = readers[&op];
    for (Operation *user : op.getUsers()) {
      if (isStored(user))
        set.insert(user);
      else
        set.insert_range(readers[user]);
    }
  }
  for (Operation &op : block) {
    if (isStored(&op) || isFree(&op))
      continue;
    // One kernel computes all that is in a group of blocks.
    llvm::SmallPtrSet<void *, 8> distinct;
    for (void *reader : readers[&op]) {
      auto *root = static_cast<Operation *>(reader);
      distinct.insert(isInBlocks(root) ? *blockGroups.findLeader(root) : root);
    }
    int64_t kernels = distinct.size();
    if (kernels < 2)
      continue;
    // Where all of them read it rounded, that is stored.
    Operation *only = &op;
    while (only->hasOneUse() && (only == &op || isa<ReshapeOp>(only)) &&
           !isStored(*only->user_begin()))
      only = *only->user_begin();
    if (limits.tiles && isa<CastOp>(only) && only != &op &&
        bytesOf(only->getResult(0)) < bytesOf(op.getResult(0)))
      continue;
    // The stored values that it depends on, and the ops that compute it from
    // them.
    Set leaves;
    llvm::SetVector<Operation *> within;
    within.insert(&op);
    for (size_t i = 0; i < within.size(); ++i)
      for (Value operand : within[i]->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && isFree(def))
          continue;
        if (!def || isStored(def))
          leaves.insert(operand.getAsOpaquePointer());
        else
          within.insert(def);
      }
    int64_t inputBytes = 0, bytes = bytesOf(op.getResult(0)), flops = 0;
    for (Operation *part : within)
      flops += cast<CostModel>(part).getFlops();
    int64_t work = flops / flopsPerByte;
    for (void *leaf : leaves)
      inputBytes += bytesOf(Value::getFromOpaquePointer(leaf));
    int64_t again = kernels * (inputBytes + work);
    // Where one of them rounds it and stores that, its kernel computes both.
    bool isRounded =
        limits.tiles && llvm::any_of(op.getUsers(), [&](Operation *user) {
          return isa<CastOp>(user) && isStored(user);
        });
    int64_t once =
        inputBytes + work + bytes + (kernels - (isRounded ? 1 : 0)) * bytes;
    // Of several terms that nothing else reads, only the sum is kept, and one
    // of them never leaves the call that computes it.
    int64_t termBytes = 0, heldBytes = 0;
    for (Operation *term : findTerms(within)) {
      int64_t size = bytesOf(term->getResult(0));
      termBytes += size;
      auto call = dyn_cast<EpilogueAnchor>(term);
      if (call && call.takesEpilogue())
        heldBytes = std::max(heldBytes, size);
    }
    if (limits.epilogues && !limits.library && termBytes > bytes)
      once -= 2 * heldBytes;
    if (again <= once)
      continue;
    remark::missed(op.getLoc(), remarkOptions("form-fusions", "StoredValue"))
        << remark::reason("{0} kernels read it", kernels)
        << remark::metric("kernels", kernels)
        << remark::metric("bytes_saved", again - once);
    storeThroughViews(&op);
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void FusionPlan::createNodes() {
  for (Operation &op : block) {
    if (!isStored(&op))
      continue;
    FusionNode node;
    node.roots.push_back(&op);
    if (isa<KernelBody>(op))
      node.kind = FusionKind::Custom;
    else if (isComputed(&op) && !op.hasTrait<SameBytes>())
      // A reduction of blocks by itself is one of windows.
      node.kind = isReduction(&op) && !isa<InBlocks>(op) ? FusionKind::Reduction
                                                         : FusionKind::Loop;
    gather(node);
    nodeOf[&op] = nodes.size();
    nodes.push_back(std::move(node));
  }
  graph = KernelGraph(nodes.size());
  for (auto [i, node] : llvm::enumerate(nodes))
    for (Value input : node.inputs)
      if (Operation *def = input.getDefiningOp())
        graph.addEdge(nodeOf[def], i);
}

/// Collects the ops and inputs of a node from its roots.
void FusionPlan::gather(FusionNode &node) const {
  llvm::SetVector<Operation *> ops(node.roots.begin(), node.roots.end());
  node.inputs.clear();
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      Operation *def = operand.getDefiningOp();
      bool within =
          def &&
          (llvm::is_contained(node.roots, def) ||
           (!isStored(def) && node.kind && node.kind != FusionKind::Custom));
      if (within)
        ops.insert(def);
      else
        node.inputs.insert(operand);
    }
  node.ops = llvm::to_vector(ops);
  node.reads = 0;
  for (Operation *op : ops)
    node.reads += op->getNumOperands();
  llvm::sort(node.ops, [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  });
}

/// Returns the iteration space of a kernel: nodes with different spaces are
/// never merged.
std::pair<Type, Attribute>
FusionPlan::getIterationSpace(const FusionNode &node) const {
  Operation *root = node.roots.front();
  if (node.kind == FusionKind::Reduction) {
    auto dims = cast<Reduction>(root).getReducedDims();
    auto type = tensorType(root->getOperand(0));
    Builder builder(root->getContext());
    return {RankedTensorType::get(type.getShape(), builder.getI1Type()),
            builder.getDenseI64ArrayAttr(dims)};
  }
  auto type = tensorType(root->getResult(0));
  return {RankedTensorType::get(type.getShape(),
                                IntegerType::get(root->getContext(), 1)),
          shards.lookup(root->getResult(0))};
}

/// Returns true if every read of `node`'s results in `reader` is at the current
/// element.
bool FusionPlan::readsPointwise(const FusionNode &reader,
                                const FusionNode &node) const {
  llvm::SmallPtrSet<Operation *, 16> atElement(reader.roots.begin(),
                                               reader.roots.end());
  llvm::SmallPtrSet<Operation *, 16> elsewhere;
  // The traversal is from the roots to the operands: an op that is read at
  // other elements reads its operands there as well.
  for (Operation *op : llvm::reverse(reader.ops)) {
    auto body = cast<ScalarBody>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (!def)
        continue;
      bool here = atElement.contains(op) &&
                  body.readsPointwise(operand.getOperandNumber());
      if ((!here || elsewhere.contains(op)) &&
          llvm::is_contained(node.roots, def))
        return false;
      (here ? atElement : elsewhere).insert(def);
      if (elsewhere.contains(op))
        elsewhere.insert(def);
    }
  }
  return true;
}

/// Returns whether two nodes are kernels that stay within the limits as one.
bool FusionPlan::canMerge(const FusionNode &a, const FusionNode &b) const {
  auto isMergeable = [&](const FusionNode &node) {
    return !node.roots.empty() && node.kind &&
           node.kind != FusionKind::Custom &&
           node.kind != FusionKind::Epilogue && !isInBlocks(node.roots.front());
  };
  return isMergeable(a) && isMergeable(b) &&
         a.ops.size() + b.ops.size() <= limits.maxOps &&
         a.inputs.size() + b.inputs.size() <= limits.maxInputs &&
         a.roots.size() + b.roots.size() <= limits.maxInputs &&
         a.reads + b.reads <= 2 * limits.maxRootOps;
}

/// Returns whether some other node has to run between two nodes.
bool FusionPlan::areApart(unsigned earlier, unsigned later) const {
  return graph.reaches(earlier, later, /*skipDirect=*/true) ||
         graph.reaches(later, earlier, /*skipDirect=*/false);
}

/// Returns the kind of kernel that two nodes form together, if they should be
/// merged.
std::optional<FusionKind> FusionPlan::mergedKind(unsigned earlier,
                                                 unsigned later) const {
  const FusionNode &a = nodes[earlier], &b = nodes[later];
  if (!canMerge(a, b) || a.kind == FusionKind::Tile ||
      b.kind == FusionKind::Tile)
    return std::nullopt;
  bool reads = llvm::any_of(a.roots, [&](Operation *root) {
    return llvm::any_of(root->getResults(),
                        [&](Value v) { return b.inputs.contains(v); });
  });
  auto looped = [&](Operation *op) { return isLooped(op); };
  bool sameSpace = a.kind == b.kind && a.kind != FusionKind::Row &&
                   getIterationSpace(a) == getIterationSpace(b);
  // A window or matmul in a loop would be recomputed for each reader.
  if (sameSpace && a.kind == FusionKind::Loop)
    sameSpace = llvm::none_of(a.roots, looped) &&
                llvm::none_of(b.roots, looped) &&
                (!reads || readsPointwise(b, a));
  if (sameSpace && a.kind == FusionKind::Reduction)
    sameSpace = !reads && !separatesRows(earlier, later);
  if (!sameSpace && !formRows(a, b, reads))
    return std::nullopt;
  if (areApart(earlier, later))
    return std::nullopt;
  return sameSpace ? a.kind : FusionKind::Row;
}

/// The earlier node is moved into the later one, which preserves the order.
void FusionPlan::absorb(unsigned earlier, unsigned later, FusionKind kind) {
  FusionNode &from = nodes[earlier], &to = nodes[later];
  to.kind = kind;
  to.roots.insert(to.roots.begin(), from.roots.begin(), from.roots.end());
  llvm::sort(to.roots, [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  });
  from.roots.clear();
  from.inputs.clear();
  from.ops.clear();
  for (Operation *root : to.roots)
    nodeOf[root] = later;
  gather(to);
  graph.merge(earlier, later);
}

void FusionPlan::mergeNodes() {
  // Only nodes that read a value of this one, or that this one reads, become
  // more profitable.
  constexpr unsigned maxCandidates = 8;
  DenseMap<Value, SmallVector<unsigned>> readersOf;
  for (unsigned later = 0; later < nodes.size(); ++later) {
    llvm::SmallSetVector<unsigned, 8> candidates;
    for (Value input : nodes[later].inputs) {
      if (Operation *def = input.getDefiningOp())
        candidates.insert(nodeOf[def]);
      auto &readers = readersOf[input];
      for (unsigned reader : llvm::reverse(readers)) {
        candidates.insert(reader);
        if (candidates.size() >= maxCandidates)
          break;
      }
      readers.push_back(later);
    }
    for (unsigned earlier : candidates) {
      if (earlier >= later)
        continue;
      std::optional<FusionKind> kind = mergedKind(earlier, later);
      if (!kind)
        continue;
      absorb(earlier, later, *kind);
      // Readers are in the order of nodes: if this one is known, it is last.
      for (Value input : nodes[later].inputs) {
        auto &readers = readersOf[input];
        if (readers.empty() || readers.back() != later)
          readers.push_back(later);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Results and order
//===----------------------------------------------------------------------===//

/// Values that only their own kernel reads need not be in memory.
void FusionPlan::dropUnreadRoots() {
  llvm::DenseSet<Value> read;
  for (const FusionNode &node : nodes)
    read.insert_range(node.inputs);
  for (FusionNode &node : nodes) {
    auto isUnread = [&](Operation *root) {
      // The buffer in which the library stores the matrix that it sums.
      if (node.library && node.library->biasGrad &&
          node.library->result.getDefiningOp() == root)
        return false;
      return llvm::none_of(root->getResults(),
                           [&](Value v) { return read.contains(v); });
    };
    if (node.roots.size() < 2 || llvm::all_of(node.roots, isUnread))
      continue;
    llvm::erase_if(node.roots, [&](Operation *root) {
      if (!isUnread(root))
        return false;
      stored.erase(root);
      return true;
    });
    gather(node);
  }
}

/// The order respects the dependences between nodes, and is otherwise that of
/// the program.
void FusionPlan::sortNodes() {
  SmallVector<unsigned> pending(nodes.size(), 0);
  for (unsigned i = 0; i < nodes.size(); ++i)
    for (unsigned next : graph.getSuccessors(i))
      ++pending[next];
  auto after = [&](unsigned a, unsigned b) {
    return position.lookup(nodes[a].roots.back()) >
           position.lookup(nodes[b].roots.back());
  };
  std::priority_queue<unsigned, std::vector<unsigned>, decltype(after)> ready(
      after);
  for (auto [i, node] : llvm::enumerate(nodes))
    if (!node.roots.empty() && pending[i] == 0)
      ready.push(i);
  SmallVector<FusionNode, 0> sorted;
  while (!ready.empty()) {
    unsigned i = ready.top();
    ready.pop();
    for (unsigned next : graph.getSuccessors(i))
      if (--pending[next] == 0)
        ready.push(next);
    sorted.push_back(std::move(nodes[i]));
  }
  nodes = std::move(sorted);
}
