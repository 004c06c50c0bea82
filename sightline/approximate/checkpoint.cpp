#include "sightline/approximate/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

std::string name_of_pass(std::size_t pass) { return fmt::format("pass.{}", pass); }
std::string name_of_lane(std::size_t lane) { return fmt::format("lane.{}", lane); }
std::string describe_pass(std::size_t pass, const std::string& stage, std::size_t blocks) { return fmt::format("{} {} of {} blocks", pass, stage, blocks); }

}  // namespace

Checkpoint::Checkpoint(std::string file, std::string fingerprint, bool resume, double seconds, const Budget& budget) : file_(std::move(file)), seconds_(seconds) {
  std::error_code error;
  if (!resume) {
    std::filesystem::remove(file_, error);
  } else if (std::filesystem::exists(file_, error)) {
    content_ = data::read_safetensors(file_, budget);
    if (content_.metadata["kind"] != "unfinished fit") refuse("another file");
    if (content_.metadata["fingerprint"] != fingerprint) refuse("one of another fit (target or options differ)");
    inside_ = content_.tensors.contains("next");
  }
  content_.metadata["kind"] = "unfinished fit";
  content_.metadata["fingerprint"] = std::move(fingerprint);
}

void Checkpoint::refuse(const std::string& found) const { throw InputError(fmt::format("{}: expected the checkpoint of this fit, found {}; without --resume it is begun anew", file_, found)); }

std::vector<std::size_t> Checkpoint::begin(const std::string& stage, std::size_t blocks, std::vector<Sums> sums) {
  stage_ = stage;
  blocks_ = blocks;
  sums_ = std::move(sums);
  std::vector<std::size_t> next(sums_.size());
  for (std::size_t lane = 0; lane < next.size(); ++lane) next[lane] = lane;
  const auto fill = [&](Sums& lane, const std::vector<double>& from, std::size_t& at) {
    for (const std::span<double> part : lane) {
      if (from.size() - at < part.size()) refuse("a pass of other sizes");
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), part.size(), part.begin());
      at += part.size();
    }
  };
  const auto numbers = [&](const std::string& name) -> const std::vector<double>& {
    const auto found = content_.tensors.find(name);
    if (found == content_.tensors.end() || found->second.values.index() != 1) refuse("no " + name);
    return std::get<std::vector<double>>(found->second.values);
  };
  const auto check_pass = [&] {
    if (content_.metadata[name_of_pass(pass_)] != describe_pass(pass_, stage, blocks)) refuse("a pass of another kind");
  };
  if (content_.tensors.contains(name_of_pass(pass_))) {
    check_pass();
    const std::vector<double>& from = numbers(name_of_pass(pass_));
    std::size_t at = 0;
    for (Sums& lane : sums_) fill(lane, from, at);
    if (at != from.size()) refuse("a pass of other sizes");
    std::fill(next.begin(), next.end(), blocks);
    resumed_ += blocks;
    return next;
  }
  if (!inside_) return next;
  check_pass();
  inside_ = false;
  const data::Array& places = content_.tensors.at("next");
  if (places.values.index() != 2 || places.count() != next.size()) refuse("a pass of other sizes");
  for (std::size_t lane = 0; lane < next.size(); ++lane) {
    const std::int64_t place = std::get<std::vector<std::int64_t>>(places.values)[lane];
    if (place < 0 || static_cast<std::size_t>(place) % next.size() != lane || static_cast<std::size_t>(place) >= blocks + next.size()) refuse("a place that no lane comes to");
    next[lane] = static_cast<std::size_t>(place);
    resumed_ += next[lane] / next.size();
    std::size_t at = 0;
    const std::vector<double>& from = numbers(name_of_lane(lane));
    fill(sums_[lane], from, at);
    if (at != from.size()) refuse("a pass of other sizes");
  }
  return next;
}

bool Checkpoint::is_due() const {
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - last_).count();
  return passed >= seconds_ && passed >= 20 * cost_;
}

void Checkpoint::record(std::size_t lane, std::size_t next) {
  data::Array& array = content_.tensors[name_of_lane(lane)];
  if (array.values.index() != 1) array.values = std::vector<double>();
  auto& numbers = std::get<std::vector<double>>(array.values);
  numbers.clear();
  for (const std::span<double> part : sums_[lane]) numbers.insert(numbers.end(), part.begin(), part.end());
  array.shape = {numbers.size()};
  data::Array& places = content_.tensors["next"];
  if (places.values.index() != 2) places.values = std::vector<std::int64_t>();
  places.shape = {sums_.size()};
  std::get<std::vector<std::int64_t>>(places.values).resize(sums_.size());
  std::get<std::vector<std::int64_t>>(places.values)[lane] = static_cast<std::int64_t>(next);
}

void Checkpoint::write() {
  const auto start = std::chrono::steady_clock::now();
  content_.metadata[name_of_pass(pass_)] = describe_pass(pass_, stage_, blocks_);
  data::write_safetensors(file_, content_);
  last_ = std::chrono::steady_clock::now();
  cost_ = std::chrono::duration<double>(last_ - start).count();
}

void Checkpoint::end() {
  if (content_.tensors.contains(name_of_pass(pass_))) {  // it came from the file; the lanes in the file are of a later pass
    ++pass_;
    sums_.clear();
    return;
  }
  for (std::size_t lane = 0; lane < sums_.size(); ++lane) content_.tensors.erase(name_of_lane(lane));
  content_.tensors.erase("next");
  data::Array& array = content_.tensors[name_of_pass(pass_)];
  std::vector<double> numbers;
  for (const Sums& lane : sums_) for (const std::span<double> part : lane) numbers.insert(numbers.end(), part.begin(), part.end());
  array.shape = {numbers.size()};
  array.values = std::move(numbers);
  content_.metadata[name_of_pass(pass_)] = describe_pass(pass_, stage_, blocks_);
  ++pass_;
  sums_.clear();
}

void Checkpoint::replace_passes(const std::vector<double>& numbers) {
  content_.tensors.clear();
  for (std::size_t pass = 0; pass <= pass_; ++pass) content_.metadata.erase(name_of_pass(pass));
  pass_ = 0;
  content_.tensors["replaced"] = {{numbers.size()}, numbers};
}

std::vector<double> Checkpoint::replaced() const {
  const auto found = content_.tensors.find("replaced");
  if (found == content_.tensors.end()) return {};
  if (found->second.values.index() != 1) refuse("other numbers");
  return std::get<std::vector<double>>(found->second.values);
}

}  // namespace sightline::approximate
