#pragma once

#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir {

class DataInput;
class DataOutput;

/// What a state file says about the serializer of its values: the name of Flink's snapshot class, its version, and the same of
/// the nested ones. A restore compares it with the serializer at hand.
///
/// Flink: TypeSerializerSnapshot. Differs: known classes only; any other (a POJO's, Kryo's) is refused by name, since where its
/// body ends is not known.
struct SerializerSnapshot {
  std::string className;
  /// What a composite one says besides its parts: the class of a tuple, the padding of a nullable one. Else empty.
  std::string detail;
  std::vector<SerializerSnapshot> nested;

  bool operator==(const SerializerSnapshot&) const = default;
  /// "Tuple2(String, Long)", for messages.
  std::string toString() const;

  static SerializerSnapshot simple(std::string className);
  static SerializerSnapshot list(SerializerSnapshot element);
  static SerializerSnapshot map(SerializerSnapshot key, SerializerSnapshot value);
  static SerializerSnapshot nullable(SerializerSnapshot value);
  static SerializerSnapshot tuple(std::vector<SerializerSnapshot> fields);
  /// Of a value with a time to live: when it was last touched, and the value.
  static SerializerSnapshot ttl(SerializerSnapshot value);
  /// Of a timer: its timestamp goes without saying.
  static SerializerSnapshot timer(SerializerSnapshot key, SerializerSnapshot nameSpace);

  /// Class name, version and body: what stands inside another snapshot.
  void writeTo(DataOutput& out) const;
  static Result<SerializerSnapshot> readFrom(DataInput& in);
  /// The same behind the format's version (2), as the meta data of a state has it.
  void writeVersioned(DataOutput& out) const;
  static Result<SerializerSnapshot> readVersioned(DataInput& in);
};

}  // namespace weir
