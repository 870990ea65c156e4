package board

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// What follows are messages of tensorboard/plugins/hparams: SessionStartInfo and
// SessionEndInfo of plugin_data.proto, as fields of HParamsPluginData.

const hparams = "hparams"

// begins is the summary of the settings that a session has.
func begins(settings map[string]string, at float64) value {
	var start []byte
	for _, path := range slices.Sorted(maps.Keys(settings)) {
		entry := appendBytes(nil, 1, []byte(path))
		start = appendBytes(start, 1, appendBytes(entry, 2, valueOf(settings[path])))
	}
	start = appendDouble(start, 5, at)
	return plugin("_hparams_/session_start_info", hparams, appendBytes(nil, 3, start))
}

// ends is the summary of a session's end.
func ends(at float64, well bool) value {
	status := 1 // STATUS_SUCCESS
	if !well {
		status = 2 // STATUS_FAILURE
	}
	end := appendDouble(appendInt(nil, 1, status), 2, at)
	return plugin("_hparams_/session_end_info", hparams, appendBytes(nil, 4, end))
}

// valueOf is a setting as a google.protobuf.Value: a number or a switch where it is one,
// else its text.
func valueOf(setting string) []byte {
	number, err := strconv.ParseFloat(setting, 64)
	switch {
	case err == nil && !math.IsNaN(number) && !math.IsInf(number, 0):
		return appendDouble(nil, 2, number)
	case setting == "true":
		return appendInt(nil, 4, 1)
	case setting == "false":
		return appendInt(nil, 4, 0)
	}
	return appendBytes(nil, 3, []byte(setting))
}
