// SPDX-License-Identifier: Apache-2.0
//
// Implements gopt --suggest: finds the lines of a file that miss the cache without a hint, and suggests hints.
#pragma once

#include "model.h"
#include "reads.h"

namespace gopt {

class Suggestions {
 public:
  Suggestions(Unit& unit, const Profile& profile) : unit_(unit), profile_(profile) {}

  /// Returns the report for the user. Returns an empty text if the unit has refused, or if the profile does not know
  /// the file; then `problem` says so.
  std::string report();
  std::string problem;

 private:
  /// A line, ordered as in the report: the file itself precedes its headers.
  struct Line {
    bool is_in_header = false;
    std::string file;  ///< The full path.
    unsigned number = 0;
    bool operator<(const Line& other) const {
      return std::tie(is_in_header, file, number) < std::tie(other.is_in_header, other.file, other.number);
    }
  };
  /// The reads of a function's items, and the profile's counts for its lines.
  struct Subject {
    const clang::FunctionDecl* function = nullptr;
    std::deque<Read> reads;
    std::set<const clang::CallExpr*> hints;
    std::map<Line, Profile::Counts> lines;
    std::set<std::string> run_in;  ///< The functions into which the compiler put the foreach.
    Profile::Counts all;
    uint64_t hidden = 0;   ///< Misses that the present hints hide.
    uint64_t to_hide = 0;  ///< Misses that the suggested hints would hide.
    std::string text;
  };

  Subject subject_of(const clang::FunctionDecl* function);
  const Profile::Lines& profile_of(const Line& line);
  void add_loop(Subject& subject, const clang::ForStmt* loop);
  void add_called(Subject& subject, const clang::FunctionDecl* function);
  static void add(Subject& subject, const Line& line, const Profile::Counts& counts);
  Line line_of(clang::SourceLocation where) const;
  static Line line_at(const Line& line, unsigned number) { return {line.is_in_header, line.file, number}; }
  std::string name(const Line& line) const;
  static bool is_notable(const Subject& subject, uint64_t misses);
  void report_on(Subject& subject);
  void report_line(Subject& subject, const Model& model, const Line& line, uint64_t misses);
  std::vector<const Read*> reads_in(const Subject& subject, const Line& line);
  void report_idle_hints(Subject& subject);

  Unit& unit_;
  const Profile& profile_;
};

}  // namespace gopt
