package view

import "testing"

// BenchmarkRender is what every tick costs while a menu or window is open.
func BenchmarkRender(b *testing.B) {
	r, u := In("zh"), example()
	for b.Loop() {
		r.Render(u, at)
	}
}
