//===----------------------------------------------------------------------===//
//
// The C ABI between a compiled training step and the Ingot runtime. This header
// is all that couples the two: the compiler emits an object that defines
// `ingot_module` and calls the entry points declared here, the runtime provides
// the entry points and runs what `ingot_module` describes. The compiler's view
// of these structs (dialects/exec) is checked against this header by a test.
//
// Memory. A trainer owns two blocks, each allocated once, aligned to
// INGOT_ALIGNMENT: `state` (parameters, optimizer moments, running statistics,
// counters: what outlives a step) and `arena` (inputs, outputs, everything that
// lives within a step). Every tensor is dense, row-major, at a byte offset
// fixed at compile time. Offsets are in the manifest (docs/manifest.md).
// A state of which ranks have shards is elsewhere: at its offset is the address
// that its first element would have.
// Element types: f64, f32, f16, bf16, i64, i32, i8, u8 and bool (one byte, 0 or
// 1).
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_ABI_ABI_H
#define INGOT_RUNTIME_ABI_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bumped on every change of a struct, an entry point or the manifest. The
/// trainer refuses a module with another version at start.
#define INGOT_ABI_VERSION 16

/// Alignment in bytes of both blocks and of every tensor in them.
#define INGOT_ALIGNMENT 64

/// On a device with memory of its own, inputs come through this many blocks in
/// turn: one is filled while a function reads what came through another.
#define INGOT_STAGING_BLOCKS 2

/// Ranks have shards of a bucket: equal stretches, but for the last, of a
/// multiple of this many elements (runtime/abi/Shard.h).
#define INGOT_SHARD_ELEMENTS 32

#define INGOT_MAX_SPATIAL 3
#define INGOT_MAX_BATCH_DIMS 4

/// Element types as the library entry points see them.
typedef enum ingot_dtype {
  INGOT_F32 = 0,
  INGOT_F64 = 1,
  INGOT_BF16 = 2,
  INGOT_F16 = 3,
} ingot_dtype;

/// The running trainer. Opaque to compiled code, which only hands it back.
typedef struct ingot_context ingot_context;

/// A compiled function (train_step, eval_step, predict): runs to completion.
/// A failure inside is recorded in the context; the caller asks for it after.
typedef void (*ingot_step_fn)(ingot_context *context, char *state, char *arena);

/// The body of a kernel: iterations [begin, end) of its parallel extent.
/// `buffers` are the operands in order, inputs first.
typedef void (*ingot_kernel_fn)(void *const *buffers, int64_t begin,
                                int64_t end);

/// A generated kernel. `grain` is the fewest iterations worth a thread. Where
/// `shard_of` is not 0, iterations are elements, the first of which is at
/// `shard_first` of a bucket of that many: only those in the rank's shard run.
typedef struct ingot_kernel {
  ingot_kernel_fn body;
  int64_t extent;
  int64_t grain;
  int64_t shard_first, shard_of;
  /// Index into the function's "kernels" in the manifest; for profiles.
  int64_t index;
} ingot_kernel;

#define INGOT_RANKS (-1)

/// A kernel on a device with blocks of threads. Where `extent` is not 0, it
/// runs a range of so many iterations: behind the buffers it takes the first
/// one and the end, two i64. They are as in ingot_kernel; INGOT_RANKS of them
/// are as many as there are ranks.
typedef struct ingot_grid_kernel {
  /// Of the function in the module's device code, which takes the buffers'
  /// addresses.
  const char *name;
  /// The same function compiled for the CPU: iteration (thread, block) of the
  /// grid; behind the buffers the addresses of the range and of the memory that
  /// a block shares. Null in trainers.
  ingot_kernel_fn emulated;
  int32_t grid, block;
  int32_t buffers, shared_bytes;
  /// Whether any number of blocks computes the same.
  int32_t any_grid, reserved;
  int64_t extent;
  int64_t shard_first, shard_of;
  int64_t index;
} ingot_grid_kernel;

