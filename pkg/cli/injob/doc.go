// Package injob runs inside the containers of jobs: the children of arrays, and staging.
package injob
