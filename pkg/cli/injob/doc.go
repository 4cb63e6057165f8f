// Package injob contains the commands that run inside the containers of jobs: child and stage.
package injob
