// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Arithmetic, comparisons and selections of the PTX ISA, over the lanes of a
// warp. Values of lanes that are not active are computed too, and dropped.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/numbers/Float8.h"
#include "test/fakes/cuda/ptx/Functions.h"
#include "test/fakes/cuda/ptx/Program.h"
#include "test/fakes/cuda/ptx/Warp.h"

#include <bit>

using namespace fakes::ptx;

namespace {
template <typename T, typename F>
void mapUnary(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  T values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = F()(a[lane]);
  warp.writeLanes(instruction.to[0], values);
}

/// `B` is the type of the second operand, `R` that of the result.
template <typename T, typename F, typename B = T, typename R = T>
void mapBinary(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  const B *b = warp.read<B>(instruction.from[1]);
  R values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = static_cast<R>(F()(a[lane], b[lane]));
  warp.writeLanes(instruction.to[0], values);
}

template <typename T, typename F, typename B = T, typename C = T,
          typename Result = C>
void mapTernary(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  const B *b = warp.read<B>(instruction.from[1]);
  const C *c = warp.read<C>(instruction.from[2]);
  Result values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = static_cast<Result>(F()(a[lane], b[lane], c[lane]));
  warp.writeLanes(instruction.to[0], values);
}

template <typename T, typename F>
void compare(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  const T *b = warp.read<T>(instruction.from[1]);
  uint32_t bits = 0;
  for (int lane = 0; lane < lanes; ++lane)
    bits |= uint32_t(F()(a[lane], b[lane])) << lane;
  warp.writePredicate(instruction.to[0], bits);
}

template <typename F>
void mapPredicates(Warp &warp, const Instruction &instruction) {
  warp.writePredicate(instruction.to[0],
                      F()(warp.readPredicate(instruction.from[0]),
                          warp.readPredicate(instruction.from[1])));
}
void movePredicate(Warp &warp, const Instruction &instruction) {
  warp.writePredicate(instruction.to[0],
                      warp.readPredicate(instruction.from[0]));
}
void invertPredicate(Warp &warp, const Instruction &instruction) {
  warp.writePredicate(instruction.to[0],
                      ~warp.readPredicate(instruction.from[0]));
}

template <typename T> void move(Warp &warp, const Instruction &instruction) {
  T values[lanes];
  std::memcpy(values, warp.read<T>(instruction.from[0]), sizeof(values));
  warp.writeLanes(instruction.to[0], values);
}

template <typename T> void select(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  const T *b = warp.read<T>(instruction.from[1]);
  uint32_t chosen = warp.readPredicate(instruction.from[2]);
  T values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = chosen >> lane & 1 ? a[lane] : b[lane];
  warp.writeLanes(instruction.to[0], values);
}

template <typename T>
void countZeros(Warp &warp, const Instruction &instruction) {
  const T *a = warp.read<T>(instruction.from[0]);
  uint32_t values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = static_cast<uint32_t>(std::countl_zero(a[lane]));
  warp.writeLanes(instruction.to[0], values);
}

constexpr uint16_t signOfBfloat = 0x8000;
struct NegHalf {
  uint16_t operator()(uint16_t a) const { return a ^ signOfBfloat; }
};
struct AbsHalf {
  uint16_t operator()(uint16_t a) const {
    return a & static_cast<uint16_t>(~signOfBfloat);
  }
};

struct RoundToHalf {
  uint16_t operator()(float a) const {
    return std::bit_cast<uint16_t>(static_cast<_Float16>(a));
  }
};

/// Two halves of a register, the first operand in the upper one.
template <typename Round>
void packHalves(Warp &warp, const Instruction &instruction) {
  const float *high = warp.read<float>(instruction.from[0]);
  const float *low = warp.read<float>(instruction.from[1]);
  uint32_t values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = uint32_t(Round()(high[lane])) << 16 | Round()(low[lane]);
  warp.writeLanes(instruction.to[0], values);
}

/// Two 8-bit floats, the first operand in the upper byte.
template <fakes::Float8 type>
void packFloat8(Warp &warp, const Instruction &instruction) {
  const float *high = warp.read<float>(instruction.from[0]);
  const float *low = warp.read<float>(instruction.from[1]);
  uint16_t values[lanes];
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] =
        static_cast<uint16_t>(fakes::encodeFloat8(high[lane], type) << 8 |
                              fakes::encodeFloat8(low[lane], type));
  warp.writeLanes(instruction.to[0], values);
}

