package backend

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]string{
		// Addresses to listen at, contacted from here.
		"":                      "http://127.0.0.1:11434",
		"0.0.0.0":               "http://127.0.0.1:11434",
		"0.0.0.0:8080":          "http://127.0.0.1:8080",
		"http://0.0.0.0:8080":   "http://127.0.0.1:8080",
		":8200":                 "http://127.0.0.1:8200",
		":":                     "http://127.0.0.1:11434",
		"[::]:8200":             "http://[::1]:8200",
		"[::]":                  "http://[::1]:11434",
		"::":                    "http://[::1]:11434",
		"[::ffff:0.0.0.0]:8200": "http://127.0.0.1:8200",
		// Hosts.
		"myhost":              "http://myhost:11434",
		"myhost:":             "http://myhost:11434",
		"myhost:8200":         "http://myhost:8200",
		"my_host.example.com": "http://my_host.example.com:11434",
		"host.":               "http://host.:11434",
		"127.0.0.1:11434":     "http://127.0.0.1:11434",
		"192.168.1.13":        "http://192.168.1.13:11434",
		"::1":                 "http://[::1]:11434",
		"[::1]":               "http://[::1]:11434",
		"[::1]:8200":          "http://[::1]:8200",
		"fe80::1%en0":         "http://[fe80::1%25en0]:11434",
		"[fe80::1%25en0]:80":  "http://[fe80::1%25en0]:80",
		"ollama.com":          "https://ollama.com:443",
		// URLs.
		"http://myhost":               "http://myhost:80",
		"https://myhost":              "https://myhost:443",
		"HTTPS://myhost":              "https://myhost:443",
		"https://myhost:8443":         "https://myhost:8443",
		"http://:8200":                "http://127.0.0.1:8200",
		"http://127.0.0.1:11434/":     "http://127.0.0.1:11434",
		"https://myhost/ollama/":      "https://myhost:443/ollama",
		"http://myhost/a%20b":         "http://myhost:80/a%20b",
		"myhost:8200/a/b":             "http://myhost:8200/a/b",
		"https://[2001:db8::1]/x":     "https://[2001:db8::1]:443/x",
		"https://me:p%40ss@myhost":    "https://me:p%40ss@myhost:443",
		"https://me@myhost:8443/base": "https://me@myhost:8443/base",
		// As a shell or a plist may leave them.
		"  myhost  ":       "http://myhost:11434",
		`"0.0.0.0:8080"`:   "http://127.0.0.1:8080",
		`'http://myhost/'`: "http://myhost:80",
		`" myhost "`:       "http://myhost:11434",
	} {
		u, err := ParseHost(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := u.String(); got != want {
			t.Errorf("%q is contacted at %s, want %s", in, got, want)
		}
		if _, err := url.Parse(u.String()); err != nil {
			t.Errorf("%q: its URL cannot be read again: %v", in, err)
		}
	}
}

func TestParseHostAgreesWithTheCases(t *testing.T) {
	var forms map[string]string
	data := shared(t, "cases", "119.json")
	if err := json.Unmarshal(data, &forms); err != nil {
		t.Fatal(err)
	}
	for in, want := range forms {
		if u, err := ParseHost(in); err != nil || u.String() != want {
			t.Errorf("%q is contacted at %v (%v), want %s", in, u, err, want)
		}
	}
}

func TestParseHostRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"ftp://myhost":             "scheme",
		"unix:///tmp/ollama.sock":  "scheme",
		"myhost:99999":             "no port",
		"myhost:0":                 "no port",
		"myhost:-1":                "no port",
		"myhost:abc":               "no port",
		"my host":                  "no host name",
		"a:b:c":                    "too many colons",
		"[::1":                     "missing ']'",
		"256.1.1.1":                "no IP address",
		"127.0.1":                  "no IP address",
		"11434":                    "a port is written :11434",
		"http://myhost?x=1":        "query",
		"http://myhost/#top":       "query",
		"http://myhost/%zz":        "path",
		"my\x00host":               "no host name",
		"me:secret@my host":        "no host name",
		"http://me:secret@h:99999": "no port",
	} {
		u, err := ParseHost(in)
		if err == nil {
			t.Errorf("%q was taken for %s", in, u)
			continue
		}
		if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an ErrAddress with %q", in, err, want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the password is in the error: %v", in, err)
		}
	}
	if _, err := NewOllama("myhost:99999"); !errors.Is(err, ErrAddress) {
		t.Errorf("NewOllama: %v, want an ErrAddress", err)
	}
}

func TestLocalHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "0.0.0.0": true, "::": true,
		"192.168.1.13": true, "10.1.2.3": true, "172.16.0.1": true, "172.32.0.1": false,
		"169.254.1.1": true, "fe80::1%en0": true, "fd00::1": true, "::ffff:10.0.0.1": true,
		"100.64.0.1": true, "100.127.255.255": true, "100.128.0.1": false,
		"studio": true, "studio.local": true, "studio.Local.": true, "a.localhost": true, "mini.lan": true, "x.home.arpa": true,
		"8.8.8.8": false, "2001:4860::1": false, "ollama.com": false, "example.org.": false, "local.example.com": false,
	} {
		if got := local(host); got != want {
			t.Errorf("%s: local is %v, want %v", host, got, want)
		}
	}
}

// shared reads a file of the folder beside the module, and skips where there is
// none.
func shared(t *testing.T, path ...string) []byte {
	t.Helper()
	name := filepath.Join(append([]string{"..", "..", "..", "shared"}, path...)...)
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not on this machine", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzParseHost: what is accepted can be contacted, and its URL means the same
// when it is given again.
func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{"", ":8200", "myhost", "[::]:1", "fe80::1%en0", "https://me:p%40ss@h/base/", "'0.0.0.0'", "h:1/a%2Fb", "a@b@c", "[::1]x", "http://[fe80::1%25en0]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		u, err := ParseHost(in)
		if err != nil {
			if !errors.Is(err, ErrAddress) {
				t.Fatalf("%q: %v is no ErrAddress", in, err)
			}
			return
		}
		if u.Hostname() == "" || u.Port() == "" {
			t.Fatalf("%q: host %q, port %q", in, u.Hostname(), u.Port())
		}
		if _, err := url.Parse(u.String()); err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		again, err := ParseHost(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q is contacted at %s, and that at %v (%v)", in, u, again, err)
		}
	})
}
