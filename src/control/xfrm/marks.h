// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "control/xfrm/model.h"

namespace penumbra::control::xfrm {

/// Identifies the key of SAs without telling it. Different SAs with the same key have the same fingerprint.
using KeyFingerprint = std::array<std::uint8_t, 16>;
using KeySalt = std::array<std::uint8_t, 16>;

/// Returns the fingerprint of an SA's keys under a salt.
KeyFingerprint fingerprint_of(const Sa& sa, const KeySalt& salt);

/// Remembers, for each key, the highest sequence number that may have been sent, beyond the end of the process. In
/// counter modes a number must never be used twice with a key. The file contains a salted digest of each key, not the
/// key. One thread uses it.
class HighWaterMarks {
 public:
  using Fingerprint = KeyFingerprint;

  /// Reads or creates `file`. `witness` is a file that lives until the machine starts again. It notices that `file` was
  /// lost or replaced. Throws std::system_error if the files cannot be read or written.
  HighWaterMarks(const std::filesystem::path& file, const std::filesystem::path& witness);

  /// Returns why the marks cannot be trusted: they were lost or damaged. Empty: they can.
  const std::string& why_lost() const { return why_lost_; }
  /// Begins a new file in place of one that was lost. From now on, the operator answers for keys that were used before.
  void begin_again();

  /// Returns the fingerprint of an SA's keys under the salt of the file.
  Fingerprint fingerprint(const Sa& sa) const { return fingerprint_of(sa, salt_); }
  /// Returns the highest number that may have been sent, or 0.
  std::uint64_t find(const Fingerprint& key) const;
  bool has(const Fingerprint& key) const { return marks_.contains(key); }
  /// Raises a mark. No number up to the mark may be lent before save(). A mark that is not `permanent` may be forgotten
  /// kForgetSeconds after `now`.
  void raise(const Fingerprint& key, std::uint64_t number, bool permanent, std::uint64_t now);
  /// Waits until all raised marks are on the disk. Throws std::system_error; the marks since the last save() then may
  /// or may not be on the disk, and the next save() writes them again.
  void save(std::uint64_t now);
  std::size_t size() const { return marks_.size(); }

  /// Keys of a key exchange have limits and do not return after this time: 32 days.
  static constexpr std::uint64_t kForgetSeconds = std::uint64_t{32} * 24 * 3600;

 private:
  struct Entry {
    std::uint64_t number = 0, time = 0;
    bool permanent = false;
  };
  struct Hash {
    std::size_t operator()(const Fingerprint& key) const;
  };

  bool read();
  void check_witness(bool found);
  void write_whole(std::uint64_t now);
  void append(const Fingerprint& key);

  std::filesystem::path path_, witness_;
  FileDescriptor file_;
  std::unordered_map<Fingerprint, Entry, Hash> marks_;
  KeySalt salt_{};
  std::string why_lost_;
  std::vector<Fingerprint> unsaved_;  ///< Keys whose marks were raised since save().
  std::size_t records_ = 0;           ///< In the file.
  bool is_torn_ = false;              ///< A write failed; the file must be written as a whole.
};

}  // namespace penumbra::control::xfrm