[[noreturn]] void refuse(const Opcode &opcode) {
  std::string name;
  for (std::string_view part : opcode.parts)
    name += (name.empty() ? "" : ".") + std::string(part);
  throw ParseError("unknown instruction '" + name + "'");
}

template <typename F> Form unary(const Opcode &opcode) {
  std::string_view type = opcode.type();
  uint32_t bytes = getBytes(type);
  Execute execute = type == "f32"   ? mapUnary<float, F>
                    : type == "f64" ? mapUnary<double, F>
                                    : nullptr;
  if (!execute)
    refuse(opcode);
  return {execute, bytes, {bytes}};
}

template <typename F> Execute onFloats(std::string_view type) {
  return type == "f32"   ? mapBinary<float, F>
         : type == "f64" ? mapBinary<double, F>
                         : nullptr;
}

/// Whether results are the same with signs and without.
template <typename F> Execute onBits(std::string_view type) {
  switch (getBytes(type)) {
  case 2:
    return mapBinary<uint16_t, F>;
  case 4:
    return mapBinary<uint32_t, F>;
  case 8:
    return mapBinary<uint64_t, F>;
  default:
    return nullptr;
  }
}

template <typename F> Execute onIntegers(std::string_view type) {
  return type == "s16"   ? mapBinary<int16_t, F>
         : type == "s32" ? mapBinary<int32_t, F>
         : type == "s64" ? mapBinary<int64_t, F>
                         : onBits<F>(type);
}

bool isFloat(std::string_view type) { return type.starts_with("f"); }

Execute selectBinary(const Opcode &opcode) {
  std::string_view root = opcode.root(), type = opcode.type();
  bool isHalf = type == "f16";
  // Contraction and other rounding than to the nearest are not asked for.
  for (std::string_view part : {"ftz", "sat", "rz", "rm", "rp", "cc"})
    if (opcode.has(part))
      return nullptr;
  if (root == "add")
    return isHalf          ? mapBinary<_Float16, Add>
           : isFloat(type) ? onFloats<Add>(type)
                           : onBits<Add>(type);
  if (root == "sub")
    return isHalf          ? mapBinary<_Float16, Sub>
           : isFloat(type) ? onFloats<Sub>(type)
                           : onBits<Sub>(type);
  if (root == "mul") {
    if (isHalf)
      return mapBinary<_Float16, Mul>;
    if (isFloat(type))
      return onFloats<Mul>(type);
    if (opcode.has("lo"))
      return onBits<Mul>(type);
    if (opcode.has("hi"))
      return type == "u16"   ? mapBinary<uint16_t, MulHi16>
             : type == "s16" ? mapBinary<int16_t, MulHi16>
             : type == "u32" ? mapBinary<uint32_t, MulHiU>
             : type == "s32" ? mapBinary<int32_t, MulHiS>
             : type == "u64" ? mapBinary<uint64_t, MulHi64>
             : type == "s64" ? mapBinary<int64_t, MulHi64>
                             : nullptr;
    return nullptr;
  }
  if (root == "div")
    return !isFloat(type)                          ? onIntegers<Quotient>(type)
           : opcode.has("rn")                      ? onFloats<Div>(type)
           : opcode.has("approx") && type == "f32" ? mapBinary<float, DivApprox>
                                                   : nullptr;
  if (root == "rem")
    return isFloat(type) ? nullptr : onIntegers<Remainder>(type);
  if (root == "min" || root == "max") {
    bool isMax = root == "max";
    if (!isFloat(type))
      return isMax ? onIntegers<Max>(type) : onIntegers<Min>(type);
    if (opcode.has("NaN"))
      return isMax ? onFloats<Extreme<true, true>>(type)
                   : onFloats<Extreme<true, false>>(type);
    return isMax ? onFloats<Extreme<false, true>>(type)
                 : onFloats<Extreme<false, false>>(type);
  }
  if (root == "and")
    return onBits<And>(type);
  if (root == "or")
    return onBits<Or>(type);
  if (root == "xor")
    return onBits<Xor>(type);
  if (root == "copysign")
    return onFloats<CopySign>(type);
  return nullptr;
}

