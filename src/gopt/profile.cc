// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <limits>
#include <vector>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "macros.h"

namespace gopt {
namespace {

using llvm::StringRef;

constexpr const char* kNoCache = "it counts no cache misses; run cachegrind with --cache-sim=yes";
constexpr const char* kReport = "perf report --stdio -F sample,sym,srcline";

std::string without_dots(StringRef path) {
  llvm::SmallString<256> text(path);
  llvm::sys::path::remove_dots(text, true);
  return text.str().str();
}

/// Returns the number of trailing components that two paths have in common.
unsigned common_components(StringRef a, StringRef b) {
  unsigned count = 0;
  auto of_a = llvm::sys::path::rbegin(a);
  auto of_b = llvm::sys::path::rbegin(b);
  for (; of_a != llvm::sys::path::rend(a) && of_b != llvm::sys::path::rend(b) && *of_a == *of_b; ++of_a, ++of_b) {
    ++count;
  }
  return count;
}

/// The meaning of the columns of counts.
struct Columns {
  size_t count = 0;
  /// Index of the column, or `count` if it is missing. The same holds for the other columns.
  size_t instructions = 0;
  size_t last_level = 0;
  size_t first_level = 0;
  size_t wrong_conditions = 0;
  size_t wrong_targets = 0;

  explicit Columns(StringRef names) {
    llvm::SmallVector<StringRef> events;
    llvm::SplitString(names, events);
    count = events.size();
    const auto place = [&](StringRef name) { return static_cast<size_t>(llvm::find(events, name) - events.begin()); };
    instructions = place("Ir");
    last_level = place("DLmr");
    first_level = place("D1mr");
    wrong_conditions = place("Bcm");
    wrong_targets = place("Bim");
  }
  size_t misses() const { return last_level < count ? last_level : first_level; }
  /// Describes the columns in `profile`. Returns false if no column counts misses.
  bool describe(Profile& profile) const {
    profile.has_instructions = instructions < count;
    profile.has_branches = wrong_conditions < count;
    profile.event = last_level < count ? "DLmr" : "D1mr";
    return misses() < count;
  }
  Profile::Counts pick(const std::vector<uint64_t>& counts) const {
    const auto at = [&](size_t column) { return column < counts.size() ? counts[column] : 0; };
    return {at(instructions), at(misses()), llvm::SaturatingAdd(at(wrong_conditions), at(wrong_targets))};
  }
};

/// Reads one of the formats, line by line. fail() stores the error of the current line and returns false.
class ProfileReader {
 public:
  ProfileReader(StringRef text, std::string path, Profile& profile)
      : rest_(text), path_(std::move(path)), profile_(profile) {}

  bool read() {
    if (rest_.starts_with("PERFILE2")) {
      return fail("this is perf's own file; give gopt what is printed by " + std::string(kReport));
    }
    if (rest_.contains('\0')) return fail("this is no text");
    while (peek().trim().empty() && !rest_.empty()) next();
    if (rest_.empty()) return fail("the profile is empty");
    const StringRef first = peek();
    if (first.starts_with("# callgrind") || first.starts_with("version:") || first.starts_with("creator:")) {
      return fail("this is callgrind's; gopt reads cachegrind's");
    }
    if (first.starts_with("desc:") || first.starts_with("cmd:") || first.starts_with("events:")) return read_counts();
    if (first.starts_with("----")) return read_annotated();
    if (first.starts_with("#")) return read_report();
    return read_samples();
  }
  std::string problem;

 private:
  StringRef peek() const { return rest_.split('\n').first.rtrim('\r'); }
  StringRef next() {
    const StringRef line = peek();
    rest_ = rest_.split('\n').second;
    ++line_;
    return line;
  }
  bool fail(const std::string& what) {
    problem = path_ + (line_ > 0 ? ":" + std::to_string(line_) : "") + ": " + what;
    return false;
  }
  std::string quoted(StringRef text) const {
    std::string shown;
    llvm::raw_string_ostream out(shown);
    out.write_escaped(text.take_front(60), true);
    return "'" + shown + (text.size() > 60 ? "..." : "") + "'";
  }

  bool number(StringRef word, uint64_t& value) {
    value = 0;
    if (word == "." || !word.getAsInteger(10, value)) return true;
    if (word.starts_with("-")) return fail("a count below zero: this is a difference of profiles, not one of a run");
    return fail("a number was expected, not " + quoted(word));
  }

