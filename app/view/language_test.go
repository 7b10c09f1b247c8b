package view

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"
)

func TestLanguages(t *testing.T) {
	for tag, want := range map[string]string{
		"": "en", "en": "en", "en_US.UTF-8": "en", "de": "en", "zh": "zh", "zh-Hans-CN": "zh", "zh_CN.UTF-8": "zh",
		"zh-Hant": "zh", "zh_TW": "zh", "zh-HK": "zh", "ZH": "zh", "nonsense tag": "en", "C": "en", "\xff": "en",
	} {
		if got := In(tag).Language(); got != want {
			t.Errorf("In(%q) speaks %q, want %q", tag, got, want)
		}
	}
}

func TestSystemLanguage(t *testing.T) {
	for _, test := range []struct{ env, want string }{
		{"LANG=zh_CN.UTF-8", "zh-CN"},
		{"LANG=en_US.UTF-8 LC_MESSAGES=zh_TW.UTF-8", "zh-TW"},
		{"LC_ALL=C LANG=zh_CN.UTF-8", ""},
		{"LC_ALL=C.UTF-8 LANG=zh_CN.UTF-8", ""},
		{"LC_ALL=POSIX", ""},
		{"LANGUAGE=zh_CN:en", "zh-CN"},
		{"LANG=sr_RS@latin", "sr-RS"},
	} {
		got := SystemLanguage(func(name string) string {
			for _, pair := range strings.Fields(test.env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != test.want {
			t.Errorf("%s gives %q, want %q", test.env, got, test.want)
		}
	}
	if got := SystemLanguage(func(string) string { return "" }); got != "" && runtime.GOOS != "darwin" {
		t.Errorf("nothing set gives %q", got)
	}
}

// preferences is a binary property list written by Python's plistlib:
// {"AppleLanguages": ["zh-Hans-CN", "en-CN"], "AppleLocale": "zh_CN", "Country": "中国", "N": 300}.
const preferences = "62706c6973743030d4010203040508090a5e4170706c654c616e6775616765735b4170706c654c6f63616c6557436f756e747279514ea206075a7a682d48616e732d434e55656e2d434e557a685f434e624e2d56fd11012c0811202c343639444a50550000000000000101000000000000000b00000000000000000000000000000058"

func TestPreferredLanguageOfMacOS(t *testing.T) {
	data, err := hex.DecodeString(preferences)
	if err != nil {
		t.Fatal(err)
	}
	if got := firstOf(data, "AppleLanguages"); got != "zh-Hans-CN" {
		t.Errorf("the first language is %q", got)
	}
	p, ok := openPlist(data)
	if !ok {
		t.Fatal("not a property list")
	}
	if got := p.text(p.value(p.root, "Country")); got != "中国" {
		t.Errorf("the UTF-16 text is %q", got)
	}
	for _, key := range []string{"AppleLocale", "N", "NoSuchKey"} {
		if got := firstOf(data, key); got != "" {
			t.Errorf("%s is no list and gives %q", key, got)
		}
	}
}

// FuzzPreferences: a damaged file is no language, and no failure.
func FuzzPreferences(f *testing.F) {
	data, err := hex.DecodeString(preferences)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("bplist00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := firstOf(data, "AppleLanguages"); len(got) > 2*len(data) {
			t.Errorf("%d bytes give a text of %d", len(data), len(got))
		}
	})
}

func TestDamagedPreferencesAreNoFailure(t *testing.T) {
	data, err := hex.DecodeString(preferences)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		firstOf(data[:i], "AppleLanguages")
		for _, b := range []byte{0, 0x0f, 0x7f, 0xff} {
			broken := append([]byte(nil), data...)
			broken[i] = b
			firstOf(broken, "AppleLanguages")
		}
	}
	if got := firstOf(data[:len(data)-1], "AppleLanguages"); got != "" {
		t.Errorf("a cut file gives %q", got)
	}
}