template <typename F> Execute onShifted(std::string_view type) {
  return type == "s16"         ? mapBinary<int16_t, F, uint32_t>
         : type == "s32"       ? mapBinary<int32_t, F, uint32_t>
         : type == "s64"       ? mapBinary<int64_t, F, uint32_t>
         : getBytes(type) == 2 ? mapBinary<uint16_t, F, uint32_t>
         : getBytes(type) == 4 ? mapBinary<uint32_t, F, uint32_t>
                               : mapBinary<uint64_t, F, uint32_t>;
}

template <typename F> Execute comparison(std::string_view type) {
  return type == "f32"         ? compare<float, F>
         : type == "f64"       ? compare<double, F>
         : type == "f16"       ? compare<_Float16, F>
         : type == "s16"       ? compare<int16_t, F>
         : type == "s32"       ? compare<int32_t, F>
         : type == "s64"       ? compare<int64_t, F>
         : getBytes(type) == 2 ? compare<uint16_t, F>
         : getBytes(type) == 4 ? compare<uint32_t, F>
                               : compare<uint64_t, F>;
}

Execute selectComparison(const Opcode &opcode) {
  std::string_view type = opcode.type();
  if (opcode.parts.size() != 3)
    return nullptr;
  std::string_view name = opcode.parts[1];
  // Signs make no difference for these.
  if (name == "eq")
    return comparison<Equal>(type);
  if (name == "ne")
    return comparison<NotEqual>(type);
  if (name == "lt")
    return comparison<Less>(type);
  if (name == "le")
    return comparison<LessEqual>(type);
  if (name == "gt")
    return comparison<Greater>(type);
  if (name == "ge")
    return comparison<GreaterEqual>(type);
  if (!isFloat(type))
    return nullptr;
  if (name == "equ")
    return comparison<EqualOrNaN>(type);
  if (name == "neu")
    return comparison<NotEqualOrNaN>(type);
  if (name == "ltu")
    return comparison<LessOrNaN>(type);
  if (name == "leu")
    return comparison<LessEqualOrNaN>(type);
  if (name == "gtu")
    return comparison<GreaterOrNaN>(type);
  if (name == "geu")
    return comparison<GreaterEqualOrNaN>(type);
  if (name == "num")
    return comparison<AreNumbers>(type);
  return name == "nan" ? comparison<HaveNaN>(type) : nullptr;
}

Form selectMad(const Opcode &opcode) {
  std::string_view type = opcode.type();
  uint32_t bytes = getBytes(type);
  if (opcode.has("lo")) {
    Execute execute = bytes == 2   ? mapTernary<uint16_t, Mad>
                      : bytes == 4 ? mapTernary<uint32_t, Mad>
                                   : mapTernary<uint64_t, Mad>;
    return {execute, bytes, {bytes, bytes, bytes}};
  }
  if (!opcode.has("wide"))
    refuse(opcode);
  Execute execute =
      type == "u32"   ? mapTernary<uint32_t, Mad, uint32_t, uint64_t>
      : type == "s32" ? mapTernary<int32_t, Mad, int32_t, int64_t>
      : type == "u16" ? mapTernary<uint16_t, Mad, uint16_t, uint32_t>
                      : mapTernary<int16_t, Mad, int16_t, int32_t>;
  return {execute, 2 * bytes, {bytes, bytes, 2 * bytes}};
}

