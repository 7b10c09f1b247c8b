package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll"
)

// launchdService is an agent of launchd for one user's session. KeepAlive starts it
// again whenever it ends; Interactive keeps it from being slowed as background
// work is, as every token passes through it.
// Source: man 5 launchd.plist, man 1 launchctl.
func launchdService(home string, uid int, args []string) *service {
	label := strings.TrimSuffix(plimsoll.ID, ".agent") + ".meter"
	path := filepath.Join(home, "Library", "LaunchAgents", label+".plist")
	domain := fmt.Sprintf("gui/%d", uid)
	var words bytes.Buffer
	for _, a := range args {
		words.WriteString("\n\t\t<string>" + xmlText(a) + "</string>")
	}
	log := xmlText(filepath.Join(home, filepath.FromSlash(serviceLog)))
	return &service{
		manager: "launchd", path: path,
		text: xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + label + `</string>
	<key>ProgramArguments</key>
	<array>` + words.String() + `
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<true/>
	<key>ThrottleInterval</key>
	<integer>1</integer>
	<key>ExitTimeOut</key>
	<integer>40</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardErrorPath</key>
	<string>` + log + `</string>
</dict>
</plist>
`,
		folder: filepath.Dir(filepath.Join(home, filepath.FromSlash(serviceLog))),
		start: []step{
			{loose: true, words: []string{"launchctl", "bootout", domain + "/" + label}},
			{loose: true, words: []string{"launchctl", "enable", domain + "/" + label}},
			{tries: 20, words: []string{"launchctl", "bootstrap", domain, path}},
		},
		stop: []step{{loose: true, words: []string{"launchctl", "bootout", domain + "/" + label}}},
	}
}

func xmlText(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) //nolint:errcheck // a buffer takes all
	return b.String()
}

// systemdService is a unit of systemd for one user. Restart=always starts it again
// whenever it ends, however often that was.
// Source: man 5 systemd.service, systemd.unit, systemd.syntax.
func systemdService(config string, args []string) *service {
	const unit = "plimsoll-meter.service"
	var words []string
	for _, a := range args {
		words = append(words, systemdWord(a))
	}
	systemctl := func(words ...string) []string { return append([]string{"systemctl", "--user"}, words...) }
	return &service{
		manager: "systemd", path: filepath.Join(config, "systemd", "user", unit),
		text: `[Unit]
Description=Plimsoll's meter, which counts the tokens of requests to a model server
StartLimitIntervalSec=0

[Service]
ExecStart=` + strings.Join(words, " ") + `
Restart=always
RestartSec=100ms
TimeoutStopSec=40

[Install]
WantedBy=default.target
`,
		start: []step{
			{words: systemctl("daemon-reload")},
			{words: systemctl("enable", unit)},
			{words: systemctl("restart", unit)},
		},
		stop: []step{{words: systemctl("disable", "--now", unit)}},
	}
}

// systemdWord writes one word of a command line so that systemd takes it as it is.
func systemdWord(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`, "\n", `\n`).Replace(s) + `"`
}