/// c[batch..., m, n] = a x b. `transpose_a` says that a is stored [.., k, m],
/// `transpose_b` that b is stored [.., n, k]. Accumulates in f32 (f64 for f64).
typedef struct ingot_matmul_desc {
  int64_t batch, m, n, k;
  int32_t transpose_a, transpose_b;
  int32_t a_type, b_type, c_type;
  /// Whether to multiply on the processor's tile units, if it has any; f32 in
  /// parts, then (runtime/cpu/gemm). On a GPU whether f32 may be rounded to
  /// TF32.
  int32_t on_tiles;
  /// Bytes at `scratch`, as planned (Scratch.h). An entry point that needs
  /// more takes memory of its own.
  int64_t scratch_bytes;
  int64_t index;
} ingot_matmul_desc;

/// Finishes elements of a product: rows (of all batches) and columns of it that
/// are complete. `buffers` are the product, the kernel's other inputs, then its
/// outputs, one of which is the product's memory.
typedef void (*ingot_epilogue_fn)(void *const *buffers, int64_t row_begin,
                                  int64_t row_end, int64_t column_begin,
                                  int64_t column_end);

typedef struct ingot_matmul_epilogue_desc {
  ingot_epilogue_fn epilogue;
  ingot_matmul_desc matmul;
} ingot_matmul_epilogue_desc;

/// What becomes of a product's elements, after bias and addend.
typedef enum ingot_activation {
  INGOT_IDENTITY = 0,
  INGOT_RELU = 1,
  /// The form with tanh.
  INGOT_GELU = 2,
  /// The product times the derivative of gelu at the pre-activation.
  INGOT_GELU_GRAD = 3,
  /// The product where the sign of the pre-activation is set, else 0.
  INGOT_RELU_GRAD = 4,
} ingot_activation;

/// What a bias's gradient is the sum of: a (a row of the product each) or b (a
/// column each) over their common dimension, or the result over its rows.
typedef enum ingot_summed {
  INGOT_SUM_OF_A = 0,
  INGOT_SUM_OF_B = 1,
  INGOT_SUM_OF_RESULT = 2,
} ingot_summed;

/// What an extra output takes at most.
#define INGOT_EXTRA_KERNELS 2

/// Rows of signs start at multiples of so many bits.
#define INGOT_SIGN_BITS 128

/// A product on a device that `finish` turns into its outputs, in place; if its
/// name is null, the product is the output. Then kernels, up to one without a
/// name, compute an extra output. The first takes buffers behind those of
/// `finish`, each other one from the last of those before it on.
///
/// The other fields say the same to a library with such epilogues: result =
/// activation(product + addend + bias). Numbers are of `buffers`; -1: none.
typedef struct ingot_matmul_epilogue_grid_desc {
  ingot_grid_kernel finish;
  ingot_grid_kernel extra[INGOT_EXTRA_KERNELS];
  ingot_matmul_desc matmul;
  /// An ingot_activation; -1 for what only the kernels can do.
  int32_t activation;
  /// Of the product's type: n elements, and as many as the product has.
  int32_t bias, addend;
  /// Written by gelu, what it is computed from, and read by its gradient. Of
  /// relu the same: a bit for each element, lowest first, and rows of a
  /// multiple of INGOT_SIGN_BITS.
  int32_t auxiliary;
  int32_t result;
  /// An ingot_summed, and where its sum goes, in the product's type.
  int32_t summed, bias_grad;
  int32_t reserved;
} ingot_matmul_epilogue_grid_desc;

/// Convolution in NC<spatial> order, or N<spatial>C where `channels_last`;
/// filter [out, in / groups, spatial], or [out, spatial, in / groups] where
/// `filter_channels_last`. Used by the forward op and by both gradients.
typedef struct ingot_conv_desc {
  int64_t spatial_rank, batch, in_channels, out_channels, groups;
  int64_t in[INGOT_MAX_SPATIAL], out[INGOT_MAX_SPATIAL];
  int64_t kernel[INGOT_MAX_SPATIAL], stride[INGOT_MAX_SPATIAL];
  int64_t dilation[INGOT_MAX_SPATIAL];
  int64_t pad_low[INGOT_MAX_SPATIAL], pad_high[INGOT_MAX_SPATIAL];
  int32_t type, channels_last, filter_channels_last;
  /// As in ingot_matmul_desc.
  int32_t on_tiles;
  int64_t scratch_bytes;
  int64_t index;
} ingot_conv_desc;

