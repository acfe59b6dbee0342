// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/marks.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "crypto/digest.h"
#include "crypto/secret_memory.h"

namespace penumbra::control::xfrm {
namespace {

constexpr std::string_view kMagic = "penumbra-xfrm-marks 1\n";
constexpr std::size_t kSaltBytes = 16, kHeadBytes = kMagic.size() + kSaltBytes;
constexpr mode_t kOwnerOnly = 0600;

/// A record of the file. The checksum is the beginning of the SHA-256 of the other fields.
struct Record {
  std::uint8_t fingerprint[16];
  std::uint64_t number, time;
  std::uint32_t permanent;
  std::uint8_t checksum[4];
};
static_assert(sizeof(Record) == 40);

void seal(Record& record, std::span<std::uint8_t, 4> checksum) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&record);
  const auto digest = sha256({bytes, offsetof(Record, checksum)});
  std::copy_n(digest.begin(), checksum.size(), checksum.begin());
}

/// Makes the record of a mark.
Record record_of(const HighWaterMarks::Fingerprint& key, std::uint64_t number, std::uint64_t time, bool permanent) {
  Record record{};
  std::ranges::copy(key, record.fingerprint);
  record.number = number;
  record.time = time;
  record.permanent = permanent ? 1 : 0;
  seal(record, record.checksum);
  return record;
}

std::span<const std::uint8_t> bytes_of(const Record& record) {
  return {reinterpret_cast<const std::uint8_t*>(&record), sizeof record};
}

bool is_whole(Record& record) {
  std::array<std::uint8_t, 4> expected{};
  seal(record, expected);
  return std::memcmp(expected.data(), record.checksum, sizeof record.checksum) == 0;
}

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string(what) + " " + file.string());
}