  // Reads a file cachegrind.out.PID.

  bool read_counts() {
    while (!rest_.empty() && !peek().starts_with("events:")) {
      const StringRef line = next();
      if (!line.starts_with("desc:") && !line.starts_with("cmd:") && !line.trim().empty()) {
        return fail("a line 'events:' was expected, not " + quoted(line));
      }
    }
    if (rest_.empty()) return fail("there is no line 'events:'");
    const Columns columns(next().drop_front(StringRef("events:").size()));
    if (!columns.describe(profile_)) return fail(kNoCache);
    bool is_in_file = false;
    StringRef file;
    StringRef function;
    while (!rest_.empty()) {
      StringRef line = next();
      if (line.consume_front("fl=")) {
        file = line;
        is_in_file = true;
      } else if (line.consume_front("fn=")) {
        function = line;
      } else if (line.starts_with("summary:")) {
        return true;
      } else if (!line.trim().empty()) {
        if (!llvm::isDigit(line.front())) return fail("fl=, fn= or counts were expected, not " + quoted(line));
        if (!is_in_file) return fail("counts of no file: fl= is missing before them");
        if (!add_counts(line, columns, file, function)) return false;
      }
    }
    return fail("there is no line 'summary:': the profile is cut off");
  }

  bool add_counts(StringRef text, const Columns& columns, StringRef file, StringRef function) {
    llvm::SmallVector<StringRef> words;
    llvm::SplitString(text, words);
    std::vector<uint64_t> counts(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      if (!number(words[i], counts[i])) return false;
    }
    if (counts.size() > columns.count + 1) return fail("more counts than events");
    if (counts[0] > std::numeric_limits<unsigned>::max()) return fail("no file has so many lines");
    const auto line = static_cast<unsigned>(counts[0]);
    counts.erase(counts.begin());
    profile_.add(file, line, function, columns.pick(counts));
    return true;
  }

  // Reads the output of cg_annotate.

  bool read_annotated() {
    while (!rest_.empty() && !peek().starts_with("Events shown:")) next();
    if (rest_.empty()) return fail("there is no line 'Events shown:'");
    const Columns columns(next().drop_front(StringRef("Events shown:").size()));
    if (!columns.describe(profile_)) return fail(kNoCache);
    bool has_source = false;
    while (!rest_.empty()) {
      StringRef line = next();
      if (!line.consume_front("-- Auto-annotated source: ") && !line.consume_front("-- User-annotated source: "))
        continue;
      has_source = true;
      if (!read_source(line.trim(), columns)) return false;
    }
    return has_source || fail(
                             "no source is annotated here; give cg_annotate the path of yours, or give gopt the file "
                             "that cachegrind wrote");
  }

  /// Reads the lines of one source: counts, then text. "-- line 12 ---" gives the next line number after a gap; an @
  /// starts a warning.
  bool read_source(StringRef file, const Columns& columns) {
    if (!next().starts_with("----")) return fail("a line '----' was expected below the name of the source");
    next();
    unsigned at = 1;
    while (!rest_.empty() && !peek().starts_with("----")) {
      StringRef line = next();
      if (line.trim().empty() || line.starts_with("@")) continue;
      if (line.consume_front("-- line ")) {
        if (line.take_while(llvm::isDigit).getAsInteger(10, at)) return fail("a line number was expected");
        continue;
      }
      std::vector<uint64_t> counts;
      if (!read_columns(line, columns, counts)) return false;
      profile_.add(file, at++, "", columns.pick(counts));
    }
    return true;
  }

  /// Reads "1,234 (12.3%)", "0" or "." for each event.
  bool read_columns(StringRef line, const Columns& columns, std::vector<uint64_t>& counts) {
    for (size_t i = 0; i < columns.count; ++i) {
      line = line.ltrim(' ');
      const StringRef word = line.take_while([](char c) { return c != ' '; });
      std::string digits = word.str();
      llvm::erase(digits, ',');
      counts.push_back(0);
      if (!number(digits, counts.back())) return false;
      line = line.drop_front(word.size());
      const StringRef behind = line.ltrim(' ');
      const size_t percent = behind.find("%)");
      if (behind.starts_with("(") && percent < StringRef("(100.00").size() + 1) line = behind.drop_front(percent + 2);
    }
    return true;
  }