/// Query i of a head may look at key j if -left <= j - i <= right (-1: no
/// bound), if the mask (one byte each) says so, if the bias is not -infinity,
/// and if j is below the length of the batch's sample. `heads` is a multiple of
/// `key_heads`: neighbours share keys. With a seed, each weight is dropped with
/// the probability `ratio`, and what stays divided by 1 - ratio: on a processor
/// by Philox-4x32-10 (docs/spec/random.md) of seed, step, `stream` and its
/// position in [batch, heads, queries, keys]; on a GPU by its library's
/// generator, with seed and step as seed and offset.
typedef struct ingot_attention_desc {
  int64_t batch, heads, key_heads, queries, keys, size, value_size;
  int64_t left, right;
  double scale, ratio;
  /// Elements from one batch, row (query or key) and head to the next.
  int64_t query_strides[3], key_strides[3], value_strides[3], result_strides[3];
  /// Elements from one batch, head and query to the next; 0 repeats. Keys are
  /// contiguous.
  int64_t bias_strides[3], mask_strides[3];
  int32_t type;
  /// As in ingot_matmul_desc.
  int32_t on_tiles;
  int32_t stream, reserved;
  int64_t scratch_bytes;
  int64_t index;
} ingot_attention_desc;

typedef struct ingot_copy_desc {
  int64_t bytes, element_bytes;
  /// As in ingot_kernel: only elements in the rank's shard are copied.
  int64_t shard_first, shard_of;
  int64_t index;
} ingot_copy_desc;

/// Addresses of what depends on how many ranks there are, by number: those that
/// tensors in shards would start at, of which a rank has memory for the
/// elements of its shards only; and of messages (ingot_gather_messages_start).
char *const *ingot_shards(ingot_context *context);

// Library calls work in `scratch`, aligned like tensors and without meaning
// before and after the call; null if there is none.

/// Runs a kernel over its extent on the runtime's thread pool.
void ingot_launch(ingot_context *context, const ingot_kernel *kernel,
                  void *const *buffers);

/// Runs a kernel on the device.
void ingot_launch_grid(ingot_context *context, const ingot_grid_kernel *kernel,
                       void *const *buffers);

void ingot_matmul(ingot_context *context, const ingot_matmul_desc *desc,
                  const void *a, const void *b, void *c, void *scratch);
/// The same; the epilogue finishes every element of c once.
void ingot_matmul_epilogue(ingot_context *context,
                           const ingot_matmul_epilogue_desc *desc,
                           const void *a, const void *b, void *c, void *scratch,
                           void *const *buffers);

/// The same on a device: the product is finished once it is complete, or by the
/// library that computes it. `buffers` are those of an ingot_epilogue_fn.
void ingot_matmul_epilogue_grid(ingot_context *context,
                                const ingot_matmul_epilogue_grid_desc *desc,
                                const void *a, const void *b, void *c,
                                void *scratch, void *const *buffers);

/// output = conv(input, filter).
void ingot_conv(ingot_context *context, const ingot_conv_desc *desc,
                const void *input, const void *filter, void *output,
                void *scratch);
/// input_grad = the gradient of conv with respect to its input.
void ingot_conv_input_grad(ingot_context *context, const ingot_conv_desc *desc,
                           const void *output_grad, const void *filter,
                           void *input_grad, void *scratch);
/// filter_grad = the gradient of conv with respect to its filter.
void ingot_conv_filter_grad(ingot_context *context, const ingot_conv_desc *desc,
                            const void *output_grad, const void *input,
                            void *filter_grad, void *scratch);

/// result = softmax(scale * query key^T + bias, where allowed) value per head,
/// and lse [batch, heads, queries] = the logarithm of the sum of exponentials
/// (f32): 0 and +infinity for a query that may look nowhere. `bias`, `mask`,
/// `lengths` (one for each batch; on a GPU at least 1) and `seed` with `step`
/// (one number each) may be null.
void ingot_attention(ingot_context *context, const ingot_attention_desc *desc,
                     const void *query, const void *key, const void *value,
                     const void *bias, const void *mask, const int32_t *lengths,
                     const int64_t *seed, const int64_t *step, void *result,
                     void *lse, void *scratch);
/// The gradients, with the strides of what they are gradients of; `output` and
/// its cotangent have those of the result.
void ingot_attention_grad(
    ingot_context *context, const ingot_attention_desc *desc, const void *query,
    const void *key, const void *value, const void *output, const void *lse,
    const void *cotangent, const void *bias, const void *mask,
    const int32_t *lengths, const int64_t *seed, const int64_t *step,
    void *query_grad, void *key_grad, void *value_grad, void *scratch);