void write_all(int file, std::span<const std::uint8_t> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Returns the content, or nothing if there is no such file.
bool read_all(const std::filesystem::path& path, std::vector<std::uint8_t>& content) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return false;
  if (!file) fail(path, "cannot open");
  constexpr std::size_t kStep = 1 << 16;
  for (;;) {
    const std::size_t at = content.size();
    content.resize(at + kStep);
    const ssize_t got = read(file.get(), &content[at], kStep);
    if (got < 0 && errno != EINTR) fail(path, "cannot read");
    content.resize(at + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return true;
  }
}

/// Replaces a file as a whole and returns it, open for appending.
FileDescriptor replace(const std::filesystem::path& path, std::span<const std::uint8_t> content) {
  const std::filesystem::path part = path.string() + ".new";
  FileDescriptor file(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
  if (!file) fail(part, "cannot create");
  write_all(file.get(), content, part);
  if (fsync(file.get()) != 0) fail(part, "cannot store");
  if (rename(part.c_str(), path.c_str()) != 0) fail(path, "cannot replace");
  const FileDescriptor folder(open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) fail(path.parent_path(), "cannot store");
  return file;
}

std::uint64_t seconds_now() {
  return static_cast<std::uint64_t>(time(nullptr));
}

}  // namespace

KeyFingerprint fingerprint_of(const Sa& sa, const KeySalt& salt) {
  struct Hashed {
    KeySalt salt;
    std::uint32_t bits;
    std::uint8_t key[std::max(kMostCipherKey, kMostDigestKey)];
  } hashed{};
  hashed.salt = salt;
  // Nonces depend on the cipher's key alone.
  const Algorithms& used = sa.settings.algorithms;
  if (const auto& main = used.aead ? used.aead : used.cipher; main && main->key_bits != 0) {
    hashed.bits = main->key_bits;
    std::memcpy(hashed.key, sa.keys->cipher, hashed.bits / 8);
  } else if (used.digest) {
    hashed.bits = used.digest->key_bits;
    std::memcpy(hashed.key, sa.keys->digest, hashed.bits / 8);
  }
  const auto digest = sha256({reinterpret_cast<const std::uint8_t*>(&hashed), sizeof hashed});
  erase_bytes(&hashed, sizeof hashed);
  KeyFingerprint key{};
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

std::size_t HighWaterMarks::Hash::operator()(const Fingerprint& key) const {
  std::size_t hash = 0;
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

HighWaterMarks::HighWaterMarks(const std::filesystem::path& file, const std::filesystem::path& witness)
    : path_(file), witness_(witness) {
  const bool found = read();
  check_witness(found);
  if (!why_lost_.empty()) return;
  if (!found && getrandom(salt_.data(), salt_.size(), 0) != static_cast<ssize_t>(salt_.size())) {
    fail(path_, "cannot get random numbers for");
  }
  write_whole(seconds_now());
  replace(witness_, salt_);
}

void HighWaterMarks::begin_again() {
  if (getrandom(salt_.data(), salt_.size(), 0) != static_cast<ssize_t>(salt_.size())) {
    fail(path_, "cannot get random numbers for");
  }
  marks_.clear();
  write_whole(seconds_now());
  replace(witness_, salt_);
  why_lost_.clear();
}

bool HighWaterMarks::read() {
  std::vector<std::uint8_t> content;
  if (!read_all(path_, content)) return false;
  if (content.size() < kHeadBytes || std::memcmp(content.data(), kMagic.data(), kMagic.size()) != 0) {
    why_lost_ = path_.string() + " is not a file of high-water marks";
    return true;
  }
  std::copy_n(content.begin() + kMagic.size(), kSaltBytes, salt_.begin());
  std::span<const std::uint8_t> rest = std::span(content).subspan(kHeadBytes);
  while (rest.size() >= sizeof(Record)) {
    Record record;
    std::memcpy(&record, rest.data(), sizeof record);
    rest = rest.subspan(sizeof record);
    if (!is_whole(record)) {
      // A crash may have torn the last record. Its number was never lent.
      if (!rest.empty()) why_lost_ = path_.string() + " is damaged";
      return true;
    }
    Fingerprint key;
    std::copy_n(record.fingerprint, key.size(), key.begin());
    Entry& entry = marks_[key];
    entry = {.number = std::max(entry.number, record.number), .time = record.time, .permanent = record.permanent != 0};
  }
  return true;
}

void HighWaterMarks::check_witness(bool found) {
  std::vector<std::uint8_t> seen;
  if (!why_lost_.empty() || !read_all(witness_, seen)) return;
  if (!found) {
    why_lost_ = path_.string() + " was lost since the machine started";
  } else if (!std::ranges::equal(seen, salt_)) {
    why_lost_ = path_.string() + " was replaced since the machine started";
  }
}

void HighWaterMarks::write_whole(std::uint64_t now) {
  std::erase_if(marks_, [&](const auto& mark) {
    return !mark.second.permanent && now > mark.second.time && now - mark.second.time > kForgetSeconds;
  });
  std::vector<std::uint8_t> content(kMagic.begin(), kMagic.end());
  content.insert(content.end(), salt_.begin(), salt_.end());
  for (const auto& [key, entry] : marks_) {
    const Record record = record_of(key, entry.number, entry.time, entry.permanent);
    content.insert(content.end(), bytes_of(record).begin(), bytes_of(record).end());
  }
  // The old file stays until the new one is whole, so that a crash in between loses no mark.
  file_ = replace(path_, content);
  records_ = marks_.size();
  unsaved_.clear();
  is_torn_ = false;
}

void HighWaterMarks::append(const Fingerprint& key) {
  const Entry& entry = marks_.at(key);
  write_all(file_.get(), bytes_of(record_of(key, entry.number, entry.time, entry.permanent)), path_);
  if (fdatasync(file_.get()) != 0) fail(path_, "cannot store");
  ++records_;
}

std::uint64_t HighWaterMarks::find(const Fingerprint& key) const {
  const auto found = marks_.find(key);
  return found == marks_.end() ? 0 : found->second.number;
}

void HighWaterMarks::raise(const Fingerprint& key, std::uint64_t number, bool permanent, std::uint64_t now) {
  Entry& entry = marks_[key];
  entry = {.number = std::max(entry.number, number), .time = now, .permanent = permanent || entry.permanent};
  unsaved_.push_back(key);
}

void HighWaterMarks::save(std::uint64_t now) {
  if (unsaved_.empty()) return;
  constexpr std::size_t kFewRecords = 64;
  const bool is_long = records_ > kFewRecords && records_ > 4 * marks_.size();
  // A crash may tear only the last record. Several records therefore are written with the whole file.
  const bool needs_whole = is_torn_ || is_long || unsaved_.size() > 1;
  is_torn_ = true;
  if (needs_whole) return write_whole(now);
  append(unsaved_.front());
  is_torn_ = false;
  unsaved_.clear();
}

}  // namespace penumbra::control::xfrm