  // Reads the output of perf report.

  bool read_report() {
    bool has_columns = false;
    while (!rest_.empty()) {
      StringRef line = next();
      if (line.consume_front("#")) {
        llvm::SmallVector<StringRef> words;
        llvm::SplitString(line, words);
        has_columns |= llvm::ArrayRef(words).equals({"Samples", "Symbol", "Source:Line"});
        if (!read_event(line)) return false;
      } else if (!line.trim().empty()) {
        if (!has_columns) return fail("counts in other columns than " + std::string(kReport) + " prints");
        if (!add_samples(line.trim())) return false;
      }
    }
    return has_columns || fail("this is not what is printed by " + std::string(kReport));
  }

  /// Reads "Samples: 3K of event 'cache-misses:u'".
  bool read_event(StringRef line) {
    constexpr StringRef kBefore = " of event '";
    const size_t at = line.find(kBefore);
    if (at == StringRef::npos) return true;
    if (!profile_.event.empty()) return fail("several events; record one, that of the loads that miss");
    profile_.event = line.drop_front(at + kBefore.size()).take_until([](char c) { return c == '\''; }).str();
    return true;
  }

  /// Reads "2087  [.] dictionary_find  bare.c:13". Symbols without a known line have another ending and are skipped.
  bool add_samples(StringRef line) {
    const auto [count, rest] = line.split(' ');
    uint64_t misses = 0;
    if (!number(count, misses)) return false;
    const auto [symbol, where] = rest.rsplit(' ');
    const auto [file, number_of_line] = where.rsplit(':');
    unsigned at = 0;
    if (file.empty() || number_of_line.getAsInteger(10, at) || at == 0) return true;
    profile_.add(file, at, symbol.split("] ").second.trim(), {0, misses, 0});
    return true;
  }

  // Reads lines FILE:LINE COUNT.

  bool read_samples() {
    profile_.event = "samples";
    while (!rest_.empty()) {
      const StringRef line = next();
      if (line.trim().empty()) continue;
      const auto [where, count] = line.trim().rsplit(' ');
      const auto [file, number_of_line] = where.rtrim().rsplit(':');
      unsigned at = 0;
      uint64_t misses = 0;
      if (file.empty() || number_of_line.getAsInteger(10, at) || count.getAsInteger(10, misses)) {
        return fail(
            "neither cachegrind's file nor what cg_annotate or perf report print nor a line 'FILE:LINE COUNT': " +
            quoted(line));
      }
      profile_.add(file, at, "", {0, misses, 0});
    }
    return true;
  }

  StringRef rest_;
  std::string path_;
  unsigned line_ = 0;
  Profile& profile_;
};

}  // namespace

void Profile::Counts::add(const Counts& other) {
  instructions = llvm::SaturatingAdd(instructions, other.instructions);
  misses = llvm::SaturatingAdd(misses, other.misses);
  wrong_branches = llvm::SaturatingAdd(wrong_branches, other.wrong_branches);
}

void Profile::add(StringRef file, unsigned line, StringRef function, const Counts& counts) {
  files[without_dots(file)][line][function.str()].add(counts);
}

const Profile::Lines* Profile::of_source(StringRef path, std::string& problem) const {
  const std::string wanted = without_dots(absolute_path(path));
  const auto exact = files.find(wanted);
  if (exact != files.end()) return &exact->second;
  unsigned most = 0;
  std::vector<const std::pair<const std::string, Lines>*> best;
  for (const auto& file : files) {
    const unsigned common = common_components(file.first, wanted);
    if (common == 0 || common < most) continue;
    if (common > most) best.clear();
    most = common;
    best.push_back(&file);
  }
  if (best.size() > 1) {
    problem = "the profile has several files that may be " + path.str() + ": " + best[0]->first + ", " +
              best[1]->first + "; give the path that the program was compiled with";
  }
  return best.size() == 1 ? &best[0]->second : nullptr;
}

bool read_profile(const std::string& path, Profile& profile, std::string& problem) {
  const auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    problem = "cannot read the profile " + path + ": " + buffer.getError().message();
    return false;
  }
  ProfileReader reader(buffer.get()->getBuffer(), path, profile);
  if (reader.read()) return true;
  problem = reader.problem;
  return false;
}

}  // namespace gopt
