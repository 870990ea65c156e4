// Package mlflow sends runs to an MLflow tracking server: their settings as parameters and
// their reports as metrics, through the REST interface, version 2.0. It reads a run
// directory and records there how much it has sent, so a run may be sent during training,
// after it, or years later. Packages runtime/record and runtime/track, which define these
// files, come before it; the command mlc calls it.
package mlflow

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// A Server is the address of a tracking server, with credentials.
type Server struct {
	URI        string // http:// or https://
	Experiment string // "": the name of the run
	Token      string // bearer token; if empty, User and Password are used
	User       string
	Password   string
}

// FromEnvironment returns the server that MLflow's own variables name, or nil if
// MLFLOW_TRACKING_URI is unset. It returns an error if that is no http address.
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
	if u.User != nil { // keep the password out of files and messages
		s.User = u.User.Username()
		s.Password, _ = u.User.Password()
		u.User = nil
	}
	s.URI = strings.TrimSuffix(u.String(), "/")
	return s, nil
}

// redacted returns an address without its password.
func redacted(uri string, u *url.URL) string {
	if u == nil {
		return uri
	}
	return u.Redacted()
}
