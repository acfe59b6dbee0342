// SPDX-License-Identifier: Apache-2.0
//
// The memory that an item of a foreach reads, and whether a hint stands before it.
#pragma once

#include <deque>

#include "places.h"

namespace gopt {

/// An expression that reads memory, and which object's.
struct Read {
  const clang::Expr* access = nullptr;  ///< as written
  Object object;                        ///< what of it fits in one cache line
  const clang::FunctionDecl* function = nullptr;
  const clang::CallExpr* hint = nullptr;  ///< that stands before it
  const clang::Expr* earlier = nullptr;   ///< a read of the same object that comes before it
  bool in_sequence = false;               ///< items that follow each other read memory that does
  bool same_for_all = false;              ///< all items read it
  Place address;
  std::string callee;  ///< the function that is handed it, if not this one reads it

  /// It may be the one that misses.
  bool is_first() const { return earlier == nullptr && !in_sequence && !same_for_all; }
};

class Reads {
 public:
  /// `loop` is a foreach in the function.
  Reads(Unit& unit, const clang::FunctionDecl* function, const clang::ForStmt* loop);

  /// Function by function, mostly in the order in which they happen.
  const std::deque<Read>& all() const { return reads_; }
  const std::set<const clang::CallExpr*>& hints() const { return hints_; }
  /// The functions that items call, as far as their bodies are here.
  const std::set<const clang::FunctionDecl*>& called() const { return called_; }

 private:
  /// What is known of a place: which hint asked for it, or what has read it.
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
  std::set<const clang::Stmt*> inside_;                               ///< the loop's statements and expressions
  std::set<const clang::Stmt*> skipped_;                              ///< those of hints
  std::set<const clang::VarDecl*> own_;                               ///< variables that each item has, or sets
  std::map<std::string, std::set<const clang::VarDecl*>> mentioned_;  ///< by the text of a place
  std::vector<const clang::FunctionDecl*> calling_;
  unsigned calls_ = 0;
  std::deque<Read> reads_;
  std::map<const clang::Expr*, Read*> by_access_;
  std::set<const clang::CallExpr*> hints_;
  std::set<const clang::FunctionDecl*> called_;
};

}  // namespace gopt
