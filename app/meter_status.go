package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"plimsoll/app/view"
	"plimsoll/monitor/meter"
)

// meterStanding is what meter status tells.
type meterStanding struct {
	Service string `json:"service,omitzero"` // the file, "" when none is installed
	Address string `json:"address"`
	// Meter is absent when none answers. Server is how the model server answers
	// through it, 0 when it does not.
	Meter  *meter.Status `json:"meter,omitempty"`
	Server int           `json:"server_status,omitzero"`
}

// meterStatusCommand looks whether the chain client → meter → server is in place.
func (p *program) meterStatusCommand() *cobra.Command {
	var listen string
	var asJSON bool
	cmd := p.command("meter_status", "status", "", func(cmd *cobra.Command, _ []string) error {
		return p.meterStatus(cmd.Context(), listen, asJSON)
	})
	cmd.Flags().StringVar(&listen, "listen", "", p.words.Text("meter.flag.status_listen"))
	cmd.Flags().BoolVar(&asJSON, "json", false, p.words.Text("meter.flag.status_json"))
	cmd.Args = takes()
	return cmd
}

// listens finds the address in the file of a service.
var listens = regexp.MustCompile(`--listen(?:</string>\s*<string>|" ")([^<"]+)`)

func (p *program) meterStatus(ctx context.Context, listen string, asJSON bool) error {
	s, err := p.meterService(nil)
	if err != nil {
		return err
	}
	standing := meterStanding{Address: meterAddress}
	if text, err := os.ReadFile(s.path); err == nil {
		standing.Service = s.path
		if found := listens.FindSubmatch(text); found != nil {
			standing.Address = string(found[1])
		}
	}
	if listen != "" {
		if standing.Address, _, err = meterListen(listen); err != nil {
			return usage("meter.usage.listen", view.Args{"Value": listen})
		}
	}
	if status, err := meterStatusOf(ctx, standing.Address); err == nil {
		standing.Meter = &status
		standing.Server = frontPage(ctx, standing.Address)
	}
	if asJSON {
		if err := json.NewEncoder(p.out).Encode(standing); err != nil {
			return err
		}
	} else {
		p.printStanding(standing, s.manager)
	}
	if standing.Meter == nil || standing.Server != http.StatusOK {
		return told(exitFailed)
	}
	return nil
}

// printStanding says it in words: the service, the meter, the server.
func (p *program) printStanding(s meterStanding, manager string) {
	args := view.Args{"File": s.Service, "Manager": manager, "Address": s.Address, "Process": p.holder(s.Address), "Status": s.Server}
	if s.Service == "" {
		p.say(p.out, "meter.status.no_service")
	} else {
		p.say(p.out, "meter.status.service", args)
	}
	if s.Meter == nil {
		p.say(p.out, "meter.status.no_meter", args)
		return
	}
	args["Server"], args["Counted"], args["InFlight"] = s.Meter.Upstream, s.Meter.Counted, s.Meter.InFlight
	p.say(p.out, "meter.status.meter", args)
	switch {
	case s.Meter.Loop:
		p.say(p.out, "meter.status.loop", args)
	case s.Server == http.StatusOK:
		p.say(p.out, "meter.status.server", args)
	default:
		p.say(p.out, "meter.status.no_server", args)
	}
}

// frontPage is the status of the server's front page through the meter, 0 for none.
func frontPage(ctx context.Context, address string) int {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return 0
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) //nolint:errcheck // only the status counts
	return answer.StatusCode
}
