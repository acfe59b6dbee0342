// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/hyperscan.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <new>
#include <stdexcept>

namespace penumbra::ids {
namespace {

// The part of Hyperscan's interface that is used ("Hyperscan 5.4 Developer's Reference Guide"). The library is loaded
// at run time, so that neither building nor running needs it.
constexpr unsigned kCaseless = 1, kSingleMatch = 8, kBlockMode = 1;
struct CompileError {
  char* message;
  int expression;
};
using OnMatch = int (*)(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void* context);

struct Library {
  int (*compile_multi)(const char* const* expressions, const unsigned* flags, const unsigned* ids, unsigned count,
                       unsigned mode, const void* platform, void** database, CompileError** error) = nullptr;
  int (*free_compile_error)(CompileError* error) = nullptr;
  int (*free_database)(void* database) = nullptr;
  int (*alloc_scratch)(const void* database, void** scratch) = nullptr;
  int (*free_scratch)(void* scratch) = nullptr;
  int (*scan)(const void* database, const char* data, unsigned length, unsigned flags, void* scratch, OnMatch on_match,
              void* context) = nullptr;
  int (*valid_platform)() = nullptr;
  std::string lack;  ///< Why the library cannot be used, or empty.
};

/// Loads the library. It stays loaded.
Library load_library() {
  Library library;
  void* const handle = ::dlopen("libhs.so.5", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.lack = "libhs.so.5 is not installed (Debian: libhyperscan5)";
    return library;
  }
  const auto find = [&](auto& function, const char* name) {
    void* const address = ::dlsym(handle, name);
    if (address == nullptr) library.lack = fmt::format("libhs.so.5 has no {}", name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(library.compile_multi, "hs_compile_multi");
  find(library.free_compile_error, "hs_free_compile_error");
  find(library.free_database, "hs_free_database");
  find(library.alloc_scratch, "hs_alloc_scratch");
  find(library.free_scratch, "hs_free_scratch");
  find(library.scan, "hs_scan");
  find(library.valid_platform, "hs_valid_platform");
  if (library.lack.empty() && library.valid_platform() != 0) library.lack = "Hyperscan does not support this processor";
  return library;
}

const Library& library() {
  static const Library kLibrary = load_library();
  return kLibrary;
}

/// Returns an expression that matches exactly these bytes. The interface for literals loses matches on some texts.
std::string expression_of(const std::string& pattern) {
  std::string text;
  for (const char letter : pattern) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
  return text;
}

int note(unsigned id, unsigned long long /*from*/, unsigned long long /*to*/, unsigned /*flags*/, void* context) {
  // There is room for each pattern once.
  static_cast<std::vector<std::uint32_t>*>(context)->push_back(id);
  return 0;
}

}  // namespace

HyperscanScratch::~HyperscanScratch() {
  if (memory_ != nullptr) library().free_scratch(memory_);
}

std::string Hyperscan::why_unavailable() {
  return library().lack;
}

Hyperscan::Hyperscan(std::span<const std::string> patterns) : patterns_(patterns.size()) {
  if (!library().lack.empty()) throw std::runtime_error(library().lack);
  if (patterns.empty()) return;
  std::vector<std::string> expressions;
  std::vector<const char*> texts;
  std::vector<unsigned> ids;
  for (const std::string& pattern : patterns) expressions.push_back(expression_of(pattern));
  for (const std::string& expression : expressions) {
    ids.push_back(static_cast<unsigned>(texts.size()));
    texts.push_back(expression.c_str());
  }
  const std::vector<unsigned> flags(patterns.size(), kCaseless | kSingleMatch);
  CompileError* error = nullptr;
  if (library().compile_multi(texts.data(), flags.data(), ids.data(), static_cast<unsigned>(patterns.size()),
                              kBlockMode, nullptr, &database_, &error) != 0) {
    const std::string message = error == nullptr ? "" : error->message;
    if (error != nullptr) library().free_compile_error(error);
    throw std::runtime_error("Hyperscan refuses the patterns: " + message);
  }
}

Hyperscan::~Hyperscan() {
  if (database_ != nullptr) library().free_database(database_);
}

std::unique_ptr<HyperscanScratch> Hyperscan::make_scratch() const {
  std::unique_ptr<HyperscanScratch> scratch(new HyperscanScratch);
  scratch->found_.reserve(patterns_);
  if (database_ != nullptr && library().alloc_scratch(database_, &scratch->memory_) != 0) throw std::bad_alloc();
  return scratch;
}

bool Hyperscan::search(std::span<const std::uint8_t> text, HyperscanScratch& scratch) const noexcept {
  scratch.found_.clear();
  if (database_ == nullptr || text.empty()) return true;
  return library().scan(database_, reinterpret_cast<const char*>(text.data()), static_cast<unsigned>(text.size()), 0,
                        scratch.memory_, &note, &scratch.found_) == 0;
}

}  // namespace penumbra::ids
