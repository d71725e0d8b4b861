#include "semantics/job_input.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include <zlib.h>

namespace weir::semantics {
namespace {

using Cells = std::map<std::string, std::string, std::less<>>;

/// Packed or not.
std::string contentOf(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot open " + path);
  std::string content, part(1 << 16, '\0');
  for (int n; (n = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0;) content.append(part, 0, static_cast<size_t>(n));
  gzclose(file);
  return content;
}

std::vector<std::string> linesOf(const std::string& file) {
  const std::string path = std::string(WEIR_DATA_DIR) + "/" + file;
  std::istringstream in(contentOf(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  if (lines.empty()) throw std::runtime_error("nothing in " + path);
  return lines;
}

std::vector<std::string> cellsOf(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

template <class Each>
void forEachRow(const std::string& file, const Each& each) {
  const auto lines = linesOf(file);
  const auto header = cellsOf(lines.front());
  Cells row;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = cellsOf(lines[i]);
    for (size_t c = 0; c < header.size() && c < cells.size(); ++c) row[header[c]] = cells[c];
    each(row);
  }
}

const std::string& engineOf(const std::string& tailnum) {
  static const std::string unknown = "UNKNOWN";
  static const auto engines = [] {
    std::map<std::string, std::string> all;
    forEachRow("planes.csv", [&](const Cells& row) { all[row.at("tailnum")] = row.at("engine"); });
    return all;
  }();
  const auto found = engines.find(tailnum);
  return found == engines.end() ? unknown : found->second;
}

/// `a+b` joins two fields with a dash.
std::string keyOf(const Cells& row, const std::string& key) {
  if (key == "engine") return engineOf(row.at("tailnum"));
  std::string joined;
  std::istringstream fields(key);
  for (std::string field; std::getline(fields, field, '+');) joined += (joined.empty() ? "" : "-") + row.at(field);
  return joined;
}

Value valueOf(const std::string& cell) {
  const bool number = cell.find_first_not_of("-0123456789") == cell.npos;
  return number ? Value(int64_t{std::stoll(cell)}) : Value(cell);
}

std::vector<InputRow> flights(const Json& input) {
  const std::string key = input.at("key"), value = input.at("value");
  std::vector<InputRow> rows;
  forEachRow(input.at("data"), [&](const Cells& row) {
    const std::string& cell = row.at(value);
    if (cell.empty()) return;
    InputRow& out = rows.emplace_back();
    out.timestamp = std::stoll(row.at("sched_ms"));
    out.item.key = keyOf(row, key);
    out.item.value = valueOf(cell);
  });
  return rows;
}

/// One row per word; a line begins with the verse, which is no part of the text. Its time is its number.
std::vector<InputRow> words(const Json& input) {
  std::vector<InputRow> rows;
  const auto lines = linesOf(input.at("data"));
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string word;
    const auto end = [&] {
      if (word.empty()) return;
      InputRow& out = rows.emplace_back();
      out.timestamp = static_cast<int64_t>(i);
      out.item.key = std::exchange(word, {});
      out.item.value = Value(int64_t{1});
    };
    for (size_t at = std::min(lines[i].find(' '), lines[i].size()); at < lines[i].size(); ++at) {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(lines[i][at])));
      if (c >= 'a' && c <= 'z')
        word += c;
      else
        end();
    }
    end();
  }
  return rows;
}

}  // namespace

std::shared_ptr<const std::vector<InputRow>> inputRows(const Json& input) {
  static std::map<std::string, std::shared_ptr<const std::vector<InputRow>>> known;
  auto& rows = known[input.dump()];
  if (!rows) rows = std::make_shared<const std::vector<InputRow>>(input.at("key") == "word" ? words(input) : flights(input));
  return rows;
}

}  // namespace weir::semantics
