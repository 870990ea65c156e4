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

// tokenName is what the token is called in addresses.
const tokenName = "token"

// newToken is a secret of 32 random bytes that an address may have in it.
func newToken() string {
	secret := make([]byte, 32)
	rand.Read(secret) // it never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// Address is the address of the list of runs for whoever has started the server, at a base
// such as http://127.0.0.1:7177. Whoever has it may read all runs and start builds.
func (s *Server) Address(base string) string {
	return base + "/?" + url.Values{tokenName: {s.token}}.Encode()
}

// cookieName is the name of the cookie with the token. Browsers send cookies to all ports of a
// machine, so that servers at two ports have two names.
func cookieName(r *http.Request) string {
	port := ""
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, port, _ = net.SplitHostPort(a.String())
	}
	return "mlc-" + port
}

// is says whether a text is the token, in a time that does not say how much of it is.
func (s *Server) is(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.token)) == 1
}

// enters says whether a request has the token in its address. It is answered by a cookie with
// the token, and a page that leads to the address without it: what the owner copies or sees in
// the history is no key. A redirect would not do. Where the owner comes from another site, as
// from a file that opens the address, a browser follows it without the cookie.
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

// known says whether a request has the cookie of the token.
func (s *Server) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && s.is(c.Value)
}

// stranger is what a request without the token is told.
const stranger = "These pages are for whoever has started mlc serve. Open the address that it has printed in its terminal, with token=… in it."
