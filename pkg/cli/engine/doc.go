// Package engine has the commands about the local engine as a server: serve and env.
package engine
