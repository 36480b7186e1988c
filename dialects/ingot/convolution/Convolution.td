// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Convolution and pooling over 1 to 3 spatial dimensions. The layout is N, C,
// spatial or, with `channels_last`, N, spatial, C. All ops have the same window
// attributes, with one entry per spatial dimension.
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_CONVOLUTION_CONVOLUTION_TD
#define INGOT_DIALECTS_INGOT_CONVOLUTION_CONVOLUTION_TD

include "dialects/ingot/ir/Dialect.td"

class Ingot_WindowedOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<ScalarBody, ["isLooped"]>,
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>])> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    bool $cppClass::isLooped() { return true; }
  }];
}

class Ingot_ConvolutionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_WindowedOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Permutable, [
            "carriesOperand", "carriesResults", "permute", "permuteOthers"]>,
        DeclareOpInterfaceMethods<LibraryCall>,
        DeclareOpInterfaceMethods<Differentiable>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole"]>])> {
  let results = (outs Ingot_FloatTensor:$result);
  let extraClassDeclaration = roundsMoreThanOnce # [{
    /// Returns the kind of work of a matmul where the filter has one tap for
    /// each pixel.
    ::ingot::WorkKind getWorkKind();
  }];
}

def ConvOp : Ingot_ConvolutionOp<"conv"> {
  let summary = "convolution (cross-correlation) of an input with a filter";
  let description = [{
    input [N, C, in...], filter [O, C / groups, kernel...], result [N, O, out...] with
    out = floor((in + pad_low + pad_high - dilation * (kernel - 1) - 1) / stride) + 1.
    With `channels_last`, input [N, in..., C] and result [N, out..., O]; with `filter_channels_last`,
    filter [O, kernel..., C / groups].
  }];
  let arguments = (ins Ingot_FloatTensor:$input, Ingot_FloatTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last,
                       UnitAttr:$filter_channels_last);
  let assemblyFormat = "$input `,` $filter attr-dict `:` functional-type(operands, results)";
}

def ConvInputGradOp : Ingot_ConvolutionOp<"conv_input_grad"> {
  let summary = "gradient of `conv` with respect to its input";
  let description = "This is also a transposed convolution. The attributes are those of the `conv`.";
  let arguments = (ins Ingot_FloatTensor:$output_grad, Ingot_FloatTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last,
                       UnitAttr:$filter_channels_last);
  let assemblyFormat = "$output_grad `,` $filter attr-dict `:` functional-type(operands, results)";
}

def ConvFilterGradOp : Ingot_ConvolutionOp<"conv_filter_grad"> {
  let summary = "gradient of `conv` with respect to its filter";
  let arguments = (ins Ingot_FloatTensor:$output_grad, Ingot_FloatTensor:$input,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last,
                       UnitAttr:$filter_channels_last);
  let assemblyFormat = "$output_grad `,` $input attr-dict `:` functional-type(operands, results)";
}

/// A convolution with normalizations around it, as one call of a library. It is
/// formed after gradients are built.
class Ingot_NormalizedConvolutionOp<string mnemonic, list<Trait> traits = []>
    : Ingot_ComputeOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<LibraryCall, ["getCallBuffers"]>,
        DeclareOpInterfaceMethods<Decomposable>,
        DeclareOpInterfaceMethods<CostModel, ["getFlops"]>,
        DeclareOpInterfaceMethods<PrecisionRole, ["getPrecisionRole", "isStatistic"]>])> {
  let extraClassDeclaration = roundsMoreThanOnce # [{
    ::ingot::WorkKind getWorkKind() { return ::ingot::WorkKind::Convolution; }
  }];
  let hasVerifier = 1;
}

def ConvStatisticsOp : Ingot_NormalizedConvolutionOp<"conv_statistics", [AttrSizedOperandSegments]> {
  let summary = "`conv` of a normalized input, with the sums of its result and of its squares";
  let description = [{
    The result is that of `conv` with these attributes on the input or, with scale and shift, on max(input * scale +
    shift, 0), where both are [C] and 16-bit elements are computed in f32 and rounded. sums and squares, f32 [O], are
    the sums of each channel of the result and of its squares over all other dimensions.
  }];
  let arguments = (ins Ingot_FloatTensor:$input, Ingot_FloatTensor:$filter,
                       Optional<Ingot_FloatTensor>:$scale, Optional<Ingot_FloatTensor>:$shift,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last,
                       UnitAttr:$filter_channels_last);
  let results = (outs Ingot_FloatTensor:$result, Ingot_FloatTensor:$sums, Ingot_FloatTensor:$squares);
  let assemblyFormat = [{
    $input `,` $filter (`scale` $scale^ `shift` $shift)? attr-dict `:` functional-type(operands, results)
  }];
}

def ConvScaledFilterGradOp : Ingot_NormalizedConvolutionOp<"conv_scaled_filter_grad"> {
  let summary = "`conv_filter_grad` of a normalized input, max(input * scale + shift, 0)";
  let arguments = (ins Ingot_FloatTensor:$output_grad, Ingot_FloatTensor:$input,
                       Ingot_FloatTensor:$scale, Ingot_FloatTensor:$shift,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       I64Attr:$groups, UnitAttr:$channels_last,
                       UnitAttr:$filter_channels_last);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = [{
    $output_grad `,` $input `scale` $scale `shift` $shift attr-dict `:` functional-type(operands, results)
  }];
}

class Ingot_PoolOp<string mnemonic, list<Trait> traits = []>
    : Ingot_WindowedOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Permutable, [
            "carriesOperand", "carriesResults", "permute"]>])>;

def MaxPoolOp : Ingot_PoolOp<"max_pool", [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "largest element of each window, and its index";
  let description = [{
    `indices` (i64) is the row-major position of the element within its plane of the input (the spatial dimensions
    only, for both layouts); of equal elements, the first counts. Padding is never the largest; every window overlaps
    with the input. A NaN counts as largest.
  }];
  let arguments = (ins Ingot_FloatTensor:$input, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       UnitAttr:$channels_last);
  let results = (outs Ingot_FloatTensor:$result, Ingot_IndexTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def MaxPoolGradOp : Ingot_PoolOp<"max_pool_grad", [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "gradient of `max_pool`, which adds the cotangent of each window at its index";
  let extraClassDeclaration = roundsMoreThanOnce;
  let arguments = (ins Ingot_FloatTensor:$output_grad, Ingot_IndexTensor:$indices,
                       DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       UnitAttr:$channels_last);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$output_grad `,` $indices attr-dict `:` functional-type(operands, results)";
}

def SumPoolOp : Ingot_PoolOp<"sum_pool", [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "sum of each window, with a padding of 0";
  let description = "Average pooling is this divided by the window's size (a constant).";
  let extraClassDeclaration = roundsMoreThanOnce;
  let arguments = (ins Ingot_FloatTensor:$input, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       UnitAttr:$channels_last);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def SumPoolGradOp : Ingot_PoolOp<"sum_pool_grad", [DeclareOpInterfaceMethods<Differentiable>]> {
  let summary = "gradient of `sum_pool`: each element is the sum of the cotangents of its windows";
  let extraClassDeclaration = roundsMoreThanOnce;
  let arguments = (ins Ingot_FloatTensor:$output_grad, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                       UnitAttr:$channels_last);
  let results = (outs Ingot_FloatTensor:$result);
  let assemblyFormat = "$output_grad attr-dict `:` functional-type(operands, results)";
}

#endif // INGOT_DIALECTS_INGOT_CONVOLUTION_CONVOLUTION_TD
