#include <nlohmann/json.hpp>
#include <ostream>

#include "inspect_report.h"

namespace weir {

namespace {

using Json = nlohmann::ordered_json;

/// What a value printed: JSON itself, or nothing.
Json parsed(const std::string& text) {
  if (text.empty()) return nullptr;
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Json toJson(const InspectedSubtask& subtask) {
  Json json{{"subtask", subtask.index}, {"finished", subtask.finished}};
  if (subtask.keyGroups.size() > 0) json["key-groups"] = {subtask.keyGroups.first, subtask.keyGroups.last};
  json["managed-operator-bytes"] = subtask.managedOperator;
  json["raw-operator-bytes"] = subtask.rawOperator;
  json["managed-keyed-bytes"] = subtask.managedKeyed;
  json["raw-keyed-bytes"] = subtask.rawKeyed;
  json["input-channel-bytes"] = subtask.inputChannels;
  json["output-channel-bytes"] = subtask.outputChannels;
  return json;
}

Json toJson(const InspectedState& state) {
  Json json{{"name", state.name}, {"kind", state.kind}, {"type", state.type}};
  json["entries"] = state.entries ? Json(*state.entries) : Json(nullptr);
  json["bytes"] = state.entries ? Json(state.bytes) : Json(nullptr);
  json["examples"] = Json::array();
  for (const auto& entry : state.examples) {
    Json one{{"subtask", entry.subtask}, {"key", parsed(entry.key)}, {"namespace", parsed(entry.nameSpace)}};
    if (entry.timestamp)
      one["timestamp"] = *entry.timestamp;
    else
      one["value"] = parsed(entry.value);
    json["examples"].push_back(std::move(one));
  }
  return json;
}

Json toJson(const InspectedOperator& op) {
  Json json{{"name", op.name},
            {"uid", op.uid},
            {"id", op.id},
            {"parallelism", op.parallelism},
            {"max-parallelism", op.maxParallelism},
            {"fully-finished", op.fullyFinished},
            {"state-bytes", op.total()},
            {"coordinator-bytes", op.coordinatorBytes},
            {"key-type", op.keyType},
            {"keys", op.keys},
            {"subtasks", Json::array()},
            {"states", Json::array()},
            {"key-group-bytes", op.keyGroupBytes},
            {"heaviest-keys", Json::array()},
            {"channels", Json::array()},
            {"not-decoded", op.notDecoded}};
  for (const auto& subtask : op.subtasks) json["subtasks"].push_back(toJson(subtask));
  for (const auto& state : op.states) json["states"].push_back(toJson(state));
  for (const auto& key : op.heaviestKeys)
    json["heaviest-keys"].push_back(Json{
        {"key", parsed(key.key)}, {"key-group", key.keyGroup}, {"subtask", key.subtask}, {"entries", key.entries}, {"bytes", key.bytes}});
  for (const auto& channel : op.channels)
    json["channels"].push_back(Json{{"direction", channel.isOutput ? "output" : "input"},
                                    {"subtask", channel.subtask},
                                    {channel.isOutput ? "partition" : "gate", channel.gateOrPartition},
                                    {channel.isOutput ? "subpartition" : "channel", channel.channel},
                                    {"buffers", channel.buffers},
                                    {"bytes", channel.bytes}});
  return json;
}

}  // namespace

void printInspectionJson(std::ostream& out, const CheckpointInspection& inspection) {
  Json json{{"folder", inspection.folder}, {"checkpoint-id", inspection.checkpointId}};
  if (inspection.properties) {
    json["savepoint"] = isSavepoint(inspection.properties->type);
    if (isSavepoint(inspection.properties->type))
      json["format"] = inspection.properties->format == SavepointFormat::kCanonical ? "CANONICAL" : "NATIVE";
  }
  json["state-bytes"] = inspection.stateSize();
  json["bytes-on-disk"] = inspection.sizeOnDisk();
  json["operators"] = Json::array();
  for (const auto& op : inspection.operators) json["operators"].push_back(toJson(op));
  json["files"] = Json::array();
  for (const auto& file : inspection.files) {
    json["files"].push_back(Json{{"path", file.path}, {"bytes", file.size}, {"shared", file.isShared}});
    json["files"].back()["found-as"] = file.sizeOnDisk ? Json(file.foundAs) : Json(nullptr);
    json["files"].back()["bytes-on-disk"] = file.sizeOnDisk ? Json(*file.sizeOnDisk) : Json(nullptr);
  }
  out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace weir
