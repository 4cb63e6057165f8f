package api

import (
	"net/http"

	"github.com/batchctl/batchctl/pkg/wire"
)

// HandOverPath is the path of a POST that asks an engine to make way for a newer one. AWS Batch has no such operation;
// its paths begin with a version.
const HandOverPath = "/batchctl/handover"

// handOver asks the engine to make way. It answers with status 200 if the engine accepts no more jobs and ends, and
// with 409 and the reason if it continues. The request does not count as a client: the engine serves its clients first.
func (a *API) handOver(w http.ResponseWriter, r *http.Request) {
	err := fromHere(r)
	if err == nil {
		err = a.verifier.verify(r, nil, "batch")
	}
	if err == nil && r.ContentLength != 0 {
		err = wire.ClientException("POST %s has no body.", HandOverPath)
	}
	if err == nil {
		if refused := a.HandOver(r.Context()); refused != nil {
			err = &wire.Fault{Type: "ClientException", Status: http.StatusConflict, Message: refused.Error()}
		}
	}
	if err != nil {
		_ = wire.WriteError(w, err) // a client that has disconnected needs no answer
		return
	}
	_ = wire.WriteOutput(w, struct{}{})
}
