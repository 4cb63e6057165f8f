#!/bin/sh
# The hook of pre-commit: installs the release of the hook's rev beside this script, once, and runs it. For a rev
# that is not a release, it uses the batchctl in PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# pre-commit fetches only the rev, without its tag, whose name is then only in FETCH_HEAD.
version=$(
	cd "$here"
	git describe --tags --exact-match 2>/dev/null || {
		[ "$(git rev-parse HEAD)" = "$(git rev-parse 'FETCH_HEAD^{commit}')" ] &&
			sed -n "s/^[0-9a-f]*[[:blank:]]*tag '\([^']*\)' of .*/\1/p" "$(git rev-parse --git-path FETCH_HEAD)"
	} 2>/dev/null || true
)
case $version in
v*)
	bin=$here/.bin/$version
	PATH=$bin:$PATH
	[ -x "$bin/batchctl" ] || [ -x "$bin/batchctl.exe" ] || sh "$here/install.sh" "$bin" "$version"
	;;
*)
	command -v batchctl >/dev/null || {
		echo "batchctl-validate: rev is not a release, and batchctl is not in PATH: set rev to a release such as v1.2.3, or install batchctl" >&2
		exit 1
	}
	;;
esac
exec batchctl "$@"
