// What must not compile, and what the compiler must say. See run.cmake.
#include "weir/exchange/key_groups.h"
#include "weir/record/stream_element.h"

enum class Colour { kRed };
struct NoFields {
  int x = 0;
};
struct WithEnum {
  int32_t x = 0;
  Colour colour = Colour::kRed;
  WEIR_FIELDS(x, colour)
};

template <class T>
void send() {
  weir::DataOutput out;
  weir::writeFramed(out, weir::StreamRecord<T>());
}
template <class K>
int32_t group() {
  return weir::assignToKeyGroup(K{}, 128);
}

void compiles() {
  send<std::pair<std::string, int64_t>>();
  group<std::string>();
}

// CASE SEND_POINTER: Weir cannot serialize this type: use
// CASE SEND_STRUCT_WITHOUT_FIELDS: Weir cannot serialize this type: use
// CASE SEND_STRUCT_WITH_ENUM: Weir cannot serialize this type: use
// CASE SEND_UNSIGNED: Weir cannot serialize this type: use
// CASE KEY_ARRAY: Weir cannot key a stream by this type: use
// CASE KEY_ENUM: Weir cannot key a stream by this type: use
// CASE KEY_LIST_IN_TUPLE: Weir cannot key a stream by this type: use
#if defined(SEND_POINTER)
template void send<const char*>();
#elif defined(SEND_STRUCT_WITHOUT_FIELDS)
template void send<NoFields>();
#elif defined(SEND_STRUCT_WITH_ENUM)
template void send<WithEnum>();
#elif defined(SEND_UNSIGNED)
template void send<uint64_t>();
#elif defined(KEY_ARRAY)
template int32_t group<std::vector<uint8_t>>();
#elif defined(KEY_ENUM)
template int32_t group<Colour>();
#elif defined(KEY_LIST_IN_TUPLE)
template int32_t group<std::tuple<int32_t, std::vector<int32_t>>>();
#endif
