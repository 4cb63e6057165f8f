//go:build ignore

// Endpoint is an AWS Batch endpoint with one job queue, for the journey. It writes whole
// numbers as 1.0, as moto does, and prints its URL.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	// It runs until the journey kills it.
	log.Fatal(http.Serve(listener, http.HandlerFunc(answer)))
}

// answer answers the two operations that the journey needs, and {} for any other.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/describejobqueues":
		fmt.Fprint(w, `{"jobQueues": [{"jobQueueName": "journey", "jobQueueArn": "arn:aws:batch:us-east-1:123456789012:job-queue/journey",
			"state": "ENABLED", "status": "VALID", "priority": 1.0, "computeEnvironmentOrder": []}]}`)
	case "/v1/listjobs":
		fmt.Fprint(w, `{"jobSummaryList": []}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}
