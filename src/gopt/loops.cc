// SPDX-License-Identifier: Apache-2.0
//
// Rewrites loops: adds their flow, and changes loops in which items switch.
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {

void Function::lower_for(const clang::ForStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && statement->getConditionVariable() != nullptr) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch in the scope of a variable that a condition declares; declare "
                 "it before the loop");
    return;
  }
  const std::string before = lower_for_declarations(statement);
  const unsigned head = flow_.add_after(at_);
  at_ = head;
  const size_t condition_scope = scope_.size();
  Expanded expanded;
  if (statement->getCond() != nullptr) {
    expanded = expand_calls(statement->getCond());
    if (statement->getConditionVariableDeclStmt() != nullptr) {
      lower_declarations(statement->getConditionVariableDeclStmt(), false);
    }
    evaluate(statement->getCond());
  }
  const unsigned tested = at_;
  const unsigned after = flow_.add();
  const unsigned step = flow_.add();
  if (statement->getCond() != nullptr) flow_.link(tested, after);
  at_ = flow_.add_after(tested);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = step;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, step);
  at_ = step;
  if (statement->getInc() != nullptr) evaluate(statement->getInc());
  flow_.link(at_, head);
  at_ = after;
  test_inside(statement->getCond(), "", expanded, statement->getBody());
  if (!before.empty()) wrap(statement, before);
  scope_.resize(condition_scope);
  scope_.resize(scope);
}

void Function::test_inside(const clang::Expr* condition, const char* instead, const Expanded& expanded,
                           const clang::Stmt* body) {
  if (expanded.empty()) return;
  const TokenRange tested = unit_.tokens.range(condition->getSourceRange());
  const std::string test = frame_->text.render(tested);
  frame_->text.replace(tested, instead);
  const TokenRange tokens = unit_.tokens.statement(body);
  frame_->text.insert_before(tokens.begin, "{ " + expanded.all() + " if (!(" + test + ")) break; ");
  frame_->text.insert_after(tokens.end - 1, " }");
}

void Function::lower_while(const clang::WhileStmt* statement) {
  const size_t scope = scope_.size();
  const bool switched = in_loop() && unit_.switches_inside(statement);
  if (switched && statement->getConditionVariable() != nullptr) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch in the scope of a variable that a condition declares; declare "
                 "it before the loop");
    return;
  }
  const unsigned head = flow_.add_after(at_);
  at_ = head;
  const Expanded expanded = expand_calls(statement->getCond());
  if (statement->getConditionVariableDeclStmt() != nullptr) {
    lower_declarations(statement->getConditionVariableDeclStmt(), false);
  }
  evaluate(statement->getCond());
  const unsigned after = flow_.add_after(at_);
  at_ = flow_.add_after(at_);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = head;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, head);
  at_ = after;
  test_inside(statement->getCond(), "1", expanded, statement->getBody());
  scope_.resize(scope);
}

void Function::lower_do(const clang::DoStmt* statement) {
  const size_t scope = scope_.size();
  const unsigned head = flow_.add_after(at_);
  const unsigned test = flow_.add();
  const unsigned after = flow_.add();
  at_ = head;
  // If statements compute the condition, a label before them is the target of `continue`.
  const bool computed = in_loop() && unit_.switches_inside(statement->getCond());
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = test;
  if (computed) target.continue_label = "gopt_again_" + std::to_string(frame_->number) + "_" + std::to_string(head);
  targets_.push_back(target);
  lower(statement->getBody());
  const std::string continue_label = targets_.back().continue_label;
  const bool continued = targets_.back().label_used;
  targets_.pop_back();
  flow_.link(at_, test);
  at_ = test;
  if (computed) {
    // The results must outlive the body's braces, because the condition is outside of them.
    const Expanded expanded = expand_calls(statement->getCond());
    const TokenRange body = unit_.tokens.statement(statement->getBody());
    frame_->text.insert_before(body.begin, "{ ");
    frame_->text.insert_after(body.end - 1,
                              (continued ? " " + continue_label + ":; " : " ") + expanded.computed + " }");
    wrap(statement, expanded.declared);
  }
  evaluate(statement->getCond());
  flow_.link(at_, head);
  flow_.link(at_, after);
  at_ = after;
  scope_.resize(scope);
}

void Function::lower_range_for(const clang::CXXForRangeStmt* statement) {
  if (in_loop() && unit_.switches_inside(statement)) {
    unit_.refuse(statement->getBeginLoc(),
                 "items switch in a loop over a range, whose iterators have no names; write it "
                 "as a for with an index");
    return;
  }
  const size_t scope = scope_.size();
  if (statement->getInit() != nullptr) lower(statement->getInit());
  evaluate(statement->getRangeInit());
  const unsigned head = flow_.add_after(at_);
  const unsigned after = flow_.add_after(head);
  at_ = flow_.add_after(head);
  const unsigned variable = add_variable(statement->getLoopVariable());
  write_name(variable);
  declare_in_scope(variable);
  flow_[at_].kills.push_back(variable);
  Target target;
  target.statement = statement;
  target.break_to = after;
  target.continue_to = head;
  targets_.push_back(target);
  lower(statement->getBody());
  targets_.pop_back();
  flow_.link(at_, head);
  at_ = after;
  scope_.resize(scope);
}

}  // namespace gopt
