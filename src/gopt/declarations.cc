// SPDX-License-Identifier: Apache-2.0
//
// Rewrites declarations. A switch jumps over earlier declarations, which C++ allows only without initialisers. So each
// declaration is split into a declaration and an assignment, in C too. References become pointers, and constants become
// static.
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "function.h"

namespace gopt {
namespace {

/// Returns the type without const, also for the elements of an array.
clang::QualType without_const(const clang::ASTContext& ast, clang::QualType type) {
  if (type->isDependentType() && !type->isPointerType()) {
    type.removeLocalConst();
    return type;
  }
  if (type->isArrayType()) return ast.getUnqualifiedArrayType(type);
  if (!type.isConstQualified()) return type;
  clang::QualType bare = type;
  bare.removeLocalConst();
  if (bare.isConstQualified()) bare = type.getSingleStepDesugaredType(ast).getUnqualifiedType();
  return bare.isConstQualified() ? type.getCanonicalType().getUnqualifiedType() : bare;
}

/// Detects `bucket bucket = ...`: the name hides the type, so the type must be written out.
bool names_type_of(const clang::VarDecl* variable) {
  clang::QualType type = variable->getType();
  while (type->isArrayType()) type = type->getAsArrayTypeUnsafe()->getElementType();
  if (!type->isRecordType()) return false;
  const auto* named = type->getAs<clang::TypedefType>();
  if (named != nullptr) return named->getDecl()->getName() == variable->getName();
  const auto* written = type->getAs<clang::ElaboratedType>();
  const bool keyword = written != nullptr && written->getKeyword() != clang::ElaboratedTypeKeyword::None;
  return !keyword && type->getAsTagDecl()->getName() == variable->getName();
}

/// Returns true for a class whose variables can be declared without an initialiser and assigned later.
bool is_plain(const clang::CXXRecordDecl* record) {
  if (!record->hasTrivialDefaultConstructor() || !record->hasTrivialCopyAssignment()) return false;
  const auto is_closed = [](const clang::CXXMethodDecl* method) {
    return method->isDeleted() || method->getAccess() == clang::AS_private ||
           method->getAccess() == clang::AS_protected;
  };
  for (const clang::CXXConstructorDecl* constructor : record->ctors()) {
    if (constructor->isDefaultConstructor() && is_closed(constructor)) return false;
  }
  for (const clang::CXXMethodDecl* method : record->methods()) {
    if (method->isCopyAssignmentOperator() && is_closed(method)) return false;
  }
  for (const clang::CXXBaseSpecifier& base : record->bases()) {
    if (!is_plain(base.getType()->getAsCXXRecordDecl())) return false;
  }
  return llvm::all_of(record->fields(), [](const clang::FieldDecl* field) {
    const clang::QualType part = field->getType();
    const auto* inner = part->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
    return !part->isReferenceType() && !part.isConstQualified() && (inner == nullptr || is_plain(inner));
  });
}

bool is_constant(const clang::VarDecl* variable, clang::ASTContext& ast) {
  if (variable->isConstexpr()) return true;
  const clang::QualType type = ast.getBaseElementType(variable->getType());
  if (!type.isConstQualified() || type.isVolatileQualified() || !variable->hasInit()) return false;
  if (variable->getInit()->isValueDependent() || type->isDependentType()) return false;
  return variable->getInit()->isConstantInitializer(ast, false);
}

bool binds_temporary(const clang::VarDecl* variable) {
  const clang::Expr* init = variable->getInit();
  if (const auto* cleanups = llvm::dyn_cast_or_null<clang::ExprWithCleanups>(init)) init = cleanups->getSubExpr();
  return init != nullptr && llvm::isa<clang::MaterializeTemporaryExpr>(init);
}

}  // namespace

std::string Function::unique_name(const std::string& wanted) {
  std::string name = wanted;
  for (unsigned i = 2; taken_.count(name) != 0; ++i) name = wanted + "_" + std::to_string(i);
  taken_.insert(name);
  return name;
}

bool Function::name_in_scope(const std::string& name) const {
  for (const unsigned variable : scope_) {
    if (variables_[variable].name == name) return true;
  }
  for (const clang::ParmVarDecl* parameter : function_->parameters()) {
    if (parameter->getName() == name) return true;
  }
  return false;
}

unsigned Function::add_variable(const clang::VarDecl* declaration) {
  Variable variable;
  variable.declaration = declaration;
  variable.where = declaration->getLocation();
  variable.loop = loop_;
  const std::string written = declaration->getName().str();
  if (frame_->number > 0) {
    variable.name = unique_name((written.empty() ? "unnamed" : written) + "_" + std::to_string(frame_->number));
  } else if (in_loop() && (name_in_scope(written) || callee_names_.count(written) != 0 || names_type_of(declaration))) {
    variable.name = unique_name(written + "_0");
  } else {
    variable.name = written;
  }
  variable.type = declaration->getType();
  const auto number = static_cast<unsigned>(variables_.size());
  variables_.push_back(std::move(variable));
  frame_->variables[declaration] = number;
  return number;
}

/// Replaces the name in a declaration that otherwise stays unchanged.
void Function::write_name(unsigned number) {
  const Variable& variable = variables_[number];
  if (variable.name == variable.declaration->getName()) return;
  frame_->text.replace(unit_.tokens.range({variable.declaration->getLocation(), variable.declaration->getLocation()}),
                       variable.name);
}

void Function::declare_in_scope(unsigned variable) {
  scope_.push_back(variable);
}

/// Chooses the form of a variable whose scope contains switches.
void Function::choose_form(Variable& variable) {
  clang::QualType type = variable.type;
  if (type->isReferenceType()) {
    type = type->getPointeeType();
    if (variable.declaration != nullptr && binds_temporary(variable.declaration)) {
      variable.type = without_const(unit_.ast, type);
    } else {
      variable.form = Variable::Form::reference;
      variable.type = unit_.ast.getPointerType(type);
      return;
    }
  } else {
    variable.type = without_const(unit_.ast, type);
  }
  // A variable's block ends at a switch, but pointers to the variable must stay valid.
  const auto* function = variable.declaration != nullptr
                             ? llvm::dyn_cast<clang::FunctionDecl>(variable.declaration->getParentFunctionOrMethod())
                             : nullptr;
  const bool escapes = function != nullptr && unit_.escapes(variable.declaration, function);
  if (escapes || variable.type->isArrayType()) {
    variable.form = Variable::Form::hoisted;
    variable.name = unique_name(variable.name + "_kept");
  }
  box_class(variable);
}

/// Puts a variable of a class that is not plain into a union.
void Function::box_class(Variable& variable) {
  const auto* record = unit_.ast.getBaseElementType(variable.type)->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition() || record->isDependentContext()) return;
  if (!is_plain(record)) {
    if (variable.form == Variable::Form::plain) variable.name = unique_name(variable.name + "_kept");
    variable.form = Variable::Form::boxed;
  }
}

