// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/lender.h"

#include <fcntl.h>
#include <linux/xfrm.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

namespace penumbra::ipsec {

namespace xfrm = control::xfrm;

std::uint64_t last_number(const xfrm::SaSettings& settings) {
  constexpr std::uint64_t kLastShort = 0xFFFFFFFF;
  return (settings.flags & XFRM_STATE_ESN) != 0 ? xfrm::kUnlimited - 1 : kLastShort;
}

std::uint64_t wall_clock() {
  return static_cast<std::uint64_t>(time(nullptr));
}

FileLender::FileLender(const std::filesystem::path& marks, bool accepts_loss) {
  if (marks.has_parent_path()) std::filesystem::create_directories(marks.parent_path());
  const std::string path = marks.string() + ".lock";
  lock_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw std::runtime_error("another process has the marks " + marks.string() + "; set `marks` to another file");
  }
  marks_ = std::make_unique<xfrm::HighWaterMarks>(marks, marks.string() + ".witness");
  if (marks_->why_lost().empty()) return;
  if (!accepts_loss) {
    throw std::runtime_error(marks_->why_lost() + "; use new keys, then set `accept_lost_marks: true`");
  }
  marks_->begin_again();
}

bool FileLender::reserve(DataSa& sa, std::uint64_t count, std::uint64_t now) {
  const xfrm::HighWaterMarks::Fingerprint key = marks_->fingerprint(sa.sa);
  const std::uint64_t used = std::max(sa.sa.replay.out, marks_->find(key)), last = last_number(sa.sa.settings);
  if (used >= last) return false;
  const std::uint64_t reserved = std::min(count, last - used);
  marks_->raise(key, used + reserved, true, now);
  reserved_.push_back({&sa, used + 1, reserved});
  return true;
}

bool FileLender::lend(std::uint64_t now) {
  const std::vector<Block> blocks = std::exchange(reserved_, {});
  if (blocks.empty()) return false;
  marks_->save(now);
  for (const Block& each : blocks) {
    if (each.sa->numbers.add(each.first, each.count)) ++blocks_;
    each.sa->wants_numbers.store(false, std::memory_order_release);
  }
  return true;
}

}  // namespace penumbra::ipsec