Form selectWide(const Opcode &opcode) {
  std::string_view type = opcode.type();
  uint32_t bytes = getBytes(type);
  Execute execute =
      type == "u32" ? mapBinary<uint32_t, MulWide<uint64_t>, uint32_t, uint64_t>
      : type == "s32" ? mapBinary<int32_t, MulWide<int64_t>, int32_t, int64_t>
      : type == "u16"
          ? mapBinary<uint16_t, MulWide<uint32_t>, uint16_t, uint32_t>
          : mapBinary<int16_t, MulWide<int32_t>, int16_t, int32_t>;
  return {execute, 2 * bytes, {bytes, bytes}};
}

Form selectPredicates(const Opcode &opcode) {
  std::string_view root = opcode.root();
  if (root == "mov")
    return {movePredicate, 0, {0}};
  if (root == "not")
    return {invertPredicate, 0, {0}};
  Execute execute = root == "and"   ? mapPredicates<And>
                    : root == "or"  ? mapPredicates<Or>
                    : root == "xor" ? mapPredicates<Xor>
                                    : nullptr;
  if (!execute)
    refuse(opcode);
  return {execute, 0, {0, 0}};
}

/// a + b, or a - b, with 32 bits; `number` as below.
template <bool subtracts>
void addWithCarry(Warp &warp, const Instruction &instruction) {
  const uint32_t *a = warp.read<uint32_t>(instruction.from[0]);
  const uint32_t *b = warp.read<uint32_t>(instruction.from[1]);
  uint32_t values[lanes], carry = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t other = uint64_t(b[lane]) +
                     (instruction.number & 1 ? warp.carry >> lane & 1 : 0);
    uint64_t sum = subtracts ? a[lane] - other : a[lane] + other;
    values[lane] = static_cast<uint32_t>(sum);
    carry |= uint32_t(sum >> 32 & 1) << lane;
  }
  if (instruction.number & 2)
    warp.carry = (warp.carry & ~warp.active) | (carry & warp.active);
  warp.writeLanes(instruction.to[0], values);
}

/// a * b + c with 32 bits, of the product the upper half if it `isHigh`.
/// `number` has 1 where the carry is added, and 2 where it is set.
template <bool isHigh>
void multiplyWithCarry(Warp &warp, const Instruction &instruction) {
  const uint32_t *a = warp.read<uint32_t>(instruction.from[0]);
  const uint32_t *b = warp.read<uint32_t>(instruction.from[1]);
  const uint32_t *c = warp.read<uint32_t>(instruction.from[2]);
  uint32_t values[lanes], carry = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t product = uint64_t(a[lane]) * b[lane];
    uint64_t sum = (isHigh ? product >> 32 : product & 0xffffffff) + c[lane] +
                   (instruction.number & 1 ? warp.carry >> lane & 1 : 0);
    values[lane] = static_cast<uint32_t>(sum);
    carry |= uint32_t(sum >> 32 & 1) << lane;
  }
  if (instruction.number & 2)
    warp.carry = (warp.carry & ~warp.active) | (carry & warp.active);
  warp.writeLanes(instruction.to[0], values);
}

/// The lanes that the values come from. Sources that are not active are an
/// error, which Block finds.
void shuffle(Warp &warp, const Instruction &instruction) {
  const uint32_t *a = warp.read<uint32_t>(instruction.from[0]);
  const uint32_t *b = warp.read<uint32_t>(instruction.from[1]);
  const uint32_t *c = warp.read<uint32_t>(instruction.from[2]);
  uint32_t values[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    int by = static_cast<int>(b[lane] & 31);
    int clamp = static_cast<int>(c[lane] & 31);
    int segment = static_cast<int>(c[lane] >> 8 & 31);
    int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int source = lane;
    switch (instruction.number) {
    case 0:
      source = (lane ^ by) <= last ? lane ^ by : lane;
      break;
    case 1:
      source = lane - by >= last ? lane - by : lane;
      break;
    case 2:
      source = lane + by <= last ? lane + by : lane;
      break;
    default:
      source =
          (first | (by & ~segment)) <= last ? first | (by & ~segment) : lane;
    }
    values[lane] = a[source];
    if ((warp.active >> lane & 1) && !(warp.active >> source & 1))
      throw Fault(Fault::LaunchFailed, "shfl.sync reads lane " +
                                           std::to_string(source) +
                                           ", which does not take part");
  }
  warp.writeLanes(instruction.to[0], values);
}

