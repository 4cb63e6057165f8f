//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"net/http"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/local/api/call"
)

// heard returns where a client of w keeps the notice of the last answer.
func (w *testEngine) heard() *string {
	notice := new(string)
	w.Client = awsbatch.NewFromConfig(w.engine.Config(), func(o *awsbatch.Options) {
		inner := o.HTTPClient
		o.HTTPClient = clientFunc(func(r *http.Request) (*http.Response, error) {
			answer, err := inner.Do(r)
			*notice = call.Notice(answer.Header)
			return answer, err
		})
	})
	return notice
}
