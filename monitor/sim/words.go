package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// answers are what the simulated models say, over and over. A word is a token.
var answers = strings.Fields(`The answer you read here comes from a simulated model, so take its words lightly and its pace
seriously. Each word arrives when the memory of this machine could have delivered the weights for it. When all of a model
lies in fast memory the words flow; when part of it has to come back from disk they drip. Heat slows them as well, though
only after some minutes. Unload a model that nobody needs and watch the line move.`)

// word is token i of the answer to a prompt.
func word(prompt string, i int) string {
	return " " + answers[(int(hash(prompt)%uint64(len(answers)))+i)%len(answers)]
}

// countTokens estimates the tokens of a text as tokenisers of that size do it:
// about four bytes of English each, three of Chinese.
func countTokens(text string) int { return 2 + (len(text)+3)/4 }

// naturalLength is where the answer to a prompt ends by itself, in tokens with the
// end token.
func naturalLength(prompt string) int { return 60 + int(hash(prompt)%200) }

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// embedding is a vector of length one that depends on the text alone.
func embedding(text string, width int) []float32 {
	random := rand.New(rand.NewPCG(hash(text), 1))
	vector := make([]float32, width)
	sum := 0.0
	for i := range vector {
		x := random.NormFloat64()
		vector[i] = float32(x)
		sum += x * x
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(sum))
	}
	return vector
}
