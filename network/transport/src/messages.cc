#include "weir/transport/messages.h"

namespace weir {
namespace {

constexpr size_t kHeader = 9, kId = 16, kInt = 4;
constexpr size_t kBufferHeader = 38;  ///< in front of the payload of a BufferResponse
constexpr size_t kPartition = 20, kAttempt = 40, kSubpartitions = 8;

struct BodySize {
  size_t operator()(const BufferResponse& m) const { return kBufferHeader + m.buffer.size(); }
  size_t operator()(const ErrorResponse& m) const { return 1 + (m.receiver ? kId : 0) + m.cause->trace().size(); }
  size_t operator()(const BacklogAnnouncement&) const { return kInt + kId; }
  size_t operator()(const PartitionRequest&) const { return kPartition + kAttempt + kSubpartitions + kId + kInt; }
  size_t operator()(const AddCredit&) const { return kInt + kId; }
  size_t operator()(const ResumeConsumption&) const { return kId; }
  size_t operator()(const AckAllUserRecordsProcessed&) const { return kId; }
  size_t operator()(const NewBufferSize&) const { return kInt + kId; }
  size_t operator()(const CancelPartitionRequest&) const { return kId; }
  size_t operator()(const CloseRequest&) const { return 0; }
};

}  // namespace

std::string_view nameOf(const NetworkMessage& message) {
  static constexpr std::string_view kNames[] = {"BufferResponse", "ErrorResponse",     "BacklogAnnouncement",        "PartitionRequest",
                                                "AddCredit",      "ResumeConsumption", "AckAllUserRecordsProcessed", "NewBufferSize",
                                                "CancelPartitionRequest", "CloseRequest"};
  static_assert(std::size(kNames) == std::variant_size_v<NetworkMessage>);
  return kNames[message.index()];
}

size_t frameSize(const NetworkMessage& message) { return kHeader + std::visit(BodySize{}, message); }

}  // namespace weir
