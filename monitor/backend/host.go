package backend

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// DefaultServer is where Ollama listens when OLLAMA_HOST is not set.
const DefaultServer = "http://127.0.0.1:11434"

// ErrAddress is wrapped by every error of ParseHost.
var ErrAddress = errors.New("not a server address")

// ParseHost turns any form of OLLAMA_HOST into the base URL a client contacts.
// The forms are those of Ollama itself (envconfig.Host of v0.17.4): a host, a
// port, both, or a URL, in quotes or not; port 11434 without a scheme, 80 and
// 443 with one. Beyond that, addresses that only a server can use mean this
// machine: 0.0.0.0 is contacted at 127.0.0.1, [::] at [::1]. Where Ollama would
// quietly take its default for a bad port, the answer is an error that wraps
// ErrAddress. User and password stay in the URL, but never get into an error.
func ParseHost(s string) (*url.URL, error) {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "ollama.com") { // the one name that means https without saying so
		s = "https://ollama.com"
	}
	scheme, rest, explicit := strings.Cut(s, "://")
	if !explicit {
		scheme, rest = "http", s
	}
	u := &url.URL{Scheme: strings.ToLower(scheme)}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" {
		return nil, addressError("%q is no scheme of a model server; use http:// or https://", scheme)
	}
	if !explicit {
		port = "11434"
	}
	rest, path, _ := strings.Cut(rest, "/")
	plain, err := url.PathUnescape(strings.Trim(path, "/"))
	if err != nil {
		return nil, addressError("its path cannot be read")
	}
	if plain = strings.Trim(plain, "/"); plain != "" {
		u.Path = "/" + plain
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		u.User = parseUser(rest[:i])
		rest = rest[i+1:]
	}
	if strings.ContainsAny(rest+path, "?#") {
		return nil, addressError("a query or fragment has no place in it")
	}
	host, given, err := splitPort(rest)
	if err != nil {
		return nil, beyond(path, err)
	}
	if word := strings.ToLower(host); !explicit && (word == "http" || word == "https") {
		return nil, addressError("%q is the beginning of a URL; write %s://", host, word)
	}
	if given != "" {
		port = given
	}
	if host, err = client(host); err != nil {
		return nil, beyond(path, err)
	}
	u.Host = net.JoinHostPort(host, port)
	return u, nil
}

// beyond is the error for a host that cannot be one. With an @ after the first
// slash it is the beginning of a user or password, which no error shows.
func beyond(path string, err error) error {
	if strings.Contains(path, "@") {
		return addressError("a slash in a user or password is written %%2F")
	}
	return err
}

// WithoutUser is an address without what stands before its last @, for showing
// one that ParseHost refuses.
func WithoutUser(address string) string {
	i := strings.LastIndexByte(address, '@')
	if i < 0 {
		return address
	}
	scheme, _, explicit := strings.Cut(address[:i], "://")
	if !explicit {
		return address[i+1:]
	}
	return scheme + "://" + address[i+1:]
}

func addressError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAddress, fmt.Sprintf(format, args...))
}

func parseUser(s string) *url.Userinfo {
	name, password, has := strings.Cut(s, ":")
	unescape := func(s string) string {
		if plain, err := url.PathUnescape(s); err == nil {
			return plain
		}
		return s
	}
	if !has {
		return url.User(unescape(name))
	}
	return url.UserPassword(unescape(name), unescape(password))
}

// splitPort parts host and port, both of which may be empty. An IPv6 address may
// stand without brackets when no port follows.
func splitPort(s string) (host, port string, err error) {
	bare := strings.Replace(s, "%25", "%", 1) // a zone, as URLs write it
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = bare[1 : len(bare)-1]
	}
	if _, err := netip.ParseAddr(bare); err == nil {
		return bare, "", nil
	}
	if !strings.Contains(s, ":") {
		return s, "", nil
	}
	host, port, err = net.SplitHostPort(s)
	if err != nil {
		return "", "", addressError("%s", err)
	}
	if port == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", addressError("%q is no port; ports are 1 to 65535", port)
	}
	return host, strconv.FormatUint(n, 10), nil
}

// client is the host that a client contacts to reach a server that listens on
// host.
func client(host string) (string, error) {
	if host == "" {
		return "127.0.0.1", nil
	}
	if ip, err := netip.ParseAddr(strings.Replace(host, "%25", "%", 1)); err == nil {
		if !plainName(ip.Zone()) || strings.ContainsFunc(ip.Zone(), func(r rune) bool { return r > unicode.MaxASCII }) {
			return "", addressError("%q is no network interface", ip.Zone())
		}
		switch ip.Unmap() {
		case netip.IPv4Unspecified():
			return "127.0.0.1", nil
		case netip.IPv6Unspecified():
			return "::1", nil
		}
		return ip.String(), nil
	}
	if decoded, err := url.PathUnescape(host); err == nil { // as URLs write other scripts
		host = decoded
	}
	if !plainName(host) {
		return "", addressError("%q is no host name", host)
	}
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	if _, err := strconv.Atoi(strings.TrimSuffix(last, ".")); err == nil {
		if strings.Contains(host, ".") {
			return "", addressError("%q is no IP address", host)
		}
		return "", addressError("%q is no host name; a port is written :%s", host, host)
	}
	return host, nil
}

// plainName tells whether a name holds nothing that a URL would give a meaning.
func plainName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._", r)
	})
}

// loopback tells whether a host is this machine and none other.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().WithZone("").IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// Nearby tells whether a server is on this machine or in its own network, so that
// no proxy stands between.
func Nearby(server *url.URL) bool { return local(server.Hostname()) }

// local tells whether a host is this machine or near it: loopback, a private or
// link-local address, an address of a carrier's or a VPN's own net (100.64/10),
// or a name that only a local network can know. Proxies are for the others.
func local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap().WithZone("")
		return ip.IsLoopback() || ip.IsUnspecified() || ip.IsPrivate() || ip.IsLinkLocalUnicast() ||
			netip.MustParsePrefix("100.64.0.0/10").Contains(ip) // RFC 6598
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") {
		return true
	}
	// RFC 6761, 6762, 8375, and the names that home routers and ICANN keep for this.
	for _, suffix := range []string{".localhost", ".local", ".home.arpa", ".lan", ".internal"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
