package backend

// Kind is a kind of model server.
type Kind struct {
	Name string
	// Env is the environment variable that holds its address.
	Env string
	// New watches a server of this kind at an address, "" for the usual one.
	New func(server string, opts ...Option) (Backend, error)
}

// Known are the kinds of server there is a Backend for.
var Known = []Kind{
	{Name: "ollama", Env: "OLLAMA_HOST", New: NewOllama},
}
