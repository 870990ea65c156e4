package board

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// The messages of tensorboard/plugins/hparams: SessionStartInfo and SessionEndInfo of
// plugin_data.proto, as fields of HParamsPluginData.

const hparams = "hparams"

// begins is the summary with a session's settings.
func begins(settings map[string]string, at float64) value {
	var start message
	for _, path := range slices.Sorted(maps.Keys(settings)) {
		start = start.Bytes(1, message{}.Text(1, path).Bytes(2, valueOf(settings[path])))
	}
	return plugin("_hparams_/session_start_info", hparams, message{}.Bytes(3, start.Double(5, at)))
}

// ends is the summary of a session's end.
func ends(at float64, well bool) value {
	status := 1 // STATUS_SUCCESS
	if !well {
		status = 2 // STATUS_FAILURE
	}
	end := message{}.Int(1, status).Double(2, at)
	return plugin("_hparams_/session_end_info", hparams, message{}.Bytes(4, end))
}

// valueOf encodes a setting as a google.protobuf.Value: a number or a bool if it is one, else
// text.
func valueOf(setting string) message {
	number, err := strconv.ParseFloat(setting, 64)
	switch {
	case err == nil && !math.IsNaN(number) && !math.IsInf(number, 0):
		return message{}.Double(2, number)
	case setting == "true":
		return message{}.Int(4, 1)
	case setting == "false":
		return message{}.Int(4, 0)
	}
	return message{}.Text(3, setting)
}
