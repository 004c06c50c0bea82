#include "sightline/train/exchange.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>

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
/// Every process leaves its tensor in the store and reads those of the others; summed by rank, so that all get the same
/// bits. A process that is gone leaves nothing: the others give up after the store's timeout.
class StoreExchange : public Exchange {
public:
  StoreExchange(Store store, int rank, int size) : store_(std::move(store)), rank_(rank), size_(size) {}
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
    const std::vector<std::uint8_t> bytes = store_->get(fmt::format("{}/{}", round_, from));
    if (bytes.size() != tensor.nbytes())
      throw std::runtime_error("another size arrived");
    std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  }

  Store store_;
  int rank_, size_;
  std::int64_t round_ = 0;
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
std::unique_ptr<Exchange> make_cpu_exchange(const Store& store, int rank, int size, const std::string&) {
  return std::make_unique<StoreExchange>(store, rank, size);
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