Execute selectSameSize(const Opcode &opcode, bool isMove) {
  switch (getBytes(opcode.type())) {
  case 2:
    return isMove ? move<uint16_t> : select<uint16_t>;
  case 4:
    return isMove ? move<uint32_t> : select<uint32_t>;
  default:
    return isMove ? move<uint64_t> : select<uint64_t>;
  }
}
} // namespace

uint32_t fakes::ptx::getBytes(std::string_view type) {
  if (type == "pred")
    return 0;
  if (type == "f16x2" || type == "bf16x2")
    return 4;
  size_t digits = type.find_first_of("0123456789");
  int bits = digits == std::string_view::npos
                 ? 0
                 : std::atoi(std::string(type.substr(digits)).c_str());
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    throw ParseError("unknown type '" + std::string(type) + "'");
  return bits / 8;
}

Form fakes::ptx::selectArithmetic(const Opcode &opcode) {
  std::string_view root = opcode.root(), type = opcode.type();
  if (type == "pred")
    return selectPredicates(opcode);
  uint32_t bytes = opcode.parts.size() > 1 ? getBytes(type) : 0;
  if (bytes == 0)
    refuse(opcode);
  if (root == "mov" || root == "cvta")
    return {selectSameSize(opcode, true), bytes, {bytes}};
  if (root == "selp")
    return {selectSameSize(opcode, false), bytes, {bytes, bytes, 0}};
  if (root == "setp") {
    Execute execute = selectComparison(opcode);
    if (!execute)
      refuse(opcode);
    return {execute, 0, {bytes, bytes}};
  }
  if (root == "fma" && opcode.has("rn") && (type == "f32" || type == "f64"))
    return {type == "f32" ? mapTernary<float, Fma> : mapTernary<double, Fma>,
            bytes,
            {bytes, bytes, bytes}};
  // The tail of a remainder.
  if (root == "fma" && opcode.has("rz") && type == "f32")
    return {mapTernary<float, FmaTowardsZero>, 4, {4, 4, 4}};
  if (root == "addc" || root == "subc" ||
      ((root == "add" || root == "sub") && opcode.has("cc"))) {
    if (bytes != 4)
      refuse(opcode);
    return {root.starts_with("sub") ? addWithCarry<true> : addWithCarry<false>,
            4,
            {4, 4},
            (root.ends_with("c") ? 1 : 0) | (opcode.has("cc") ? 2 : 0)};
  }
  if (root == "madc" || (root == "mad" && opcode.has("cc"))) {
    if (type != "u32")
      refuse(opcode);
    return {opcode.has("hi") ? multiplyWithCarry<true>
                             : multiplyWithCarry<false>,
            4,
            {4, 4, 4},
            (root == "madc" ? 1 : 0) | (opcode.has("cc") ? 2 : 0)};
  }
  if (root == "mad")
    return selectMad(opcode);
  if (root == "mul" && opcode.has("wide"))
    return selectWide(opcode);
  if (root == "shl" || root == "shr")
    return {root == "shl" ? onShifted<ShiftLeft>(type)
                          : onShifted<ShiftRight>(type),
            bytes,
            {bytes, 4}};
  if (root == "shf" && opcode.has("wrap"))
    return {opcode.has("l") ? mapTernary<uint32_t, FunnelLeft>
                            : mapTernary<uint32_t, FunnelRight>,
            4,
            {4, 4, 4}};
  if (root == "bfe" && type == "u32")
    return {mapTernary<uint32_t, ExtractBits>, 4, {4, 4, 4}};
  if (root == "bfe" && type == "s32")
    return {
        mapTernary<int32_t, ExtractSigned, uint32_t, uint32_t>, 4, {4, 4, 4}};
  if (root == "bfe" && type == "u64")
    return {mapTernary<uint64_t, ExtractBits, uint32_t, uint32_t, uint64_t>,
            8,
            {8, 4, 4}};
  if (root == "bfe" && type == "s64")
    return {mapTernary<int64_t, ExtractSigned, uint32_t, uint32_t, int64_t>,
            8,
            {8, 4, 4}};
  if (root == "prmt" && opcode.parts.size() == 2)
    return {mapTernary<uint32_t, PermuteBytes>, 4, {4, 4, 4}};
  if (root == "cvt" && opcode.has("f16x2") && type == "f32" && opcode.has("rn"))
    return {packHalves<RoundToHalf>, 4, {4, 4}};
  if (root == "cvt" && opcode.has("bf16x2") && type == "f32" &&
      opcode.has("rn"))
    return {packHalves<RoundToBfloat>, 4, {4, 4}};
  if (root == "cvt" && type == "f32" && opcode.has("rn") &&
      opcode.has("satfinite")) {
    if (opcode.has("e4m3x2"))
      return {packFloat8<fakes::Float8::E4M3>, 2, {4, 4}};
    if (opcode.has("e5m2x2"))
      return {packFloat8<fakes::Float8::E5M2>, 2, {4, 4}};
  }
  if (root == "shfl" && opcode.has("sync") && type == "b32")
    return {shuffle,
            4,
            {4, 4, 4, 4},
            opcode.has("bfly")   ? 0
            : opcode.has("up")   ? 1
            : opcode.has("down") ? 2
                                 : 3};
  if (root == "not")
    return {bytes == 2   ? mapUnary<uint16_t, Not>
            : bytes == 4 ? mapUnary<uint32_t, Not>
                         : mapUnary<uint64_t, Not>,
            bytes,
            {bytes}};
  if (root == "clz")
    return {
        bytes == 4 ? countZeros<uint32_t> : countZeros<uint64_t>, 4, {bytes}};
  if ((root == "neg" || root == "abs") && type.starts_with("s")) {
    bool isNeg = root == "neg";
    Execute execute =
        bytes == 4 ? (isNeg ? mapUnary<int32_t, Neg> : mapUnary<int32_t, Abs>)
        : bytes == 8
            ? (isNeg ? mapUnary<int64_t, Neg> : mapUnary<int64_t, Abs>)
            : (isNeg ? mapUnary<int16_t, Neg> : mapUnary<int16_t, Abs>);
    return {execute, bytes, {bytes}};
  }
  // The sign is the highest bit of both.
  if ((root == "neg" || root == "abs") && (type == "bf16" || type == "f16"))
    return {root == "neg" ? mapUnary<uint16_t, NegHalf>
                          : mapUnary<uint16_t, AbsHalf>,
            2,
            {2}};
  if (root == "neg")
    return unary<Neg>(opcode);
  if (root == "abs")
    return unary<Abs>(opcode);
  if (root == "sqrt" && opcode.has("rn"))
    return unary<Sqrt>(opcode);
  if (root == "sqrt" && opcode.has("approx") && type == "f32")
    return {mapUnary<float, SqrtApprox>, 4, {4}};
  if (root == "rsqrt" && type == "f32")
    return {mapUnary<float, Rsqrt>, 4, {4}};
  if (root == "rcp" && opcode.has("rn"))
    return unary<Rcp>(opcode);
  if (root == "rcp" && opcode.has("approx") && type == "f64")
    return {mapUnary<double, RcpApprox64>, 8, {8}};
  if (root == "rcp" && opcode.has("approx") && type == "f32")
    return {mapUnary<float, Flushed<RcpApprox>>, 4, {4}};
  if (root == "ex2" && opcode.has("ftz") && type == "f32")
    return {mapUnary<float, Flushed<Ex2>>, 4, {4}};
  if (root == "ex2" && type == "f32")
    return {mapUnary<float, Ex2>, 4, {4}};
  if (root == "lg2" && type == "f32" && !opcode.has("ftz"))
    return {mapUnary<float, Lg2>, 4, {4}};
  Execute execute = selectBinary(opcode);
  if (!execute)
    refuse(opcode);
  return {execute, bytes, {bytes, bytes}};
}