/// How a bucket is sent: as it is; each block of elements as integers and a
/// scale; some elements with their indices.
#define INGOT_PLAIN 0
#define INGOT_INT8 1
#define INGOT_TOPK 2
/// Elements that have one scale.
#define INGOT_INT8_BLOCK 256

/// What all ranks exchange together: of their buckets of one number. With a
/// code, the type is f32, and the elements are what ingot_compress makes of
/// some with the same `code` and `kept`. `deferred`: of an all-gather that a
/// later run of a function waits for, or the host before it reads the state.
typedef struct ingot_bucket_desc {
  int64_t elements;
  int32_t type, number;
  int32_t code, deferred;
  int64_t kept;
  int64_t index;
} ingot_bucket_desc;

typedef struct ingot_compress_desc {
  int64_t elements;
  int32_t code, reserved;
  int64_t kept;
  int64_t index;
} ingot_compress_desc;

/// result = what can be sent of the input.
void ingot_compress(ingot_context *context, const ingot_compress_desc *desc,
                    const float *input, float *result);

/// What a rank sends to all others, and they to it.
typedef struct ingot_message_desc {
  /// Of one message.
  int64_t bytes;
  int32_t number, reserved;
  int64_t index;
} ingot_message_desc;

/// Starts to put the messages of all ranks one after the other. Nothing else
/// touches them until the wait. For devices, where kernels make messages of
/// buckets with a code, and add them up.
void ingot_gather_messages_start(ingot_context *context,
                                 const ingot_message_desc *desc,
                                 const void *message, void *messages);
void ingot_gather_messages_wait(ingot_context *context,
                                const ingot_message_desc *desc, void *messages);

/// Starts to add up a bucket over all ranks, in its place. Nothing else touches
/// it until the wait.
void ingot_all_reduce_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket);
/// Waits until the bucket holds the sums.
void ingot_all_reduce_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *bucket);

/// The same for sums of which each rank gets its shard: the bucket's other
/// elements have no meaning afterwards.
void ingot_reduce_scatter_start(ingot_context *context,
                                const ingot_bucket_desc *desc, void *bucket);
void ingot_reduce_scatter_wait(ingot_context *context,
                               const ingot_bucket_desc *desc, void *bucket);
/// The same for a bucket of which each rank has its shard at first, and all
/// elements afterwards. A wait does nothing for a bucket that is not under way.
void ingot_all_gather_start(ingot_context *context,
                            const ingot_bucket_desc *desc, void *bucket);
void ingot_all_gather_wait(ingot_context *context,
                           const ingot_bucket_desc *desc, void *bucket);

/// A tensor in a bucket, as in ingot_kernel.
typedef struct ingot_shard_desc {
  int64_t elements;
  int32_t type, reserved;
  int64_t shard_first, shard_of;
  int64_t index;
} ingot_shard_desc;

/// result = the sum of the squares of the elements in the rank's shard.
void ingot_shard_square_sum(ingot_context *context,
                            const ingot_shard_desc *desc, const void *input,
                            double *result);

/// Copies between two places that do not overlap.
void ingot_copy(ingot_context *context, const ingot_copy_desc *desc,
                const void *from, void *to);

typedef struct ingot_function {
  const char *name;
  ingot_step_fn run;
} ingot_function;

/// What a compiled object defines, once, under the name `ingot_module`.
typedef struct ingot_module_t {
  uint32_t abi_version;
  uint32_t function_count;
  const ingot_function *functions;
  /// JSON; layout in docs/manifest.md.
  const char *manifest;
  uint64_t manifest_bytes;
  /// A safetensors file with the initial values, or null (sidecar, none).
  const char *weights;
  uint64_t weights_bytes;
  /// The literal bytes of the exported ONNX model, without the parts that the
  /// manifest's "export" names as states; null when export is not possible.
  const char *export_literal;
  uint64_t export_literal_bytes;
  /// The kernels of a device, as its machine code (0 bytes if the compiler had
  /// no assembler) and as text for later devices; empty for the CPU.
  const char *device_code;
  uint64_t device_code_bytes;
  const char *device_ptx;
} ingot_module_t;

extern const ingot_module_t ingot_module;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // INGOT_RUNTIME_ABI_ABI_H
