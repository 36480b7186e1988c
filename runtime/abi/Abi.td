// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The C ABI between a compiled training step and the runtime: the one place
// where its structs, entries and constants are stated. The build makes Abi.h
// from it and the compiler's table of the same (Table.h); docs/abi.md shows it.
// INGOT_ABI_VERSION is a hash of what is stated here, descriptions apart.
//
//===----------------------------------------------------------------------===//

include "runtime/abi/Records.td"

def Overview : Section<"Memory"> {
  let description = [{
    The compiler emits an object that defines `ingot_module` and calls the entries declared here; the runtime
    defines the entries and runs what `ingot_module` describes.

    A trainer owns two blocks, each allocated once, aligned to INGOT_ALIGNMENT: `state` (parameters, optimizer
    moments, running statistics, counters: what outlives a step) and `arena` (inputs, outputs and everything that
    lives within a step). Every tensor is dense and row-major, at a byte offset fixed at compile time. The manifest
    has the offsets (docs/manifest.md). A state that ranks hold shards of is elsewhere: at its offset is the address
    that its first element would have.

    Element types are f64, f32, f16, bf16, i64, i32, i8, u8 and bool (one byte, 0 or 1). What lives within a step on a
    GPU may be f8E4M3FN or f8E5M2, too.
  }];
}

def Alignment : Constant<"INGOT_ALIGNMENT", 64> {
  let description = "The alignment in bytes of both blocks and of every tensor in them.";
}
def StagingBlocks : Constant<"INGOT_STAGING_BLOCKS", 2> {
  let description = [{
    On a GPU, inputs come through this many blocks in turn: one is filled while a function reads what came through
    another.
  }];
}
def ShardElements : Constant<"INGOT_SHARD_ELEMENTS", 32> {
  let description = [{
    Each rank has a shard of a bucket. All shards but the last have one size, a multiple of this many elements
    (runtime/abi/Shard.h).
  }];
}
def MaxSpatial : Constant<"INGOT_MAX_SPATIAL", 3> {
  let description = "The most spatial dimensions of a convolution.";
}

def DType : Enum<"ingot_dtype", [
    Case<"INGOT_F32", "f32", 0>, Case<"INGOT_F64", "f64", 1>, Case<"INGOT_BF16", "bf16", 2>,
    Case<"INGOT_F16", "f16", 3>,
    Case<"INGOT_F8E4M3", "f8e4m3", 4, "An operand of a matmul on a GPU, with scales.">,
    Case<"INGOT_F8E5M2", "f8e5m2", 5, "Stored as INGOT_F8E4M3 is.">,
    Case<"INGOT_U8", "u8", 6, "Bytes of elements of any type, which ranks exchange.">]> {
  let description = "Element types that library entries compute with, or move.";
}

def Math : Enum<"ingot_math", [
    Case<"INGOT_MATH_EXACT", "exact", 0, "Products of elements as they are, added up in f32 (f64 for f64).">,
    Case<"INGOT_MATH_TILES", "tiles", 1, "Half precision on the CPU's tile units (AMX), added up in f32.">,
    Case<"INGOT_MATH_BF16X3", "bf16x3", 2,
         "f32 on the CPU's tile units, as sums of three bf16 each (runtime/cpu/gemm).">,
    Case<"INGOT_MATH_TF32", "tf32", 3, "f32 rounded to TF32 on the GPU's tensor cores.">,
    Case<"INGOT_MATH_STRASSEN", "strassen", 4,
         "f32 on the CPU's vector units, seven products of halves for eight (runtime/cpu/gemm).">,
    Case<"INGOT_MATH_WINOGRAD", "winograd", 5, [{
      A 3 x 3 convolution on the CPU's vector units by Winograd's algorithm: 36 products for 144, of sums of inputs and
      sums of filters (runtime/cpu/winograd).
    }]>]> {
  let description = [{
    How a library multiplies. An entry falls back to INGOT_MATH_EXACT on a machine without the unit.
  }];
}

