#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/scenario/position.h"

namespace weir {

/// A YAML document as a tree that knows where each of its parts stands. A mapping names each key once; keys are text.
struct DocumentNode {
  enum class Kind { kNull, kScalar, kList, kMapping };
  Kind kind = Kind::kNull;
  std::string text;     ///< of a scalar
  bool quoted = false;  ///< a scalar in quotes is text, whatever it looks like
  bool oneLine = true;  ///< its text stands in the file as it is, from `at` (behind a quote): places in it can be told
  Position at;
  std::vector<DocumentNode> items;                                   ///< of a list
  std::vector<std::pair<DocumentNode, DocumentNode>> entries;        ///< of a mapping
};

/// Thrown inside the room by whatever reads a file, caught where the room is entered.
struct Refused {
  Error error;
};
[[noreturn]] void refuse(const Position& at, const std::string& sentence);

/// Throws Refused with the place of what is no YAML, a key that is there twice, or a document that is nested or multiplied beyond reason.
DocumentNode parseDocument(std::string_view text, const std::string& file);

/// "a mapping", "a list", "text"
std::string_view describe(const DocumentNode& node);

/// Reads the keys of one mapping: whoever knows a key takes it, what is left is an error that names the nearest word.
class MappingReader {
 public:
  /// `what`: "an operator", for messages. Throws Refused where `node` is no mapping.
  MappingReader(const DocumentNode& node, std::string what, std::vector<std::string> words);

  /// Null where it is not there. Requires: one of the words.
  const DocumentNode* find(std::string_view word) const;
  const DocumentNode& require(std::string_view word) const;
  const Position& at() const { return node_.at; }
  const DocumentNode& node() const { return node_; }

 private:
  const DocumentNode& node_;
  const std::string what_;
  const std::vector<std::string> words_;
};

/// ": did you mean 'x'?" or "; a, b and c are known".
std::string suggestion(const std::string& wanted, const std::vector<std::string>& words);

std::string readText(const DocumentNode& node, std::string_view what);
bool readBool(const DocumentNode& node, std::string_view what);
int64_t readInteger(const DocumentNode& node, std::string_view what, int64_t least, int64_t most);
double readNumber(const DocumentNode& node, std::string_view what);
/// Milliseconds: "500 ms", "1 d"; with a minus in front where `negative`.
int64_t readMillis(const DocumentNode& node, std::string_view what, bool negative = false);
/// Records a second: "6000/s", "100000/min", a number.
double readRate(const DocumentNode& node);
int64_t readBytes(const DocumentNode& node, std::string_view what);
/// One of `words`.
size_t readWord(const DocumentNode& node, std::string_view what, const std::vector<std::string>& words);
/// A scalar, or a list of them.
std::vector<const DocumentNode*> oneOrMany(const DocumentNode& node, std::string_view what);

}  // namespace weir
