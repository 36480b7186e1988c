// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The manifest: what the compiler tells the runtime about a module. Its keys,
// their types and the names of enums are stated here and nowhere else; the
// build makes ManifestTypes.h of it, by which passes/targets/host/BuildManifest
// writes a manifest and runtime/core/Manifest reads it; docs/manifest.md shows
// it.
//
//===----------------------------------------------------------------------===//

include "runtime/abi/ManifestRecords.td"
include "runtime/abi/StateRoles.td"

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

def Tensors : Section<"Tensors">;

def DType : Choice<"DType", [
    Value<"F64", "f64">, Value<"F32", "f32">, Value<"F16", "f16">, Value<"BF16", "bf16">, Value<"I64", "i64">,
    Value<"I32", "i32">, Value<"I8", "i8">, Value<"U8", "u8">, Value<"Bool", "bool">, Value<"I16", "i16">,
    Value<"U16", "u16">, Value<"U32", "u32">, Value<"U64", "u64">]> {
  let description = [{
    The element types of tensors. Those of a compiled step are the first nine; files may hold any.
  }];
  let initial = "DType::F32";
}

def TensorSpec : Object<"TensorSpec", [
    Key<Text, "name", "">, Key<DType, "dtype", "">, Key<ListOf<Count>, "shape", "">,
    DefaultKey<Count, "offset", "In bytes, in the block of states or in the arena.">]> {
  let description = "A dense tensor at a fixed place in the state or the arena.";
  let methods = [{
    int64_t getElements() const;
    int64_t getBytes() const;
    int64_t getAlignedBytes() const;
  }];
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

def States : Section<"States">;

def StateRole : Choice<"StateRole", !foreach(role, stateRoles, Value<role.symbol, role.name, role.description>)> {
  let description = "What a state is for. Checkpoints have all states of which nothing else is said.";
}

def InitKind : Choice<"InitKind", [
    Value<"Weights", "weights", "The tensor of the same name in the weights.">,
    Value<"Fill", "fill", "`value` in each element.">,
    Value<"Normal", "normal", "A normal distribution with `mean` and `deviation` (with `--weights none`).">,
    Value<"Uniform", "uniform", "A uniform distribution from -`bound` to `bound`.">,
    Value<"Copy", "copy", "The rounded value of the state `of`, whenever the runtime sets states.">]> {
  let description = "Where the initial value of a state comes from.";
}
def InitSpec : Object<"InitSpec", [
    Key<InitKind, "kind", "">, OptionalKey<Number, "value", "">, OptionalKey<Number, "mean", "">,
    OptionalKey<Number, "deviation", "">, OptionalKey<Number, "bound", "">, DefaultKey<Text, "of", "">]> {
  let description = "The initial value of a state.";
}

def StateHome : Choice<"StateHome", [
    Value<"Block", "block", "The block of states, or that of the rank's shards.">,
    Value<"Mapped", "mapped", [{
      The file of weights: no step changes the state. `offset` is in the range of `mapped_bytes`, and the file has that
      range in one piece, from a multiple of its alignment on (`runtime/abi/Mapping.h`). A run that sets the state has
      memory of its own for it.
    }]>,
    Value<"File", "file", [{
      The weights alone: no function reads the state, which has no `offset`. Files that are written have its value.
    }]>,
    Value<"Encoded", "encoded", [{
      Other states, encoded (`encoding`): no function reads the state, which has no `offset`. Files that are written for
      people have its value, and checkpoints the parts.
    }]>]> {
  let description = "Where the value of a state is between steps. Checkpoints lack what is in the weights.";
  let initial = "StateHome::Block";
}

def BucketPosition : Row<"BucketPosition", [
    Key<Count, "first", "The index of the tensor's first element.">, Key<Count, "of", "The elements of the bucket.">]> {
  let description = "The position of a tensor in a bucket that is sharded over ranks (docs/spec/collective.md).";
}

def SplitDim : Object<"SplitDim", [
    Key<Count, "axes", "The axes (bits of ingot_axis) along which ranks have parts of it; 0 where each has all.">,
    DefaultKey<ListOf<Count>, "segments", "The sizes of segments that are divided each by itself; absent for one.">,
    DefaultKey<Count, "pad", "Elements behind the last one, so that parts are equal.">]> {
  let description = "A dimension of a tensor that is split over ranks (docs/spec/partition.md).";
}
def PartitionSpec : Object<"PartitionSpec", [
    Key<ListOf<Count>, "whole", "The shape of the tensor.">, Key<ListOf<SplitDim>, "dims", "">]> {
  let description = "How a tensor is split over ranks.";
}

def EncodingKind : Choice<"EncodingKind", [
    Value<"Nf4", "nf4">, Value<"Fp4", "fp4">, Value<"Int4", "int4">, Value<"Int8", "int8">,
    Value<"Dyn8", "dyn8">, Value<"Udyn8", "udyn8">]> {
  let description = "How numbers are encoded, by the names of ingot_encoding (docs/abi.md).";
}
def EncodingSpec : Object<"EncodingSpec", [
    Key<EncodingKind, "kind", "">, Key<Count, "block", "The elements that share a scale.">,
    Key<ListOf<Text>, "parts", [{
      The states of codes and scales, and of the third part: scales of scales that are codes, or offsets of integers.
    }]>,
    DefaultKey<Bool, "transposed", "Whether codes are those of the transposed matrix.">]> {
  let description = "How a state is encoded.";
}

def StateSpec : Object<"StateSpec", [
    Key<StateRole, "role", "">, Key<InitSpec, "init", "">,
    OptionalKey<BucketPosition, "shard", [{
      The position in a bucket, of which a rank has the elements of its shard only. `offset` is then an offset in the
      table of ingot_shards: of the address that the first element would have. Not in `memory`.
    }]>,
    DefaultKey<Count, "shard_block", "The elements of the bucket that each element is of, such as a scale.", "1">,
    DefaultKey<ListOf<Text>, "halves", [{
      The states that hold the bf16 compute copy and the low 16 bits of an f32 master that is stored split
      (docs/spec/elementwise.md). It has no `offset` then; files have its value.
    }]>,
    OptionalKey<EncodingSpec, "encoding", "How other states have the value of a state whose home is `encoded`.">,
    OptionalKey<PartitionSpec, "partition", [{
      How the tensor is split of which the state is a rank's part. Its `shape` is that of the part; weights and other
      files have the whole tensor.
    }]>,
    DefaultKey<StateHome, "home", "", "StateHome::Block">,
    OptionalKey<Count, "crc32", [{
      The CRC-32 of a model's state whose home is not the block. Checkpoints have it instead of the state.
    }], keyMember = "crc">]> {
  let base = TensorSpec;
  let description = "A tensor that persists between steps.";
  let methods = [{
    /// The elements that `rank` of `ranks` holds.
    ElementRange getHeld(int64_t rank, int64_t ranks) const;
    /// The aligned bytes of those elements.
    int64_t getShardBytes(int64_t rank, int64_t ranks) const;
    /// Whether each rank has its own value.
    bool isOwn() const;
    /// Whether checkpoints hold the state.
    bool isSaved() const;
    /// Whether a run can resume from a checkpoint without the state.
    bool isOptional() const;
    /// The shape that files have the state in.
    const std::vector<int64_t> &getWholeShape() const {
      return partition ? partition->whole : shape;
    }
    /// The elements of that shape.
    int64_t getWholeElements() const;
    /// The axes (bits of ingot_axis) along which ranks have parts of it.
    int32_t getSplitAxes() const;
    /// Whether the state is part of the model (not of its training).
    bool isModel() const;
  }];
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Functions : Section<"Functions"> {
  let description = [{
    The outputs of `train_step` are `loss`, `grad_norm` when compiled with `--clip`, and with loss scaling `loss_scale`
    (of this step) and `skipped` (0 or 1). For `train_metrics` there are sums over all samples of the step, of all
    micro-batches and ranks, named `metric.NAME`. Those of `eval_step` are the f32 scalars `loss_sum`, `loss_count` and,
    for losses that define it, `correct`: the loss of an evaluation is the quotient of the sums over all batches. Where
    labels have weights, `correct_count` is the number that counts. A loss of several terms has `loss_sum.N` and
    `loss_count.N` for each further one; its value is the sum of the quotients. Outputs `metric.NAME` are what `metrics`
    are computed from: they are summed over all batches, and those named `metric.rows.NAME` are kept row by row. The
    outputs of `predict` are the model's outputs under their ONNX names.
  }];
}

def InputKind : Choice<"InputKind", [
    Value<"Data", "data", "A batch of the array of that name.">,
    Value<"Labels", "labels", "A batch of the array of that name, with which the model's output is compared.">,
    Value<"Hyper", "hyper", "An f64 scalar, the hyperparameter of that name.">,
    Value<"Valid", "valid",
      "An i64 scalar, the number of samples of this batch that count; the rest is padding.">]> {
  let description = "What an input of a function is.";
}

def IndexedRows : Row<"IndexedRows", [
    Key<Count, "elements", "Elements of a sample that follow each other.">,
    Key<Count, "rows", "The rows of the table that they index; 0 for elements that index none.">]> {
  let description = "The rows of a table that elements of a sample index.";
}

def InputSpec : Object<"InputSpec", [
    Key<InputKind, "kind", "">,
    OptionalKey<Count, "classes", [{
      The number of classes that integer labels index. The runtime refuses labels outside of 0 to
      `classes` - 1 other than `ignored`.
    }]>,
    OptionalKey<Integer, "ignored", "The label beside them that does not count; -100 unless the loss says more.">,
    DefaultKey<ListOf<IndexedRows>, "rows", [{
      The rows that the elements of a sample index, in order; absent for data that is no index. The runtime refuses
      indices outside of -ROWS to ROWS - 1; negative ones count from the end, as in ONNX.
    }], keyMember = "indexed">]> {
  let base = TensorSpec;
  let description = "An input of a function.";
  let derived = [
    Derived<"bool", "isProbability", "Whether the elements are probabilities that a term of the loss compares with.">,
    Derived<"std::optional<int64_t>", "classAxis", [{
      The axis of the classes in the output that such labels belong to.
    }]>,
    Derived<"std::string", "loss", "The kind of the term of the loss that these are the labels of.">,
    Derived<"bool", "isShifted", [{
      Whether these are labels of tokens that the model shifts itself: those of the input, not the ones that follow.
    }]>];
  let methods = [{
    bool isBatched() const {
      return kind == InputKind::Data || kind == InputKind::Labels;
    }
    /// Returns the number of values from 0 on that the elements may have:
    /// classes, or the rows of the largest table that they index. None if they
    /// are no indices.
    std::optional<int64_t> getLimit() const;
    /// Returns the label where there is none.
    int64_t getIgnored() const;
  }];
}

def Space : Choice<"Space", [Value<"Arena", "arena">, Value<"State", "state">]> {
  let description = "A block of memory.";
}

def KernelOutput : Object<"KernelOutput", [
    Key<DType, "dtype", "">, Key<Space, "space", "">, Key<Count, "offset", "">, Key<Count, "elements", "">]> {
  let description = "A floating-point tensor that a kernel writes, and that `--watch` examines.";
}
def GradientSpec : Object<"GradientSpec", [Key<Text, "state", "The parameter.">]> {
  let base = KernelOutput;
  let description = "The gradient of a parameter, where its update reads it. With loss scaling it is still scaled.";
}
def StateRange : Row<"StateRange", [Key<Count, "offset", "">, Key<Count, "bytes", "">]> {
  let description = "A range of the block of states.";
}

def KernelSpec : Object<"KernelSpec", [
    Key<Text, "name", "">, Key<Text, "kind", "The kind of work, as the ABI names it.">,
    DefaultKey<Text, "part", [{
      The part of a training step that the kernel belongs to: `forward`, `backward`, `optimizer` or `communication`.
    }]>,
    Key<ListOf<Text>, "onnx_nodes", "">,
    DefaultKey<ListOf<KernelOutput>, "outputs", "The tensors that the kernel writes, without slices in loops.">,
    DefaultKey<ListOf<GradientSpec>, "gradients", "The gradients that are complete when the kernel has ended.">,
    OptionalKey<ListOf<StateRange>, "state_writes", [{
      The ranges that the kernel writes in the block of states, of tensors of any type; absent if they are not known. A
      state that no kernel has written yet can be copied for a checkpoint while the step runs.
    }]>,
    DefaultKey<Count, "times", "The calls of one step: of a loop, its iterations.", "1">,
    Key<Count, "bytes", "The bytes that a call reads and writes.">, Key<Count, "flops", "The operations of a call.">,
    DefaultKey<Number, "bound_us", [{
      The least time of a call on the machine it was compiled for; 0 if unknown.
    }], keyMember = "boundMicroseconds">]> {
  let description = "A kernel, or a call of a library.";
}

def LiveTensor : Object<"LiveTensor", [
    Key<Text, "kind", [{
      `input`, `activation`, `gradient`, `communication` (a bucket that gradients are copied to), `workspace` of a
      library call, a copied `output`, or, on a GPU, `staging` of inputs next to the arena.
    }]>,
    Key<ListOf<Text>, "onnx_nodes", "">, Key<Count, "bytes", "">]> {
  let description = "A tensor that is live at a function's memory peak.";
}
def ArenaInterval : Row<"ArenaInterval", [
    Key<Count, "offset", "">, Key<Count, "bytes", "">, Key<Count, "first", "The first kernel that it is live for.">,
    Key<Count, "last", "The last kernel that it is live for; greater than any index for outputs.">]> {
  let description = "A range of the arena that is live from one kernel to another, both included.";
}

def FunctionSpec : Object<"FunctionSpec", [
    Key<Count, "arena_bytes", "">, Key<ListOf<InputSpec>, "inputs", "">, Key<ListOf<TensorSpec>, "outputs", "">,
    DefaultKey<MapOf<Count>, "memory", [{
      `peak_bytes` and its parts: `weights_bytes`, `optimizer_bytes`, `gradient_bytes`, `activation_bytes`,
      `workspace_bytes` and `communication_bytes`.
    }]>,
    Key<ListOf<LiveTensor>, "live", "The tensors that are in the arena at its peak, the largest first.">,
    Key<ListOf<ArenaInterval>, "intervals", "Each allocation in the arena.">,
    Key<ListOf<Text>, "interval_kinds", "The kinds of the intervals, as in `live`, for the report.">,
    Key<ListOf<KernelSpec>, "kernels", "In the order in which they run.">]> {
  let description = "A function of one variant.";
  let derived = [
    Derived<"std::string", "name", "train_step, uncompressed_step, accumulate_step, eval_step, predict or observe.">,
    Derived<"size_t", "variant", "The index into the manifest's variants.">];
  let methods = [{
    const TensorSpec *findOutput(std::string_view name) const;
    /// Bytes of the inputs one after the other, each aligned.
    int64_t getInputBytes() const;
  }];
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

def Module : Section<"The module">;

def TuningPlace : Choice<"TuningPlace", [
    Value<"Host", "host", "The host, which runs steps in several ways.">,
    Value<"Device", "device", "The device, which tries algorithms in its first runs.">]> {
  let description = "Who measures alternatives for `--tune`.";
}
def TargetDescription : Object<"TargetDescription", [
    Key<Text, "kind", "`cpu` or `cuda`.">, DefaultKey<Text, "cpu", "The processor that code is scheduled for.">,
    DefaultKey<Text, "arch", "The architecture of a GPU's machine code.">,
    Key<ListOf<Text>, "features", "The features that the CPU must have.">,
    DefaultKey<TuningPlace, "tuning", "">]> {
  let description = "The machine that the module was compiled for.";
}

def LossTerm : Object<"LossTerm", [
    Key<Text, "kind", "The loss without its settings, as `--loss` names it.">,
    DefaultKey<Number, "factor", "The factor of the term in the sum.", "1">,
    DefaultKey<Text, "output", "The output of the model; absent for its first one.">,
    DefaultKey<Text, "labels", "The input that the output is compared with.">,
    OptionalKey<Count, "class_axis", "The axis of the classes in the output, for labels that are numbers of classes.">,
    DefaultKey<Bool, "probabilities", "Whether labels are probabilities.">,
    DefaultKey<Bool, "whole_batch", [{
      Whether the output is the loss itself, of a whole batch (`--loss output:NAME`): padding cannot be masked, so that
      an evaluation uses complete batches only.
    }]>]> {
  let description = "A term of the loss, which is their sum.";
}

def HyperparameterSpec : Object<"HyperparameterSpec", [
    Key<Text, "name", "">, Key<Number, "default", "", keyMember = "value">]> {
  let description = "An option that the trainer offers; `lr` follows the schedule.";
}

def CodesPart : Choice<"CodesPart", [
    Value<"Codes", "codes">, Value<"Scales", "scales", "As `dtype`.">,
    Value<"ZeroPoints", "zero_points", "As `dtype`; u8 means codes, as many in a byte as the encoding has.">]> {
  let description = "A part of an encoded matrix, as ONNX has it.";
}
def ExportCodes : Object<"ExportCodes", [
    Key<CodesPart, "part", "">, Key<EncodingKind, "kind", "">, Key<Count, "block", "The elements that share a scale.">,
    DefaultKey<Bool, "transposed", "Whether blocks are those of the transposed state.">,
    DefaultKey<Bool, "columns", "Whether the file has the transpose of the matrix whose rows are in blocks.">,
    DefaultKey<Bool, "signed", "Whether codes of integers are in two's complement.", keyMember = "isSigned">,
    DefaultKey<Bool, "whole_rows", "Whether zero points of each row begin with a byte.">]> {
  let description = "How the exported file has a state in codes.";
}
def ExportPiece : Object<"ExportPiece", [
    DefaultKey<Count, "literal", "The number of bytes of `export_literal`.">,
    DefaultKey<Text, "state", "Otherwise the current value of this state, as `dtype`.">,
    DefaultKey<DType, "dtype", "">,
    OptionalKey<ExportCodes, "codes", "Otherwise a part of the value of the matrix `state` in codes.">]> {
  let description = "A piece of the exported ONNX file.";
}

def AdapterBias : Choice<"AdapterBias", [
    Value<"None", "none", "No bias is trained.">, Value<"All", "all", "All biases of the model are trained.">,
    Value<"Layers", "lora_only", "The biases of the layers with adapters are trained.">]> {
  let description = "Which biases are trained with adapters, by PEFT's names.";
}

def AdapterSpec : Object<"AdapterSpec", [
    Key<Text, "module", "The path of the layer in the model that was exported.">,
    Key<Text, "weight", "The state of the layer's weight W, which is not trained.">,
    Key<Text, "a", "The state of A, of RANK rows.">, Key<Text, "b", "The state of B, of RANK columns.">,
    Key<Number, "scale", "The layer computes as if its weight were W + `scale` * B * A.">,
    DefaultKey<Bool, "transposed", "Whether the state of the weight is the transpose of W.">,
    DefaultKey<Text, "magnitude", "The state of DoRA's magnitudes: the rows of that weight are scaled to these norms.">,
    Key<Number, "alpha", "The setting that the scale is made of: `alpha` / RANK.">,
    DefaultKey<Bool, "rank_stabilized", "Whether it is `alpha` / sqrt(RANK) instead.">,
    DefaultKey<Number, "dropout", "The probability of zeros in what A reads in training.">,
    DefaultKey<AdapterBias, "bias", "">]> {
  let description = "A low-rank adapter of a linear layer (`--adapter`).";
}

def QuantizerSpec : Object<"QuantizerSpec", [
    Key<Text, "scale", [{
      The state of the scales; the output of `observe` of this name is what is quantized. Scales of zero are not known
      yet: the step computes as if it did not quantize.
    }]>,
    DefaultKey<Text, "zero_point", "The state of the zero point; absent where it is a constant.">,
    DefaultKey<Text, "low", "The state of the least value that was seen; absent where none is kept.">,
    DefaultKey<Text, "high", "The state of the greatest value that was seen.">,
    OptionalKey<Count, "axis", "The dimension along which scales are; absent for one scale.">,
    DefaultKey<Count, "block", "The elements along that dimension that have one scale, if they are more than one.">,
    Key<Number, "least", "The least code.">, Key<Number, "greatest", "The greatest code.">,
    DefaultKey<Bool, "learned", "Whether the scales are trained.">]> {
  let description = "A tensor that is quantized in training (`--qat`).";
}

def PayloadSpec : Object<"PayloadSpec", [
    Key<Count, "offset", "The offset of its address in the table that ingot_shards returns.">,
    Key<Count, "rank_bytes", "The most that a rank sends.">]> {
  let description = "Memory for the payloads of all ranks (ingot_gather_messages_start). Not in `memory`.";
  let methods = [{
    /// Bytes of the payloads of all ranks.
    int64_t getBytes(int64_t ranks) const;
  }];
}

def WeightsKind : Choice<"WeightsKind", [
    Value<"Embed", "embed", "In the trainer.">, Value<"Sidecar", "sidecar", "In a file beside the trainer.">,
    Value<"None", "none", "Nowhere: parameters are drawn at the start.">]> {
  let description = "Where the initial values of parameters are.";
}

def ModuleSpec : Object<"ModuleSpec", [
    Key<Count, "abi", "`INGOT_ABI_VERSION` of the compiler. The runtime refuses any other.">,
    Key<Text, "model", "The model's file.">, Key<Text, "producer", "The compiler.">,
    Key<TargetDescription, "target", "">,
    Key<Text, "precision", "">, Key<Text, "loss", "The loss in the words of `--loss`, for people.">,
    DefaultKey<ListOf<LossTerm>, "loss_terms", "The terms of the loss, for programs.">,
    Key<Text, "optimizer", "">,
    Key<Count, "batch", [{
      Samples of a micro-batch, the first dimension of data and labels. The runtime takes that of the largest variant.
    }]>,
    DefaultKey<ListOf<Count>, "batches", "Samples of a micro-batch of each of the variants, if they differ.">,
    DefaultKey<Count, "grad_accumulation", [{
      Micro-batches per step. With more than one there is a function `accumulate_step`, which takes the inputs of
      `train_step` and runs for all micro-batches except the last.
    }], "1">,
    DefaultKey<Count, "uncompressed_steps", [{
      How many steps, from the first on, run `uncompressed_step`, which takes the inputs of `train_step` and exchanges
      uncompressed gradients.
    }]>,
    DefaultKey<Bool, "data_parallel", [{
      Whether steps average gradients over the ranks of the run (`--data-parallel`).
    }]>,
    DefaultKey<ListOf<Count>, "mesh", [{
      The ranks along each axis (`--mesh`), in the order of ingot_axis; those along `data` are as many as a run has
      besides, whatever number is here. Absent where all ranks are along `data`.
    }]>,
    DefaultKey<ListOf<Text>, "metrics", "The metrics of evaluations, by the names of `ingotc --metrics`.">,
    DefaultKey<ListOf<Text>, "train_metrics", "The metrics of training steps, by those names without `train-`.">,
    DefaultKey<ListOf<Text>, "compiler_options", [{
      The options of `ingotc`, with their dashes, which trainers tell from unknown ones.
    }]>,
    DefaultKey<Text, "command", [{
      The command line of `ingotc` as a shell reads it, without the files that it writes.
    }]>,
    DefaultKey<ListOf<Text>, "recipe", [{
      The words of that command line that decide what is trained, with the loss and the optimizer, which a resumed run
      compares with those of its checkpoint. Batches are not among them: the run says what steps take.
    }]>,
    DefaultKey<ListOf<Text>, "shifted_labels", [{
      The inputs `[samples, tokens]` that the model shifts itself. Files of tokens give them the tokens of the sample,
      not the ones that follow.
    }]>,
    Key<WeightsKind, "weights", "">,
    OptionalKey<Count, "weights_crc32", "The CRC-32 of the file of weights.", keyMember = "weightsCrc">,
    Key<Count, "state_bytes", "">,
    DefaultKey<Count, "mapped_bytes", "The range of mapped states, behind the block. Not in `memory`.">,
    Key<Count, "arena_bytes", "The arena of the function with the largest.">,
    DefaultKey<Count, "staging_bytes", [{
      On a GPU, the size of the staging blocks that inputs are copied through in turn, in addition to the arena
      (`INGOT_STAGING_BLOCKS`). `memory` counts them as workspace.
    }]>,
    Key<ListOf<StateSpec>, "states", "">,
    DefaultKey<ListOf<PayloadSpec>, "messages", "The payloads of compressed buckets on a GPU.", keyMember = "payloads">,
    Key<ListOf<HyperparameterSpec>, "hyperparameters", "">,
    Key<ListOf<Text>, "variants", [{
      Names of the variants of the functions, like `seq=128`, in order (`--dim` with several sizes); one empty name
      where there are none. All use the same states.
    }]>,
    Key<MapOf<FunctionSpec>, "functions", [{
      The functions by their names, in the variant V `train_step[V]` and so on.
    }], keyMember = "symbols">,
    DefaultKey<ListOf<AdapterSpec>, "adapters", "The adapters that are trained.">,
    DefaultKey<ListOf<QuantizerSpec>, "quantizers", "The tensors that are quantized in training.">,
    DefaultKey<ListOf<ExportPiece>, "export", "The exported ONNX file in order.", keyMember = "exportPieces">,
    DefaultKey<ListOf<Text>, "class_names", "The names of classes that the model says it has.">]> {
  let description = "The whole manifest.";
}
