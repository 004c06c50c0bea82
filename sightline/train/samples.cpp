#include "sightline/train/samples.hpp"

#include <bit>
#include <functional>

#include "sightline/base/mix.hpp"

namespace sightline::train {
namespace {

std::vector<std::int64_t> to_sizes(const std::vector<std::uint64_t>& shape) { return {shape.begin(), shape.end()}; }

template <class Number>
Tensor copy_list(const std::vector<Number>& values, const std::vector<std::int64_t>& sizes, at::ScalarType type) {
  return at::from_blob(const_cast<Number*>(values.data()), sizes, at::TensorOptions().dtype(type)).clone();
}

template <class Number> std::vector<Number> list(const Tensor& tensor) {
  const Tensor flat = tensor.detach().cpu().contiguous();
  const Number* begin = flat.data_ptr<Number>();
  return {begin, begin + flat.numel()};
}

Batch map_members(const Batch& all, const std::function<Tensor(const Tensor&)>& function) {
  Batch result;
  result.type = all.type;
  for (const auto member : {&Batch::x, &Batch::y, &Batch::lengths, &Batch::weights}) {
    if ((all.*member).defined())
      result.*member = function(all.*member);
  }
  return result;
}

} // namespace

Tensor to_tensor(const data::Array& array) {
  const auto sizes = to_sizes(array.shape);
  if (const auto* values = std::get_if<std::vector<float>>(&array.values))
    return copy_list(*values, sizes, at::kFloat);
  if (const auto* values = std::get_if<std::vector<double>>(&array.values))
    return copy_list(*values, sizes, at::kDouble);
  return copy_list(std::get<std::vector<std::int64_t>>(array.values), sizes, at::kLong);
}

data::Array to_array(const Tensor& tensor) {
  data::Array array;
  array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  if (tensor.scalar_type() == at::kDouble)
    array.values = list<double>(tensor);
  else if (tensor.scalar_type() == at::kFloat)
    array.values = list<float>(tensor);
  else
    array.values = list<std::int64_t>(tensor.to(at::kLong));
  return array;
}

Batch to_batch(const data::Part& part, at::ScalarType type) {
  const auto typed = [&](const data::Array& array) {
    const Tensor tensor = to_tensor(array);
    return array.is_integer() ? tensor : tensor.to(type);
  };
  Batch batch;
  batch.type = type;
  batch.x = typed(part.x);
  if (part.y)
    batch.y = typed(*part.y);
  const auto count = static_cast<std::int64_t>(part.size());
  if (!part.lengths.empty())
    batch.lengths = copy_list(part.lengths, {count}, at::kLong);
  if (!part.weights.empty())
    batch.weights = copy_list(part.weights, {count}, at::kDouble).to(type);
  return batch;
}

std::uint64_t compute_fingerprint(const Batch& batch) {
  constexpr std::int64_t most_entries = 4096;
  std::uint64_t hash = 0;
  for (const Tensor* tensor : {&batch.x, &batch.y, &batch.lengths, &batch.weights}) {
    const std::int64_t count = tensor->defined() ? tensor->numel() : 0;
    hash = mix(hash ^ static_cast<std::uint64_t>(count));
    if (count == 0)
      continue;
    const std::int64_t step = (count + most_entries - 1) / most_entries;
    for (const double entry : list<double>(tensor->reshape(-1).slice(0, 0, count, step).to(at::kDouble)))
      hash = mix(hash ^ std::bit_cast<std::uint64_t>(entry));
  }
  return hash;
}

Batch take_rows(const Batch& all, const std::vector<std::int64_t>& rows, at::Device device) {
  const Tensor index = at::tensor(rows, at::kLong);
  return map_members(all, [&](const Tensor& t) { return t.index_select(0, index).to(device); });
}

Batch take_range(const Batch& all, std::int64_t begin, std::int64_t end, at::Device device) {
  return map_members(all, [&](const Tensor& t) { return t.narrow(0, begin, end - begin).to(device); });
}

data::Expected expect(const architecture::Architecture& a, std::optional<std::int64_t> ids,
                      std::optional<std::int64_t> outputs, bool targets) {
  data::Expected expected;
  expected.tokens = static_cast<std::uint64_t>(a.tokens);
  expected.ids = a.input.embedding == architecture::Embedding::table;
  expected.width = static_cast<std::uint64_t>(
      a.input.dim > 0 && a.input.embedding != architecture::Embedding::none ? a.input.dim : a.dim);
  if (expected.ids && ids)
    expected.ids_below = static_cast<std::uint64_t>(*ids);
  else if (expected.ids && a.input.vocabulary)
    expected.ids_below = static_cast<std::uint64_t>(*a.input.vocabulary + (a.input.bos ? 1 : 0));
  expected.pooled = a.output.pool != "none";
  if (outputs)
    expected.outputs = static_cast<std::uint64_t>(*outputs);
  else if (a.output.dim)
    expected.outputs = static_cast<std::uint64_t>(*a.output.dim);
  expected.targets = targets;
  return expected;
}

} // namespace sightline::train
