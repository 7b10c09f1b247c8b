package backend

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// proxyChild makes this test program poll the servers that it names and print
// their states. The standard library reads the proxy variables once a process.
const proxyChild = "PLIMSOLL_TEST_POLL"

func proxyMain() int {
	for server := range strings.SplitSeq(os.Getenv(proxyChild), " ") {
		b, err := NewOllama(server)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		a := b.Poll(ctx)
		cancel()
		fmt.Println(server, a.Status.State)
	}
	return 0
}

// TestProxiesAreForPublicHosts: a proxy of the environment must not see what is
// meant for this machine or its neighbours, which it could not reach.
func TestProxiesAreForPublicHosts(t *testing.T) {
	direct := newFake(t, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(direct.URL, "http://"), ":")
	proxy := newFake(t, map[string]http.HandlerFunc{})
	run := func(servers ...string) (string, []string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), proxyChild+"="+strings.Join(servers, " "),
			"HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var hosts []string
		for _, r := range proxy.requests() {
			hosts = append(hosts, r.what)
		}
		return string(out), hosts
	}
	servers := []string{"localhost:" + port, "127.0.0.1:" + port, "0.0.0.0:" + port}
	out, asked := run(servers...)
	for _, server := range servers {
		if !strings.Contains(out, server+" running\n") {
			t.Errorf("%s is not reached past the proxy:\n%s", server, out)
		}
	}
	// Nobody answers at these; what counts is whom they were looked for at.
	_, more := run("192.168.255.253:9", "10.255.255.253:9", "100.64.255.253:9", "[fd00::dead]:9", "studio.local:9", "studio:9")
	if asked = append(asked, more...); len(asked) > 0 {
		t.Errorf("the proxy was asked for local servers: %v", asked)
	}
	out, asked = run("http://models.example.com:11434")
	if !strings.Contains(out, "running") || len(asked) < 2 {
		t.Errorf("a public server was not asked through the proxy: %v\n%s", asked, out)
	}
}
