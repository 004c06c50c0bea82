#include "sightline/train/distributed.hpp"

#include <fmt/format.h>
#include <torch/cuda.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "sightline/base/error.hpp"
#include "sightline/train/exchange.hpp"

namespace sightline::train {
namespace {

/// The first line of an error of torch, without the place in its sources.
std::string shorten(const char* what) {
  std::string text = what;
  text.resize(std::min(text.find('\n'), text.size()));
  if (const auto bracket = text.find("] "); !text.empty() && text.front() == '[' && bracket != std::string::npos)
    text.erase(0, bracket + 2);
  return text;
}

/// Does every process of the run have a GPU to itself? NCCL takes no two processes on one device. All must decide the
/// same, so each says what it sees.
bool have_own_gpus(c10d::Store& store, int rank, int size, at::Device device) {
  const bool own = device.is_cuda() && read_variable("LOCAL_WORLD_SIZE").value_or(size) <=
                                           static_cast<int>(torch::cuda::device_count());
  store.set(fmt::format("own GPU/{}", rank), std::vector<std::uint8_t>{static_cast<std::uint8_t>(own ? 1 : 0)});
  // All are asked whatever the first ones say: whoever goes on has met the others, so that one that refuses to start
  // is a lost connection to them and not an address that nobody answers at.
  bool all = true;
  for (int r = 0; r < size; ++r)
    all = store.get(fmt::format("own GPU/{}", r)).at(0) != 0 && all;
  return all;
}

} // namespace

std::optional<int> read_variable(const char* name) {
  const char* text = std::getenv(name);
  if (!text)
    return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc{} || *end != '\0' || value < 0)
    throw InputError(fmt::format("{}: expected an integer >= 0, found \"{}\"", name, text));
  return value;
}

ProcessGroup::ProcessGroup() = default;
ProcessGroup::~ProcessGroup() = default;
ProcessGroup::ProcessGroup(ProcessGroup&&) noexcept = default;

ProcessGroup ProcessGroup::from_environment(at::Device device) {
  ProcessGroup group;
  const std::optional<int> size = read_variable("WORLD_SIZE"), rank = read_variable("RANK");
  if (!size && !rank)
    return group;
  if (!size || !rank || *rank >= *size)
    throw InputError("expected RANK below WORLD_SIZE in the environment (torchrun sets both), found other values");
  group.rank_ = *rank;
  group.size_ = *size;
  if (group.size_ == 1)
    return group;
  const char* host = std::getenv("MASTER_ADDR");
  const std::optional<int> port = read_variable("MASTER_PORT");
  if (!host || !port)
    throw InputError("expected MASTER_ADDR and MASTER_PORT in the environment beside RANK and WORLD_SIZE, found none");
  try {
    c10d::TCPStoreOptions store_options;
    store_options.port = static_cast<std::uint16_t>(*port);
    // torchrun keeps a store of its own at this address and says so.
    const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    store_options.isServer = group.is_first() && !(agent && std::strcmp(agent, "True") == 0);
    store_options.waitWorkers = false;
    store_options.timeout = std::chrono::seconds(120);
    const auto store = c10::make_intrusive<c10d::TCPStore>(host, store_options);
    group.cpu_ = make_cpu_exchange(store, group.rank_, group.size_, host);
    if (have_own_gpus(*store, group.rank_, group.size_, device))
      group.gpu_ = make_gpu_exchange(store, group.rank_, group.size_, device);
  } catch (const std::exception& error) {
    throw InputError(fmt::format("could not meet the other {} processes at {}:{}: {}", group.size_ - 1, host, *port,
                                 shorten(error.what())));
  }
  return group;
}

namespace {

[[noreturn]] void fail_lost(int rank, int size, const char* what) {
  throw InputError(
      fmt::format("process {} of {} lost another one ({}): the last checkpoint is kept, --resume goes on from it", rank,
                  size, shorten(what)));
}

} // namespace

template <class Call> void ProcessGroup::exchange(const Tensor& tensor, const Call& call) const {
  if (size_ == 1)
    return;
  const bool direct = tensor.is_cpu() || gpu_;
  Tensor moved = direct ? tensor : tensor.cpu();
  try {
    call(tensor.is_cpu() || !gpu_ ? *cpu_ : *gpu_, moved);
  } catch (const std::exception& error) {
    fail_lost(rank_, size_, error.what());
  }
  if (!direct)
    tensor.copy_(moved);
}

void ProcessGroup::add_up(const Tensor& tensor) const {
  exchange(tensor, [](Exchange& exchange, Tensor& moved) { exchange.add_up(moved); });
}

void ProcessGroup::hand_out(const Tensor& tensor) const {
  exchange(tensor, [](Exchange& exchange, Tensor& moved) { exchange.hand_out(moved); });
}

} // namespace sightline::train
