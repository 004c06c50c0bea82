#include "sightline/train/exchange.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#ifdef SIGHTLINE_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#ifdef SIGHTLINE_NCCL
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace sightline::train {
namespace {

/// A collective of c10d as it is called by all of its groups.
template <class Group> class GroupExchange : public Exchange {
public:
  explicit GroupExchange(c10::intrusive_ptr<Group> group) : group_(std::move(group)) {}
  ~GroupExchange() override {
    // NCCL warns of groups that are not shut down; the method is newer than the oldest LibTorch we build against.
    if constexpr (requires(Group& group) { group.shutdown(); }) {
      try {
        group_->shutdown();
      } catch (const std::exception&) { // others are gone: that was reported where it was noticed
      }
    }
  }
  void add_up(at::Tensor& tensor) override {
    std::vector<at::Tensor> list{tensor};
    group_->allreduce(list)->wait();
  }
  void hand_out(at::Tensor& tensor) override {
    std::vector<at::Tensor> list{tensor};
    group_->broadcast(list)->wait();
  }

private:
  c10::intrusive_ptr<Group> group_;
};

#ifndef SIGHTLINE_GLOO
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

/// How often a process says that it lives, and how long another may be silent: many times as long as a busy machine
/// holds up a thread that only counts.
constexpr seconds beat_every{1}, longest_silence{15};

std::string name_beats(int rank) { return fmt::format("beats/{}", rank); }

/// Counts up in the store for as long as this process lives, through a connection of its own: one that waits for a
/// tensor is not free.
class Heartbeat {
public:
  Heartbeat(const Store& store, const std::string& host, int rank) : store_(connect(store, host)), thread_([this, rank] {
    try {
      for (; !stop_.load(); std::this_thread::sleep_for(seconds(beat_every) / 10)) {
        if (Clock::now() < next_)
          continue;
        store_->add(name_beats(rank), 1);
        next_ = Clock::now() + beat_every;
      }
    } catch (const std::exception&) { // the store is gone: whoever waits for a tensor sees that too
    }
  }) {}
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat() {
    stop_.store(true);
    thread_.join();
  }

private:
  static Store connect(const Store& store, const std::string& host) {
    c10d::TCPStoreOptions options;
    options.port = store->getPort();
    options.isServer = false;
    options.waitWorkers = false;
    options.timeout = seconds(30);
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  }

  Store store_;
  std::atomic<bool> stop_{false};
  Clock::time_point next_{};
  std::thread thread_;
};

/// Every process leaves its tensor in the store and reads those of the others; summed by rank, so that all get the same
/// bits. A process that is gone leaves nothing and its heart stands still: the others give up.
class StoreExchange : public Exchange {
public:
  StoreExchange(Store store, const std::string& host, int rank, int size)
      : store_(std::move(store)), rank_(rank), size_(size), heartbeat_(store_, host, rank) {}
  void add_up(at::Tensor& tensor) override {
    const at::Tensor own = tensor.contiguous();
    put(own);
    at::Tensor sum, part = at::empty_like(own);
    for (int r = 0; r < size_; ++r) {
      if (r == rank_)
        part.copy_(own);
      else
        get(r, part);
      sum = sum.defined() ? sum.add_(part) : part.clone();
    }
    tensor.copy_(sum);
    ++round_;
  }
  void hand_out(at::Tensor& tensor) override {
    if (rank_ != 0)
      tensor.zero_();
    add_up(tensor);
  }

private:
  void put(const at::Tensor& tensor) {
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.data_ptr());
    store_->set(fmt::format("{}/{}", round_, rank_), std::vector<std::uint8_t>(bytes, bytes + tensor.nbytes()));
    // Everybody has read what lies two rounds back: without its parts the last round could not have ended.
    if (round_ >= 2)
      store_->deleteKey(fmt::format("{}/{}", round_ - 2, rank_));
  }
  void get(int from, const at::Tensor& tensor) {
    const std::string key = fmt::format("{}/{}", round_, from);
    await(key, from);
    const std::vector<std::uint8_t> bytes = store_->get(key);
    if (bytes.size() != tensor.nbytes())
      throw std::runtime_error("another size arrived");
    std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  }

  /// Waits while `from` lives: it may validate, or write a checkpoint, for as long as it likes.
  void await(const std::string& key, int from) {
    std::int64_t beats = -1;
    for (Clock::time_point heard = Clock::now();;) {
      try {
        store_->wait({key}, 2 * beat_every);
        return;
      } catch (const std::exception&) { // not there yet, or the store is gone, which the next line finds out
        const std::int64_t now = store_->add(name_beats(from), 0);
        if (now != beats)
          heard = Clock::now();
        beats = now;
      }
      if (Clock::now() - heard > longest_silence)
        throw std::runtime_error(fmt::format("no sign of life from process {} for {} s", from, longest_silence.count()));
    }
  }

  Store store_;
  int rank_, size_;
  std::int64_t round_ = 0;
  Heartbeat heartbeat_;
};
#endif

} // namespace

#ifdef SIGHTLINE_GLOO
std::unique_ptr<Exchange> make_cpu_exchange(const Store& store, int rank, int size, const std::string& host) {
  using c10d::ProcessGroupGloo;
  const auto options = ProcessGroupGloo::Options::create();
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  const bool local = host == "localhost" || host == "127.0.0.1";
  options->devices.push_back(interface ? ProcessGroupGloo::createDeviceForInterface(interface)
                             : local   ? ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                       : ProcessGroupGloo::createDefaultDevice());
  return std::make_unique<GroupExchange<ProcessGroupGloo>>(
      c10::make_intrusive<ProcessGroupGloo>(store, rank, size, options));
}
#else
std::unique_ptr<Exchange> make_cpu_exchange(const Store& store, int rank, int size, const std::string& host) {
  return std::make_unique<StoreExchange>(store, host, rank, size);
}
#endif

#ifdef SIGHTLINE_NCCL
std::unique_ptr<Exchange> make_gpu_exchange(const Store& store, int rank, int size, at::Device device) {
  using c10d::ProcessGroupNCCL;
  // A lost process is an error of the call that waits for it, not the end of the program by NCCL's watchdog.
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 0);
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  c10::cuda::set_device(device.index());
  const auto options = ProcessGroupNCCL::Options::create();
  options->timeout = std::chrono::seconds(120);
  return std::make_unique<GroupExchange<ProcessGroupNCCL>>(
      c10::make_intrusive<ProcessGroupNCCL>(store, rank, size, options));
}
#else
std::unique_ptr<Exchange> make_gpu_exchange(const Store&, int, int, at::Device) { return nullptr; }
#endif

} // namespace sightline::train
