// SPDX-License-Identifier: Apache-2.0
//
// Finds the memory that an item of a foreach reads, and the hints before each read.
#pragma once

#include <deque>

#include "places.h"

namespace gopt {

/// An expression that reads memory, and the object that it reads.
struct Read {
  const clang::Expr* access = nullptr;  ///< As written.
  Object object;                        ///< The part of the object that fits in one cache line.
  const clang::FunctionDecl* function = nullptr;
  const clang::CallExpr* hint = nullptr;  ///< The hint before the read.
  const clang::Expr* earlier = nullptr;   ///< An earlier read of the same object.
  bool in_sequence = false;               ///< True if consecutive items read consecutive memory.
  bool same_for_all = false;              ///< True if all items read the same object.
  Place address;
  std::string callee;  ///< The function that receives the object, if the read happens there.

  /// Returns true if this read may miss the cache.
  bool is_first() const { return earlier == nullptr && !in_sequence && !same_for_all; }
};

class Reads {
 public:
  /// `loop` is a foreach in the function.
  Reads(Unit& unit, const clang::FunctionDecl* function, const clang::ForStmt* loop);

  /// Returns the reads, function by function, mostly in execution order.
  const std::deque<Read>& all() const { return reads_; }
  const std::set<const clang::CallExpr*>& hints() const { return hints_; }
  /// Returns the called functions whose bodies are visible.
  const std::set<const clang::FunctionDecl*>& called() const { return called_; }

 private:
  /// The known facts about a place: the hint that prefetched it, or the expression that read it.
  struct Fact {
    const clang::CallExpr* hint = nullptr;
    const clang::Expr* read = nullptr;
    bool operator==(const Fact& other) const { return hint == other.hint && read == other.read; }
  };
  using Facts = std::map<std::string, Fact>;
  struct Frame {
    Frame(Unit& unit, const clang::FunctionDecl* whose, std::map<const clang::VarDecl*, Place> arguments,
          const clang::VarDecl* index)
        : function(whose), places(unit, whose, std::move(arguments), index) {}

    const clang::FunctionDecl* function;
    Places places;
    bool is_recording = false;
  };

  void walk(Frame& frame, const Facts& before);
  static bool keep_common(Facts& facts, const Facts& others);
  void skip_hints(const clang::Stmt* statement, bool in_hint);
  void pass(Frame& frame, const clang::Stmt* statement, Facts& facts);
  void pass_hint(Frame& frame, const clang::CallExpr* hint, Facts& facts);
  void pass_change(Frame& frame, const clang::VarDecl* variable, const clang::Expr* value, Facts& facts);
  void pass_read(Frame& frame, const clang::Expr* access, const Object& object, Facts& facts,
                 const std::string& callee = "");
  void pass_call(Frame& frame, const clang::CallExpr* call, Facts& facts);
  void record(Frame& frame, const clang::Expr* access, const std::vector<Object>& objects, const Facts& facts,
              const std::string& callee);
  const clang::FunctionDecl* body_of(const clang::CallExpr* call) const;
  void collect(const clang::Stmt* statement);

  Unit& unit_;
  const clang::VarDecl* index_;
  std::set<const clang::Stmt*> inside_;                               ///< The loop's statements and expressions.
  std::set<const clang::Stmt*> skipped_;                              ///< Statements and expressions of hints.
  std::set<const clang::VarDecl*> own_;                               ///< Variables that each item declares or sets.
  std::map<std::string, std::set<const clang::VarDecl*>> mentioned_;  ///< Variables by the text of a place.
  std::vector<const clang::FunctionDecl*> calling_;
  unsigned calls_ = 0;
  std::deque<Read> reads_;
  std::map<const clang::Expr*, Read*> by_access_;
  std::set<const clang::CallExpr*> hints_;
  std::set<const clang::FunctionDecl*> called_;
};

}  // namespace gopt