/// Refuses variables that cannot be stored while other items run. Returns true if the variable can be stored.
bool Function::check_storable(const Variable& variable) {
  const std::string name =
      "'" + (variable.declaration != nullptr ? variable.declaration->getNameAsString() : variable.name) + "'";
  const clang::QualType type = variable.type;
  if (const clang::AutoType* deduced = type->getContainedAutoType();
      deduced != nullptr && (deduced->getDeducedType().isNull() || deduced->isDependentType())) {
    unit_.refuse(variable.where, "items switch in the scope of " + name +
                                     ", whose type depends on the template's arguments; write the type");
    return false;
  }
  if (type->isVariablyModifiedType()) {
    unit_.refuse(variable.where, "items switch in the scope of " + name +
                                     ", whose size is not constant; give it a constant "
                                     "size, or a scope without g_expensive");
    return false;
  }
  const clang::QualType element = unit_.ast.getBaseElementType(type);
  if (const auto* record = element->getAsCXXRecordDecl(); record != nullptr && record->isLambda()) {
    unit_.refuse(variable.where, "items switch in the scope of " + name +
                                     ", a lambda, whose type has no name; write a "
                                     "function, or give it a scope without g_expensive");
    return false;
  }
  if (!element->isDependentType() && !element.isTriviallyCopyableType(unit_.ast)) {
    unit_.refuse(variable.where,
                 "items switch in the scope of " + name + ", of type '" + unit_.declare(type, "") +
                     "', which cannot be copied byte by byte; give it a scope without g_expensive, or keep a "
                     "pointer");
    return false;
  }
  if (type->isDependentType() && Unit::names_variable(type, true)) {
    unit_.refuse(variable.where, "items switch in the scope of " + name +
                                     ", whose type is written with a variable and depends on the template's "
                                     "arguments; write the type");
    return false;
  }
  const auto* tag = element->getAsTagDecl();
  if (tag != nullptr && tag->getIdentifier() == nullptr && tag->getTypedefNameForAnonDecl() == nullptr) {
    unit_.refuse(variable.where, "items switch in the scope of " + name + ", whose type has no name; name it");
    return false;
  }
  return true;
}

