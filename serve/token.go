package serve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// tokenName is the name of the token in addresses.
const tokenName = "token"

// newToken returns a secret of 32 random bytes, written for addresses.
func newToken() string {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// Address returns the address of the list of runs with the token. base is an address such
// as http://127.0.0.1:7177. The holder of the address may read all runs and start builds.
func (s *Server) Address(base string) string {
	return base + "/?" + url.Values{tokenName: {s.token}}.Encode()
}

// cookieName is the name of the cookie with the token. Browsers send cookies to all ports
// of a machine, so the name contains the port.
func cookieName(r *http.Request) string {
	port := ""
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(a.String())
	}
	return "mlc-" + port
}

// is compares a text with the token in constant time.
func (s *Server) is(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.token)) == 1
}

// enters handles a request with the token in its address, and reports whether it has one.
// The answer sets a cookie with the token, and its page leads to the address without the
// token, so the address bar and the history hold no key. A redirect would not work: when
// the owner comes from another site, for example from a file that opens the address, the
// browser would follow it without the cookie.
func (s *Server) enters(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if r.Method != http.MethodGet || !s.is(query.Get(tokenName)) {
		return false
	}
	query.Del(tokenName)
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	text, err := render("enter", to.RequestURI())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(text))
	return true
}

// known reports whether a request has the cookie with the token.
func (s *Server) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && s.is(c.Value)
}

// stranger is the answer to a request without the token.
const stranger = "Only the user who started mlc serve may see these pages. Open the address that it printed in its terminal, with token=… in it."
