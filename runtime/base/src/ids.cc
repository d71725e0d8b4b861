#include "weir/base/ids.h"

namespace weir {

template <class Tag>
std::string Id<Tag>::toString() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

template <class Tag>
Id<Tag> Id<Tag>::of(uint64_t first, uint64_t second) {
  Id id;
  for (int i = 0; i < 8; ++i) {
    id.bytes[i] = static_cast<uint8_t>(first >> (56 - 8 * i));
    id.bytes[8 + i] = static_cast<uint8_t>(second >> (56 - 8 * i));
  }
  return id;
}

template <class Tag>
Id<Tag> Id<Tag>::random(Random& random) {
  const uint64_t first = random.next();
  return of(first, random.next());
}

template <class Tag>
Result<Id<Tag>> Id<Tag>::parse(std::string_view hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  Id id;
  bool good = hex.size() == 32;
  for (size_t i = 0; good && i < 16; ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    id.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (!good) return Error{ErrorCode::kInvalidArgument, "'" + std::string(hex) + "' is not an id: 32 hex digits are expected"};
  return id;
}

template struct Id<JobIDTag>;
template struct Id<JobVertexIDTag>;
template struct Id<OperatorIDTag>;
template struct Id<ExecutionGraphIDTag>;
template struct Id<IntermediateDataSetIDTag>;
template struct Id<InputChannelIDTag>;
template struct Id<AllocationIDTag>;

std::string ExecutionAttemptID::toString() const {
  return graph.toString() + "_" + vertex.toString() + "_" + std::to_string(subtask) + "_" + std::to_string(attempt);
}

std::string PartitionID::toString() const { return dataSet.toString() + "#" + std::to_string(partition); }

}  // namespace weir
