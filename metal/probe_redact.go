package metal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What is taken out of a recording before it is written. Structured answers are
// made anew of what the decoders use, so that nothing else can be in them; texts
// are searched for what identifies a person or a machine.

// redacted stands where something was taken out.
const redacted = "redacted"

// publicPrograms are the programs whose names a recording may tell: model servers,
// what runs models, and the system's own that slow them. A name with a version
// behind it ("python3.12") counts too. All others become program-1, program-2, ….
var publicPrograms = []string{
	"ollama", "ollama_llama_server", "llama-server", "llama-cli", "LM Studio", "LM Studio Helper", "lms", "mlx_lm.server",
	"python", "plimsoll", "plimsoll-window", "mds", "mds_stores", "mdworker", "mdworker_shared", "backupd",
	"photoanalysisd", "mediaanalysisd", "WindowServer", "kernel_task", "launchd", "systemd",
}

// publicArgs are the words of command lines that are kept, beside flags and numbers.
var publicArgs = []string{"runner", "serve", "server", "run", "--ollama-engine", "--mlx-engine", "mlx_lm.server", "mlx_lm"}

// mostOthers is how many of the other processes are kept, the biggest.
const mostOthers = 20

// redactor gives names in order, the same for the same.
type redactor struct {
	aliases map[string]string
	keep    map[int]bool // pids
}

func publicProgram(name string) bool {
	bare := strings.TrimRight(name, "0123456789.")
	return slices.ContainsFunc(publicPrograms, func(p string) bool {
		return strings.EqualFold(p, name) || bare != "" && strings.EqualFold(p, bare)
	})
}

// name is a program's or application's name, or what stands for it.
func (r *redactor) name(name string) string {
	if name == "" || publicProgram(name) {
		return name
	}
	if r.aliases == nil {
		r.aliases = map[string]string{}
	}
	if r.aliases[name] == "" {
		r.aliases[name] = fmt.Sprintf("program-%d", len(r.aliases)+1)
	}
	return r.aliases[name]
}

// path keeps of an executable's path its name and the application it is in.
func (r *redactor) path(executable string) string {
	if executable == "" {
		return ""
	}
	base := r.name(path.Base(executable))
	if app := bundleApp(executable); app != "" {
		return "/Applications/" + r.name(app) + ".app/Contents/MacOS/" + base
	}
	return "/" + redacted + "/" + base
}

var plainFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--?[a-z][a-z0-9-]*$|^-?[0-9]+$`) })

// args keeps flags, numbers and a few words of a command line.
func (r *redactor) args(args []string) []string {
	kept := make([]string, len(args))
	for i, a := range args {
		switch {
		case i == 0:
			kept[i] = r.path(a)
		case plainFlag().MatchString(a), slices.Contains(publicArgs, a):
			kept[i] = a
		default:
			kept[i] = redacted
		}
	}
	return kept
}

// choose decides which processes are kept: all with a public name, and the biggest
// of the others. It returns how many are left out.
func (r *redactor) choose(list []Process) (left int) {
	r.keep = map[int]bool{}
	var others []Process
	for _, p := range list {
		if publicProgram(p.Name) {
			r.keep[p.PID] = true
		} else {
			others = append(others, p)
		}
	}
	size := func(p Process) uint64 {
		if p.Footprint == nil {
			return 0
		}
		return *p.Footprint
	}
	slices.SortStableFunc(others, func(a, b Process) int {
		switch x, y := size(a), size(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a.PID - b.PID
	})
	for i, p := range others {
		if i < mostOthers {
			r.keep[p.PID] = true
		}
	}
	return max(0, len(others)-mostOthers)
}

// kinfos makes the list of processes anew, of those that are kept, with what
// decodeKinfo uses: struct kinfo_proc has the login's name too.
func (r *redactor) kinfos(b []byte) []byte {
	var all []byte
	for ; len(b) >= kinfoBytes; b = b[kinfoBytes:] {
		k := decodeKinfo(b)
		if !r.keep[k.pid] {
			continue
		}
		one := make([]byte, kinfoBytes)
		copy(one[kinfoStarted:kinfoStarted+12], b[kinfoStarted:])
		one[kinfoState] = b[kinfoState]
		copy(one[kinfoPID:kinfoPID+4], b[kinfoPID:])
		copy(one[kinfoCommand:kinfoCommand+16], r.name(k.command))
		copy(one[kinfoParent:kinfoParent+4], b[kinfoParent:])
		all = append(all, one...)
	}
	return all
}

// procargs makes kern.procargs2 anew, without the environment.
func (r *redactor) procargs(b []byte) []byte {
	args := r.args(decodeArgs(b))
	executable := ""
	if len(b) > 4 {
		executable, _, _ = strings.Cut(string(b[4:]), "\x00")
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(args)))
	out = append(out, r.path(executable)...)
	out = append(out, 0, 0, 0, 0)
	for _, a := range args {
		out = append(append(out, a...), 0)
	}
	return out
}

// usage takes out ri_uuid, which names the build of the executable.
func usageWithoutUUID(b []byte) []byte {
	b = slices.Clone(b)
	clear(b[:min(16, len(b))])
	return b
}

// publicSysctl tells whether the value of a name may be written.
func publicSysctl(name string) bool {
	switch name {
	case "machdep.cpu.brand_string", "kern.osproductversion", "kern.osversion", "kern.boottime":
		return true
	}
	for _, prefix := range []string{"hw.", "vm.", "kern.memorystatus_", "iogpu.", "debug.iogpu.", "machdep.xcpm."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// publicKey tells whether what an SMC key says may be written.
func publicKey(key string) bool { return strings.HasPrefix(key, "T") || key == "PSTR" || key == "#KEY" }

// noUUID stands for a UUID, so that it is decoded as one.
const noUUID = "00000000-0000-0000-0000-000000000000"

// identifying is what identifies a person or a machine in a text, and what stands
// for it. It is compiled when it is first needed: most runs never do.
var identifying = sync.OnceValue(func() []replacement {
	return []replacement{
		{regexp.MustCompile(`\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b`), noUUID},
		{regexp.MustCompile(`\b[0-9A-Fa-f]{8}-[0-9A-Fa-f]{16}\b`), noUUID}, // provisioning UDID
		{regexp.MustCompile(`/(Users|home)/[^/\s"':]+`), "/$1/" + redacted},
		{regexp.MustCompile(`\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b`), "00:00:00:00:00:00"},
		{regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]+`), redacted},
		{regexp.MustCompile(`(?i)("[^"\n]*serial[^"\n]*"\s*[:=]\s*)("[^"\n]*"|<[^>\n]*>|\d+)`), `$1"` + redacted + `"`},
		{regexp.MustCompile(`(?im)^(.*serial number[^:=\n]*[:=][ \t]*).*$`), "${1}" + redacted},
		{regexp.MustCompile(`\b[\w-]+\.(?:local|lan|home)\b`), redacted},
	}
})

type replacement struct {
	found *regexp.Regexp
	by    string
}

// Scrub takes out of a text what identifies a person or a machine: UUIDs, home
// folders, serial numbers, network and mail addresses, and the secrets, which are
// the names of the user and the machine. A secret counts as a whole word and from
// three characters on.
func Scrub(text string, secrets ...string) string {
	for _, i := range identifying() {
		text = i.found.ReplaceAllString(text, i.by)
	}
	for _, s := range secrets {
		if len([]rune(s)) < 3 || s == redacted {
			continue
		}
		word := regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(s) + `($|[^\pL\pN_])`)
		for word.MatchString(text) { // neighbours share what stands between them
			text = word.ReplaceAllString(text, "${1}"+redacted+"${2}")
		}
	}
	return text
}

// profilerKeys are the keys of system_profiler's JSON that are kept: serial
// numbers, UUIDs, the names of user and computer stand beside them.
var profilerKeys = []string{
	"machine_name", "machine_model", "chip_type", "cpu_type", "number_processors", "current_processor_speed", "physical_memory",
	"os_version", "sppci_model", "sppci_cores", "spdisplays_mtlgpufamilysupport", "spdisplays_ndrvs",
}

// ScrubTool is Scrub for what a tool printed, by the tool's name. The JSON of
// system_profiler is made anew of the keys that are used.
func ScrubTool(tool string, output []byte, secrets ...string) []byte {
	if tool != "system_profiler" {
		return []byte(Scrub(string(output), secrets...))
	}
	var sections map[string]any
	if err := json.Unmarshal(output, &sections); err != nil {
		return []byte(redacted + "\n")
	}
	kept := map[string][]map[string]any{}
	for name := range sections {
		for _, o := range objects(sections[name]) {
			one := map[string]any{}
			for _, key := range profilerKeys {
				switch v := o[key].(type) {
				case string:
					one[key] = Scrub(v, secrets...)
				case float64, bool:
					one[key] = v
				case []any:
					one[key] = slices.Repeat([]any{struct{}{}}, len(v)) // displays are counted
				}
			}
			kept[name] = append(kept[name], one)
		}
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return []byte(redacted + "\n")
	}
	return append(text, '\n')
}
