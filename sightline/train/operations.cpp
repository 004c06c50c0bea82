#include "sightline/train/operations.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "sightline/mixer/mixer.hpp"

namespace sightline::train {
namespace {

template <class Real> Tensor multiply(const Tensor& x, const Tensor& weight, const Tensor& bias, const Run& run) {
  const Tensor in = x.contiguous(), matrix = weight.contiguous();
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  Tensor out = at::empty(shape, x.options());
  const std::int64_t depth = weight.size(1), rows = depth == 0 ? 0 : in.numel() / depth;
  mixer::Execution execution;
  execution.threads = run.threads;
  execution.exact = true;
  mixer::multiply_rows<Real>(in.data_ptr<Real>(), matrix.data_ptr<Real>(),
                             bias.defined() ? bias.contiguous().data_ptr<Real>() : nullptr, rows, depth, weight.size(0),
                             out.data_ptr<Real>(), execution);
  return out;
}

/// One token after the other in double precision, so that every token is treated by the same operations.
template <class Real>
Tensor normalise_rows(const Tensor& x, const architecture::Norm& norm, const Tensor& weight, const Tensor& bias) {
  const Tensor in = x.contiguous();
  Tensor out = at::empty_like(in);
  const std::int64_t width = in.size(-1), rows = in.numel() / width;
  const Real* gain = weight.defined() ? weight.data_ptr<Real>() : nullptr;
  const Real* shift = bias.defined() ? bias.data_ptr<Real>() : nullptr;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Real* from = in.data_ptr<Real>() + r * width;
    Real* to = out.data_ptr<Real>() + r * width;
    double mean = 0, square = 0;
    if (norm.kind == architecture::NormKind::layernorm) {
      for (std::int64_t k = 0; k < width; ++k)
        mean += static_cast<double>(from[k]);
      mean /= static_cast<double>(width);
    }
    for (std::int64_t k = 0; k < width; ++k)
      square += (static_cast<double>(from[k]) - mean) * (static_cast<double>(from[k]) - mean);
    const double scale = 1 / std::sqrt(square / static_cast<double>(width) + norm.eps);
    for (std::int64_t k = 0; k < width; ++k) {
      const double value = (static_cast<double>(from[k]) - mean) * scale * (gain ? static_cast<double>(gain[k]) : 1.0);
      to[k] = static_cast<Real>(value + (shift ? static_cast<double>(shift[k]) : 0.0));
    }
  }
  return out;
}

} // namespace

int count_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::string describe_threads(int threads) {
  const int cores = count_cores();
  if (threads <= 4 * cores)
    return "";
  return fmt::format("{} threads take longer than {}: this machine has no more cores", threads, cores);
}

void use_threads(int threads) {
  at::set_num_threads(threads);
  // The BLAS is whatever the system's LibTorch was linked with; only OpenBLAS has this function.
  if (void* function = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(function)(threads);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Run& run) {
  if (run.exact)
    return x.scalar_type() == at::kDouble ? multiply<double>(x, weight, bias, run)
                                          : multiply<float>(x, weight, bias, run);
  return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

Tensor normalise(const Tensor& x, const architecture::Norm& norm, const Tensor& weight, const Tensor& bias,
                 const Run& run) {
  if (norm.kind == architecture::NormKind::none)
    return x;
  if (run.exact) {
    return x.scalar_type() == at::kDouble ? normalise_rows<double>(x, norm, weight, bias)
                                          : normalise_rows<float>(x, norm, weight, bias);
  }
  if (norm.kind == architecture::NormKind::layernorm)
    return at::layer_norm(x, {x.size(-1)}, weight, bias, norm.eps);
  const Tensor scaled = x * at::rsqrt(at::mean(x * x, {-1}, true) + norm.eps);
  return weight.defined() ? scaled * weight : scaled;
}

Tensor make_presence(const Tensor& lengths, std::int64_t tokens, const Tensor& like) {
  const Tensor index = at::arange(tokens, lengths.options());
  return index.unsqueeze(0).lt(lengths.unsqueeze(1)).unsqueeze(-1).to(like.options());
}

Tensor pool(const Tensor& x, const std::string& kind, const Tensor& lengths, const Run& run) {
  if (kind == "first")
    return x.select(1, 0);
  Tensor kept = x;
  if (lengths.defined()) {
    const Tensor absent = make_presence(lengths, x.size(1), x).eq(0);
    kept = x.masked_fill(absent, 0);
  }
  // Sorting makes the sum a function of the multiset of values: absent tokens are zeros in every order.
  if (run.exact)
    kept = std::get<0>(kept.sort(1));
  Tensor sum = kept.sum(1);
  if (lengths.defined())
    return sum / lengths.to(x.options()).unsqueeze(1);
  return sum / static_cast<double>(x.size(1));
}

} // namespace sightline::train
