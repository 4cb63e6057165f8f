#!/bin/sh
# The hook of pre-commit: installs the release of the hook's rev beside this script, once, and runs it. For a rev
# that is not a release, it uses the batchctl in PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(git -C "$here" describe --tags --exact-match 2>/dev/null || true)
case $version in
v*)
	bin=$here/.bin/$version
	[ -x "$bin/batchctl" ] || [ -x "$bin/batchctl.exe" ] || sh "$here/install.sh" "$bin" "$version"
	PATH=$bin:$PATH
	;;
*)
	command -v batchctl >/dev/null || {
		echo "batchctl-validate: rev is not a release, and batchctl is not in PATH: set rev to a release such as v1.2.3, or install batchctl" >&2
		exit 1
	}
	;;
esac
exec batchctl "$@"
