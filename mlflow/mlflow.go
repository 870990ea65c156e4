// Package mlflow tells an MLflow tracking server of runs: their settings as parameters, their
// reports as metrics, by the REST interface, version 2.0. It reads what a run directory has,
// and keeps there how far it is told of, so a run may be sent while it is trained, in the end,
// or years later. Packages runtime/record and runtime/track, whose files these are, come
// before it; the command mlc calls it.
package mlflow

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// A Server is where runs are told of, and who asks.
type Server struct {
	URI        string // http:// or https://
	Experiment string // "": that of a run's name
	Token      string // of a bearer, or:
	User       string
	Password   string
}

// FromEnvironment is the server that MLflow's own variables name, nil if none does.
func FromEnvironment() (*Server, error) {
	uri := os.Getenv("MLFLOW_TRACKING_URI")
	if uri == "" {
		return nil, nil
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("MLFLOW_TRACKING_URI is %q: want the address of a server, such as http://localhost:5000; for a folder, start mlflow server on it, or unset the variable", redacted(uri, u))
	}
	s := &Server{Experiment: os.Getenv("MLFLOW_EXPERIMENT_NAME"), Token: os.Getenv("MLFLOW_TRACKING_TOKEN"), User: os.Getenv("MLFLOW_TRACKING_USERNAME"), Password: os.Getenv("MLFLOW_TRACKING_PASSWORD")}
	if u.User != nil { // which no file and no message is to have
		s.User = u.User.Username()
		s.Password, _ = u.User.Password()
		u.User = nil
	}
	s.URI = strings.TrimSuffix(u.String(), "/")
	return s, nil
}

// redacted is an address without its password.
func redacted(uri string, u *url.URL) string {
	if u == nil {
		return uri
	}
	return u.Redacted()
}