std::string Function::use_text(const Variable& variable) const {
  if (variable.is_index) return std::string(1, kIndexMark);
  if (variable.form == Variable::Form::reference) return "(*" + variable.name + ")";
  if (variable.form == Variable::Form::boxed) return variable.name + ".value";
  return variable.name;
}

std::string Function::declaration_text(unsigned number) {
  const Variable& variable = variables_[number];
  if (variable.form == Variable::Form::hoisted) {
    // A goto or a loop may lead back to a point before the initialisation, so the variable is also saved without a
    // value.
    const bool early =
        !unit_.is_cxx() && (variable.declaration == nullptr || Unit::has_label(frame_->function->getBody()));
    loops_[static_cast<size_t>(loop_)].types +=
        unit_.declare(variable.type, variable.name) + (early ? " = {0}" : "") + ";\n";
    return "";
  }
  if (variable.form == Variable::Form::boxed) {
    loops_[static_cast<size_t>(loop_)].types += "union gopt_" + variable.name + " { " +
                                                unit_.declare(variable.type, "value") + "; gopt_" + variable.name +
                                                "() {} } " + variable.name + ";\n";
    return "";
  }
  return unit_.declare(variable.type, variable.name) + ";";
}

/// Returns the tokens of an initialiser, from its =, ( or { on. Returns no tokens for a class that is
/// default-constructed. Reads the form from the tokens, because the tree of a template's variable may differ.
TokenRange Function::initialiser(const clang::VarDecl* declaration) const {
  const Tokens& tokens = unit_.tokens;
  // A declarator can continue after the name: int (*f)(int), a[3].
  const clang::SourceLocation declared = declaration->clang::DeclaratorDecl::getSourceRange().getEnd();
  unsigned open = tokens.last_at(declared) + 1;
  const auto behind = [&tokens](unsigned from, clang::tok::TokenKind kind) {
    return tokens.find({from, from + (1U << 16)}, kind) + 1;
  };
  const auto is_attribute = [&tokens](unsigned word) {
    return tokens.is(word, clang::tok::kw___attribute) || tokens.is(word, clang::tok::kw_alignas) ||
           tokens.is(word, clang::tok::kw__Alignas);
  };
  while (tokens.is(open, clang::tok::l_square) || is_attribute(open)) {
    open = tokens.is(open, clang::tok::l_square) ? behind(open + 1, clang::tok::r_square)
                                                 : behind(open + 2, clang::tok::r_paren);
  }
  if (tokens.is(open, clang::tok::equal)) return {open, tokens.last_at(declaration->getEndLoc()) + 1};
  if (tokens.is(open, clang::tok::semi) || tokens.is(open, clang::tok::comma)) return {open, open};
  if (tokens.is(open, clang::tok::l_paren)) return {open, behind(open + 1, clang::tok::r_paren)};
  if (tokens.is(open, clang::tok::l_brace)) return {open, behind(open + 1, clang::tok::r_brace)};
  unit_.refuse(declaration->getLocation(),
               "where this is initialised cannot be told; put the text after its name before it");
  return {open, open};
}

