// SPDX-License-Identifier: Apache-2.0
#include "io/eal.h"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf_dyn.h>
#include <rte_memory.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <variant>
#include <vector>

#include "io/frames.h"
#include "io/log_capture.h"
#include "io/memory.h"
#include "io/packet_pool.h"
#include "packet/mbuf_metadata.h"

namespace penumbra::io {
namespace {

void register_metadata_flags() {
  struct NumberedFlag {
    rte_mbuf_dynflag flag;
    unsigned bit;
  };
  constexpr std::array<NumberedFlag, 2> kFlags{
      {{{"penumbra_headers", 0}, kHeadersFlagBit}, {{"penumbra_journey", 0}, kJourneyFlagBit}}};
  for (const auto& [flag, bit] : kFlags) {
    if (rte_mbuf_dynflag_register_bitnum(&flag, bit) < 0)
      throw std::runtime_error(fmt::format("DPDK gave the mbuf flag {} to another user", bit));
  }
}

constexpr std::uint64_t kMebibyte = 1 << 20;
/// Memory for devices, rings and RCU.
constexpr std::uint64_t kReserve = 64 * kMebibyte;
/// Ordinary memory costs nothing until it is touched, so a large minimum does no harm.
constexpr std::uint64_t kLeastOrdinary = 1024 * kMebibyte;

bool any_port_is_pci(std::span<const control::PortConfig> ports) {
  return std::any_of(ports.begin(), ports.end(), [](const control::PortConfig& port) {
    const auto* device = std::get_if<control::Ethdev>(&port.device);
    return device != nullptr && device->is_pci;
  });
}

/// Returns the largest possible frame of a capture, or 0 if no port reads a capture. Captures have not been read yet.
std::uint32_t largest_possible_frame(std::span<const control::PortConfig> ports) {
  const bool capture = std::any_of(ports.begin(), ports.end(), [](const control::PortConfig& port) {
    return std::holds_alternative<control::PcapSource>(port.device);
  });
  return capture ? Frames::kLargest : 0;
}

/// Returns the cores that this thread may run on, in EAL's syntax. Cores that DPDK cannot name are left out.
std::string core_list(const cpu_set_t& cores) {
  std::vector<int> list;
  for (int core = 0; core < std::min(CPU_SETSIZE, RTE_MAX_LCORE); ++core) {
    if (CPU_ISSET(core, &cores)) list.push_back(core);
  }
  return fmt::format("{}", fmt::join(list, ","));
}

/// Requests transparent huge pages for DPDK's ordinary memory. Returns false if the kernel refuses, which does no harm.
bool advise_huge_pages() {
  bool taken = false;
  rte_memseg_list_walk(
      [](const rte_memseg_list* list, void* result) {
        if (list->external == 0 && madvise(list->base_va, list->len, MADV_HUGEPAGE) == 0)
          *static_cast<bool*>(result) = true;
        return 0;
      },
      &taken);
  return taken;
}

std::uint64_t packet_bytes(std::span<const control::PortConfig> ports, std::uint16_t workers,
                           std::uint32_t largest_frame) {
  std::uint64_t bytes = pool_bytes(host_pool_size(ports, workers));
  for (const NodePorts& group : by_node(ports)) bytes += pool_bytes(pool_size(group.ports, workers, largest_frame));
  return bytes;
}

std::vector<std::string> arguments_for(std::span<const control::PortConfig> ports, const HugePages& pages,
                                       std::uint64_t bytes, const cpu_set_t& cores) {
  std::vector<std::string> arguments{"penumbra", "--no-shconf", "--no-telemetry",
                                     fmt::format("--file-prefix=penumbra-{}", getpid()), "--log-level=*:error",
                                     // The main thread may use all its cores; EAL must not pin it to one core.
                                     fmt::format("--lcores=0@({})", core_list(cores))};
  if (!any_port_is_pci(ports)) {
    arguments.insert(arguments.end(), {"--no-pci", "--iova-mode=va"});
  }
  if (pages.page_bytes > 0) {
    arguments.insert(arguments.end(), {fmt::format("--huge-dir={}", pages.mount), "--huge-unlink"});
  } else {
    arguments.emplace_back("--no-huge");
  }
  arguments.insert(arguments.end(), {"-m", std::to_string((bytes + kMebibyte - 1) / kMebibyte)});
  return arguments;
}

Environment start(std::span<const control::PortConfig> ports, std::uint16_t workers) {
  const std::uint64_t likely = packet_bytes(ports, workers, 0) + kReserve;
  const HugePages pages = find_huge_pages(likely);
  const bool huge = pages.page_bytes > 0;
  const std::uint64_t ordinary =
      std::max(kLeastOrdinary, packet_bytes(ports, workers, largest_possible_frame(ports)) + kReserve);
  const std::uint64_t bytes = huge ? likely : ordinary;

  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    throw std::runtime_error("cannot find out the cores of this process");
  std::vector<std::string> arguments = arguments_for(ports, pages, bytes, cores);
  std::vector<char*> pointers(arguments.size() + 1);
  std::transform(arguments.begin(), arguments.end(), pointers.begin(), [](std::string& text) { return text.data(); });
  {
    const LogCapture log;
    const StderrCapture errors;
    if (rte_eal_init(static_cast<int>(arguments.size()), pointers.data()) < 0) {
      throw std::runtime_error(fmt::format("DPDK does not start: {} ({}); its arguments were: {}", log.text(),
                                           rte_strerror(rte_errno), fmt::join(arguments, " ")));
    }
  }
  // EAL knows only RTE_MAX_LCORE cores; the machine may have more.
  sched_setaffinity(0, sizeof cores, &cores);
  // EAL creates an empty folder although no memory is shared with other processes. The parent folder is removed too
  // unless others use it.
  const std::filesystem::path folder = rte_eal_get_runtime_dir();
  std::error_code ignored;
  std::filesystem::remove(folder, ignored);
  std::filesystem::remove(folder.parent_path(), ignored);

  register_metadata_flags();
  Environment environment;
  environment.huge_pages = huge;
  environment.arguments = fmt::format("{}", fmt::join(arguments, " "));
  if (huge) {
    environment.memory = fmt::format("{} huge pages, {}", size_in_words(pages.page_bytes), size_in_words(bytes));
  } else {
    environment.memory =
        fmt::format("no huge pages ({}): up to {} of ordinary memory, {}", pages.obstacle, size_in_words(bytes),
                    advise_huge_pages() ? "transparent huge pages asked for" : "small pages only");
  }
  return environment;
}

}  // namespace

const Environment& start_eal(std::span<const control::PortConfig> ports, std::uint16_t workers) {
  static const Environment kEnvironment = start(ports, workers);
  return kEnvironment;
}

void register_thread() {
  struct Registration {
    Registration() {
      if (rte_lcore_id() != LCORE_ID_ANY) return;  // DPDK's main thread is registered already.
      const std::lock_guard lock(turn());
      if (rte_thread_register() != 0) {
        throw std::runtime_error(
            fmt::format("DPDK takes no more threads ({} at most): {}", RTE_MAX_LCORE, rte_strerror(rte_errno)));
      }
      mine = true;
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
      const std::lock_guard lock(turn());
      if (mine) rte_thread_unregister();
    }
    /// A new thread may reuse the lcore number and mbuf cache of an earlier thread. DPDK orders both threads by its own
    /// lock, which ThreadSanitizer does not see.
    static std::mutex& turn() {
      static std::mutex mutex;
      return mutex;
    }
    bool mine = false;
  };
  thread_local const Registration kRegistration;
}

}  // namespace penumbra::io
