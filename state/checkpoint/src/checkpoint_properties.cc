#include "weir/checkpoint/checkpoint_properties.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "weir/base/check.h"

namespace weir {

using namespace std::string_view_literals;

namespace {

// The stream up to the seven booleans: header, class description, its fields.
constexpr std::string_view kHead =
    "\xac\xed\0\x05sr\0\x38org.apache.flink.runtime.checkpoint.CheckpointProperties\0\0\0\0\0\0\0\x02\x02\0\x08"
    "Z\0\x10"
    "discardCancelledZ\0\x0d"
    "discardFailedZ\0\x0f"
    "discardFinishedZ\0\x0f"
    "discardSubsumedZ\0\x10"
    "discardSuspended"
    "Z\0\x06"
    "forcedZ\0\x09"
    "unclaimedL\0\x0e"
    "checkpointTypet\0\x32Lorg/apache/flink/runtime/checkpoint/SnapshotType;xp"sv;
// The empty class description of java.lang.Enum, and the start of an enum constant of a class.
constexpr std::string_view kEnumDescription = "\0\0\0\0\0\0\0\0\x12\0\0xr\0\x0ejava.lang.Enum\0\0\0\0\0\0\0\0\x12\0\0xp"sv;
constexpr std::string_view kEnumDescriptionAgain = "\0\0\0\0\0\0\0\0\x12\0\0xq\0~\0\x09"sv;

constexpr std::string_view kCheckpointType =
    "sr\0\x32org.apache.flink.runtime.checkpoint.CheckpointType\xd6\xdeO\x03\x05\xae\x1d:\x02\0\x02L\0\x04namet\0\x12Ljava/lang/String;"
    "L\0\x14sharingFilesStrategyt\0GLorg/apache/flink/runtime/checkpoint/SnapshotType$SharingFilesStrategy;xp"sv;
constexpr std::string_view kSharingStrategy = "~r\0\x45org.apache.flink.runtime.checkpoint.SnapshotType$SharingFilesStrategy"sv;

constexpr std::string_view kSavepointType =
    "sr\0\x31org.apache.flink.runtime.checkpoint.SavepointType\xa0\x87\xd3\x08\xa4X\x14\xb8\x02\0\x03L\0\x0a"
    "formatTypet\0\x35Lorg/apache/"
    "flink/core/execution/SavepointFormatType;L\0\x04namet\0\x12Ljava/lang/String;L\0\x14postCheckpointActiont\0HLorg/apache/flink/"
    "runtime/checkpoint/SavepointType$PostCheckpointAction;xp"sv;
constexpr std::string_view kFormatType = "~r\0\x33org.apache.flink.core.execution.SavepointFormatType"sv;
constexpr std::string_view kPostAction = "~r\0\x46org.apache.flink.runtime.checkpoint.SavepointType$PostCheckpointAction"sv;

std::string javaString(std::string_view text) {
  std::string bytes = "t";
  bytes += static_cast<char>(text.size() >> 8);
  bytes += static_cast<char>(text.size() & 0xff);
  return bytes += text;
}

/// What follows the booleans: the type and its fields.
std::string typeObject(SnapshotType type, SavepointFormat format) {
  std::string out;
  if (!isSavepoint(type)) {
    out += kCheckpointType;
    out += javaString(snapshotName(type));
    out += kSharingStrategy;
    out += kEnumDescription;
    return out += javaString(type == SnapshotType::kFullCheckpoint ? "FORWARD" : "FORWARD_BACKWARD");
  }
  out += kSavepointType;
  out += kFormatType;
  out += kEnumDescription;
  out += javaString(format == SavepointFormat::kCanonical ? "CANONICAL" : "NATIVE");
  out += javaString(snapshotName(type));
  out += kPostAction;
  out += kEnumDescriptionAgain;
  return out += javaString(type == SnapshotType::kSavepointTerminate ? "TERMINATE"
                           : type == SnapshotType::kSavepointSuspend ? "SUSPEND"
                                                                     : "NONE");
}

template <class P>
auto flagsOf(P& p) {
  return std::array{&p.discardCancelled, &p.discardFailed, &p.discardFinished, &p.discardSubsumed,
                    &p.discardSuspended, &p.forced,        &p.unclaimed};
}

}  // namespace

CheckpointProperties CheckpointProperties::forCheckpoint(SnapshotType type, Retention retention) {
  WEIR_CHECK(!isSavepoint(type));
  CheckpointProperties p;
  p.type = type;
  p.discardCancelled = retention != Retention::kRetainOnCancellation;
  p.discardFailed = retention == Retention::kNone;
  p.discardSuspended = retention != Retention::kRetainOnCancellation;
  return p;
}

CheckpointProperties CheckpointProperties::forSavepoint(SnapshotType type, SavepointFormat format) {
  WEIR_CHECK(isSavepoint(type));
  CheckpointProperties p;
  p.type = type;
  p.format = format;
  p.discardFinished = p.discardSubsumed = false;
  p.forced = true;
  return p;
}

std::vector<std::byte> CheckpointProperties::toJavaObject() const {
  std::string out(kHead);
  for (const bool* flag : flagsOf(*this)) out += *flag ? '\1' : '\0';
  out += typeObject(type, format);
  auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

std::optional<CheckpointProperties> CheckpointProperties::fromJavaObject(std::span<const std::byte> bytes) {
  std::string_view in(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CheckpointProperties p;
  auto flags = flagsOf(p);
  if (!in.starts_with(kHead) || in.size() < kHead.size() + flags.size()) return std::nullopt;
  in.remove_prefix(kHead.size());
  for (size_t i = 0; i < flags.size(); ++i) {
    if (static_cast<unsigned char>(in[i]) > 1) return std::nullopt;
    *flags[i] = in[i] != 0;
  }
  in.remove_prefix(flags.size());
  for (auto type : {SnapshotType::kCheckpoint, SnapshotType::kFullCheckpoint, SnapshotType::kSavepoint, SnapshotType::kSavepointSuspend,
                    SnapshotType::kSavepointTerminate}) {
    for (auto format : {SavepointFormat::kCanonical, SavepointFormat::kNative}) {
      if (in != typeObject(type, format)) continue;
      p.type = type;
      p.format = format;
      return p;
    }
  }
  return std::nullopt;
}

}  // namespace weir