/// Returns the assignment that replaces the declaration's initialiser.
std::string Function::assignment_text(const Variable& variable, const clang::VarDecl* declaration) {
  if (!declaration->hasInit()) return "";
  const TokenRange tokens = initialiser(declaration);
  if (tokens.begin == tokens.end) {  // A class that is default-constructed.
    if (variable.form != Variable::Form::boxed) return "";
    return "{ " + unit_.declare(variable.type, "gopt_init") + "; __builtin_memcpy((void *)&" + use_text(variable) +
           ", &gopt_init, sizeof gopt_init); }";
  }
  const std::string init = frame_->text.render(tokens);
  const bool equals = unit_.tokens.is(tokens.begin, clang::tok::equal);
  const bool braced = !equals || unit_.tokens.is(tokens.begin + 1, clang::tok::l_brace);
  if (variable.form == Variable::Form::reference) {
    const unsigned in_braces = braced && unit_.tokens.is(tokens.end - 1, clang::tok::r_brace) ? 1 : 0;
    return variable.name + " = __builtin_addressof(" +
           frame_->text.render({tokens.begin + (equals ? 1 : 0) + in_braces, tokens.end - in_braces}) + ");";
  }
  const bool plain =
      variable.form != Variable::Form::boxed && !variable.type->isArrayType() && !variable.type->isRecordType();
  if (plain && !braced) return variable.name + " " + init + ";";
  const clang::QualType type = variable.type;
  const std::string first = "{ " + unit_.declare(type, "gopt_init") + (equals ? " " : "") + init + "; ";
  if (plain) return first + variable.name + " = gopt_init; }";
  return first + "__builtin_memcpy((void *)&" + use_text(variable) + ", &gopt_init, sizeof gopt_init); }";
}

void Function::hoist_type(const clang::TypeDecl* type, TokenRange range) {
  const auto [entry, is_new] = hoisted_.try_emplace(type->getNameAsString(), type);
  if (!is_new && entry->second == type) return;
  if (!is_new) {
    unit_.refuse(type->getLocation(), "two types named '" + type->getNameAsString() +
                                          "' in bodies of a foreach, where items "
                                          "switch in their scope; name them differently");
  }
  const clang::QualType meant = unit_.ast.getTypeDeclType(type);
  if (const auto* alias = meant->getAs<clang::TypedefType>();
      alias != nullptr && Unit::names_variable(alias->desugar())) {
    unit_.refuse(type->getLocation(), "items switch in the scope of '" + type->getNameAsString() +
                                          "', a type that is written with a variable; write what it is");
  }
  const std::string text = frame_->text.render(range);
  loops_[static_cast<size_t>(loop_)].types += text + (llvm::StringRef(text).ends_with(";") ? "\n" : ";\n");
}

/// Appends the rewritten form of one declared variable to `text`. Returns true if it differs from the source.
bool Function::lower_variable(const clang::VarDecl* declaration, bool switched, std::string& text) {
  if (declaration->hasExternalStorage()) return false;
  if (declaration->isStaticLocal()) {
    const clang::QualType type = unit_.ast.getBaseElementType(declaration->getType());
    const clang::Expr* init = declaration->getInit();
    const bool is_known = init == nullptr || init->isValueDependent() || declaration->hasConstantInitialization();
    const bool constant = declaration->isConstexpr() || (type.isConstQualified() && is_known);
    if (!constant && (in_loop() || frame_->number > 0)) {
      unit_.refuse(declaration->getLocation(), "a static variable makes one item depend on another; remove static");
    }
    return false;
  }
  const bool constant = switched && is_constant(declaration, unit_.ast);
  if (declaration->hasInit()) evaluate(declaration->getInit());
  const unsigned number = add_variable(declaration);
  Variable& variable = variables_[number];
  if (constant) variable.loop = -1;
  declare_in_scope(number);
  at_ = flow_.add_after(at_);
  variable.declared_at = at_;
  flow_[at_].kills.push_back(number);
  flow_[at_].changes.push_back(number);
  if (llvm::isa<clang::DecompositionDecl>(declaration) && switched) {
    unit_.refuse(declaration->getLocation(),
                 "items switch in the scope of a structured binding, whose variable has no "
                 "name; bind the parts one by one");
    return false;
  }
  const clang::ASTContext& ast = unit_.ast;
  if (constant) {
    text +=
        std::string(text.empty() ? "" : " ") + "static " + (declaration->isConstexpr() ? "constexpr " : "") +
        unit_.declare(declaration->isConstexpr() ? without_const(ast, declaration->getType()) : declaration->getType(),
                      variable.name) +
        " " + frame_->text.render(initialiser(declaration)) + ";";
    return true;
  }
  if (!switched) {
    rename_mentions_in_type(declaration);
    write_name(number);
    return false;
  }
  if (in_loop() && !check_temporaries(declaration)) return false;
  const bool was_const = ast.getBaseElementType(declaration->getType()).isConstQualified();
  choose_form(variable);
  variable.split = true;
  if (!check_storable(variable)) return false;
  const std::string declared = declaration_text(number);
  const std::string assigned = assignment_text(variable, declaration);
  text += (text.empty() ? "" : " ") + declared + (declared.empty() || assigned.empty() ? "" : " ") + assigned;
  if (assigned.empty()) text += "\x03Z" + std::to_string(number) + "\x04";
  const bool is_same = variable.name == declaration->getName() && variable.form == Variable::Form::plain;
  return was_const || !is_same || !assigned.empty();
}

