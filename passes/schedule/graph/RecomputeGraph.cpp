// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Step graphs in which some nodes are recomputed.
//===----------------------------------------------------------------------===//

#include "passes/schedule/graph/StepGraph.h"

#include "dialects/ingot/analysis/StateOnly.h"

using namespace mlir;
using namespace ingot;

bool StepGraph::isGathered(unsigned buffer) const {
  auto wait = buffers[buffer].value.getDefiningOp<AllGatherWaitOp>();
  return wait && gathersStates(cast<BucketEnd>(*wait));
}

bool StepGraph::isReadLate(unsigned buffer, unsigned cut) const {
  return llvm::any_of(buffers[buffer].readers,
                      [&](unsigned reader) { return reader > cut; });
}

FusionSlice StepGraph::getSlice(unsigned node,
                                const llvm::SmallBitVector &results,
                                const llvm::BitVector &again,
                                unsigned cut) const {
  Operation *op = nodes[node].op;
  // The buffers that are live for late readers in any case.
  llvm::SmallBitVector available(op->getNumResults());
  for (OpResult result : op->getResults()) {
    auto it = bufferOf.find(result);
    if (it != bufferOf.end() && !again.test(it->second) &&
        isReadLate(it->second, cut))
      available.set(result.getResultNumber());
  }
  return FusionSlice::of(op, results, available);
}

StepGraph StepGraph::withRecomputed(const llvm::BitVector &again,
                                    unsigned cut) const {
  StepGraph graph(signature, alignment, sharesRows);
  graph.nodes = nodes;
  graph.buffers = buffers;
  graph.ownOutputs = ownOutputs;
  constexpr unsigned none = -1;
  SmallVector<unsigned> copyOf(nodes.size(), none);
  SmallVector<unsigned> copyOfBuffer(buffers.size(), none);

  // The iteration is from the last to the first, so that copies know which
  // copies read them.
  for (unsigned n = nodes.size(); n-- > 0;) {
    if (llvm::none_of(nodes[n].writes,
                      [&](unsigned buffer) { return again.test(buffer); }))
      continue;
    Operation *op = nodes[n].op;
    llvm::SmallBitVector used(op->getNumResults());
    for (OpResult result : op->getResults()) {
      auto it = bufferOf.find(result);
      if (it != bufferOf.end() && again.test(it->second) &&
          (copyOfBuffer[it->second] != none || isReadLate(it->second, cut)))
        used.set(result.getResultNumber());
    }
    if (used.none())
      continue;
    unsigned index = graph.nodes.size();
    copyOf[n] = index;
    Node copy;
    copy.op = op;
    copy.original = n;
    copy.scratchBytes = nodes[n].scratchBytes;
    copy.results = used;
    for (unsigned result : used.set_bits()) {
      unsigned buffer = bufferOf.lookup(op->getResult(result));
      if (copyOfBuffer[buffer] == none) {
        copyOfBuffer[buffer] = graph.buffers.size();
        Buffer duplicate = buffers[buffer];
        duplicate.isKept = false;
        duplicate.bucket = -1;
        graph.buffers.push_back(duplicate);
      }
      graph.buffers[copyOfBuffer[buffer]].writer = index;
      copy.writes.insert(copyOfBuffer[buffer]);
    }
    FusionSlice slice = getSlice(n, used, again, cut);
    copy.others = slice.others;
    if (slice.isWhole)
      for (OpResult result : op->getResults())
        if (auto it = bufferOf.find(result);
            it != bufferOf.end() && !used.test(result.getResultNumber())) {
          // The buffer is written although it has no readers.
          Buffer unread = buffers[it->second];
          unread.isKept = false;
          unread.bucket = -1;
          unread.writer = index;
          copy.writes.insert(graph.buffers.size());
          graph.buffers.push_back(unread);
        }
    SmallVector<Value> inputs;
    for (unsigned operand : slice.operands.set_bits())
      inputs.push_back(op->getOperand(operand));
    for (unsigned other : slice.others.set_bits())
      inputs.push_back(op->getResult(other));
    for (Value input : inputs) {
      std::optional<unsigned> buffer = getBuffer(input);
      if (!buffer || isGathered(*buffer))
        continue;
      copy.reads.insert(*buffer);
      // Whoever recomputes it has a reader.
      if (again.test(*buffer) && copyOfBuffer[*buffer] == none) {
        copyOfBuffer[*buffer] = graph.buffers.size();
        Buffer duplicate = buffers[*buffer];
        duplicate.isKept = false;
        duplicate.bucket = -1;
        graph.buffers.push_back(duplicate);
      }
    }
    for (unsigned writer : nodes[n].stateWriters)
      copy.successors.insert(writer);
    copy.inPlace = nodes[n].inPlace;
    graph.nodes.push_back(std::move(copy));
  }

  // Late readers read the copies.
  auto renamed = [&](unsigned buffer) {
    return copyOfBuffer[buffer] == none ? buffer : copyOfBuffer[buffer];
  };
  for (Buffer &buffer : graph.buffers)
    buffer.readers.clear();
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    bool isCopy = node.original >= 0;
    if (isCopy || i > cut) {
      auto reads = std::move(node.reads);
      node.reads = {};
      for (unsigned buffer : reads) {
        node.reads.insert(renamed(buffer));
        int64_t writer = graph.buffers[renamed(buffer)].writer;
        if (writer >= 0)
          graph.nodes[writer].successors.insert(i);
      }
      for (InPlace &inPlace : node.inPlace) {
        inPlace.operand = renamed(inPlace.operand);
        if (isCopy)
          inPlace.result = renamed(inPlace.result);
      }
      if (isCopy)
        llvm::erase_if(node.inPlace, [&](const InPlace &inPlace) {
          return !node.writes.contains(inPlace.result) ||
                 !node.reads.contains(inPlace.operand);
        });
    }
    for (unsigned buffer : node.reads)
      graph.buffers[buffer].readers.push_back(i);
  }
  // Copies come after everything that their originals come after.
  for (auto [i, node] : llvm::enumerate(nodes))
    for (unsigned next : node.successors)
      if (copyOf[next] != none)
        graph.nodes[i].successors.insert(copyOf[next]);
  return graph;
}

SmallVector<unsigned>
StepGraph::getLazyOrder(ArrayRef<unsigned> originals) const {
  SmallVector<SmallVector<unsigned, 2>> copiesBefore(nodes.size());
  for (unsigned i = originals.size(); i < nodes.size(); ++i)
    for (unsigned next : nodes[i].successors)
      copiesBefore[next].push_back(i);
  SmallVector<unsigned> order, work;
  SmallVector<bool> isPlaced(nodes.size());
  for (unsigned i : originals) {
    work.push_back(i);
    while (!work.empty()) {
      unsigned current = work.back();
      size_t size = work.size();
      for (unsigned copy : copiesBefore[current])
        if (!isPlaced[copy])
          work.push_back(copy);
      if (work.size() > size)
        continue;
      work.pop_back();
      if (isPlaced[current])
        continue;
      isPlaced[current] = true;
      order.push_back(current);
    }
  }
  return order;
}
