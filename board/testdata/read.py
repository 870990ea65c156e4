"""Prints what TensorBoard finds in each of some folders, as JSON."""
import json
import struct
import sys

from google.protobuf import json_format
from tensorboard.backend.event_processing.event_accumulator import IMAGES, SCALARS, EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2


def size_of(png):
    return list(struct.unpack(">II", png[16:24]))


def read(folder):
    found = EventAccumulator(folder, size_guidance={SCALARS: 0, IMAGES: 0})
    found.Reload()
    try:
        plugin = found.PluginTagToContent("hparams")
    except KeyError:
        plugin = {}
    return {
        "scalars": {tag: [[e.wall_time, e.step, e.value] for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]},
        "images": {tag: [[e.step, e.width, e.height, *size_of(e.encoded_image_string)] for e in found.Images(tag)] for tag in found.Tags()["images"]},
        "hparams": {tag: json_format.MessageToDict(plugin_data_pb2.HParamsPluginData.FromString(text), preserving_proto_field_name=True)
                    for tag, text in plugin.items()},
    }


print(json.dumps([read(folder) for folder in sys.argv[1:]]))