void Function::lower_declarations(const clang::DeclStmt* statement, bool switched) {
  const TokenRange range = unit_.tokens.statement(statement);
  Expanded expanded;
  std::string text;
  bool changed = false;
  bool only_variables = true;
  std::string without_initialiser;
  for (const clang::Decl* declaration : statement->decls()) {
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration)) {
      if (variable->hasInit() && in_loop() && unit_.switches_inside(variable->getInit())) {
        if (!statement->isSingleDecl()) {
          unit_.refuse(variable->getLocation(),
                       "a call that is expanded must initialise the only variable of a declaration; "
                       "declare '" +
                           variable->getNameAsString() + "' by itself");
          return;
        }
        expanded = expand_calls(variable->getInit());
      }
      changed |= lower_variable(variable, switched, text);
      if (!variable->hasInit() && variable->hasLocalStorage()) {
        without_initialiser += "\x03Z" + std::to_string(frame_->variables[variable]) + "\x04";
      }
      continue;
    }
    if (const auto* type = llvm::dyn_cast<clang::TypeDecl>(declaration); type != nullptr && switched && in_loop()) {
      const bool alone = statement->isSingleDecl();
      only_variables = only_variables && !alone;
      if (alone) {
        hoist_type(type, range);
        frame_->text.replace(range, "");
      } else if (type->getIdentifier() != nullptr) {
        hoist_type(type, unit_.tokens.range(type->getSourceRange()));
        changed = true;
      }
    } else {
      only_variables = false;
    }
  }
  if (only_variables && changed && !text.empty()) {
    frame_->text.replace(range, text);
  } else if (switched && !without_initialiser.empty()) {
    frame_->text.insert_after(range.end - 1, without_initialiser);
  }
  if (!expanded.empty())
    frame_->text.insert_before(range.begin, expanded.all() + "\n" + indent_at(statement->getBeginLoc()));
}

/// Moves a loop's own variables before it if items switch in the loop. Returns the text of the moved declarations.
std::string Function::lower_for_declarations(const clang::ForStmt* statement) {
  const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(statement->getInit());
  if (init == nullptr) {
    if (statement->getInit() == nullptr) return "";
    const auto* expression = llvm::cast<clang::Expr>(statement->getInit());
    const Expanded expanded = expand_calls(expression);
    evaluate(expression);
    return expanded.all();
  }
  const bool inside = unit_.switches_inside(statement->getBody()) || unit_.switches_inside(statement->getCond());
  const bool switched = in_loop() && inside;
  const TokenRange range = unit_.tokens.statement(init);
  lower_declarations(init, switched);
  std::string text = frame_->text.render(range);
  const bool moves =
      switched || (in_loop() && unit_.switches_inside(init)) || text.find_first_of("\x03{") != std::string::npos;
  if (!moves) return "";
  frame_->text.replace(range, ";");
  return text;
}

}  // namespace gopt
