#include "sightline/train/distributed.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "sightline/base/error.hpp"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef SIGHTLINE_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif

namespace sightline::train {
namespace {

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

/// The first line of an error of torch, without the place in its sources.
std::string shorten(const char* what) {
  std::string text = what;
  text.resize(std::min(text.find('\n'), text.size()));
  if (const auto bracket = text.find("] "); !text.empty() && text.front() == '[' && bracket != std::string::npos)
    text.erase(0, bracket + 2);
  return text;
}

} // namespace

#ifdef SIGHTLINE_GLOO
struct ProcessGroup::Connection {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;

  Connection(const c10::intrusive_ptr<c10d::TCPStore>& store, int rank, int size, const char* host) {
    const auto options = c10d::ProcessGroupGloo::Options::create();
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    const bool local = std::strcmp(host, "localhost") == 0 || std::strcmp(host, "127.0.0.1") == 0;
    options->devices.push_back(interface ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                               : local   ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                         : c10d::ProcessGroupGloo::createDefaultDevice());
    gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
  }
  void add_up(std::vector<Tensor>& list) { gloo->allreduce(list)->wait(); }
  void hand_out(std::vector<Tensor>& list) { gloo->broadcast(list)->wait(); }
};
#else
/// Every process leaves its tensor in the store and reads those of the others; summed by rank, so that all get the same
/// bits. A process that is gone leaves nothing: the others give up after the store's timeout.
struct ProcessGroup::Connection {
  c10::intrusive_ptr<c10d::TCPStore> store;
  int rank, size;
  std::int64_t round = 0;

  Connection(const c10::intrusive_ptr<c10d::TCPStore>& the_store, int the_rank, int the_size, const char*)
      : store(the_store), rank(the_rank), size(the_size) {}
  void put(const Tensor& tensor) {
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.data_ptr());
    store->set(fmt::format("{}/{}", round, rank), std::vector<std::uint8_t>(bytes, bytes + tensor.nbytes()));
    // Everybody has read what lies two rounds back: without its parts the last round could not have ended.
    if (round >= 2)
      store->deleteKey(fmt::format("{}/{}", round - 2, rank));
  }
  void get(int from, const Tensor& tensor) {
    const std::vector<std::uint8_t> bytes = store->get(fmt::format("{}/{}", round, from));
    if (bytes.size() != tensor.nbytes())
      throw std::runtime_error("another size arrived");
    std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  }
  void add_up(std::vector<Tensor>& list) {
    const Tensor own = list[0].contiguous();
    put(own);
    Tensor sum, part = at::empty_like(own);
    for (int r = 0; r < size; ++r) {
      if (r == rank)
        part.copy_(own);
      else
        get(r, part);
      sum = sum.defined() ? sum.add_(part) : part.clone();
    }
    list[0].copy_(sum);
    ++round;
  }
  void hand_out(std::vector<Tensor>& list) {
    if (rank != 0)
      list[0].zero_();
    add_up(list);
  }
};
#endif

ProcessGroup::ProcessGroup() = default;
ProcessGroup::~ProcessGroup() = default;
ProcessGroup::ProcessGroup(ProcessGroup&&) noexcept = default;

ProcessGroup ProcessGroup::from_environment() {
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
    group.connection_ = std::make_unique<Connection>(store, group.rank_, group.size_, host);
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

void ProcessGroup::add_up(const Tensor& tensor) const {
  if (size_ == 1)
    return;
  std::vector<Tensor> list{tensor.cpu()};
  try {
    connection_->add_up(list);
  } catch (const std::exception& error) {
    fail_lost(rank_, size_, error.what());
  }
  if (!tensor.is_cpu())
    tensor.copy_(list[0]);
}

void ProcessGroup::hand_out(const Tensor& tensor) const {
  if (size_ == 1)
    return;
  std::vector<Tensor> list{tensor.cpu()};
  try {
    connection_->hand_out(list);
  } catch (const std::exception& error) {
    fail_lost(rank_, size_, error.what());
  }
  if (!tensor.is_cpu())
    tensor.copy_(list[0]);
}

} // namespace sightline::train
