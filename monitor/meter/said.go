package meter

import (
	"strings"
	"unicode/utf8"
)

const (
	// errorLimit is the most bytes of what a server said that are told.
	errorLimit = 300
	// saidRun is how many words that are known must follow each other behind one that
	// is not, to be told: single ones are of the sentence that is being quoted.
	saidRun = 3
	// saidDigits is the longest number that is told.
	saidDigits = 7
	// punctuation may stand at both ends of a word.
	punctuation = "\"'`‘’“”.,;:!?()[]{}<>*…"
)

// said is what a server or a connection says of a failure, without what it may quote
// of prompt or answer: parsers do ("last read: '…'", "Failed to parse input at pos
// 3: …"). Only words that such messages are made of stay, the model's name, and
// numbers beside them; "…" stands for the rest. It is "" when nothing is left.
func said(text, model string) string {
	words := strings.Fields(strings.ToValidUTF8(text, ""))
	known, number := make([]bool, len(words)), make([]bool, len(words))
	for i, w := range words {
		known[i], number[i] = knownWord(w, model)
	}
	for i := range words { // a number alone says nothing, and may be anything
		if number[i] {
			known[i] = i > 0 && known[i-1] && !number[i-1] || i+1 < len(words) && known[i+1] && !number[i+1]
		}
	}
	var told []string
	for i := 0; i < len(words); {
		from := i
		for i < len(words) && known[i] {
			i++
		}
		if from == 0 || i-from >= saidRun {
			told = append(told, words[from:i]...)
		}
		if i < len(words) && (len(told) == 0 || told[len(told)-1] != "…") {
			told = append(told, "…")
		}
		for i < len(words) && !known[i] {
			i++
		}
	}
	line := strings.Join(told, " ")
	for len(line) > errorLimit {
		_, last := utf8.DecodeLastRuneInString(line)
		line = line[:len(line)-last]
	}
	if line == "…" {
		return ""
	}
	return line
}

// knownWord reports a word that may be told; one that is made of digits alone only
// beside others.
func knownWord(word, model string) (known, number bool) {
	bare := strings.Trim(word, punctuation)
	if bare == "" || model != "" && strings.EqualFold(bare, model) {
		return len(word) <= len(model)+8, false
	}
	number = true
	for part := range strings.FieldsFuncSeq(strings.ToLower(bare), func(r rune) bool { return strings.ContainsRune("_-./:=()[],\"'", r) }) {
		switch {
		case strings.Trim(part, "0123456789") == "":
			if len(part) > saidDigits {
				return false, false
			}
		case vocabulary[part]:
			number = false
		default:
			return false, false
		}
	}
	return true, number
}

// vocabulary are the words of the errors of Ollama, llama-server, LM Studio, MLX's
// server, vLLM and Go's network, none of which says anything of a prompt.
var vocabulary = func() map[string]bool {
	list := map[string]bool{}
	for word := range strings.FieldsSeq(`
		a an and any are as at be been before but by can cannot could did do does due first for from had has have if in
		into is it its last more must no not of off on one only or out over please than that the there this to too try until
		was were while will with without you your
		abort aborted about accept accepted access active address after again all allocate allocation allowed already api
		argument arguments array assistant attention audio available backend bad batch begin beginning body broken buffer
		busy bytes cache call called cancelled canceled certificate change channel character chat check chunk client close
		closed code column command compatible completion completions compute config configuration connect connection content
		context could corrupt cpu crash crashed cuda current data deadline decode decoding defined delete denied detected
		device dial disk download duplicate either embed embedding embeddings empty enable enabled encode encountered end
		endpoint engine enough entry eof error errors escape exceed exceeded exceeds exception exist exists exit exited expected
		expired extra fail failed failure fatal field file files find first flag for format found free full function gateway
		generate generation generating get gguf gpu got grammar greater handshake header headers host http https id idle
		image images implemented incomplete increase index init initialize input inputs insufficient integer internal
		invalid io is json key keep kv large larger layer layers length less libraries limit limitations limited line list
		literal llama llm load loaded loading local log logs long lookup lost low lower lowercase make malformed many max
		maximum may memory message messages metal method minimum missing mlx model models multimodal name names need needed
		network new next nil none nothing null number object ollama open operation option options order output overflow overloaded
		parallel parameter parameters parse parser parsing path peer pending perhaps permission pipe port position post
		process processing prompt protocol provided proxy pull quantization queue quota rate reach reached read reading ready
		reason reasoning received reduce refused registry reload reloaded remote request requests require required requires
		reset resource resources response responses restart retry role root route runner running schema search see segmentation
		send sequence server service session set shape shift short shutdown signal size sizes slot slots small smaller socket
		specified start started starting state status still stop stopped stopping stream streaming string support supported
		supports syntax system tag tcp template temperature tensor terminated think thinking timed timeout tls token tokenize
		tokenizer tokens tool tools total truncate truncated try type unable unauthorized unavailable undefined unexpected
		unexpectedly unexported unknown unload unloaded unmarshal unprocessable unrecognized unsupported upstream url usage use
		used user using valid value values version vision vram wait waiting weights while write wrong zero
		bus buffers dimension exhausted expects extend forbidden gateway gib gb illegal instruction ip kib kb killed least mb
		mib most ms net nonzero panic pos preempted previously seconds such temporarily transport udp unix utf8 utf valueerror
		runtimeerror typeerror keyerror x
	`) {
		list[word] = true
	}
	return list
}()
