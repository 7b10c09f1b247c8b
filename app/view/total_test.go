package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/monitor"
)

// never is what no text may contain: numbers that are none, and traces of a
// template or a format that was given too little.
var never = []string{"NaN", "Inf", "undefined", "%!", "<no value>", "<nil>", "{{", "}}"}

var negative = regexp.MustCompile(`(^|[^\w.)-])-\d`)

// check holds for the View, notices and lines of every Update.
func check(t *testing.T, r *Renderer, u monitor.Update) {
	t.Helper()
	v, notices := r.Render(u, at), r.Notices(u)
	shown := texts(reflect.ValueOf(v), nil)
	shown = texts(reflect.ValueOf(notices), shown)
	for _, e := range u.Events {
		shown = append(shown, r.Event(e))
	}
	given := strings.Join(texts(reflect.ValueOf(u), nil), "\n")
	for _, text := range shown {
		for _, bad := range never {
			if strings.Contains(text, bad) && !strings.Contains(given, bad) {
				t.Errorf("%q contains %q", text, bad)
			}
		}
		if negative.MatchString(text) && !strings.Contains(given, "-") {
			t.Errorf("%q has a negative number", text)
		}
	}
	sum := uint64(0)
	for _, s := range v.Bar.Segments {
		sum += s.Bytes
	}
	if sum != v.Bar.Total {
		t.Errorf("the bar's segments are %d of %d bytes: %+v", sum, v.Bar.Total, v.Bar)
	}
	for _, m := range v.Bar.Marks {
		if m.At > v.Bar.Total {
			t.Errorf("mark %+v is beyond the bar's %d bytes", m, v.Bar.Total)
		}
	}
	if strings.Contains(v.Tooltip, "\n") || v.Tooltip == "" || len(v.Badge) > 3 {
		t.Errorf("tooltip %q, badge %q", v.Tooltip, v.Badge)
	}
	keys := map[string]bool{}
	for _, m := range v.Models {
		if keys[m.Key] {
			t.Errorf("two models have the key %q", m.Key)
		}
		keys[m.Key] = true
	}
	rows := append([]Row{v.Line, v.Machine, v.Memory, v.Pressure, v.Swap, v.Heat, v.GPU}, v.Consumers...)
	for _, row := range append(rows, v.Recent...) {
		if strings.Contains(row.Text, "\n") || !(row.Share == -1 || row.Share >= 0 && row.Share <= 1) {
			t.Errorf("row %+v", row)
		}
	}
}

// texts are all strings within a value, but those of commands and keys, which
// are for programs.
func texts(v reflect.Value, found []string) []string {
	switch v.Kind() {
	case reflect.String:
		return append(found, v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			found = texts(v.Elem(), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = texts(v.Index(i), found)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			found = texts(v.MapIndex(key), texts(key, found))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return found
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Key" && name != "ID" {
				found = texts(v.Field(i), found)
			}
		}
	}
	return found
}

func TestScenesHoldTheProperties(t *testing.T) {
	for _, scene := range scenes {
		for _, r := range []*Renderer{In("en"), In("zh")} {
			check(t, r, scene.make())
		}
	}
}

// TestRenderIsTotal renders updates whose every part is there or not by chance,
// with the values that break arithmetic.
func TestRenderIsTotal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	full := []monitor.Update{example(), linux(), models(), servers(), alerts(), events()}
	for n := range 600 {
		u := full[n%len(full)]
		data, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var copied monitor.Update
		if err := json.Unmarshal(data, &copied); err != nil {
			t.Fatal(err)
		}
		disturb(random, reflect.ValueOf(&copied).Elem())
		check(t, In([]string{"en", "zh"}[n%2]), copied)
		if t.Failed() {
			t.Fatalf("update %d", n)
		}
	}
}

// disturb makes every sixth part of a value absent or extreme.
func disturb(random *rand.Rand, v reflect.Value) {
	odd := random.IntN(6) == 0
	switch v.Kind() {
	case reflect.Pointer:
		if odd && !v.IsNil() {
			v.SetZero()
		} else if !v.IsNil() {
			disturb(random, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			disturb(random, v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if odd {
				moments := []time.Time{{}, at.AddDate(-1000, 0, 0), at.AddDate(5000, 0, 0), at.Add(time.Second)}
				v.Set(reflect.ValueOf(moments[random.IntN(len(moments))]))
			}
			return
		}
		for i := range v.NumField() {
			disturb(random, v.Field(i))
		}
	case reflect.Uint64:
		if odd {
			v.SetUint([]uint64{0, 1, math.MaxUint64, 1 << 63}[random.IntN(4)])
		}
	case reflect.Int:
		if odd {
			v.SetInt([]int64{0, -1, math.MaxInt64, math.MinInt64}[random.IntN(4)])
		}
	case reflect.Float64:
		if odd {
			v.SetFloat([]float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64}[random.IntN(7)])
		}
	case reflect.String:
		if odd {
			v.SetString([]string{"", "new", "a\nb", strings.Repeat("x", 300), "%s %d"}[random.IntN(5)])
		}
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	}
}

// FuzzRender reads lines as replay does.
func FuzzRender(f *testing.F) {
	for _, scene := range scenes {
		line, err := json.Marshal(scene.make())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"snapshot":{"swap":{"used_bytes":1,"total_bytes":0},"memory":{"total_bytes":1,"wired_bytes":18446744073709551615}}}`))
	en, zh := In("en"), In("zh")
	f.Fuzz(func(t *testing.T, line []byte) {
		var u monitor.Update
		if json.Unmarshal(line, &u) != nil {
			return
		}
		check(t, en, u)
		check(t, zh, u)
	})
}
