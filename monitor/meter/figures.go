package meter

import "strconv"

// figures are statistics as servers tell them: counts in tokens, times in
// seconds, rates in tokens per second. What was not told is nil.
type figures struct {
	// prompt is the whole prompt, read the part of it that was read, cached the
	// part that was there already.
	prompt, read, cached *int
	output               *int
	context              *int // of the model as it runs
	// total is from the request's arrival at the server to its end.
	total, load, promptTime, decodeTime *float64
	decodeRate, ttft                    *float64
	// Anthropic's interface tells the prompt without the parts that were read from
	// the cache and written into it.
	cacheRead, cacheMade *int
}

// add takes what a later record told. A count that was told never becomes zero
// again: some servers send an empty usage with each chunk.
func (f *figures) add(later figures) {
	if later.prompt != nil && (later.cacheRead != nil || later.cacheMade != nil) {
		later.prompt = new(*later.prompt + valueOf(later.cacheRead) + valueOf(later.cacheMade))
		later.cached = later.cacheRead
	}
	if valueOf(later.prompt) == 0 && valueOf(later.output) == 0 {
		later.prompt, later.output = nil, nil
	}
	// No prompt has no tokens: Ollama's other interfaces write 0 where all was cached.
	if valueOf(later.prompt) == 0 {
		later.prompt = nil
	}
	// A cache that was not used, and one that is not told of, are both written as 0.
	if valueOf(later.cached) == 0 && later.read == nil {
		later.cached = nil
	}
	for _, pair := range [][2]**int{
		{&f.prompt, &later.prompt}, {&f.read, &later.read}, {&f.cached, &later.cached},
		{&f.output, &later.output}, {&f.context, &later.context},
	} {
		if *pair[1] != nil {
			*pair[0] = *pair[1]
		}
	}
	for _, pair := range [][2]**float64{
		{&f.total, &later.total}, {&f.load, &later.load}, {&f.promptTime, &later.promptTime},
		{&f.decodeTime, &later.decodeTime}, {&f.decodeRate, &later.decodeRate}, {&f.ttft, &later.ttft},
	} {
		if *pair[1] != nil {
			*pair[0] = *pair[1]
		}
	}
}

func valueOf(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// mostCount and mostNumber are above all that a request can have: what is more
// is no count and no number of seconds.
const (
	mostCount  = 1e8
	mostNumber = 1e15
)

// countIn reads a count of tokens, nil when it is none.
func countIn(text []byte) *int {
	f := numberIn(text)
	if f == nil || *f > mostCount || *f != float64(int(*f)) {
		return nil
	}
	return new(int(*f))
}

// numberIn reads a number that is not negative, nil when it is none.
func numberIn(text []byte) *float64 {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= mostNumber) {
		return nil
	}
	return &f
}