def Context : Opaque<"ingot_context"> {
  let description = "The running trainer. Compiled code only hands it back.";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Kernels : Section<"Kernels"> {
  let description = "Entries that run code that the compiler generated.";
}

def StepFunction : Callback<"ingot_step_fn", ["ingot_context *context", "char *state", "char *arena"]> {
  let description = [{
    A compiled function (train_step, eval_step, predict), which runs to completion. A failure inside is recorded in
    the context; the caller asks for it afterwards.
  }];
}
def KernelFunction : Callback<"ingot_kernel_fn", ["void *const *buffers", "int64_t begin", "int64_t end"]> {
  let description = [{
    The body of a kernel: iterations [begin, end) of its parallel extent. `buffers` are the operands in order, inputs
    first.
  }];
}

class IndexField : Field<I64, "index", "The call's number among the function's kernels in the manifest.", "Index">;
class ReservedField : Field<I32, "reserved", "", "Reserved">;
class ScratchField : Field<I64, "scratch_bytes", [{
    The planned size of `scratch`. An entry that needs more allocates memory of its own.
  }], "Scratch">;

def Kernel : Struct<"ingot_kernel", [
    Field<KernelFunction, "body">, Field<I64, "extent", "The number of independent iterations.">,
    Field<I64, "grain", "The fewest iterations worth a thread.">,
    Field<I64, "shard_first", [{
      Where `shard_of` is not 0, iterations are elements of a bucket of `shard_of` elements, the first of which is
      element `shard_first` there: only those in the rank's shard run.
    }]>, Field<I64, "shard_of">, IndexField<>]> {
  let description = "A generated kernel of the CPU.";
}
def Launch : Entry<"ingot_launch", Kernel, "loop"> {
  let hasTable = 1;
  let targets = ["cpu"];
  let description = "Runs a kernel over its extent on the runtime's thread pool.";
}

def Ranks : Constant<"INGOT_RANKS", -1> {
  let description = "The extent of a GPU kernel that has one iteration for each rank.";
}

def GridKernel : Struct<"ingot_grid_kernel", [
    Field<Text, "name", "The function in the module's device code; it takes the buffers' addresses.">,
    Field<KernelFunction, "emulated", [{
      The same function compiled for the CPU: iteration (thread, block) of the grid. Behind the buffers it takes the
      addresses of the range and of the memory that a block shares. Null in trainers.
    }]>,
    Field<I32, "grid", "The number of blocks.">, Field<I32, "block", "The number of threads of a block.">,
    Field<I32, "buffers", "The number of buffers.">,
    Field<I32, "shared_bytes", "The shared memory that the function declares for a block.">,
    Field<I32, "any_grid", "Whether the kernel computes the same with any number of blocks.">, ReservedField<>,
    Field<I64, "extent", [{
      If not 0, the kernel runs a range of that many iterations: behind the buffers it takes the first one and the end,
      two i64.
    }]>,
    Field<I64, "shard_first", "The first element of the shard, as in ingot_kernel.">, Field<I64, "shard_of">,
    IndexField<>]> {
  let description = "A kernel of a GPU, with blocks of threads.";
}
def LaunchGrid : Entry<"ingot_launch_grid", GridKernel, "loop"> {
  let hasTable = 1;
  let targets = ["cuda"];
  let description = "Runs a kernel on the GPU.";
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

def Products : Section<"Matmul"> {
  let description = [{
    Library entries work in `scratch`, which is aligned like tensors and has no meaning before and after the call. It
    is null where there is none.
  }];
}

def Scales : Enum<"ingot_scales", [
    Case<"INGOT_SCALE_TENSOR", "tensor", 0, "One f32 of all elements.">,
    Case<"INGOT_SCALE_RUNS", "runs", 1, [{
      An f32 of each 128 elements along k: [ceil(k / 128), rows], where rows is m or n.
    }]>,
    Case<"INGOT_SCALE_SQUARES", "squares", 2, [{
      An f32 of each 128 rows and 128 elements along k: [ceil(rows / 128), ceil(k / 128) rounded up to 4].
    }]>,
    Case<"INGOT_SCALE_TILES", "tiles", 3, [{
      A byte e, which stands for 2^(e - 127), of each 32 elements along k, in tiles of 128 rows by 4:
      [ceil(rows / 128), ceil(k / 128), 32, 4, 4]. Row r and part p are at
      [r / 128, p / 4, r % 32, r % 128 / 32, p % 4].
    }]>]> {
  let description = [{
    The scales of an operand of 8-bit floats, by which its elements are multiplied, and their layout: that of cuBLASLt.
  }];
}
def MatmulDesc : Struct<"ingot_matmul_desc", [
    Field<I64, "batch">, Field<I64, "m">, Field<I64, "n">, Field<I64, "k">,
    Field<I32, "transpose_a", "Whether a is stored as [batch, k, m].">,
    Field<I32, "transpose_b", "Whether b is stored as [batch, n, k].">,
    Field<DType, "a_type">, Field<DType, "b_type">, Field<DType, "c_type">, Field<Math, "math">,
    Field<Scales, "a_scaling", "The layout of a_scales, where a is of 8-bit floats.">, Field<Scales, "b_scaling">,
    ScratchField<>, IndexField<>]> {
  let description = "c[batch, m, n] = a[batch, m, k] b[batch, k, n], accumulated in f32 (f64 for f64).";
}

class MatmulEntry<string symbol, Struct descriptor>
    : Entry<symbol, descriptor, "matmul", [
        In<"a", "a_type", ["batch", "m", "k"]>, In<"b", "b_type", ["batch", "k", "n"]>,
        OptionalIn<"a_scales", "">, OptionalIn<"b_scales", "">,
        Out<"c", "c_type", ["batch", "m", "n"]>, Scratch]>;

def Matmul : MatmulEntry<"ingot_matmul", MatmulDesc> {
  let description = "c = a b. Operands of 8-bit floats have scales; others have none.";
}

def Encoding : Enum<"ingot_encoding", [
    Case<"INGOT_CODE_NF4", "nf4", 0, "Quantiles of a normal distribution, two a byte, the first in the upper half.">,
    Case<"INGOT_CODE_FP4", "fp4", 1, "Floats of 4 bits, two a byte, the first in the upper half.">,
    Case<"INGOT_CODE_INT4", "int4", 2, "Integers from -8 to 7, plus 8, two a byte, the first in the lower half.">,
    Case<"INGOT_CODE_INT8", "int8", 3, "Integers from -127 to 127 in two's complement, one a byte.">]> {
  let description = [{
    How numbers are encoded: as codes, in blocks that share a scale, by which the numbers that codes stand for are
    multiplied (runtime/quantization).
  }];
}
def DecodedMatmulDesc : Struct<"ingot_decoded_matmul_desc", [
    Field<I64, "m">, Field<I64, "n">, Field<I64, "k">,
    Field<I64, "block", "The elements of b that share a scale, one after the other as it is stored.">,
    Field<I32, "transpose_b", "Whether b is stored as [n, k].">,
    Field<Encoding, "encoding">, Field<DType, "a_type">, Field<DType, "c_type">, Field<Math, "math">, ReservedField<>,
    ScratchField<>, IndexField<>]> {
  let description = "c[m, n] = a[m, k] b[k, n], where b is encoded, and decoded as a number of the type of a.";
}
def DecodedMatmul : Entry<"ingot_decoded_matmul", DecodedMatmulDesc, "matmul", [
    In<"a", "a_type", ["m", "k"]>, In<"codes", "u8">, In<"scales", "">, OptionalIn<"nested", "f32">,
    Out<"c", "c_type", ["m", "n"]>, Scratch]> {
  let targets = ["cpu"];
  let description = [{
    c = a b. With `nested`, scales of floats are codes as well: those of differences from a mean, in blocks of 256,
    whose scales `nested` has, and behind them the mean. To integers of a block, its offset in `nested` is added.
  }];
}

def EpilogueFunction : Callback<"ingot_epilogue_fn", [
    "void *const *buffers", "int64_t row_begin", "int64_t row_end", "int64_t column_begin", "int64_t column_end"]> {
  let description = [{
    The epilogue of a matmul: rows (of all batches) and columns of the product that are complete. `buffers` are the
    product, the kernel's other inputs, then its outputs, one of which is the product's memory.
  }];
}
def MatmulEpilogueDesc : Struct<"ingot_matmul_epilogue_desc", [
    Field<EpilogueFunction, "epilogue">, Field<MatmulDesc, "matmul">]> {
  let description = "A matmul whose elements the epilogue is given once, each when it is complete.";
}
def MatmulEpilogue : MatmulEntry<"ingot_matmul_epilogue", MatmulEpilogueDesc> {
  let hasTable = 1;
  let targets = ["cpu"];
  let description = "c = a b, then the epilogue on every element of c. `buffers` are those of an ingot_epilogue_fn.";
}

def Activation : Enum<"ingot_activation", [
    Case<"INGOT_IDENTITY", "identity", 0>, Case<"INGOT_RELU", "relu", 1>,
    Case<"INGOT_GELU", "gelu", 2, "The form with tanh.">,
    Case<"INGOT_GELU_GRAD", "gelu_grad", 3, "The product times the derivative of gelu at the pre-activation.">,
    Case<"INGOT_RELU_GRAD", "relu_grad", 4, "The product where the sign of the pre-activation is set, else 0.">]> {
  let description = "The function of an epilogue, behind bias and addend.";
}
def Summed : Enum<"ingot_summed", [
    Case<"INGOT_SUM_OF_A", "a", 0>, Case<"INGOT_SUM_OF_B", "b", 1>, Case<"INGOT_SUM_OF_RESULT", "result", 2>]> {
  let description = [{
    What the gradient of a bias is the sum of: of a (whose rows are those of the product) or of b (whose columns are)
    over their common dimension, or of the result over its rows.
  }];
}
def ExtraKernels : Constant<"INGOT_EXTRA_KERNELS", 2> {
  let description = "The most kernels that compute an extra output of an epilogue.";
}
def SignBits : Constant<"INGOT_SIGN_BITS", 128> {
  let description = "Rows of packed signs start at multiples of this number of bits.";
}
def MatmulEpilogueGridDesc : Struct<"ingot_matmul_epilogue_grid_desc", [
    Field<GridKernel, "finish", [{
      Turns the product into the outputs, in place. Where its name is null, the product is the output.
    }]>,
    Array<GridKernel, "extra", ExtraKernels, [{
      These compute an extra output, up to the first one without a name. The first takes buffers behind those of
      `finish`, each other one from the last of those before it on.
    }]>,
    Field<MatmulDesc, "matmul">,
    Field<I32, "activation", [{
      An ingot_activation, or -1 for what only the kernels can do. This field and those behind it say what the kernels
      do to a library with such epilogues: result = activation(product + addend + bias). They are numbers of
      `buffers`, or -1 for none.
    }]>,
    Field<I32, "bias", "The bias: n elements of the product's element type.">,
    Field<I32, "addend", "The addend: elements of the product's shape and element type.">,
    Field<I32, "auxiliary", [{
      What gelu is computed from: gelu writes it and its gradient reads it. relu's gradient reads the signs of what relu
      is computed from: a bit for each element, lowest first, in rows of a multiple of INGOT_SIGN_BITS.
    }]>,
    Field<I32, "result", "The result.">,
    Field<I32, "summed", "An ingot_summed.">,
    Field<I32, "bias_grad", "Where that sum goes, in the product's element type.">,
    ReservedField<>]> {
  let description = "A matmul on a GPU with an epilogue.";
}
def MatmulEpilogueGrid : MatmulEntry<"ingot_matmul_epilogue_grid", MatmulEpilogueGridDesc> {
  let hasTable = 1;
  let targets = ["cuda"];
  let description = [{
    c = a b and the epilogue, once the product is complete or by the library that computes it. `buffers` are those of
    an ingot_epilogue_fn.
  }];
}

def MatmulGridDesc : Struct<"ingot_matmul_grid_desc", [
    Field<GridKernel, "kernel", [{
      It takes two tensor maps (CUtensorMap), of a and b, and then the buffers' addresses. It runs with any number of
      blocks.
    }]>,
    Field<MatmulDesc, "matmul">,
    Field<I32, "tile_m", "The rows of the product that a block computes at a time.">,
    Field<I32, "tile_n", "The columns.">,
    Field<I32, "tile_k", [{
      The part of the inner dimension that is in shared memory at a time: 128 bytes of elements. A map's box is 128
      bytes of the innermost dimension and, of the other one, a tile's rows, columns or part.
    }]>,
    Field<I32, "dynamic_bytes", "The shared memory of a block that the launch gives.">]> {
  let description = "A matmul on a GPU by a kernel that the compiler generated, with its epilogue.";
}
def MatmulGrid : Entry<"ingot_matmul_grid", MatmulGridDesc, "matmul", [
    In<"a", "a_type", ["batch", "m", "k"]>, In<"b", "b_type", ["batch", "k", "n"]>]> {
  let hasTable = 1;
  let targets = ["cuda"];
  let description = [{
    The epilogue of a b, whose elements are in registers only. `buffers` are the epilogue's other inputs, then its
    outputs.
  }];
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

def Convolution : Section<"Convolution">;

def ConvDesc : Struct<"ingot_conv_desc", [
    Field<I64, "spatial_rank">, Field<I64, "batch">, Field<I64, "in_channels">, Field<I64, "out_channels">,
    Field<I64, "groups">,
    Array<I64, "in", MaxSpatial>, Array<I64, "out", MaxSpatial>, Array<I64, "kernel", MaxSpatial>,
    Array<I64, "stride", MaxSpatial>, Array<I64, "dilation", MaxSpatial>, Array<I64, "pad_low", MaxSpatial>,
    Array<I64, "pad_high", MaxSpatial>,
    Field<DType, "type">, Field<I32, "channels_last">, Field<I32, "filter_channels_last">, Field<Math, "math">,
    ScratchField<>, IndexField<>]> {
  let description = [{
    A convolution of [batch, channels, spatial], or of [batch, spatial, channels] where `channels_last`. The filter is
    [out, in / groups, spatial], or [out, spatial, in / groups] where `filter_channels_last`. The forward entry and
    both gradients use it.
  }];
}

class ConvIn<string name> : In<name, "type", ["batch", "in_channels", "in"]>;
class ConvOut<string name> : In<name, "type", ["batch", "out_channels", "out"]>;
class ConvFilter<string name> : In<name, "type", ["out_channels", "in_channels/groups", "kernel"]>;

def Conv : Entry<"ingot_conv", ConvDesc, "convolution", [
    ConvIn<"input">, ConvFilter<"filter">, Out<"output", "type", ["batch", "out_channels", "out"]>, Scratch]> {
  let description = "output = conv(input, filter).";
}
def ConvInputGrad : Entry<"ingot_conv_input_grad", ConvDesc, "convolution", [
    ConvOut<"output_grad">, ConvFilter<"filter">, Out<"input_grad", "type", ["batch", "in_channels", "in"]>,
    Scratch]> {
  let description = "The gradient of conv with respect to its input.";
}
def ConvFilterGrad : Entry<"ingot_conv_filter_grad", ConvDesc, "convolution", [
    ConvOut<"output_grad">, ConvIn<"input">,
    Out<"filter_grad", "type", ["out_channels", "in_channels/groups", "kernel"]>, Scratch]> {
  let description = "The gradient of conv with respect to its filter.";
}

def ConvStatistics : Entry<"ingot_conv_statistics", ConvDesc, "convolution", [
    ConvIn<"input">, ConvFilter<"filter">, OptionalIn<"scale", "type", ["in_channels"]>,
    OptionalIn<"shift", "type", ["in_channels"]>, Out<"output", "type", ["batch", "out_channels", "out"]>,
    Out<"sums", "f32", ["out_channels"]>, Out<"squares", "f32", ["out_channels"]>, Scratch]> {
  let description = [{
    output = conv(input, filter), or conv(max(input scale + shift, 0), filter), where scale and shift are those of each
    channel; with the sums of each channel of the output, and of its squares. For element types, layouts and windows
    for which the library fuses this (passes/targets/cuda/convolutions/LibraryFusion.h).
  }];
  let targets = ["cuda"];
}
def ConvScaledFilterGrad : Entry<"ingot_conv_scaled_filter_grad", ConvDesc, "convolution", [
    ConvOut<"output_grad">, ConvIn<"input">, In<"scale", "type", ["in_channels"]>, In<"shift", "type", ["in_channels"]>,
    Out<"filter_grad", "type", ["out_channels", "in_channels/groups", "kernel"]>, Scratch]> {
  let description = "The gradient of such a conv, of max(input scale + shift, 0), with respect to its filter.";
  let targets = ["cuda"];
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Attentions : Section<"Attention">;

def RowStrides : Constant<"INGOT_ROW_STRIDES", 3> {
  let description = "The strides of a tensor of rank 4 whose last dimension is contiguous.";
}

def AttentionDesc : Struct<"ingot_attention_desc", [
    Field<I64, "batch">, Field<I64, "heads">, Field<I64, "key_heads">, Field<I64, "queries">, Field<I64, "keys">,
    Field<I64, "size">, Field<I64, "value_size">,
    Field<I64, "left", "Query i attends to key j if -left <= j - i <= right; -1 is no bound.">,
    Field<I64, "right">, Field<F64, "scale">,
    Field<F64, "ratio", [{
      With a seed, each weight is dropped with this probability, and the others are divided by 1 - ratio.
    }]>,
    Array<I64, "query_strides", RowStrides, "Elements from one batch, row (query or key) and head to the next.">,
    Array<I64, "key_strides", RowStrides>, Array<I64, "value_strides", RowStrides>,
    Array<I64, "result_strides", RowStrides>,
    Array<I64, "bias_strides", RowStrides, [{
      Elements from one batch, head and query to the next; 0 repeats. Keys are contiguous.
    }]>,
    Array<I64, "mask_strides", RowStrides>,
    Field<DType, "type">, Field<Math, "math">,
    Field<I32, "stream", "Which random numbers dropout takes (docs/spec/random.md).">, ReservedField<>,
    ScratchField<>, IndexField<>]> {
  let description = [{
    Query i of a head attends to key j if the bounds `left` and `right` allow it, if the mask (one byte each) does, if
    the bias is not -infinity, and if j is below the length of the batch's sample. `heads` is a multiple of
    `key_heads`: neighbours share keys. Dropout on a CPU takes the numbers that Philox-4x32-10 gives for seed, step,
    `stream` and the weight's position in [batch, heads, queries, keys]; on a GPU those of its library's generator,
    with seed and step as seed and offset.
  }];
}

class HeadsIn<string name, string rows, string heads, string size>
    : In<name, "type", ["batch", rows, heads, size]>;
class HeadsOut<string name, string rows, string heads, string size>
    : Out<name, "type", ["batch", rows, heads, size]>;
defvar attentionOptions = [
  OptionalIn<"bias", "f32">, OptionalIn<"mask", "i1">, OptionalIn<"lengths", "i32", ["batch"]>,
  OptionalIn<"seed", "i64">, OptionalIn<"step", "i64">
];

def Attention : Entry<"ingot_attention", AttentionDesc, "attention", !listconcat([
    HeadsIn<"query", "queries", "heads", "size">, HeadsIn<"key", "keys", "key_heads", "size">,
    HeadsIn<"value", "keys", "key_heads", "value_size">], attentionOptions, [
    HeadsOut<"result", "queries", "heads", "value_size">, Out<"lse", "f32", ["batch", "heads", "queries"]>,
    Scratch])> {
  let description = [{
    result = softmax(scale * query key^T + bias, where allowed) value for each head, and lse, the log-sum-exp of
    the scores: 0 and +infinity for a query that attends to no key. Lengths are at least 1 on a GPU.
  }];
}
def AttentionGrad : Entry<"ingot_attention_grad", AttentionDesc, "attention", !listconcat([
    HeadsIn<"query", "queries", "heads", "size">, HeadsIn<"key", "keys", "key_heads", "size">,
    HeadsIn<"value", "keys", "key_heads", "value_size">, HeadsIn<"output", "queries", "heads", "value_size">,
    In<"lse", "f32", ["batch", "heads", "queries"]>, HeadsIn<"cotangent", "queries", "heads", "value_size">],
    attentionOptions, [
    HeadsOut<"query_grad", "queries", "heads", "size">, HeadsOut<"key_grad", "keys", "key_heads", "size">,
    HeadsOut<"value_grad", "keys", "key_heads", "value_size">, Scratch])> {
  let description = [{
    The gradients of attention, with the strides of what they are gradients of. `output` and `lse` are the results of
    ingot_attention; `output` and its cotangent have the result's strides.
  }];
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

def Exchange : Section<"Exchange between ranks"> {
  let description = [{
    A collective is a start and a wait, with the same descriptor except `index`. Nothing else touches the bucket
    between the two.
  }];
}

def Compression : Enum<"ingot_compression", [
    Case<"INGOT_UNCOMPRESSED", "none", 0>,
    Case<"INGOT_INT8", "int8", 1, "Each block of INGOT_INT8_BLOCK elements as integers and a scale.">,
    Case<"INGOT_TOPK", "topk", 2, "The k elements of largest magnitude with their indices.">]> {
  let description = "How a bucket is sent.";
}
def Int8Block : Constant<"INGOT_INT8_BLOCK", 256> {
  let description = "Elements that have one scale.";
}

def Reduction : Enum<"ingot_reduction", [
    Case<"INGOT_SUM", "sum", 0>,
    Case<"INGOT_MAX", "max", 2, "The largest; NaN if one of them is, which GPUs may leave out.">,
    Case<"INGOT_MIN", "min", 3, "The smallest; NaN likewise.">]> {
  let description = "How the elements of ranks are combined.";
}

def Axis : Enum<"ingot_axis", [
    Case<"INGOT_PIPELINE", "pipeline", 1>,
    Case<"INGOT_DATA", "data", 2>,
    Case<"INGOT_INNER", "inner", 4>,
    Case<"INGOT_CONTEXT", "context", 8>,
    Case<"INGOT_TENSOR", "tensor", 16>]> {
  let description = "An axis of the mesh of ranks, as a bit. Ranks are numbered along the last axis first.";
}

def BucketDesc : Struct<"ingot_bucket_desc", [
    Field<I64, "elements">, Field<DType, "type">,
    Field<I32, "number", "Ranks exchange their buckets of one number.">,
    Field<Compression, "compression", [{
      Compressed buckets are f32, and hold what ingot_compress makes of elements with the same `compression` and `k`.
    }]>,
    Field<I32, "deferred", [{
      Of an all-gather that a later run of a function waits for, or the host before it reads the state.
    }]>,
    Field<I64, "k", "The number of elements that INGOT_TOPK sends.">,
    Field<Reduction, "reduction", "What an all-reduce does; reduce-scatters and compressed buckets are sums.">,
    Field<I32, "axes", "The axes (ingot_axis) along which the ranks differ that exchange it: shards, along the last.">,
    IndexField<>]> {
  let description = "A bucket of gradients or parameters.";
}

class BucketEntry<string symbol, string thePhase, string theExchange,
                  Buffer bucket = InOut<"bucket", "type", ["elements"]>>
    : Entry<symbol, BucketDesc, "collective", [bucket]> {
  let phase = thePhase;
  let exchange = theExchange;
}
defvar shardOfBucket = ShardInOut<"bucket", "type", ["elements"]>;

def AllReduceStart : BucketEntry<"ingot_all_reduce_start", "Start", "AllReduce"> {
  let description = "Starts to combine a bucket over all ranks, in place.";
}
def AllReduceWait : BucketEntry<"ingot_all_reduce_wait", "Wait", "AllReduce"> {
  let description = "Waits until the bucket holds what all ranks have together.";
}
def ReduceScatterStart : BucketEntry<"ingot_reduce_scatter_start", "Start", "ReduceScatter"> {
  let description = "Starts to add up a bucket over all ranks, each of which gets its shard of the sums.";
}
def ReduceScatterWait : BucketEntry<"ingot_reduce_scatter_wait", "Wait", "ReduceScatter", shardOfBucket> {
  let description = [{
    Waits until the rank's shard of the bucket holds the sums. The other elements have no meaning afterwards.
  }];
}
def AllGatherStart : BucketEntry<"ingot_all_gather_start", "Start", "AllGather", shardOfBucket> {
  let description = "Starts to collect a bucket of which each rank has its shard.";
}
def AllGatherWait : BucketEntry<"ingot_all_gather_wait", "Wait", "AllGather"> {
  let description = "Waits until the bucket holds the shards of all ranks. Does nothing for one that is not in flight.";
}

def ExchangeDesc : Struct<"ingot_exchange_desc", [
    Field<I64, "elements", "The elements of one rank, or of its part where that is what ranks exchange.">,
    Field<I64, "ranks", "The number of ranks that exchange theirs.">,
    Field<DType, "type">,
    Field<Reduction, "reduction", "How an all-reduce or reduce-scatter combines them.">,
    Field<I32, "axes", "As in ingot_bucket_desc.">, ReservedField<>, IndexField<>]> {
  let description = "A tensor that the step needs from other ranks before it goes on.";
}
class ExchangeEntry<string symbol, string theExchange, Buffer result,
                    Buffer input = In<"input", "type", ["elements"]>>
    : Entry<symbol, ExchangeDesc, "collective", [input, result]> {
  let phase = "Exchange";
  let exchange = theExchange;
}
defvar partForEach = In<"input", "type", ["ranks", "elements"]>;
def AllReduce : ExchangeEntry<"ingot_all_reduce", "AllReduce", Out<"result", "type", ["elements"]>> {
  let description = "result = the tensors of all ranks, combined.";
}
def AllGather : ExchangeEntry<"ingot_all_gather", "AllGather", Out<"result", "type", ["ranks", "elements"]>> {
  let description = "result = the tensors of all ranks, one after the other in the order of their places.";
}
def ReduceScatter : ExchangeEntry<"ingot_reduce_scatter", "ReduceScatter", Out<"result", "type", ["elements"]>,
                                  partForEach> {
  let description = "result = the part with the number of the rank's place of the tensors of all ranks, combined.";
}
def AllToAll : ExchangeEntry<"ingot_all_to_all", "AllToAll", Out<"result", "type", ["ranks", "elements"]>,
                             partForEach> {
  let description = [{
    result = the part with the number of the rank's place of the tensor of each rank, in the order of their places.
  }];
}

def CompressDesc : Struct<"ingot_compress_desc", [
    Field<I64, "elements">, Field<Compression, "compression">, ReservedField<>,
    Field<I64, "k">, IndexField<>]>;
def Compress : Entry<"ingot_compress", CompressDesc, "compression", [
    In<"input", "f32", ["elements"]>, Out<"result", "f32", ["elements"]>]> {
  let targets = ["cpu"];
  let description = "result = what of the input a compressed bucket can hold.";
}

def MessageDesc : Struct<"ingot_message_desc", [
    Field<I64, "bytes", "The size of one rank's payload.">,
    Field<I32, "number", "The number of the bucket, as in ingot_bucket_desc.">,
    Field<I32, "axes", "As in ingot_bucket_desc.">, IndexField<>]> {
  let description = "The payload that each rank sends to all others.";
}
class Payload<string name> : InFlight<name, ""> {
  let bytes = "bytes";
}
def GatherMessagesStart : Entry<"ingot_gather_messages_start", MessageDesc, "collective", [
    Payload<"message">, InOut<"messages", "">]> {
  let description = [{
    Starts to put the payloads of all ranks one after the other. It is for GPUs, where kernels encode and decode
    compressed buckets.
  }];
}
def GatherMessagesWait : Entry<"ingot_gather_messages_wait", MessageDesc, "collective", [InOut<"messages", "">]> {
  let description = "Waits until the payloads of all ranks are there.";
}

def ShardDesc : Struct<"ingot_shard_desc", [
    Field<I64, "elements">, Field<DType, "type">, ReservedField<>,
    Field<I64, "shard_first", "The first element of the shard, as in ingot_kernel.">, Field<I64, "shard_of">,
    IndexField<>]> {
  let description = "A tensor in a bucket.";
}
def ShardSquareSum : Entry<"ingot_shard_square_sum", ShardDesc, "reduction", [
    In<"input", "type", ["elements"]>, Out<"result", "f64">]> {
  let targets = ["cpu"];
  let description = "result = the sum of the squares of the elements in the rank's shard.";
}

def CopyDesc : Struct<"ingot_copy_desc", [
    Field<I64, "bytes">, Field<I64, "element_bytes">,
    Field<I64, "shard_first", "The first element, as in ingot_kernel: only elements in the rank's shard are copied.">,
    Field<I64, "shard_of">, IndexField<>]>;
class BytesIn<string name> : In<name, ""> {
  let bytes = "bytes";
}
class BytesOut<string name> : Out<name, ""> {
  let bytes = "bytes";
}
def Copy : Entry<"ingot_copy", CopyDesc, "copy", [
    BytesIn<"from">, BytesOut<"to">]> {
  let description = "Copies between two buffers that do not overlap.";
}

def Shards : Function<"char *const *", "ingot_shards", ["ingot_context *context"]> {
  let description = [{
    Addresses of what depends on the number of ranks: those that sharded tensors would start at, of which a rank has
    memory for the elements of its shards only, and of payloads (ingot_gather_messages_start).
  }];
}

def Sides : Section<"Streams"> {
  let description = [{
    Calls between ingot_side_start and ingot_side_end run concurrently with those after ingot_side_end, until
    ingot_side_wait with the same number. They come after all calls before them. A runtime may as well run them in their
    place: on CPUs, what runs concurrently is exchanges between ranks.
  }];
}

def SideDesc : Struct<"ingot_side_desc", [
    Field<I32, "number", "The number of the region in its function.">, ReservedField<>, IndexField<>]> {
  let description = "A region of calls that run concurrently with others.";
}
class SideEntry<string symbol, string thePhase> : Entry<symbol, SideDesc, "stream"> {
  let phase = thePhase;
}
def SideStart : SideEntry<"ingot_side_start", "SideStart"> {
  let description = "Starts a region. Regions do not overlap.";
}
def SideEnd : SideEntry<"ingot_side_end", "SideEnd"> {
  let description = "Ends the region.";
}
def SideWait : SideEntry<"ingot_side_wait", "SideWait"> {
  let description = "Calls after it wait for the region, and for those before it.";
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

def Modules : Section<"Module">;

def FunctionEntry : Struct<"ingot_function", [Field<Text, "name">, Field<StepFunction, "run">]>;
def ModulePointer : Scalar<"const struct ingot_module_t *", 8, "Address">;
def ModuleStruct : Struct<"ingot_module_t", [
    Field<U32, "abi_version">, Field<U32, "function_count">, Field<PointerTo<FunctionEntry>, "functions">,
    Field<Text, "manifest", "JSON (docs/manifest.md).">, Field<U64, "manifest_bytes">,
    Field<Text, "weights", "A safetensors file with the initial values, or null (sidecar, none).">,
    Field<U64, "weights_bytes">,
    Field<Text, "export_literal", [{
      The literal bytes of the exported ONNX model, without the parts that the manifest's "export" names as states;
      null where export is not possible.
    }]>,
    Field<U64, "export_literal_bytes">,
    Field<Text, "device_code", [{
      The GPU's kernels as machine code (0 bytes if the compiler had no assembler) and as text for later GPUs; empty
      for the CPU.
    }]>,
    Field<U64, "device_code_bytes">, Field<Text, "device_ptx">,
    Field<ModulePointer, "next", [{
      The same steps for a processor with fewer features, or null. A trainer takes the first that its CPU can run.
    }]>]> {
  let description = "The one description of a compiled object, `ingot_module`.";
}
def TheModule : Definition<ModuleStruct, "ingot_module">;
