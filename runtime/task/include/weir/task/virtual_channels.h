#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weir/record/record_deserializer.h"
#include "weir/record/stream_element.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// The channels of before a rescale that share one channel of now, while their in-flight data comes: each is a byte stream of its own, and
/// records begin and end in the middle of buffers, so that each has a deserializer. A SubtaskConnectionDescriptor in front of a buffer says
/// whose it is. Lives on its task.
///
/// Flink: DemultiplexingRecordDeserializer. Errors: a pair that cannot come here, data of nobody, and a record without its end are
/// Throwables: the checkpoint and the program do not fit.
class VirtualChannels {
 public:
  /// Of the channel with index `channel` in its gate; `name` is how errors call it.
  VirtualChannels(const InFlightRescaling& rescaling, int32_t channel, std::string name);

  /// The following buffers were in flight from `oldSender` to `oldSubtask` of this vertex.
  void select(int32_t oldSubtask, int32_t oldSender);
  RecordDeserializer& selected() const;
  /// Others get the same buffers: each record is for one of us.
  bool isAmbiguous() const { return selected_->ambiguous; }
  /// Of the selected one. The smallest of all, once each has one. Whether it is more than before is for the valve to see.
  std::optional<int64_t> inputWatermark(int64_t watermark);
  /// Idle where all are.
  WatermarkStatus inputStatus(WatermarkStatus status);
  /// All has come.
  void finish() const;

 private:
  struct Virtual {
    RecordDeserializer deserializer;
    bool ambiguous;
    std::optional<int64_t> watermark{};
    bool idle = false;
  };
  std::string name_;
  std::map<std::pair<int32_t, int32_t>, Virtual> channels_;  ///< by old subtask and old sender
  Virtual* selected_ = nullptr;
};

}  // namespace weir
