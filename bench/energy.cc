// SPDX-License-Identifier: Apache-2.0
#include "energy.h"

#include <dlfcn.h>

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace penumbra::bench {
namespace {

constexpr char kPowercap[] = "/sys/class/powercap";

/// A number in a file of the kernel's, if there is one.
std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  double number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

/// NVML is the driver's, so there is nothing to link with: loaded where it is.
class EnergyMeters::Gpus {
 public:
  Gpus() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    unsigned count = 0;
    if (library_ == nullptr || !find(library_, "nvmlInit_v2", init_) || !find(library_, "nvmlShutdown", shutdown_) ||
        !find(library_, "nvmlDeviceGetCount_v2", count_) || !find(library_, "nvmlDeviceGetHandleByIndex_v2", handle_) ||
        !find(library_, "nvmlDeviceGetTotalEnergyConsumption", energy_) || init_() != 0) {
      return;
    }
    is_initialised_ = true;
    if (count_(&count) != 0) return;
    for (unsigned i = 0; i < count; ++i) {
      void* device = nullptr;
      unsigned long long millijoules = 0;
      if (handle_(i, &device) == 0 && energy_(device, &millijoules) == 0) {
        devices_.push_back({device, static_cast<double>(millijoules)});
      }
    }
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  ~Gpus() {
    if (is_initialised_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }

  bool empty() const { return devices_.empty(); }
  double joules() {
    double sum = 0;
    for (Device& each : devices_) {
      unsigned long long millijoules = 0;
      if (energy_(each.device, &millijoules) != 0) continue;
      const auto now = static_cast<double>(millijoules);
      sum += (now - each.last) * 1e-3;
      each.last = now;
    }
    return sum;
  }

 private:
  struct Device {
    void* device;
    double last;
  };

  void* library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, void**) = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
  bool is_initialised_ = false;
  std::vector<Device> devices_;
};

EnergyMeters::EnergyMeters() : gpus_(std::make_unique<Gpus>()) {
  if (gpus_->empty()) gpus_.reset();
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(kPowercap, none)) {
    std::ifstream names(zone.path() / "name");
    std::string name;
    // Some processors have a second zone of the same name, of the same counter read in another way.
    if (!zone.path().filename().string().starts_with("intel-rapl:")) continue;
    if (!std::getline(names, name) || !name.starts_with("package")) continue;
    const auto most = number_in(zone.path() / "max_energy_range_uj");
    const auto last = number_in(zone.path() / "energy_uj");
    if (most && last) packages_.push_back({zone.path() / "energy_uj", *most, *last});
  }
}

EnergyMeters::~EnergyMeters() = default;

std::optional<double> EnergyMeters::joules() {
  if (packages_.empty() && gpus_ == nullptr) return std::nullopt;
  double sum = gpus_ == nullptr ? 0 : gpus_->joules();
  for (Package& each : packages_) {
    const double now = number_in(each.counter).value_or(each.last);
    sum += (now >= each.last ? now - each.last : now + each.most - each.last) * 1e-6;
    each.last = now;
  }
  if (!std::exchange(is_read_, true)) return std::nullopt;
  return sum;
}

}  // namespace penumbra::bench
