// SPDX-License-Identifier: Apache-2.0
#include "cli/confinement.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <type_traits>

#include "base/sanitizer_scale.h"

namespace penumbra::cli {
namespace {

/// System calls that are allowed with any arguments.
constexpr std::array kAllowed{
    // Open files.
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwritev2), SCMP_SYS(lseek), SCMP_SYS(close),
    SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(poll), SCMP_SYS(ppoll),
    // Memory. mmap() and mprotect() have conditions.
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise),
    // Time and threads. The thread of the EAL may still be at its beginning.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(futex),
    SCMP_SYS(sched_yield), SCMP_SYS(getrandom), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(rseq),
    SCMP_SYS(set_robust_list), SCMP_SYS(epoll_create), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
    // Signals and the end.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall), SCMP_SYS(tgkill), SCMP_SYS(exit), SCMP_SYS(exit_group)};

void check(int result, const char* what) {
  if (result != 0) throw std::system_error(-result, std::generic_category(), what);
}

using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&seccomp_release)>;

void allow(const Filter& filter, int call) {
  check(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0), "cannot allow a system call");
}

/// Allows calls whose argument `number` has none of the bits `denied`.
void allow_without(const Filter& filter, int call, unsigned number, scmp_datum_t denied) {
  const scmp_arg_cmp condition{number, SCMP_CMP_MASKED_EQ, denied, 0};
  check(seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &condition), "cannot allow a system call");
}

void allow_terminal_queries(const Filter& filter) {
  const scmp_arg_cmp condition{1, SCMP_CMP_EQ, TCGETS, 0};  // isatty()
  check(seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &condition),
        "cannot allow a system call");
}

}  // namespace

void drop_capabilities(FileAccess access) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot read the capabilities");
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const bool has_kept = i == 0 && access == FileAccess::read;
    const __u32 kept = has_kept ? 1U << CAP_DAC_READ_SEARCH : 0;
    sets[i] = {.effective = sets[i].effective & kept, .permitted = sets[i].permitted & kept, .inheritable = 0};
  }
  if (syscall(SYS_capset, &header, sets.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot give up capabilities");
  }
}

void confine(FileAccess access) {
  drop_capabilities(access);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot give up new privileges");
  }
  // The leak checker of AddressSanitizer needs system calls that the filter refuses.
  if (PENUMBRA_SANITIZED) return;
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (filter == nullptr) throw std::system_error(ENOMEM, std::generic_category(), "cannot make a seccomp filter");
  check(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1), "cannot bind all threads by seccomp");
  for (const int call : kAllowed) allow(filter, call);
  allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);
  allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);
  allow_terminal_queries(filter);
  if (access == FileAccess::read) {
    allow_without(filter, SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND);
  }
  check(seccomp_load(filter.get()), "cannot apply the seccomp filter");
}

}  // namespace penumbra::cli
